/*
 * topaz replay: runs the schedule of a token exactly.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/machine.h"
#include "harness/cmd/cmd.h"
#include "harness/cmd/driver_options.h"
#include "harness/cmd/explore/replay_linux.h"
#include "harness/drivers.h"
#include "harness/explore/describe/replay.h"
#include "harness/explore/linux/linux_findings.h"
#include "harness/explore/runner/layout.h"
#include "harness/explore/runner/runner_pool.h"
#include "harness/explore/search/campaign.h"
#include "harness/host/terminal.h"
#include "harness/load/paths.h"

struct replay_input {
	struct driver_input from;
	struct linux_input linux_guest;
	const char *objects; /* of --from, or NULL */
	const char *token;
	uint64_t times;
	bool log;
};

enum { OPT_FROM = 256, OPT_TIMES, OPT_LOG };

static const struct argp_option options[] = {
	{ "from", OPT_FROM, "DIR", 0,
	    "Use the compiled objects of the findings folder DIR", 0 },
	{ "times", OPT_TIMES, "N", 0,
	    "Run the schedule N times and compare (1)", 0 },
	{ "log", OPT_LOG, NULL, 0,
	    "Print every event of the run; of linux-pt: the kernel's console",
	    0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct replay_input *input = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &input->from;
		state->child_inputs[1] = &input->linux_guest;
		return 0;
	case OPT_FROM:
		input->objects = arg;
		return 0;
	case OPT_TIMES:
		input->times = cmd_number("times", arg, CMD_THINGS);
		if (input->times == 0)
			cmd_bad_value("times", arg, "at least 1");
		return 0;
	case OPT_LOG:
		input->log = true;
		return 0;
	case ARGP_KEY_ARG:
		if (input->token != NULL)
			argp_error(state, "one token at a time: %s", arg);
		input->token = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no token");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/*
 * The driver NAME, or the driver that has the scenario NAME.  An invalid manifest is an
 * error only if no valid one has NAME.
 */
static int
find_driver(
    const char *name, const char *folder, char driver[64], struct tz_error *err)
{
	struct paths paths;
	struct tz_error why;
	char **names = NULL;
	size_t count = 0;
	bool found = false;
	int wrong = 0;
	int error = paths_find(&paths, err);
	const char *root = folder != NULL ? folder : paths.drivers;

	if (error == 0)
		error = driver_names(root, &names, &count, err);
	for (size_t i = 0; error == 0 && i < count; i++) {
		struct manifest *manifest;
		int bad = found ? -1
				: manifest_read(root, names[i], &manifest,
				      wrong == 0 ? &why : NULL);

		if (!found && bad != 0 && wrong == 0)
			wrong = bad;
		if (bad == 0) {
			found = strcmp(names[i], name) == 0 ||
			    manifest_scenario(manifest, name) != NULL;
			if (found)
				snprintf(driver, 64, "%s", names[i]);
			manifest_free(manifest);
		}
		free(names[i]);
	}
	free(names);
	paths_free(&paths);
	if (error == 0 && !found && wrong != 0)
		error = tz_error(err, (enum tz_errno) - wrong, "%s", why.text);
	else if (error == 0 && !found)
		error = tz_error(err, TZ_ENOENT,
		    "%s: neither a driver nor a scenario of one; see: topaz "
		    "list scenarios",
		    name);
	return error;
}

static struct runner *logged; /* whose events are printed */

static void
print_event(void *arg, const struct event *event)
{
	const struct event_info *info = event_info(
	    (enum event_kind)event->kind);
	const uint64_t value[3] = { event->a, event->b, event->c };
	char where[192] = "";

	(void)arg;
	printf("%10" PRIu64 "  cpu%u  %-28s", event->insns, event->cpu,
	    info->text);
	for (unsigned i = 0; i < 3; i++) {
		if (strcmp(info->arg[i], "rip") == 0 && logged != NULL)
			symbols_format(runner_symbols(logged), value[i], NULL,
			    where, sizeof(where));
		else if (info->arg[i][0] != '\0')
			printf(" %s=%#" PRIx64, info->arg[i], value[i]);
	}
	printf("  %s\n", where);
}

/* Prints the checks that were not judged, with the reasons. */
static void
print_unjudged(const struct replayed *replayed)
{
	for (unsigned i = 0; i < REASON_COUNT; i++) {
		check_rows left = replayed->outcome.unjudged[i];
		const char *before = "not judged: ";

		while (left != 0) {
			printf("%s%s", before,
			    check_info(check_take(&left))->name);
			before = ", ";
		}
		if (replayed->outcome.unjudged[i] != 0)
			printf(
			    ": %s\n", check_reason_text((enum check_reason)i));
	}
	if (!replayed->compared)
		printf("not judged: %s: the trace was not decoded\n",
		    check_info(CHECK_DECODED)->name);
}

static void
print_outcome(const struct replayed *replayed)
{
	const struct outcome *outcome = &replayed->outcome;

	for (unsigned i = 0; i < outcome->count; i++) {
		const struct check_violation *violation =
		    &outcome->violation[i].violation;

		terminal_put_verdict(stdout,
		    outcome_is_unjudged(violation) ? "NOT JUDGED" : "FAIL");
		printf("  %s  %s  cpu%u  event %" PRIu64 "\n",
		    check_info(violation->id)->name, violation->text,
		    violation->cpu, violation->event);
	}
	if (outcome->count != 0 && replayed->where.function[0] != '\0')
		printf("      first in %s+%#x %s:%d\n",
		    replayed->where.function, replayed->where.offset_bytes,
		    replayed->where.file, replayed->where.line);
	if (outcome->framework)
		printf("the framework panics in %s because a call of its own "
		       "fails: %.*s\n",
		    replayed->where.function,
		    (int)strcspn(replayed->result.text, "\n"),
		    replayed->result.text);
	if (outcome->count == 0 && outcome->how == OUTCOME_WHOLE) {
		terminal_put_verdict(stdout, "PASS");
		putchar('\n');
	}
	if (outcome->how == OUTCOME_WHOLE)
		print_unjudged(replayed);
	printf("state %016" PRIx64 "\n", replayed->state_hash);
}

/* True if both runs end alike: the same violations at the same events, the same state. */
static bool
is_same(const struct replayed *a, const struct replayed *b)
{
	if (a->outcome.how != b->outcome.how ||
	    a->outcome.count != b->outcome.count ||
	    a->state_hash != b->state_hash)
		return false;
	for (unsigned i = 0; i < a->outcome.count; i++) {
		if (a->outcome.violation[i].cause !=
			b->outcome.violation[i].cause ||
		    a->outcome.violation[i].violation.event !=
			b->outcome.violation[i].violation.event)
			return false;
	}
	return true;
}

static int
replay(const struct replay_input *input, struct build_cache *build_cache,
    const struct token *token, struct tz_error *err)
{
	const struct manifest *manifest = build_cache_manifest(build_cache);
	struct runner_pool *runner_pool = runner_pool_create(build_cache);
	const struct runner_observer observer = { .event = print_event };
	struct replayed *first = calloc(2, sizeof(*first));
	/* As in an exploration: only the default schedule watches stores. */
	enum machine_stepping stepping = token->schedule.count == 0
	    ? STEPPING_WATCHED
	    : STEPPING_NONE;
	struct runner *runner;
	uint64_t same = 0;
	int code = CMD_OK;

	for (uint64_t i = 0; first != NULL && runner_pool != NULL &&
	     code == CMD_OK && i < input->times;
	     i++) {
		if (replay_token(runner_pool, manifest, token,
			input->log && i == 0 ? &observer : NULL, stepping,
			&first[i == 0 ? 0 : 1], &runner, err) != 0)
			code = cmd_fail(err);
		else
			same += i == 0 || is_same(&first[0], &first[1]);
	}
	if (code == CMD_OK && first != NULL) {
		print_outcome(&first[0]);
		if (first[0].outcome.how == OUTCOME_IMPOSSIBLE ||
		    first[0].outcome.how == OUTCOME_UNREACHED) {
			printf("diverged: a deviation is %s\n",
			    first[0].outcome.how == OUTCOME_IMPOSSIBLE
				? "not possible where it stands"
				: "not reached");
			code = CMD_DIVERGED;
		} else if (!outcome_is_judged(&first[0].outcome)) {
			code = CMD_UNJUDGED;
		} else if (first[0].outcome.count != 0) {
			code = CMD_FINDING;
		}
		if (input->times > 1)
			printf("the same violation, event and state: %" PRIu64
			       " of %" PRIu64 "\n",
			    same, input->times);
		if (same != input->times)
			code = CMD_DIVERGED;
	}
	free(first);
	runner_pool_destroy(runner_pool);
	return code;
}

/* The driver must be, byte for byte, the one that the token was recorded with. */
static int
check_token(struct build_cache *build_cache, const struct token *token,
    const char *driver, bool from, struct tz_error *err)
{
	uint16_t check = 0;

	if (build_cache_check(build_cache, &check, err) != 0)
		return cmd_fail(err);
	if (check == token->check)
		return CMD_OK;
	fprintf(stderr,
	    "topaz: the token was recorded with another %s: check %04x, this "
	    "one (source sha256 %.12s) has %04x; %s\n",
	    driver, token->check, build_cache_sha256(build_cache), check,
	    from ? "its manifest or topaz itself is another"
		 : "a folder of findings has the objects: --from DIR");
	return CMD_DIVERGED;
}

/* -TZ_EUSAGE: DEVIATION names a CPU that a guest with CPUS CPUs does not have. */
static int
check_deviation(
    const struct deviation *deviation, unsigned cpus, struct tz_error *err)
{
	const struct schedule one = { 1, { *deviation } };
	uint64_t cpu = deviation->cpu;
	char text[64];

	if (cpu < cpus &&
	    deviation_info(deviation->kind)->usual == DEVIATION_EACH_CPU)
		cpu = deviation->param;
	if (cpu < cpus)
		return 0;
	(void)schedule_format(&one, text, sizeof(text));
	return tz_error(err, TZ_EUSAGE,
	    "deviation '%s': there is no CPU %" PRIu64 ", the run has %u", text,
	    cpu, cpus);
}

/*
 * Checks that the token's scenario, operations, layout and CPUs exist.  check_token()
 * compares the driver later.
 */
static int
check_subject(struct build_cache *build_cache, const struct token *token,
    struct tz_error *err)
{
	struct campaign_entry entry;
	struct layout layout;
	int error = campaign_entry_read(
	    build_cache_manifest(build_cache), token, &entry, err);

	if (error == 0)
		error = layout_parse(entry.layout, &layout, err);
	if (error == 0 && (entry.cpus < 1 || entry.cpus > MACHINE_CPUS_MAX))
		error = tz_error(err, TZ_EUSAGE, "%u CPUs: 1 to %d", entry.cpus,
		    MACHINE_CPUS_MAX);
	for (unsigned i = 0; error == 0 && i < token->schedule.count; i++)
		error = check_deviation(
		    &token->schedule.deviation[i], entry.cpus, err);
	return error;
}

static const struct argp_child children[] = { { &driver_argp, 0, NULL, 0 },
	{ &linux_argp, 0, LINUX_OPTIONS_HELP, 1 }, { NULL, 0, NULL, 0 } };

const struct argp cmd_replay_argp = { options, parse_one, "TOKEN|@FILE",
	"Runs the one schedule that TOKEN names and prints what fails "
	"in it.",
	children, NULL, NULL };

int
cmd_replay(int argc, char **argv)
{
	struct replay_input input = { .times = 1 };
	struct build_cache *build_cache = NULL;
	struct build_cache_config config;
	struct token token;
	struct tz_error err;
	char driver[64];
	int code;

	cmd_parse(&cmd_replay_argp, argc, argv, &input);
	if (token_parse(input.token, &token, &err) != 0)
		return cmd_fail(&err);
	if (strcmp(token.name, LINUX_DRIVER) == 0)
		return replay_linux(
		    &input.linux_guest, &token, input.times, input.log);
	if (find_driver(token.name, input.from.drivers, driver, &err) != 0)
		return cmd_fail(&err);
	config = (struct build_cache_config){ .driver = driver,
		.source = input.from.source,
		.tree = input.from.tree,
		.cc = input.from.cc,
		.cc_seconds = input.from.cc_seconds,
		.drivers = input.from.drivers,
		.profile = token.profile,
		.objects = input.objects,
		.verbose = input.from.verbose };
	if (build_cache_open(&config, &build_cache, &err) != 0)
		return cmd_fail(&err);
	if (check_subject(build_cache, &token, &err) != 0)
		code = cmd_fail(&err);
	else
		code = check_token(
		    build_cache, &token, driver, input.objects != NULL, &err);
	if (code == CMD_OK)
		code = replay(&input, build_cache, &token, &err);
	build_cache_close(build_cache);
	return code;
}
