/*
 * topaz list: the names that the other commands accept.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "emu/base/deviation.h"
#include "emu/base/event.h"
#include "emu/profile/profile.h"
#include "harness/check/check.h"
#include "harness/cmd/cmd.h"
#include "harness/drivers.h"
#include "harness/explore/runner/layout.h"
#include "harness/explore/search/faults.h"
#include "harness/load/paths.h"
#include "harness/manifest/manifest.h"
#include "harness/manifest/words.h"
#include "harness/mutate/mutant.h"

#define WORKLOAD_PREFIX "w_" /* of a workload's program */

/* Appends {"name", "text"} of each item to ROWS. */
typedef int (*list_rows)(
    const struct paths *paths, json_t *rows, struct tz_error *err);

static void
add_row(json_t *rows, const char *name, const char *text)
{
	json_array_append_new(
	    rows, json_pack("{s:s, s:s}", "name", name, "text", text));
}

/* The drivers whose manifests are valid; the error is that of the first invalid one. */
static int
list_drivers(const struct paths *paths, json_t *rows, struct tz_error *err)
{
	struct driver driver;
	size_t count, i;
	char **names;
	int error = driver_names(paths->drivers, &names, &count, err);

	if (error != 0)
		return error;
	for (i = 0; i < count; i++) {
		int wrong = driver_read(
		    paths->drivers, names[i], &driver, error == 0 ? err : NULL);

		if (wrong == 0)
			add_row(rows, driver.name, driver.title);
		else if (error == 0)
			error = wrong;
		driver_free(&driver);
		free(names[i]);
	}
	free(names);
	return error;
}

/* The scenarios of one driver.  Returns 0, or the error of its manifest. */
static int
list_scenarios_of(const struct paths *paths, const char *driver, json_t *rows,
    struct tz_error *err)
{
	const struct manifest_scenario *scenario;
	struct manifest *manifest;
	size_t i;
	int error = manifest_read(paths->drivers, driver, &manifest, err);

	if (error != 0)
		return error;
	for (i = 0; i < manifest_scenario_count(manifest); i++) {
		scenario = manifest_scenario_at(manifest, i);
		json_array_append_new(rows,
		    json_pack("{s:s, s:s, s:s, s:i, s:s}", "name",
			scenario->name, "text", scenario->title, "driver",
			driver, "cpus", (int)scenario->cpus, "steps",
			scenario->steps));
	}
	manifest_free(manifest);
	return 0;
}

static int
list_scenarios(const struct paths *paths, json_t *rows, struct tz_error *err)
{
	size_t count, i;
	char **names;
	int error = driver_names(paths->drivers, &names, &count, err);

	if (error != 0)
		return error;
	for (i = 0; i < count; i++) {
		int wrong = list_scenarios_of(
		    paths, names[i], rows, error == 0 ? err : NULL);

		if (error == 0)
			error = wrong;
		free(names[i]);
	}
	free(names);
	return error;
}

/* A text with the PT features of a profile and its errata. */
static void
describe_profile(const struct profile *profile, char *text, size_t bytes)
{
	static const struct {
		uint32_t ebx, ecx;
		const char *text;
	} parts[] = {
		{ 0, PROFILE_PT_ECX_MENTRY, "ToPA" },
		{ 0, PROFILE_PT_ECX_SINGLE, "single range" },
		{ 0, PROFILE_PT_ECX_LIP, "LIP" },
		{ PROFILE_PT_EBX_PSB, 0, "CYC" },
		{ PROFILE_PT_EBX_MTC, 0, "MTC" },
		{ PROFILE_PT_EBX_PTWRITE, 0, "PTWRITE" },
		{ PROFILE_PT_EBX_PWR, 0, "power events" },
		{ PROFILE_PT_EBX_PRESERVE, 0, "PSB and PMI preservation" },
		{ PROFILE_PT_EBX_EVENT, 0, "event trace" },
		{ PROFILE_PT_EBX_DISTNT, 0, "TNT disable" },
	};
	size_t used;

	if (!profile->pt) {
		snprintf(text, bytes, "%s; no Intel PT", profile->title);
		return;
	}
	used = (size_t)snprintf(text, bytes, "%s; 14H %x-%x, %x-%x; %s",
	    profile->title, profile->pt_ebx, profile->pt_ecx, profile->pt1_eax,
	    profile->pt1_ebx,
	    profile->pt_ecx & PROFILE_PT_ECX_MENTRY
		? "ranges "
		: "one-entry ToPA, ranges ");

	used += (size_t)snprintf(
	    text + used, bytes - used, "%u", profile->pt1_eax & 7);
	for (size_t i = 0; i < TZ_ARRAY_LEN(parts); i++)
		if ((profile->pt_ebx & parts[i].ebx) != 0 ||
		    (profile->pt_ecx & parts[i].ecx) != 0)
			used += (size_t)snprintf(
			    text + used, bytes - used, ", %s", parts[i].text);
	used += (size_t)snprintf(text + used, bytes - used, "; errata");
	for (enum profile_erratum n = 0; n < PROFILE_ERRATUM_COUNT; n++)
		if (profile->errata >> n & 1)
			used += (size_t)snprintf(text + used, bytes - used,
			    " %s", profile_erratum_name(n));
	TZ_ASSERT(used < bytes);
}

static int
list_profiles(const struct paths *paths, json_t *rows, struct tz_error *err)
{
	const struct profile *profile;
	char text[400];
	size_t i;

	(void)paths;
	(void)err;
	for (i = 0; (profile = profile_at(i)) != NULL; i++) {
		describe_profile(profile, text, sizeof(text));
		add_row(rows, profile->name, text);
	}
	return 0;
}

static int
list_workloads(const struct paths *paths, json_t *rows, struct tz_error *err)
{
	size_t prefix = strlen(WORKLOAD_PREFIX);
	size_t i;

	(void)err;
	for (i = 0; i < paths->program_count; i++) {
		const char *name = paths->program[i].name;

		if (strncmp(name, WORKLOAD_PREFIX, prefix) == 0)
			add_row(rows, name + prefix, "");
	}
	return 0;
}

static int
list_events(const struct paths *paths, json_t *rows, struct tz_error *err)
{
	unsigned kind;

	(void)paths;
	(void)err;
	for (kind = 0; kind < EVENT_KIND_COUNT; kind++)
		add_row(rows, event_info(kind)->name, event_info(kind)->text);
	return 0;
}

static int
list_deviations(const struct paths *paths, json_t *rows, struct tz_error *err)
{
	(void)paths;
	(void)err;
	for (unsigned i = 0; i < DEVIATION_COUNT; i++) {
		const struct deviation_info *kind = deviation_info(
		    (enum deviation_kind)i);

		json_array_append_new(rows,
		    json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", kind->word,
			"text", kind->text, "class",
			kind->class == DEVIATION_CLASS_FAULT ? "fault"
							     : "schedule",
			"parameter", kind->parameter, "citation",
			kind->citation));
	}
	return 0;
}

static int
list_faults(const struct paths *paths, json_t *rows, struct tz_error *err)
{
	struct fault_row row;

	(void)paths;
	(void)err;
	for (size_t i = 0; fault_at(i, &row); i++)
		json_array_append_new(rows,
		    json_pack("{s:s, s:s, s:s, s:s}", "name", row.name, "text",
			row.text, "point", row.point, "citation",
			row.citation));
	return 0;
}

static int
list_checks(const struct paths *paths, json_t *rows, struct tz_error *err)
{
	(void)paths;
	(void)err;
	for (unsigned i = 0; i < CHECK_COUNT; i++) {
		const struct check_info *check = check_info((enum check_id)i);

		json_array_append_new(rows,
		    json_pack("{s:s, s:s, s:s}", "name", check->name, "text",
			check->text, "citation", check->citation));
	}
	return 0;
}

static int
list_layouts(const struct paths *paths, json_t *rows, struct tz_error *err)
{
	const struct layout_word *word;

	(void)paths;
	(void)err;
	for (size_t i = 0; (word = layout_word_at(i)) != NULL; i++)
		add_row(rows, word->word, word->text);
	return 0;
}

static int
list_errata(const struct paths *paths, json_t *rows, struct tz_error *err)
{
	(void)paths;
	(void)err;
	for (enum profile_erratum n = 0; n < PROFILE_ERRATUM_COUNT; n++)
		add_row(rows, profile_erratum_name(n), profile_erratum_text(n));
	return 0;
}

static void
add_word(json_t *rows, const struct word *word)
{
	char text[160];

	snprintf(text, sizeof(text), "%-11s  %s", word->reader, word->text);
	json_array_append_new(rows,
	    json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", word->key, "text",
		text, "reader", word->reader, "kind",
		word->number ? "number" : "text", "default", word->preset));
}

/* The boot parameters by which `topaz run` changes the configuration of one driver. */
static int
list_run_words(const struct paths *paths, const char *name, json_t *rows,
    struct tz_error *err)
{
	const struct schema_run *run;
	struct driver driver;
	char text[120];
	int error = driver_read(paths->drivers, name, &driver, err);

	run = error == 0 ? driver.schema->run : NULL;
	for (uint32_t i = 0; run != NULL && i < run->words_count; i++) {
		snprintf(text, sizeof(text), "%s of the configuration (run)",
		    run->words[i].field);
		add_word(rows,
		    &(struct word){ .reader = name,
			.key = run->words[i].word,
			.preset = "",
			.text = text,
			.number = true });
	}
	driver_free(&driver);
	return error;
}

static int
list_words(const struct paths *paths, json_t *rows, struct tz_error *err)
{
	const struct word *word;
	size_t count, i;
	char **names;
	int error = driver_names(paths->drivers, &names, &count, err);

	if (error != 0)
		return error;
	for (i = 0; (word = word_at(i)) != NULL; i++)
		add_word(rows, word);
	for (i = 0; i < count; i++) {
		if (error == 0)
			error = list_run_words(paths, names[i], rows, err);
		free(names[i]);
	}
	free(names);
	return error;
}

static int
list_operators(const struct paths *paths, json_t *rows, struct tz_error *err)
{
	(void)paths;
	(void)err;
	for (unsigned i = 0; i < OPERATOR_COUNT; i++) {
		const struct operator_info *info = operator_info(
		    (enum mutant_operator)i);

		json_array_append_new(rows,
		    json_pack("{s:s, s:s, s:s}", "name", info->name, "text",
			info->text, "reason", info->reason));
	}
	return 0;
}

static const struct {
	const char *name, *old; /* .old: name in earlier versions, or NULL */
	list_rows rows;
	bool by_default;
} lists[] = {
	{ "drivers", NULL, list_drivers, true },
	{ "scenarios", NULL, list_scenarios, true },
	{ "profiles", NULL, list_profiles, true },
	{ "workloads", NULL, list_workloads, true },
	{ "events", NULL, list_events, false },
	{ "deviations", "acts", list_deviations, false },
	{ "faults", NULL, list_faults, false },
	{ "checks", NULL, list_checks, false },
	{ "layouts", NULL, list_layouts, false },
	{ "errata", NULL, list_errata, false },
	{ "words", NULL, list_words, false },
	{ "operators", NULL, list_operators, false },
};

static bool
is_list(const char *name, size_t index)
{
	return strcmp(name, lists[index].name) == 0 ||
	    (lists[index].old != NULL && strcmp(name, lists[index].old) == 0);
}

struct list_input {
	const char *what;    /* NULL: the default lists */
	const char *drivers; /* NULL: topaz's own */
	bool json, names;
};

enum { OPT_JSON = 256, OPT_NAMES, OPT_DRIVERS };

static const struct argp_option list_argp_options[] = {
	{ "json", OPT_JSON, NULL, 0, "Print the lists as JSON", 0 },
	{ "names", OPT_NAMES, NULL, 0,
	    "Print only names, one per line, as other commands accept them",
	    0 },
	{ "drivers", OPT_DRIVERS, "DIR", 0,
	    "List the drivers and scenarios of DIR: DIR/DRIVER/driver.yaml",
	    0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct list_input *input = state->input;

	switch (key) {
	case OPT_JSON:
		input->json = true;
		return 0;
	case OPT_NAMES:
		input->names = true;
		return 0;
	case OPT_DRIVERS:
		input->drivers = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (input->what != NULL)
			argp_error(state, "one list at a time: %s", arg);
		input->what = arg;
		return 0;
	case ARGP_KEY_END:
		if (input->json && input->names)
			argp_error(state, "--names: not with --json");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void
print_rows(const char *title, const json_t *rows)
{
	size_t i;

	printf("%s\n", title);
	for (i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		printf("  %-22s %s\n",
		    json_string_value(json_object_get(row, "name")),
		    json_string_value(json_object_get(row, "text")));
	}
}

/* Scenarios are printed as explore's argument: DRIVER/SCENARIO. */
static void
print_names(const json_t *rows)
{
	size_t i;

	for (i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const json_t *driver = json_object_get(row, "driver");

		printf("%s%s%s\n",
		    driver != NULL ? json_string_value(driver) : "",
		    driver != NULL ? "/" : "",
		    json_string_value(json_object_get(row, "name")));
	}
}

static int
list_all(const struct list_input *input, const struct paths *paths,
    json_t *result, struct tz_error *err)
{
	size_t i;
	int error = 0;

	for (i = 0; error == 0 && i < TZ_ARRAY_LEN(lists); i++) {
		json_t *rows;

		if (input->what == NULL ? !lists[i].by_default
					: !is_list(input->what, i))
			continue;
		rows = json_array();
		error = lists[i].rows(paths, rows, err);
		if (input->names)
			print_names(rows);
		else if (error == 0 && !input->json)
			print_rows(lists[i].name, rows);
		json_object_set_new(result, lists[i].name, rows);
	}
	return error;
}

const struct argp cmd_list_argp = { list_argp_options, parse_one,
	"[drivers|scenarios|profiles|workloads|events|deviations|faults|"
	"checks|layouts|errata|words]",
	"Lists the names that the other commands accept; without an "
	"argument the first four lists.",
	NULL, NULL, NULL };

int
cmd_list(int argc, char **argv)
{
	struct list_input input = { .what = NULL };
	json_t *result = json_object();
	struct paths paths;
	struct tz_error err;
	int error;

	cmd_parse(&cmd_list_argp, argc, argv, &input);
	error = paths_find(&paths, &err);
	if (error == 0 && input.drivers != NULL) {
		free(paths.drivers);
		paths.drivers = strdup(input.drivers);
		if (paths.drivers == NULL)
			error = tz_error(&err, TZ_EIO, "out of memory");
	}
	if (error == 0)
		error = list_all(&input, &paths, result, &err);
	paths_free(&paths);
	if (error != 0) {
		json_decref(result);
		return cmd_fail(&err);
	}
	if (json_object_size(result) == 0) {
		json_decref(result);
		fprintf(stderr, "topaz: %s: no such list\n", input.what);
		return CMD_NOTHING;
	}
	if (input.json)
		cmd_print_json(result);
	else
		json_decref(result);
	return CMD_OK;
}
