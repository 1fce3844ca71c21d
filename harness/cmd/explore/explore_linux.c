/*
 * topaz explore linux-pt: explores a booted kernel.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmd/cmd.h"
#include "harness/cmd/explore/campaign_options.h"
#include "harness/explore/linux/linux_findings.h"
#include "harness/host/folder/output.h"
#include "harness/host/monotonic.h"
#include "harness/host/stop.h"

/* Not tried: what this kernel's interface does not report, or what one CPU cannot do. */
#define KINDS_NOT                                                            \
 (UINT32_C(1) << DEVIATION_FAIL | UINT32_C(1) << DEVIATION_SPLIT |           \
     UINT32_C(1) << DEVIATION_SWITCH | UINT32_C(1) << DEVIATION_XRSTORS_GP | \
     UINT32_C(1) << DEVIATION_FLIP_AREA)

/* Options that mean nothing here must not be ignored. */
static int
check_input(const struct campaign_input *input, struct tz_error *err)
{
	const struct driver_input *from = &input->from;

	if (from->source != NULL || from->tree != NULL || from->cc != NULL ||
	    from->drivers != NULL || from->cc_seconds != 0)
		return tz_error(err, TZ_EUSAGE,
		    "linux-pt is a kernel's own driver: --source, --drivers, "
		    "--freebsd-tree and --cc do not apply");
	if (input->options.depth != 1)
		return tz_error(
		    err, TZ_EUSAGE, "linux-pt: only --depth 1 is possible");
	if (input->options.shards != 1 || input->baseline != NULL ||
	    input->write_baseline != NULL || input->stop_at_finding)
		return tz_error(err, TZ_EUSAGE,
		    "linux-pt: --shard, --baseline, --write-baseline and "
		    "--stop-at-finding do not apply");
	return 0;
}

static bool
is_exhaustive(const struct linux_explore *explore)
{
	for (unsigned i = 0; i < explore->areas; i++) {
		if (explore->area[i].kept != explore->area[i].total)
			return false;
	}
	return !explore->stats->overflow;
}

static int
exit_code(const struct campaign_input *input,
    const struct linux_explore *explore, const struct finding_summary *summary)
{
	if (explore->interrupted)
		return CMD_BUDGET;
	if (summary->finding_count != summary->judged_count)
		return CMD_UNJUDGED;
	if (summary->finding_count != 0)
		return CMD_FINDING;
	return input->require_exhaustive && !is_exhaustive(explore) ? CMD_BUDGET
								    : CMD_OK;
}

static int
print(const struct campaign_input *input, const struct finding_summary *summary,
    struct tz_error *err)
{
	int error = 0;

	if (input->json)
		return report_json(stdout, summary, err);
	for (size_t i = 0; error == 0 && i < summary->finding_count; i++)
		error = report_text_finding(stdout, summary, i, NULL, err);
	if (error == 0)
		error = report_text_coverage(stdout, summary, err);
	return error != 0 ? error : report_text_last(stdout, summary, err);
}

static struct linux_explore_options
options_of(const struct campaign_input *input)
{
	const struct campaign_options *from = &input->options;
	uint32_t kinds = from->kinds_named
	    ? from->kinds
	    : deviation_kinds(DEVIATION_IN_EXPLORE | DEVIATION_IN_FAULTS) &
		~KINDS_NOT;

	return (struct linux_explore_options){ .kinds = kinds,
		.budget = from->budget,
		.insns = effort_info(from->effort)->parts.insns,
		.seed = from->seed,
		.jobs = from->jobs,
		.progress = from->progress,
		.progress_arg = from->progress_arg };
}

static int
explore(struct campaign_input *input, const char *folder,
    struct finding_summary *summary, struct tz_error *err)
{
	struct linux_explore all = { .run = NULL };
	struct linux_explore_options options;
	struct linux_run_options run_options;
	struct linux_run *run = NULL;
	struct campaign_teller teller;
	struct cpu_set cpu_set;
	double begin = monotonic_seconds();
	int error = linux_input_read(&input->linux_guest,
	    input->build_cache.profile, input->build_cache.errata, &run_options,
	    err);

	if (error != 0)
		return error;
	run_options.insns_max = input->options.insns_max;
	campaign_tell(input, &teller);
	error = linux_guest_cpu_set(&run_options.guest, &cpu_set, err);
	if (error == 0)
		error = linux_input_open(
		    &input->linux_guest, &run_options, &run, err);
	options = options_of(input);
	if (error == 0)
		error = linux_explore(&all, run, &options, err);
	if (error == 0)
		error = linux_findings(&all, cpu_set.text, summary, err);
	campaign_tell_end(&teller);
	if (error == 0) {
		memcpy(
		    summary->command, input->command, sizeof(summary->command));
		summary->exit_code = exit_code(input, &all, summary);
		summary->host_seconds = monotonic_seconds() - begin;
		error = input->pages
		    ? report_write_all(folder, summary, NULL, err)
		    : report_write_forms(folder, summary, NULL, err);
	}
	linux_explore_close(&all);
	linux_run_close(run);
	return error;
}

int
campaign_explore_linux(struct campaign_input *input)
{
	struct finding_summary *summary = calloc(1, sizeof(*summary));
	struct output *output = NULL;
	struct tz_error err;
	int error, code;

	stop_gently();
	error = summary == NULL ? tz_error(&err, TZ_EIO, "out of memory")
				: check_input(input, &err);
	if (error == 0)
		error = output_claim(
		    input->output, OUTPUT_FINDINGS, &output, &err);
	if (error == 0)
		error = explore(input, output_new(output), summary, &err);
	if (error == 0) {
		error = output_publish(output, &err);
		output = NULL;
	}
	if (output != NULL)
		output_rename(output, &err);
	output_abandon(output);
	if (error == 0)
		error = print(input, summary, &err);
	code = error != 0 ? cmd_fail_of(error, &err) : summary->exit_code;
	report_summary_free(summary);
	free(summary);
	return code;
}
