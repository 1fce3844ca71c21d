#define _GNU_SOURCE
/*
 * topaz mutate: finds mutants of the driver that an exploration does not kill.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmd/cmd.h"
#include "harness/cmd/explore/campaign_options.h"
#include "harness/cmd/explore/mutate_text.h"
#include "harness/host/stop.h"
#include "topaz_version.h"

#define TIMEOUT_DEFAULT 21600 /* seconds */
#define SETTINGS_MAX    24

struct mutate_input {
	struct campaign_input campaign;
	size_t count; /* 0: all */
	const char *only;
	unsigned timeout_seconds;
	int score_tenths; /* required score; -1: any */
	bool list, faults;
};

enum {
	OPT_COUNT = 512,
	OPT_LIST,
	OPT_NO_FAULTS,
	OPT_ONLY,
	OPT_SCORE,
	OPT_TIMEOUT,
};

static const struct argp_option options[] = {
	{ "count", OPT_COUNT, "N", 0,
	    "Number of mutants, drawn by --seed over all operators and "
	    "functions (all)",
	    0 },
	{ "only", OPT_ONLY, "ID", 0, "Comma-separated mutant IDs, see: --list",
	    0 },
	{ "list", OPT_LIST, NULL, 0, "Print the mutants, do not run them", 0 },
	{ "no-faults", OPT_NO_FAULTS, NULL, 0,
	    "Do not run surviving mutants with faults of the hardware (also "
	    "if --kinds is given)",
	    0 },
	{ "require-score", OPT_SCORE, "PERCENT", 0,
	    "Exit code 1 if the score is less", 0 },
	{ "timeout", OPT_TIMEOUT, "SECONDS", 0,
	    "Time limit of a mutant's exploration, if topaz hangs (21600)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static int
parse_score(const char *text)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || *end != '\0' || !(percent >= 0 && percent <= 100))
		cmd_bad_value("require-score", text, "0 to 100");
	return (int)(10 * percent + 0.5);
}

static const struct argp_child children[] = {
	{ &campaign_search_argp, 0, NULL, 0 },
	{ &campaign_merge_argp, 0, NULL, 0 },
	{ &campaign_common_argp, 0, CAMPAIGN_COMMON_HELP, 1 },
	{ NULL, 0, NULL, 0 },
};

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct mutate_input *input = state->input;
	uint64_t number;

	switch (key) {
	case OPT_COUNT:
		input->count = cmd_number("count", arg, CMD_THINGS);
		if (input->count == 0)
			cmd_bad_value("count", arg, "at least 1");
		return 0;
	case OPT_ONLY:
		input->only = arg;
		return 0;
	case OPT_LIST:
		input->list = true;
		return 0;
	case OPT_NO_FAULTS:
		input->faults = false;
		return 0;
	case OPT_SCORE:
		input->score_tenths = parse_score(arg);
		return 0;
	case OPT_TIMEOUT:
		number = cmd_number("timeout", arg, CMD_THINGS);
		if (number == 0 || number > 10000000)
			cmd_bad_value("timeout", arg, "1 to 10M seconds");
		input->timeout_seconds = (unsigned)number;
		return 0;
	default:
		return campaign_hand_on(key, &input->campaign, children, state);
	}
}

static int
check_input(const struct mutate_input *input, struct tz_error *err)
{
	if (input->only != NULL && input->count != 0)
		return tz_error(err, TZ_EUSAGE, "--only or --count, not both");
	return 0;
}

/* All inputs of the results except the mutants. */
struct settings {
	struct mutate_setting at[SETTINGS_MAX + 1];
	char *text[SETTINGS_MAX];
	size_t count;
};

static void add_setting(struct settings *settings, const char *name,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void
add_setting(struct settings *settings, const char *name, const char *fmt, ...)
{
	char **text = &settings->text[settings->count];
	va_list args;

	TZ_ASSERT(settings->count < SETTINGS_MAX);
	va_start(args, fmt);
	if (vasprintf(text, fmt, args) < 0)
		*text = NULL;
	va_end(args);
	settings->at[settings->count++] = (struct mutate_setting){ name,
		*text != NULL ? *text : "" };
}

static int
make_settings(const struct mutate_input *input, struct build_cache *build_cache,
    struct settings *settings, struct tz_error *err)
{
	const struct campaign_options *campaign = &input->campaign.options;
	uint16_t check;
	int error = build_cache_check(build_cache, &check, err);

	*settings = (struct settings){ .count = 0 };
	if (error != 0)
		return error;
	add_setting(settings, "topaz", "%s", TOPAZ_VERSION);
	add_setting(settings, "driver", "%s", input->campaign.driver);
	add_setting(settings, "sha256", "%s", build_cache_sha256(build_cache));
	add_setting(settings, "check", "%04x", check);
	add_setting(settings, "profile", "%s", build_cache_models(build_cache));
	add_setting(settings, "subject", "%s", input->campaign.subject);
	add_setting(settings, "kinds", "%" PRIx32, campaign->kinds);
	add_setting(settings, "depth", "%u", campaign->depth);
	add_setting(settings, "budget", "%" PRIu64, campaign->budget);
	add_setting(settings, "seed", "%" PRIu64, campaign->seed);
	add_setting(settings, "merge", "%d", campaign->merge);
	add_setting(settings, "reduce", "%d", campaign->reduce);
	add_setting(settings, "sequences", "%d", campaign->sequences);
	add_setting(settings, "faults", "%d", input->faults);
	return 0;
}

static void
free_settings(struct settings *settings)
{
	for (size_t i = 0; i < settings->count; i++)
		free(settings->text[i]);
}

struct teller {
	const struct mutate_list *list;
	bool bar;
};

static void
tell(void *arg, size_t done, size_t index, const struct mutate_result *result)
{
	const struct teller *teller = arg;

	if (index == SIZE_MAX)
		return;
	if (teller->bar)
		fputs("\r\x1b[K", stderr);
	mutate_print_progress(stderr, teller->list, done, index, result);
	if (!teller->bar)
		fputc('\n', stderr);
}

static int
exit_code(const struct mutate_input *input, const struct mutate_list *list,
    const struct mutate_run *run)
{
	struct mutate_score score;

	mutate_score(list, run, &score);
	if (score.count[MUTATE_FAILED] != 0)
		return CMD_BUG;
	if (run->interrupted)
		return CMD_BUDGET;
	if (input->score_tenths >= 0 && score.tenths < input->score_tenths)
		return CMD_FINDING;
	return CMD_OK;
}

static int
run_all(struct mutate_input *input, struct build_cache *build_cache,
    const struct mutate_list *list, int *code, struct tz_error *err)
{
	struct campaign_input *campaign = &input->campaign;
	struct campaign_teller baseline;
	struct teller teller = { .list = list };
	struct mutate_options run_options = { .jobs = campaign->options.jobs,
		.seconds_max = input->timeout_seconds,
		.output = campaign->output };
	struct settings settings = { .count = 0 };
	struct mutate_run run;
	int error = make_settings(input, build_cache, &settings, err);

	if (error != 0)
		return error;
	campaign_tell(campaign, &baseline);
	teller.bar = baseline.mode == CMD_PROGRESS_BAR;
	if (baseline.mode != CMD_PROGRESS_NONE) {
		run_options.progress = tell;
		run_options.progress_arg = &teller;
	}
	run_options.campaign = campaign->options;
	run_options.faults = input->faults;
	run_options.setting = settings.at;
	error = mutate_run(build_cache, list, &run_options, &run, err);
	if (teller.bar)
		fputc('\n', stderr);
	if (error == 0) {
		mutate_print(list, &run, campaign->json);
		if (run.interrupted)
			fprintf(stderr, "topaz: interrupted%s\n",
			    campaign->output != NULL
				? ": the same command goes on"
				: "");
		*code = exit_code(input, list, &run);
	}
	mutate_run_free(&run, list);
	free_settings(&settings);
	return error;
}

static int
mutate(struct mutate_input *input, int *code, struct tz_error *err)
{
	struct mutate_list list = { .source = NULL };
	struct build_cache *build_cache = NULL;
	int error = check_input(input, err);

	if (error == 0)
		error = campaign_input_read(&input->campaign, err);
	if (error == 0)
		error = build_cache_open(
		    &input->campaign.build_cache, &build_cache, err);
	if (error == 0)
		error = mutate_find(build_cache, &list, err);
	if (error == 0)
		error = input->only != NULL
		    ? mutate_choose(&list, input->only, err)
		    : mutate_draw(&list, input->campaign.options.seed,
			  input->count, err);
	if (error == 0 && input->list)
		mutate_print_list(&list, input->campaign.json);
	if (error == 0 && list.drawn_count == 0)
		*code = CMD_NOTHING;
	else if (error == 0 && !input->list)
		error = run_all(input, build_cache, &list, code, err);
	mutate_list_free(&list);
	build_cache_close(build_cache);
	return error;
}

const struct argp cmd_mutate_argp = { options, parse_one, "[DRIVER[/SCENARIO]]",
	"Makes small, mechanical changes of DRIVER's (insntrace) sources, "
	"one at a time, explores each as topaz explore does, runs survivors as "
	"topaz faults does, and reports the changes that no check notices.\v"
	"-o DIR keeps results.jsonl there (none): the same command continues "
	"where it was interrupted.  -j is the number of mutants at once.",
	children, NULL, NULL };

int
cmd_mutate(int argc, char **argv)
{
	struct mutate_input input = { .campaign = campaign_input_defaults(),
		.timeout_seconds = TIMEOUT_DEFAULT,
		.faults = true,
		.score_tenths = -1 };
	struct tz_error err;
	int code = CMD_OK, error;

	input.campaign.output = NULL;
	cmd_parse(&cmd_mutate_argp, argc, argv, &input);
	input.faults &= !input.campaign.options.kinds_named;
	stop_gently();
	error = mutate(&input, &code, &err);
	return error != 0 ? cmd_fail_of(error, &err) : code;
}
