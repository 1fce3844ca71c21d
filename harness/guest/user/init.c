/*
 * The first program.  It starts the workloads, which wait at a gate, and the
 * tracer (or the program of owner=), whose exit closes the trace; then it reaps
 * all of them.  Its arguments are the kernel's command line;
 * harness/guest/words.def lists the words.
 */
#include "harness/guest/user/user.h"

#define WORKLOADS_MAX 16
#define LINE_BYTES    1024

struct job {
	char name[32]; /* program */
	int64_t pid;
};

struct plan {
	bool thread_mode, traced;
	unsigned cpus, jobs;
	struct job job[WORKLOADS_MAX];
};

static struct plan plan;

/* In CPU mode every CPU has a workload; in thread mode the list decides. */
static void
make_plan(const char *args)
{
	char list[256], mode[16], item[24];
	unsigned i;

	arg_text(args, "mode", mode, sizeof(mode));
	plan.thread_mode = mode[0] == 't';
	plan.traced = mode[0] != 'n';
	plan.cpus = (unsigned)arg_number(args, "cpus", 1);
	if (!arg_text(args, "workload", list, sizeof(list)))
		user_format(list, sizeof(list), "mix");
	for (plan.jobs = 0; plan.jobs < WORKLOADS_MAX; plan.jobs++) {
		i = plan.jobs;
		if (!plan.thread_mode && i >= plan.cpus)
			break;
		if (!list_item(list, i, item, sizeof(item))) {
			if (plan.thread_mode)
				break;
			/* The first workload fills the rest. */
			user_format(
			    plan.job[i].name, 32, "%s", plan.job[0].name);
			continue;
		}
		user_format(plan.job[i].name, 32, "w_%s", item);
	}
}

static uint64_t
rounds_of(const char *args)
{
	uint64_t insns = arg_number(args, "insns", 0);
	uint64_t rounds = arg_number(args, "rounds", 1);

	if (insns != 0)
		rounds = insns / plan.jobs / SYS_ROUND_INSNS;
	return rounds != 0 ? rounds : 1;
}

/* The CPU that a workload is pinned to; -1: any. */
static int64_t
cpu_of(const char *args, unsigned index)
{
	char list[128], item[16];

	if (arg_text(args, "pin", list, sizeof(list)) &&
	    list_item(list, index, item, sizeof(item)))
		return item[0] == '-' ? -1 : (int64_t)text_number(item);
	return plan.thread_mode ? -1 : (int64_t)index;
}

static void
start_workloads(const char *args)
{
	char line[LINE_BYTES];
	struct job *job;

	for (unsigned i = 0; i < plan.jobs; i++) {
		job = &plan.job[i];
		user_format(line, sizeof(line),
		    "rounds=%u cpu=%d gate=1 index=%u linger=%u",
		    rounds_of(args), cpu_of(args, i), (uint64_t)i,
		    arg_number(args, "linger", 0));
		job->pid = sys3(
		    SYS_SPAWN, address(job->name), address(line), SEM_DONE);
		if (job->pid < 0)
			user_fail(job->name, job->pid);
	}
}

/* The workloads also run without a tracer, for comparison. */
static int
run_untraced(void)
{
	user_run_workloads(plan.jobs);
	return 0;
}

static int
run_tracer(const char *args)
{
	char line[LINE_BYTES], owner[32];
	int64_t pid;
	int code = 0;

	if (!arg_text(args, "owner", owner, sizeof(owner)))
		user_format(owner, sizeof(owner), "tracer");
	user_format(line, sizeof(line), "jobs=%u target=%u %s",
	    (uint64_t)plan.jobs, (uint64_t)plan.job[0].pid, args);
	pid = sys3(SYS_SPAWN, address(owner), address(line), 0);
	if (pid < 0)
		user_fail(owner, pid);
	pid = sys2(SYS_WAIT, (uint64_t)pid, address(&code));
	if (pid < 0)
		user_fail("wait for the owner", pid);
	return code;
}

/*
 * Kills workloads that linger, or that a failed tracer left at the gate.  Returns the
 * exit code of one that ended by itself, if it is not 0.
 */
static int
reap_workloads(const char *args, bool kill)
{
	int64_t result;
	int code, worst = 0;

	kill = kill || arg_number(args, "linger", 0) != 0;
	for (unsigned i = 0; i < plan.jobs; i++) {
		if (kill)
			sys1(SYS_KILL, (uint64_t)plan.job[i].pid);
		code = 0;
		result = sys2(
		    SYS_WAIT, (uint64_t)plan.job[i].pid, address(&code));
		if (result < 0)
			user_fail("wait for workload", result);
		if (code != 0 && !(kill && code == SYS_KILLED))
			worst = code;
	}
	return worst;
}

int
user_main(const char *args)
{
	int traced, worked;

	make_plan(args);
	start_workloads(args);
	traced = plan.traced ? run_tracer(args) : run_untraced();
	worked = reap_workloads(args, traced != 0);
	user_printf("init: tracer %d, workloads %d\n", (int64_t)traced,
	    (int64_t)worked);
	return traced != 0 ? traced : worked;
}
