/*
 * A debugger that records the branches of the first workload by ptrace: it attaches, asks
 * for a buffer and for records, lets the workload run, and stops it from time to time to
 * read what is there.  With mode=cpu it is a profiler's client instead.
 * harness/guest/words.def lists its words.
 */
#include "harness/kpi/linux26/user/tracer_bts.h"

#include "harness/guest/user/user.h"
#include "harness/kpi/linux26/bts_abi.h"

#define RECORD_BYTES 24
#define STACK_BYTES  4096

struct session {
	uint64_t fd;
	uint32_t pid;
	uint64_t room; /* records of the kernel's buffer */
	struct bts_struct *drained;
	uint64_t branches, switches;
};

static struct session session;
static volatile uint32_t done;
static uint64_t jobs;
static _Alignas(16) unsigned char stack[STACK_BYTES];

static int64_t
request(enum linux_request what, const volatile void *addr, uint64_t data)
{
	struct linux_ptrace call = {
		.pid = session.pid, .addr = address(addr), .data = data
	};
	int64_t result = sys3(SYS_IOCTL, session.fd, what, address(&call));

	return result < 0 ? result : call.result;
}

static int64_t
must(const char *what, int64_t result)
{
	if (result < 0)
		user_fail(what, result);
	return result;
}

/* Stops the workload.  False: it has ended, and its records are gone with it. */
static bool
stop(void)
{
	int64_t result = request(LINUX_STOP, NULL, 0);

	if (result == 0)
		result = request(LINUX_WAIT, NULL, 0);
	if (result == LINUX_ENDED)
		return false;
	must("stop", result);
	return true;
}

static void
drain(void)
{
	int64_t count = must("drain",
	    request(PTRACE_BTS_DRAIN, session.drained,
		session.room * sizeof(struct bts_struct)));

	for (int64_t i = 0; i < count; i++) {
		bool branch = session.drained[i].qualifier == BTS_BRANCH;

		session.branches += branch;
		session.switches += !branch;
	}
}

static void
configure(uint64_t bytes, bool sched)
{
	struct ptrace_bts_config config = { .size = (uint32_t)bytes,
		.flags = PTRACE_BTS_O_ALLOC | PTRACE_BTS_O_TRACE |
		    (sched ? PTRACE_BTS_O_SCHED : 0) };

	must("config", request(PTRACE_BTS_CONFIG, &config, sizeof(config)));
	must("status", request(PTRACE_BTS_STATUS, &config, sizeof(config)));
	session.room = config.size / RECORD_BYTES;
	session.drained = (struct bts_struct *)(uintptr_t)must("memory",
	    sys1(SYS_MAP_ANON, session.room * sizeof(struct bts_struct)));
}

static void
finish(void)
{
	struct ptrace_bts_config off = { 0 };

	if (!stop())
		return;
	drain();
	must("config", request(PTRACE_BTS_CONFIG, &off, sizeof(off)));
	must("detach", request(PTRACE_DETACH, NULL, 0));
}

static void
wait_for_workloads(uint64_t unused)
{
	(void)unused;
	user_run_workloads(jobs);
	done = 1;
	sys1(SYS_THREAD_EXIT, 0);
}

static void
read_until_done(uint64_t cycles)
{
	while (!done) {
		sys1(SYS_SLEEP, cycles);
		if (!stop())
			continue;
		drain();
		must("continue", request(PTRACE_CONT, NULL, 0));
	}
}

static void
start_workloads(void)
{
	must("thread",
	    sys3(SYS_THREAD_CREATE, (uint64_t)(uintptr_t)wait_for_workloads,
		address(stack + STACK_BYTES), 0));
}

static void
debug(const char *args)
{
	session.pid = (uint32_t)arg_number(args, "target", 0);
	session.fd = (uint64_t)must(
	    "/dev/ptrace", sys2(SYS_OPEN, address("/dev/ptrace"), 0));
	must("attach", request(PTRACE_ATTACH, NULL, 0));
	/* The workload waits at the gate, in the kernel: it stops behind it. */
	start_workloads();
	must("wait", request(LINUX_WAIT, NULL, 0));
	configure(arg_number(args, "buf", 1 << 20),
	    arg_number(args, "sched", 1) != 0);
	must("continue", request(PTRACE_CONT, NULL, 0));
	read_until_done(arg_number(args, "poll", 50000));
	finish();
}

static void
profile(const char *args)
{
	unsigned cpus = (unsigned)arg_number(args, "cpus", 1);
	struct profile sum = { 0, 0 };

	profiler_begin(cpus, arg_number(args, "buf", 1 << 20),
	    arg_number(args, "sample", 0));
	start_workloads();
	while (!done) {
		sys1(SYS_SLEEP, arg_number(args, "poll", 50000));
		profiler_read(cpus, &sum);
	}
	profiler_end(cpus, &sum);
	user_printf("profiler: %u samples\n", sum.samples);
	session.branches = sum.branches;
}

int
user_main(const char *args)
{
	uint64_t cpu = arg_number(args, "cpu", ~UINT64_C(0));
	char mode[16];

	if (cpu != ~UINT64_C(0))
		must("cpu", sys1(SYS_SET_AFFINITY, UINT64_C(1) << cpu));
	jobs = arg_number(args, "jobs", 1);
	(void)arg_text(args, "mode", mode, sizeof(mode));
	if (mode[0] == 't')
		debug(args);
	else
		profile(args);
	user_printf("tracer: %u branches, %u arrivals and departures\n",
	    session.branches, session.switches);
	return 0;
}
