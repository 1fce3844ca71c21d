/*
 * Threads that change CPUs: two threads of a process visit all CPUs, in
 * opposite directions; and two threads that share one CPU.
 */
#include "harness/guest/user/user.h"
#include "harness/guest/user/work/work.h"

#define STACK_BYTES 8192
#define CHUNKS      4
#define CPUS_MAX    64

struct walk {
	uint64_t rounds, sum;
	unsigned cpus, step; /* step: CPUs to advance by, modulo cpus */
	unsigned at;
	volatile uint32_t done;
};

static struct walk walks[2];
static _Alignas(16) unsigned char stack[STACK_BYTES];

static uint64_t
chunk(uint64_t sum)
{
	for (unsigned i = 0; i < 950; i++)
		sum = (sum >> 5 & 1) != 0 ? work_fold(sum, i) : sum * 7 + i;
	return sum;
}

static void
run(struct walk *walk)
{
	for (uint64_t i = 0; i < walk->rounds * CHUNKS; i++) {
		if (walk->step != 0) {
			walk->at = (walk->at + walk->step) % walk->cpus;
			sys1(SYS_SET_AFFINITY, UINT64_C(1) << walk->at);
		}
		walk->sum = chunk(walk->sum);
	}
}

static void
return_home(void)
{
	uint64_t mask = ~UINT64_C(0);

	if (work_cpu() >= 0)
		mask = UINT64_C(1) << work_cpu();
	sys1(SYS_SET_AFFINITY, mask);
}

static void
second(uint64_t arg)
{
	struct walk *walk = (struct walk *)(uintptr_t)arg;

	return_home();
	run(walk);
	sys1(SYS_THREAD_EXIT, address(&walk->done));
}

/* The number of CPUs of the machine that a thread can be pinned to. */
static unsigned
count_cpus(void)
{
	unsigned cpus;

	for (cpus = 0; cpus < CPUS_MAX; cpus++)
		if (sys1(SYS_SET_AFFINITY, UINT64_C(1) << cpus) < 0)
			break;
	return cpus;
}

static uint64_t
run_two(void)
{
	int64_t tid;

	walks[1].done = 0;
	tid = sys3(SYS_THREAD_CREATE, (uint64_t)(uintptr_t)second,
	    address(stack + STACK_BYTES), address(&walks[1]));
	if (tid < 0)
		user_fail("thread", tid);
	run(&walks[0]);
	while (walks[1].done == 0)
		sys2(SYS_WAIT_WORD, address(&walks[1].done), 0);
	return work_fold(walks[0].sum, walks[1].sum);
}

uint64_t
work_migrate(uint64_t rounds)
{
	unsigned cpus = count_cpus();
	uint64_t sum;

	for (unsigned i = 0; i < 2; i++)
		walks[i] = (struct walk){ .rounds = rounds,
			.sum = i + 1,
			.cpus = cpus,
			.step = i == 0 ? 1 : cpus - 1 + (cpus == 1),
			.at = i };
	sum = run_two();
	return_home();
	return sum;
}

uint64_t
work_pair(uint64_t rounds)
{
	for (unsigned i = 0; i < 2; i++)
		walks[i] =
		    (struct walk){ .rounds = rounds, .sum = i + 11, .cpus = 1 };
	return run_two();
}
