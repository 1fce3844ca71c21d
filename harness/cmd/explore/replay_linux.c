/*
 * topaz replay of a token of linux-pt.
 */
#include <inttypes.h>
#include <stdio.h>

#include "harness/cmd/cmd.h"
#include "harness/cmd/explore/replay_linux.h"
#include "harness/explore/linux/linux_findings.h"
#include "harness/host/stop.h"
#include "harness/host/terminal.h"

static void
print_violation(
    const struct linux_run *run, const struct check_violation *violation)
{
	uint64_t offset;
	const char *name = linux_code_name(
	    linux_run_code(run), violation->site.rip, &offset);

	terminal_put_verdict(
	    stdout, outcome_is_unjudged(violation) ? "NOT JUDGED" : "FAIL");
	printf("  %s  %s", check_info(violation->id)->name, violation->text);
	if (name[0] != '\0')
		printf(", at %s+%#" PRIx64, name, offset);
	putchar('\n');
}

static void
print_console(const struct linux_run *run)
{
	size_t count;
	const char *text = linux_run_console(run, &count);

	printf("console:\n%.*s", (int)count, text);
}

/* Runs SCHEDULE TIMES times; the exit code. */
static int
replay(struct linux_run *run, const struct schedule *schedule, uint64_t times,
    bool console)
{
	struct outcome first, outcome;
	uint64_t hash = 0, same = 0;
	int code;

	for (uint64_t i = 0; i < times; i++) {
		linux_run_begin(run);
		if (!linux_run_judge(run, schedule, &outcome))
			return CMD_BUDGET;
		if (i == 0) {
			first = outcome;
			hash = linux_run_hash(run);
			for (unsigned j = 0; j < first.count; j++)
				print_violation(
				    run, &first.violation[j].violation);
			if (console)
				print_console(run);
		}
		same += outcome.how == first.how &&
		    outcome.count == first.count && linux_run_hash(run) == hash;
	}
	if (first.how != OUTCOME_WHOLE) {
		printf("diverged: a deviation is %s\n",
		    first.how == OUTCOME_IMPOSSIBLE
			? "not possible where it stands"
			: "not reached");
		return CMD_DIVERGED;
	}
	code = !outcome_is_judged(&first) ? CMD_UNJUDGED
	    : first.count != 0            ? CMD_FINDING
					  : CMD_OK;
	if (code == CMD_OK) {
		terminal_put_verdict(stdout, "PASS");
		putchar('\n');
	}
	printf("state %016" PRIx64 "\n", hash);
	if (times > 1)
		printf("the same violations and state: %" PRIu64 " of %" PRIu64
		       "\n",
		    same, times);
	return same == times ? code : CMD_DIVERGED;
}

int
replay_linux(struct linux_input *input, const struct token *token,
    uint64_t times, bool console)
{
	struct linux_run_options options;
	struct linux_run *run = NULL;
	struct tz_error err;
	int error, code = CMD_OK;

	stop_gently();
	error = linux_input_read(input, token->profile, NULL, &options, &err);
	/* A run that would end later in an exploration ends here as there. */
	if (error == 0)
		error = linux_input_open(input, &options, &run, &err);
	if (error != 0) {
		linux_run_close(run);
		return cmd_fail_of(error, &err);
	}
	if (linux_run_check(run) != token->check) {
		fprintf(stderr,
		    "topaz: the token was recorded with another kernel, "
		    "script or initramfs: check %04x, this one has %04x\n",
		    token->check, linux_run_check(run));
		code = CMD_DIVERGED;
	}
	if (code == CMD_OK)
		code = replay(run, &token->schedule, times, console);
	linux_run_close(run);
	return code;
}
