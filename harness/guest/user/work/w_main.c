/*
 * A workload as a program.  Arguments: rounds=N, cpu=N (pinned; -1: any),
 * gate=1 (waits for the tracer), linger=1 (spins at the end, until killed).
 */
#include "harness/guest/user/user.h"
#include "harness/guest/user/work/work.h"

static int64_t pinned = -1;

int64_t
work_cpu(void)
{
	return pinned;
}

int
user_main(const char *args)
{
	uint64_t rounds = arg_number(args, "rounds", 1);
	char cpu[8];
	uint64_t sum;

	if (arg_text(args, "cpu", cpu, sizeof(cpu)) && cpu[0] != '-') {
		pinned = (int64_t)text_number(cpu);
		if (sys1(SYS_SET_AFFINITY, UINT64_C(1) << pinned) < 0)
			user_fail("no such CPU", pinned);
	}
	if (arg_number(args, "gate", 0) != 0)
		sys1(SYS_SEM_WAIT, SEM_GATE);
	sum = work_main(rounds);
	user_printf("workload %u: %u rounds, checksum %x\n",
	    arg_number(args, "index", 0), rounds, sum);
	if (arg_number(args, "gate", 0) != 0)
		sys1(SYS_SEM_POST, SEM_DONE);
	while (arg_number(args, "linger", 0) != 0)
		continue;
	return 0;
}
