#include "harness/cmd/explore/campaign_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmd/cmd.h"
#include "harness/drivers.h"
#include "harness/explore/parts/workers.h"
#include "harness/explore/search/faults.h"
#include "harness/host/cpus.h"

enum {
	OPT_PROFILE = 256,
	OPT_ERRATA,
	OPT_DEPTH,
	OPT_KINDS,
	OPT_SHARD,
	OPT_EFFORT,
	OPT_BUDGET,
	OPT_LIMIT,
	OPT_SEED,
	OPT_NO_MERGE,
	OPT_NO_REDUCE,
	OPT_NO_SEQUENCES,
	OPT_NO_PAGES,
	OPT_PROGRESS,
	OPT_BASELINE,
	OPT_WRITE_BASELINE,
	OPT_EXHAUSTIVE,
	OPT_STOP,
	OPT_JSON,
};

/* The options that all of the commands have. */
static const struct argp_option common_options[] = {
	{ "profile", OPT_PROFILE, "LIST", 0,
	    CMD_PROFILE_HELP " (the driver's, or skylake)", 0 },
	{ "errata", OPT_ERRATA, "LIST", 0, CMD_ERRATA_HELP, 0 },
	{ "kinds", OPT_KINDS, "LIST", 0,
	    "Comma-separated deviations, see: topaz list deviations "
	    "(pmi,cpu,preempt,rmw,older,nmi,pmc,fail)",
	    0 },
	{ "jobs", 'j', "N", 0, "Processes at most (the CPUs that it may use)",
	    0 },
	{ "effort", OPT_EFFORT, "quick|normal|deep", 0,
	    "Duration on two CPUs: about a minute, for CI; some minutes; an "
	    "hour (normal; topaz ci: quick)",
	    0 },
	{ "budget", OPT_BUDGET, "SCHEDULES", 0,
	    "Number of schedules instead of --effort; suffixes K, M and G", 0 },
	{ "limit", OPT_LIMIT, "N", 0,
	    "End a schedule after N instructions (the default schedule: 10M; "
	    "others: three times the length of the default schedule)",
	    0 },
	{ "seed", OPT_SEED, "N", 0, "Seed of all samples (0)", 0 },
	{ "output", 'o', "DIR", 0, "Folder for the reports (topaz.findings)",
	    0 },
	{ "progress", OPT_PROGRESS, "auto|bar|lines|none", 0,
	    "Progress on standard error: a bar with rate and time left, a "
	    "line for each part and minute (auto: a bar on a terminal)",
	    0 },
	{ "json", OPT_JSON, NULL, 0, "Print JSON lines instead of text", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static const struct argp_option search_options[] = {
	{ "depth", OPT_DEPTH, "1|2", 0,
	    "Deviations of a schedule that are tried exhaustively (1); "
	    "pairs are of pmi and cpu unless --kinds names others",
	    0 },
	{ "no-sequences", OPT_NO_SEQUENCES, NULL, 0,
	    "Scenarios only, no generated sequences", 0 },
	{ "no-reduce", OPT_NO_REDUCE, NULL, 0,
	    "Also place switches that are equal to later ones", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static const struct argp_option merge_options[] = {
	{ "no-merge", OPT_NO_MERGE, NULL, 0, "Do not merge equal states", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static const struct argp_option pages_options[] = {
	{ "no-pages", OPT_NO_PAGES, NULL, 0, "Text only, no pages", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static const struct argp_option report_options[] = {
	{ "shard", OPT_SHARD, "I/N", 0,
	    "Do the I-th of N parts; join them with: topaz merge", 0 },
	{ "baseline", OPT_BASELINE, "FILE", 0,
	    "Known findings: only others affect the exit code", 0 },
	{ "write-baseline", OPT_WRITE_BASELINE, "FILE", 0,
	    "Write the findings to FILE as known findings", 0 },
	{ "require-exhaustive", OPT_EXHAUSTIVE, NULL, 0,
	    "Exit code 5 if schedules of --depth were sampled or left out", 0 },
	{ "stop-at-finding", OPT_STOP, NULL, 0,
	    "End at the first part of the exploration that shows a finding "
	    "that is not in --baseline; the cheap parts come first",
	    0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static uint32_t
parse_kinds(const char *text)
{
	const char *at = text;
	uint32_t kinds = 0;

	while (*at != '\0') {
		size_t length = strcspn(at, ",");
		enum deviation_kind kind = deviation_find(at, length);

		if (kind == DEVIATION_COUNT)
			cmd_bad_value("kinds", text,
			    "not names separated by commas; "
			    "see: topaz list deviations");
		kinds |= UINT32_C(1) << kind;
		at += length;
		at += *at == ',';
	}
	if (kinds == 0)
		cmd_bad_value("kinds", text, "empty");
	return kinds;
}

static void
parse_shard(struct campaign_options *to, const char *text)
{
	char end;

	if (sscanf(text, "%u/%u%c", &to->shard, &to->shards, &end) != 2 ||
	    to->shard < 1 || to->shard > to->shards || to->shards > 4096)
		cmd_bad_value(
		    "shard", text, "not I/N with 1 <= I <= N <= 4096");
}

static void
parse_jobs(struct campaign_options *to, const char *text)
{
	uint64_t jobs = cmd_number("jobs", text, CMD_THINGS);

	if (jobs < 1 || jobs > POOL_JOBS_MAX)
		cmd_bad_value("jobs", text, "1 to 64 are possible");
	to->jobs = (unsigned)jobs;
}

/* Options whose value is not a plain string. */
static bool
parse_value(int key, const char *arg, struct campaign_input *input)
{
	struct campaign_options *to = &input->options;

	switch (key) {
	case OPT_DEPTH:
		if (strcmp(arg, "1") != 0 && strcmp(arg, "2") != 0)
			cmd_bad_value("depth", arg, "1 or 2");
		to->depth = (unsigned)(arg[0] - '0');
		return true;
	case OPT_KINDS:
		to->kinds = parse_kinds(arg);
		to->kinds_named = true;
		return true;
	case 'j':
		parse_jobs(to, arg);
		return true;
	case OPT_SHARD:
		parse_shard(to, arg);
		return true;
	case OPT_BUDGET:
		to->budget = cmd_number("budget", arg, CMD_THINGS);
		if (to->budget == 0)
			cmd_bad_value("budget", arg, "at least 1");
		return true;
	case OPT_EFFORT:
		to->effort = effort_find(arg);
		if (to->effort == EFFORT_COUNT)
			cmd_bad_value("effort", arg, "quick, normal or deep");
		return true;
	case OPT_LIMIT:
		to->insns_max = cmd_number("limit", arg, CMD_THINGS);
		if (to->insns_max == 0)
			cmd_bad_value("limit", arg, "at least 1");
		return true;
	case OPT_SEED:
		to->seed = cmd_number("seed", arg, CMD_THINGS);
		return true;
	case OPT_PROGRESS:
		input->progress = cmd_progress(arg);
		return true;
	default:
		return false;
	}
}

static bool
parse_switch(int key, struct campaign_input *input)
{
	switch (key) {
	case OPT_NO_MERGE:
		input->options.merge = false;
		return true;
	case OPT_NO_REDUCE:
		input->options.reduce = false;
		return true;
	case OPT_NO_SEQUENCES:
		input->options.sequences = false;
		return true;
	case OPT_NO_PAGES:
		input->pages = false;
		return true;
	case OPT_EXHAUSTIVE:
		input->require_exhaustive = true;
		return true;
	case OPT_STOP:
		input->stop_at_finding = true;
		return true;
	case OPT_JSON:
		input->json = true;
		return true;
	default:
		return false;
	}
}

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct campaign_input *input = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		/* The options of the driver are a child of the common ones. */
		if (state->child_inputs != NULL)
			state->child_inputs[0] = &input->from;
		return 0;
	case OPT_PROFILE:
		input->build_cache.profile = arg;
		return 0;
	case OPT_ERRATA:
		input->build_cache.errata = arg;
		return 0;
	case 'o':
		input->output = arg;
		return 0;
	case OPT_BASELINE:
		input->baseline = arg;
		return 0;
	case OPT_WRITE_BASELINE:
		input->write_baseline = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (input->argument != NULL)
			argp_error(state, "one subject at a time: %s", arg);
		input->argument = arg;
		return 0;
	default:
		return parse_value(key, arg, input) || parse_switch(key, input)
		    ? 0
		    : ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child driver_children[] = {
	{ &driver_argp, 0, NULL, 0 }, { NULL, 0, NULL, 0 }
};

/* The help of a common option that has another meaning than in explore; else NULL. */
static const char *
own_help(int key, const struct campaign_input *input)
{
	if (input->options.faults && key == OPT_KINDS)
		return "Comma-separated, see: topaz list faults (all)";
	if (input->options.faults && key == OPT_EXHAUSTIVE)
		return "Exit code 5 if points were sampled or left out";
	if (input->output == NULL && key == 'o')
		return "Folder for results.jsonl (none)";
	if (input->options.faults && key == 'o')
		return "Folder for the reports (topaz.faults)";
	return NULL;
}

static char *
filter_help(int key, const char *text, void *data)
{
	const char *own = data != NULL ? own_help(key, data) : NULL;
	char *copy = own != NULL ? strdup(own) : NULL;

	/* argp frees the returned text only if it differs from TEXT. */
	return copy != NULL ? copy : (char *)(uintptr_t)text;
}

const struct argp campaign_common_argp = { common_options, parse_one, NULL,
	NULL, driver_children, filter_help, NULL };
const struct argp campaign_search_argp = { search_options, parse_one, NULL,
	NULL, NULL, NULL, NULL };
const struct argp campaign_merge_argp = { merge_options, parse_one, NULL, NULL,
	NULL, NULL, NULL };
const struct argp campaign_pages_argp = { pages_options, parse_one, NULL, NULL,
	NULL, NULL, NULL };
const struct argp campaign_report_argp = { report_options, parse_one, NULL,
	NULL, NULL, filter_help, NULL };

error_t
campaign_hand_on(int key, struct campaign_input *input,
    const struct argp_child *children, struct argp_state *state)
{
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	for (size_t i = 0; children[i].argp != NULL; i++)
		state->child_inputs[i] = input;
	return 0;
}

struct campaign_input
campaign_input_defaults(void)
{
	unsigned cpus = cpus_usable();
	struct campaign_input input = {
		.options = campaign_defaults(),
		.output = "topaz.findings",
		.pages = true,
	};

	input.options.jobs = cpus < POOL_JOBS_MAX ? cpus : POOL_JOBS_MAX;
	return input;
}

/* DRIVER, DRIVER/SCENARIO[@CPUS][,LAYOUT], DRIVER[@CPUS][,LAYOUT]=STEPS. */
int
campaign_input_read(struct campaign_input *input, struct tz_error *err)
{
	const char *text = input->argument != NULL ? input->argument
						   : DRIVER_DEFAULT;
	size_t length = strcspn(text, "/@,=");

	if (length == 0 || length >= sizeof(input->driver) ||
	    strlen(text) >= sizeof(input->subject))
		return tz_error(err, TZ_EUSAGE,
		    "'%s': not DRIVER[/SCENARIO] or DRIVER[@CPUS]=STEPS", text);
	if (text[length] == '/' && text[length + 1] == '\0')
		return tz_error(
		    err, TZ_EUSAGE, "'%s': no scenario after the '/'", text);
	memcpy(input->driver, text, length);
	input->driver[length] = '\0';
	input->build_cache.driver = input->driver;
	input->build_cache.source = input->from.source;
	input->build_cache.tree = input->from.tree;
	input->build_cache.cc = input->from.cc;
	input->build_cache.cc_seconds = input->from.cc_seconds;
	input->build_cache.drivers = input->from.drivers;
	input->build_cache.verbose = input->from.verbose;
	input->subject[0] = '\0';
	if (text[length] == '/')
		strcpy(input->subject, text + length + 1);
	else if (text[length] != '\0')
		strcpy(input->subject, text);
	if (input->subject[0] != '\0')
		input->options.subject = input->subject;
	return 0;
}
