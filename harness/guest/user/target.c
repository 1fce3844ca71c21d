/*
 * A program to be traced: each of its threads does a round of branches on
 * request, until the program is killed.  Arguments: index=N (selects its
 * semaphores: actor.h), cpu=N (pinned, -1: not), rounds=N (branches in a
 * round), threads=2: a second thread creates further threads on request.
 */
#include "harness/guest/user/actor.h"

#define THREADS_MAX 8
#define STACK_BYTES 4096

static uint64_t which, branches;
static _Alignas(16) unsigned char stacks[THREADS_MAX][STACK_BYTES];

static void
create(unsigned thread, void (*entry)(uint64_t))
{
	int64_t result = sys3(SYS_THREAD_CREATE, (uint64_t)(uintptr_t)entry,
	    address(stacks[thread] + STACK_BYTES), thread);

	if (result < 0)
		user_fail("thread", result);
}

static _Noreturn void
work_loop(void)
{
	for (;;) {
		sys1(SYS_SEM_WAIT, TARGET_WORK(which));
		actor_branch(branches);
		sys1(SYS_SEM_POST, TARGET_DONE(which));
	}
}

/* A new thread does its first round at once, and then reports its creation. */
static void
worker(uint64_t thread)
{
	(void)thread;
	actor_branch(branches);
	sys1(SYS_SEM_POST, TARGET_CREATED(which));
	work_loop();
}

static void
maker(uint64_t thread)
{
	for (unsigned next = (unsigned)thread + 1;; next++) {
		sys1(SYS_SEM_WAIT, TARGET_THREAD(which));
		if (next < THREADS_MAX)
			create(next, worker);
		else
			sys1(SYS_SEM_POST, TARGET_CREATED(which));
	}
}

int
user_main(const char *args)
{
	char cpu[8];

	which = arg_number(args, "index", 0);
	branches = arg_number(args, "rounds", 0);
	if (arg_text(args, "cpu", cpu, sizeof(cpu)) && cpu[0] != '-') {
		/* On a machine without that CPU it runs on any. */
		(void)sys1(SYS_SET_AFFINITY, UINT64_C(1) << text_number(cpu));
	}
	if (arg_number(args, "threads", 1) > 1)
		create(0, maker);
	work_loop();
}
