/*
 * topaz merge: joins the shards of an exploration.  topaz report: prints findings in other
 * formats, and compares them with earlier findings.
 */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/cmd/cmd.h"
#include "harness/cmd/explore/campaign_options.h"
#include "harness/explore/build/objects.h"
#include "harness/host/folder/output.h"
#include "harness/report/report.h"

#define SHARDS_MAX 4096

enum { OPT_JUNIT = 256, OPT_SARIF, OPT_DIFF, OPT_JSON };

#define JSON_ROW \
 "json", OPT_JSON, NULL, 0, "Print JSON lines instead of text", 0

struct merge_input {
	const char *output, *junit, *sarif, *diff;
	const char *folder[SHARDS_MAX];
	size_t count;
	bool json;
	bool joined; /* topaz merge, or more than one folder */
};

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct merge_input *input = state->input;

	switch (key) {
	case 'o':
		input->output = arg;
		return 0;
	case OPT_JUNIT:
		input->junit = arg;
		return 0;
	case OPT_SARIF:
		input->sarif = arg;
		return 0;
	case OPT_DIFF:
		input->diff = arg;
		return 0;
	case OPT_JSON:
		input->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (input->count == SHARDS_MAX)
			argp_error(state, "more than %d folders", SHARDS_MAX);
		input->folder[input->count++] = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no folder of findings");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/*
 * The folder whose objects a replay uses: the output folder, else the first input folder
 * with objects; "" if no input folder has objects.
 */
static int
find_objects(const struct merge_input *input, struct finding_summary *summary,
    struct tz_error *err)
{
	const char *from = NULL;

	for (size_t i = 0; from == NULL && i < input->count; i++) {
		if (objects_are_in(input->folder[i]))
			from = input->folder[i];
	}
	if (from != NULL && input->output != NULL)
		from = input->output;
	if (summary->from[0] == '\0' || from == NULL)
		from = "";
	if (snprintf(summary->from, sizeof(summary->from), "%s", from) >=
	    (int)sizeof(summary->from))
		return tz_error(err, TZ_EUSAGE, "%s: too long", from);
	return 0;
}

/* FOLDER is an output folder of explore, or a findings.jsonl. */
static int
read_folder(
    const char *folder, struct finding_summary *summary, struct tz_error *err)
{
	char path[PATH_MAX];
	struct stat st;

	memset(summary, 0, sizeof(*summary));
	if (stat(folder, &st) != 0)
		return tz_error(
		    err, TZ_EUSAGE, "%s: %s", folder, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return report_read(folder, summary, err);
	if (snprintf(path, sizeof(path), "%s/findings.jsonl", folder) >=
	    (int)sizeof(path))
		return tz_error(err, TZ_EUSAGE, "%s: too long", folder);
	return report_read(path, summary, err);
}

static int
exit_code(const struct finding_summary *summary)
{
	if (summary->finding_count != summary->judged_count)
		return CMD_UNJUDGED;
	if (summary->finding_count != 0)
		return CMD_FINDING;
	return report_is_cut(summary) ||
		(summary->joined && report_shards_missing(summary) != 0)
	    ? CMD_BUDGET
	    : CMD_OK;
}

static int
read_all(const struct merge_input *input, struct finding_summary *summary,
    struct tz_error *err)
{
	int error = read_folder(input->folder[0], summary, err);
	struct tz_error why;

	for (size_t i = 1; error == 0 && i < input->count; i++) {
		struct finding_summary *shard = calloc(1, sizeof(*shard));

		if (shard == NULL)
			return tz_error(err, TZ_EIO, "out of memory");
		error = read_folder(input->folder[i], shard, err);
		if (error == 0) {
			error = report_merge(summary, shard, &why);
			if (error != 0)
				(void)tz_error(err, (enum tz_errno)(-error),
				    "%s: %s", input->folder[i], why.text);
		}
		report_summary_free(shard);
		free(shard);
	}
	if (error == 0)
		error = find_objects(input, summary, err);
	summary->joined = input->joined;
	if (error == 0 && summary->joined)
		summary->exit_code = exit_code(summary);
	return error;
}

static int
print_all(
    const struct finding_summary *summary, bool json, struct tz_error *err)
{
	int error = 0;

	if (json)
		return report_json(stdout, summary, err);
	for (size_t i = 0; error == 0 && i < summary->finding_count; i++)
		error = report_text_finding(stdout, summary, i, NULL, err);
	if (error == 0)
		error = report_text_coverage(stdout, summary, err);
	return error == 0 ? report_text_last(stdout, summary, err) : error;
}

/* Prints which findings are new, fixed or unchanged since those in another folder. */
static int
print_diff(const struct finding_summary *now, const char *folder, bool json,
    struct tz_error *err)
{
	struct finding_summary *before = calloc(1, sizeof(*before));
	struct report_baseline baseline = { .count = 0 };
	int error = before == NULL ? tz_error(err, TZ_EIO, "out of memory")
				   : read_folder(folder, before, err);

	if (error == 0)
		error = report_baseline_of(before, &baseline, err);
	if (error == 0)
		error = campaign_print_comparison(&baseline, now, json, err);
	report_baseline_free(&baseline);
	if (before != NULL)
		report_summary_free(before);
	free(before);
	return error;
}

static int
write_sarif(const char *path, const struct finding_summary *summary,
    struct tz_error *err)
{
	return report_sarif(path, summary, NULL, err);
}

/* Writes the findings with WRITE to PATH; NULL: the user named no file. */
static int
write_form(const char *path, const struct finding_summary *summary,
    int (*write)(const char *path, const struct finding_summary *summary,
	struct tz_error *err),
    struct tz_error *err)
{
	struct output *output;
	int error = path == NULL ? 0 : output_claim_file(path, &output, err);

	if (path == NULL || error != 0)
		return error;
	error = write(output_new(output), summary, err);
	if (error == 0)
		return output_publish(output, err);
	output_rename(output, err);
	output_abandon(output);
	return error;
}

static int
write_forms(const struct merge_input *input,
    const struct finding_summary *summary, struct tz_error *err)
{
	int error = write_form(input->junit, summary, report_junit, err);

	if (error == 0)
		error = write_form(input->sarif, summary, write_sarif, err);
	if (error == 0 && input->diff != NULL)
		return print_diff(summary, input->diff, input->json, err);
	return error == 0 ? print_all(summary, input->json, err) : error;
}

/* Processes the findings of all folders: the second half of a command. */
typedef int (*merge_finish)(const struct merge_input *input,
    const struct finding_summary *summary, struct tz_error *err);

/* The command of joined findings is COMMAND, not that of one shard. */
static struct finding_summary *
named(struct finding_summary *summary, const struct merge_input *input,
    const char *command)
{
	if (input->count > 1)
		snprintf(
		    summary->command, sizeof(summary->command), "%s", command);
	return summary;
}

/* The whole command: reads the folders, then calls FINISH. */
static int
read_and(merge_finish finish, const struct argp *argp, int argc, char **argv)
{
	struct merge_input *input = calloc(1, sizeof(*input));
	struct finding_summary *summary = calloc(1, sizeof(*summary));
	char command[FINDING_COMMAND_BYTES];
	struct tz_error err;
	int code;

	/* With many folders the command may be too long; then it is not kept. */
	if (cmd_quote(argc, argv, command, sizeof(command), &err) != 0)
		command[0] = '\0';
	if (input == NULL || summary == NULL) {
		(void)tz_error(&err, TZ_EIO, "out of memory");
		code = cmd_fail(&err);
	} else {
		cmd_parse(argp, argc, argv, input);
		input->joined = argp == &cmd_merge_argp || input->count > 1;
		if (read_all(input, summary, &err) != 0 ||
		    finish(input, named(summary, input, command), &err) != 0)
			code = cmd_fail(&err);
		else
			code = exit_code(summary);
		report_summary_free(summary);
	}
	free(input);
	free(summary);
	return code;
}

static int
write_folder(const struct merge_input *input,
    const struct finding_summary *summary, struct tz_error *err)
{
	struct output *output;
	int error = output_claim(input->output, OUTPUT_FINDINGS, &output, err);

	if (error != 0)
		return error;
	error = report_write_all(output_new(output), summary, NULL, err);
	for (size_t i = 0; error == 0 && i < input->count; i++)
		error = objects_copy(input->folder[i], output_new(output), err);
	if (error == 0)
		return output_publish(output, err);
	output_rename(output, err);
	output_abandon(output);
	return error;
}

static int
write_joined(const struct merge_input *input,
    const struct finding_summary *summary, struct tz_error *err)
{
	int error = input->output == NULL ? 0
					  : write_folder(input, summary, err);

	return error == 0 ? print_all(summary, input->json, err) : error;
}

static const struct argp_option merge_options[] = {
	{ "output", 'o', "DIR", 0, "Folder for the joined reports", 0 },
	{ JSON_ROW },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

const struct argp cmd_merge_argp = { merge_options, parse_one, "DIR...",
	"Joins the findings of all shards of one exploration.", NULL, NULL,
	NULL };

int
cmd_merge(int argc, char **argv)
{
	return read_and(write_joined, &cmd_merge_argp, argc, argv);
}

static const struct argp_option report_options[] = {
	{ "junit", OPT_JUNIT, "FILE", 0, "Write JUnit's XML", 0 },
	{ "sarif", OPT_SARIF, "FILE", 0, "Write SARIF 2.1.0", 0 },
	{ JSON_ROW },
	{ "diff", OPT_DIFF, "DIR", 0,
	    "Compare with the earlier findings in DIR", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

const struct argp cmd_report_argp = { report_options, parse_one, "DIR",
	"Prints the findings of an exploration, or writes other formats.", NULL,
	NULL, NULL };

int
cmd_report(int argc, char **argv)
{
	return read_and(write_forms, &cmd_report_argp, argc, argv);
}
