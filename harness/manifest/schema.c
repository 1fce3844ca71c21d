#define _GNU_SOURCE
#include "harness/manifest/schema.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cyaml/cyaml.h>

#include "harness/host/input.h"
#include "harness/manifest/manifest.h"
#include "harness/manifest/names.h"
#include "harness/manifest/yaml_position.h"

/* Members by name and type. */
#define TEXT(key, type, flags) \
 CYAML_FIELD_STRING_PTR(       \
     #key, (flags) | CYAML_FLAG_POINTER, struct type, key, 0, SCHEMA_TEXT_MAX)
#define NUMBER(key, type, flags) CYAML_FIELD_UINT(#key, flags, struct type, key)
#define FLAG(key, type)                                                       \
 CYAML_FIELD_ENUM(#key, CYAML_FLAG_STRICT | CYAML_FLAG_OPTIONAL, struct type, \
     key, booleans, TZ_ARRAY_LEN(booleans))
#define LIST(key, type, flags, entry, low, high) \
 CYAML_FIELD_SEQUENCE(                           \
     #key, (flags) | CYAML_FLAG_POINTER, struct type, key, entry, low, high)

static const cyaml_strval_t booleans[] = { { "false", 0 }, { "true", 1 } };
static const cyaml_strval_t cpu_masks[] = {
	{ "all", SCHEMA_CPUS_ALL },
	{ "absent", SCHEMA_CPUS_ABSENT },
	{ "count", SCHEMA_CPUS_COUNT },
};

static const cyaml_strval_t answer_sources[] = {
	{ "value", SCHEMA_IS_VALUE },
	{ "cpus", SCHEMA_IS_CPUS },
	{ "given", SCHEMA_IS_GIVEN },
	{ "status", SCHEMA_IS_STATUS },
	{ "written", SCHEMA_IS_WRITTEN },
};

static const cyaml_strval_t call_classes[] = {
	{ "assertion", CALL_ASSERTION },
	{ "message", CALL_MESSAGE },
	{ "lock", CALL_LOCK },
	{ "sync", CALL_SYNC },
	{ "pause", CALL_PAUSE },
};

static const cyaml_schema_value_t text_entry = { CYAML_VALUE_STRING(
    CYAML_FLAG_POINTER, char *, 0, SCHEMA_TEXT_MAX) };
static const cyaml_schema_value_t number_entry = { CYAML_VALUE_UINT(
    CYAML_FLAG_DEFAULT, uint32_t) };

/* The members of a value that is the member PREFIX of a structure. */
#define VALUE_MEMBERS(type, prefix)                                           \
 CYAML_FIELD_UINT_PTR("value", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,      \
     struct type, prefix value),                                              \
     CYAML_FIELD_STRING_PTR("slot", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, \
	 struct type, prefix slot, 1, SCHEMA_TEXT_MAX),                       \
     CYAML_FIELD_STRING_PTR("data", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, \
	 struct type, prefix data, 1, SCHEMA_TEXT_MAX),                       \
     CYAML_FIELD_STRING_PTR("text", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, \
	 struct type, prefix text, 0, SCHEMA_TEXT_MAX),                       \
     CYAML_FIELD_ENUM("cpus", CYAML_FLAG_STRICT | CYAML_FLAG_OPTIONAL,        \
	 struct type, prefix cpus, cpu_masks, TZ_ARRAY_LEN(cpu_masks)),       \
     CYAML_FIELD_ENUM("instance", CYAML_FLAG_STRICT | CYAML_FLAG_OPTIONAL,    \
	 struct type, prefix instance, booleans, TZ_ARRAY_LEN(booleans))

static const cyaml_schema_field_t variant_fields[] = {
	VALUE_MEMBERS(schema_value, ),
	FLAG(invalid, schema_value),
	NUMBER(error, schema_value, CYAML_FLAG_OPTIONAL),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t variant_entry = { CYAML_VALUE_MAPPING(
    CYAML_FLAG_DEFAULT, struct schema_value, variant_fields) };

static const cyaml_schema_field_t arg_fields[] = {
	TEXT(name, schema_place, CYAML_FLAG_OPTIONAL),
	VALUE_MEMBERS(schema_place, is.),
	LIST(variants, schema_place, CYAML_FLAG_OPTIONAL, &variant_entry, 0,
	    SCHEMA_VARIANTS_MAX),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t arg_entry = { CYAML_VALUE_MAPPING(
    CYAML_FLAG_DEFAULT, struct schema_place, arg_fields) };

static const cyaml_schema_field_t field_fields[] = {
	TEXT(name, schema_place, CYAML_FLAG_DEFAULT),
	NUMBER(at, schema_place, CYAML_FLAG_DEFAULT),
	NUMBER(bytes, schema_place, CYAML_FLAG_DEFAULT),
	VALUE_MEMBERS(schema_place, is.),
	LIST(variants, schema_place, CYAML_FLAG_OPTIONAL, &variant_entry, 0,
	    SCHEMA_VARIANTS_MAX),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t field_entry = { CYAML_VALUE_MAPPING(
    CYAML_FLAG_DEFAULT, struct schema_place, field_fields) };

static const cyaml_schema_field_t block_fields[] = {
	TEXT(name, schema_block, CYAML_FLAG_DEFAULT),
	NUMBER(bytes, schema_block, CYAML_FLAG_DEFAULT),
	LIST(fields, schema_block, CYAML_FLAG_OPTIONAL, &field_entry, 0,
	    SCHEMA_FIELDS_MAX),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t block_entry = { CYAML_VALUE_MAPPING(
    CYAML_FLAG_DEFAULT, struct schema_block, block_fields) };

static const cyaml_schema_field_t at_fields[] = {
	TEXT(page, schema_at, CYAML_FLAG_OPTIONAL),
	TEXT(offset, schema_at, CYAML_FLAG_OPTIONAL),
	CYAML_FIELD_UINT_PTR("mapped", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
	    struct schema_at, mapped),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t answer_fields[] = {
	TEXT(name, schema_answer, CYAML_FLAG_DEFAULT),
	NUMBER(at, schema_answer, CYAML_FLAG_DEFAULT),
	NUMBER(bytes, schema_answer, CYAML_FLAG_DEFAULT),
	CYAML_FIELD_ENUM("is", CYAML_FLAG_STRICT, struct schema_answer, is,
	    answer_sources, TZ_ARRAY_LEN(answer_sources)),
	NUMBER(value, schema_answer, CYAML_FLAG_OPTIONAL),
	TEXT(of, schema_answer, CYAML_FLAG_OPTIONAL),
	NUMBER(per, schema_answer, CYAML_FLAG_OPTIONAL),
	CYAML_FIELD_UINT_PTR("mask", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
	    struct schema_answer, mask),
	CYAML_FIELD_UINT_PTR("bits", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
	    struct schema_answer, bits),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t answer_entry = { CYAML_VALUE_MAPPING(
    CYAML_FLAG_DEFAULT, struct schema_answer, answer_fields) };

static const cyaml_schema_field_t operation_fields[] = {
	TEXT(name, schema_operation, CYAML_FLAG_DEFAULT),
	TEXT(title, schema_operation, CYAML_FLAG_OPTIONAL),
	TEXT(call, schema_operation, CYAML_FLAG_DEFAULT),
	TEXT(result, schema_operation, CYAML_FLAG_OPTIONAL),
	TEXT(period, schema_operation, CYAML_FLAG_OPTIONAL),
	LIST(args, schema_operation, CYAML_FLAG_OPTIONAL, &arg_entry, 0,
	    SCRIPT_ARGS),
	LIST(needs, schema_operation, CYAML_FLAG_OPTIONAL, &text_entry, 0,
	    SCHEMA_STATES_MAX),
	LIST(gives, schema_operation, CYAML_FLAG_OPTIONAL, &text_entry, 0,
	    SCHEMA_STATES_MAX),
	LIST(takes, schema_operation, CYAML_FLAG_OPTIONAL, &text_entry, 0,
	    SCHEMA_STATES_MAX),
	LIST(may_take, schema_operation, CYAML_FLAG_OPTIONAL, &text_entry, 0,
	    SCHEMA_STATES_MAX),
	LIST(guards, schema_operation, CYAML_FLAG_OPTIONAL, &text_entry, 0,
	    SCHEMA_STATES_MAX),
	LIST(excludes, schema_operation, CYAML_FLAG_OPTIONAL, &text_entry, 0,
	    SCHEMA_STATES_MAX),
	LIST(answers, schema_operation, CYAML_FLAG_OPTIONAL, &answer_entry, 0,
	    SCHEMA_ANSWERS_MAX),
	LIST(actors, schema_operation, CYAML_FLAG_OPTIONAL, &number_entry, 1,
	    SCRIPT_ACTORS),
	CYAML_FIELD_MAPPING_PTR("position",
	    CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct schema_operation,
	    position, at_fields),
	FLAG(instances, schema_operation),
	FLAG(strict, schema_operation),
	FLAG(ends, schema_operation),
	FLAG(configures, schema_operation),
	FLAG(accumulates, schema_operation),
	FLAG(starts, schema_operation),
	FLAG(stops, schema_operation),
	FLAG(unloads, schema_operation),
	FLAG(rereads, schema_operation),
	FLAG(collects, schema_operation),
	FLAG(rare, schema_operation),
	FLAG(refuses, schema_operation),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t operation_entry = { CYAML_VALUE_MAPPING(
    CYAML_FLAG_DEFAULT, struct schema_operation, operation_fields) };

static const cyaml_schema_field_t scenario_fields[] = {
	TEXT(name, schema_scenario, CYAML_FLAG_DEFAULT),
	TEXT(title, schema_scenario, CYAML_FLAG_DEFAULT),
	NUMBER(cpus, schema_scenario, CYAML_FLAG_DEFAULT),
	TEXT(settings, schema_scenario, CYAML_FLAG_OPTIONAL),
	TEXT(steps, schema_scenario, CYAML_FLAG_DEFAULT),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t scenario_entry = { CYAML_VALUE_MAPPING(
    CYAML_FLAG_DEFAULT, struct schema_scenario, scenario_fields) };

static const cyaml_schema_field_t condition_fields[] = {
	TEXT(field, schema_condition, CYAML_FLAG_DEFAULT),
	NUMBER(mask, schema_condition, CYAML_FLAG_DEFAULT),
	NUMBER(equals, schema_condition, CYAML_FLAG_DEFAULT),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t msr_fields[] = {
	NUMBER(msr, schema_msr, CYAML_FLAG_DEFAULT),
	NUMBER(mask, schema_msr, CYAML_FLAG_DEFAULT),
	NUMBER(shift, schema_msr, CYAML_FLAG_OPTIONAL),
	NUMBER(add, schema_msr, CYAML_FLAG_OPTIONAL),
	LIST(fields, schema_msr, CYAML_FLAG_OPTIONAL, &text_entry, 0, 4),
	CYAML_FIELD_MAPPING_PTR("when",
	    CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct schema_msr, when,
	    condition_fields),
	CYAML_FIELD_MAPPING_PTR("unless",
	    CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct schema_msr, unless,
	    condition_fields),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t msr_entry = { CYAML_VALUE_MAPPING(
    CYAML_FLAG_DEFAULT, struct schema_msr, msr_fields) };

static const cyaml_schema_field_t errors_fields[] = {
	LIST(states, schema_errors, CYAML_FLAG_OPTIONAL, &text_entry, 0,
	    SCHEMA_STATES_MAX),
	NUMBER(guarded, schema_errors, CYAML_FLAG_OPTIONAL),
	NUMBER(invalid, schema_errors, CYAML_FLAG_OPTIONAL),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t left_fields[] = {
	TEXT(name, schema_left, CYAML_FLAG_DEFAULT),
	NUMBER(msr, schema_left, CYAML_FLAG_DEFAULT),
	CYAML_FIELD_UINT_PTR("mask", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
	    struct schema_left, mask),
	NUMBER(value, schema_left, CYAML_FLAG_OPTIONAL),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t left_entry = { CYAML_VALUE_MAPPING(
    CYAML_FLAG_DEFAULT, struct schema_left, left_fields) };

static const cyaml_schema_field_t call_fields[] = {
	TEXT(name, schema_call, CYAML_FLAG_DEFAULT),
	CYAML_FIELD_ENUM("is", CYAML_FLAG_STRICT, struct schema_call, is,
	    call_classes, TZ_ARRAY_LEN(call_classes)),
	TEXT(ends, schema_call, CYAML_FLAG_OPTIONAL),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t call_entry = { CYAML_VALUE_MAPPING(
    CYAML_FLAG_DEFAULT, struct schema_call, call_fields) };

static const cyaml_schema_field_t default_fields[] = {
	TEXT(key, schema_default, CYAML_FLAG_DEFAULT),
	TEXT(value, schema_default, CYAML_FLAG_DEFAULT),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t default_entry = { CYAML_VALUE_MAPPING(
    CYAML_FLAG_DEFAULT, struct schema_default, default_fields) };

static const cyaml_schema_field_t word_fields[] = {
	TEXT(word, schema_word, CYAML_FLAG_DEFAULT),
	TEXT(field, schema_word, CYAML_FLAG_DEFAULT),
	CYAML_FIELD_UINT_PTR("mask", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
	    struct schema_word, mask),
	NUMBER(shift, schema_word, CYAML_FLAG_OPTIONAL),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t word_entry = { CYAML_VALUE_MAPPING(
    CYAML_FLAG_DEFAULT, struct schema_word, word_fields) };

static const cyaml_schema_field_t run_fields[] = {
	TEXT(configure, schema_run, CYAML_FLAG_DEFAULT),
	LIST(words, schema_run, CYAML_FLAG_OPTIONAL, &word_entry, 0,
	    SCHEMA_WORDS_MAX),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t top_fields[] = {
	TEXT(name, schema, CYAML_FLAG_DEFAULT),
	TEXT(like, schema, CYAML_FLAG_OPTIONAL),
	TEXT(title, schema, CYAML_FLAG_OPTIONAL),
	TEXT(os, schema, CYAML_FLAG_OPTIONAL),
	TEXT(module, schema, CYAML_FLAG_OPTIONAL),
	TEXT(tree_source, schema, CYAML_FLAG_OPTIONAL),
	TEXT(owner, schema, CYAML_FLAG_OPTIONAL),
	TEXT(actor, schema, CYAML_FLAG_OPTIONAL),
	TEXT(settings, schema, CYAML_FLAG_OPTIONAL),
	TEXT(profile, schema, CYAML_FLAG_OPTIONAL),
	LIST(sources, schema, CYAML_FLAG_OPTIONAL, &text_entry, 1,
	    SCHEMA_SOURCES_MAX),
	LIST(parts, schema, CYAML_FLAG_OPTIONAL, &text_entry, 1,
	    SCHEMA_PARTS_MAX),
	LIST(include, schema, CYAML_FLAG_OPTIONAL, &text_entry, 0,
	    SCHEMA_INCLUDE_MAX),
	LIST(defines, schema, CYAML_FLAG_OPTIONAL, &text_entry, 0,
	    SCHEMA_DEFINES_MAX),
	LIST(cflags, schema, CYAML_FLAG_OPTIONAL, &text_entry, 0,
	    SCHEMA_CFLAGS_MAX),
	LIST(modes, schema, CYAML_FLAG_OPTIONAL, &text_entry, 0, 2),
	FLAG(hybrid, schema),
	FLAG(no_trace, schema),
	FLAG(atomic, schema),
	NUMBER(exit_code, schema, CYAML_FLAG_OPTIONAL),
	LIST(instances, schema, CYAML_FLAG_OPTIONAL, &text_entry, 1,
	    SCHEMA_INSTANCES_MAX),
	LIST(initial, schema, CYAML_FLAG_OPTIONAL, &text_entry, 0,
	    SCHEMA_STATES_MAX),
	LIST(traced, schema, CYAML_FLAG_OPTIONAL, &text_entry, 0,
	    SCHEMA_STATES_MAX),
	LIST(prefixes, schema, CYAML_FLAG_OPTIONAL, &text_entry, 0,
	    SCHEMA_PREFIXES_MAX),
	LIST(lives, schema, CYAML_FLAG_OPTIONAL, &text_entry, 0,
	    SCHEMA_LIVES_MAX),
	LIST(accepts, schema, CYAML_FLAG_OPTIONAL, &text_entry, 0,
	    SCHEMA_ACCEPTS_MAX),
	LIST(refuses, schema, CYAML_FLAG_OPTIONAL, &text_entry, 0,
	    SCHEMA_ACCEPTS_MAX),
	LIST(without, schema, CYAML_FLAG_OPTIONAL, &text_entry, 0,
	    SCHEMA_WITHOUT_MAX),
	LIST(stores_to, schema, CYAML_FLAG_OPTIONAL, &text_entry, 0,
	    CHECK_STORES_TO_MAX),
	LIST(words, schema, CYAML_FLAG_OPTIONAL, &text_entry, 0,
	    SCHEMA_WORDS_MAX),
	LIST(defaults, schema, CYAML_FLAG_OPTIONAL, &default_entry, 0,
	    SCHEMA_DEFAULTS_MAX),
	CYAML_FIELD_MAPPING_PTR("run", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
	    struct schema, run, run_fields),
	LIST(data, schema, CYAML_FLAG_OPTIONAL, &block_entry, 0,
	    SCHEMA_BLOCKS_MAX),
	LIST(operations, schema, CYAML_FLAG_OPTIONAL, &operation_entry, 0,
	    SCHEMA_OPERATIONS_MAX),
	LIST(scenarios, schema, CYAML_FLAG_OPTIONAL, &scenario_entry, 0,
	    SCHEMA_SCENARIOS_MAX),
	LIST(msrs, schema, CYAML_FLAG_OPTIONAL, &msr_entry, 0, SCHEMA_MSRS_MAX),
	CYAML_FIELD_MAPPING_PTR("errors",
	    CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct schema, errors,
	    errors_fields),
	LIST(leaves, schema, CYAML_FLAG_OPTIONAL, &left_entry, 0,
	    CHECK_EXPECT_MAX),
	LIST(calls, schema, CYAML_FLAG_OPTIONAL, &call_entry, 0,
	    SCHEMA_CALLS_MAX),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t top = { CYAML_VALUE_MAPPING(
    CYAML_FLAG_POINTER, struct schema, top_fields) };

/* The library's log: its first message and the first position. */
struct report {
	char text[256];
	struct position at;
};

static void report_line(cyaml_log_t level, void *context, const char *fmt,
    va_list args) __attribute__((format(printf, 3, 0)));
static void
report_line(cyaml_log_t level, void *context, const char *fmt, va_list args)
{
	struct report *report = context;
	const char *place;
	char line[256];

	if (level < CYAML_LOG_ERROR)
		return;
	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = '\0';
	place = strstr(line, "(line: ");
	if (strncmp(line, "Load: Backtrace:", 16) == 0)
		return;
	if (report->text[0] == '\0' && place == NULL)
		snprintf(report->text, sizeof(report->text), "%s",
		    strncmp(line, "Load: ", 6) == 0 ? line + 6 : line);
	else if (place != NULL && report->at.line == 0)
		sscanf(place, "(line: %u, column: %u)", &report->at.line,
		    &report->at.column);
}

static const cyaml_config_t *
configuration(struct report *report, cyaml_config_t *config)
{
	*config = (cyaml_config_t){
		.log_fn = report_line,
		.log_ctx = report,
		.mem_fn = cyaml_mem,
		.log_level = CYAML_LOG_ERROR,
		.flags = CYAML_CFG_NO_ALIAS,
	};
	return config;
}

/* Messages of the library, and the text before and after the name in topaz's message. */
static const struct {
	const char *said, *before, *after;
} phrases[] = {
	{ "Unexpected key: ", "unexpected key \"", "\"" },
	{ "Missing required mapping field: ", "the key \"", "\" is missing" },
	{ "Mapping field already seen: ", "the key \"", "\" is there twice" },
	{ "Invalid uint64_t value: ", "not a number: ", "" },
	{ "Invalid uint32_t value: ", "not a number: ", "" },
	{ "Invalid ENUM value: ", "not one of the words that it may be: ", "" },
	{ "libyaml: ", "", "" },
	{ "Expecting STRING, got event: SEQUENCE_START",
	    "a text is wanted, this is a list", "" },
	{ "Expecting STRING, got event: MAPPING_START",
	    "a text is wanted, these are keys and values", "" },
	{ "Expecting SEQUENCE, got event: SCALAR",
	    "a list is wanted, this is a text", "" },
	{ "Expecting SEQUENCE, got event: MAPPING_START",
	    "a list is wanted, these are keys and values", "" },
	{ "Expecting MAPPING, got event: SCALAR",
	    "keys and values are wanted, this is a text", "" },
	{ "Expecting MAPPING, got event: SEQUENCE_START",
	    "keys and values are wanted, this is a list", "" },
};

static int
complain(const char *path, const char *text, size_t text_bytes,
    const struct report *report, const char *fallback, struct tz_error *err)
{
	const char *said = report->text[0] != '\0' ? report->text : fallback;
	const char *before = "", *after = "";
	struct position at = report->at;
	char counted[48] = "";
	unsigned entries;
	size_t i;

	for (i = 0; i < TZ_ARRAY_LEN(phrases); i++) {
		size_t bytes = strlen(phrases[i].said);

		if (strncmp(said, phrases[i].said, bytes) != 0)
			continue;
		said += bytes;
		before = phrases[i].before;
		after = phrases[i].after;
		/* For an unexpected key, the library gives the value before it. */
		if (i == 0)
			at = position_key(text, text_bytes, said, at);
		if (strncmp(report->text, "libyaml: ", 9) == 0)
			at = position_problem(text, text_bytes);
		break;
	}
	if (sscanf(said, "Excessive entries (%u max)", &entries) == 1)
		snprintf(
		    counted, sizeof(counted), "more than %u entries", entries);
	if (sscanf(said, "Insufficient entries (%u min)", &entries) == 1 ||
	    sscanf(said, "Insufficient entries: %u", &entries) == 1)
		snprintf(counted, sizeof(counted), "too few entries");
	if (counted[0] != '\0')
		said = counted;
	if (at.line == 0)
		at = (struct position){ 1, 1 };
	return tz_error(err, TZ_EFORMAT, "%s:%u:%u: %s%s%s", path, at.line,
	    at.column, before, said, after);
}

char *
schema_text(const char *path, size_t *text_bytes, struct tz_error *err)
{
	uint8_t *text;

	(void)input_read(path, INPUT_DRIVER, &text, text_bytes, err);
	return (char *)text;
}

static int
parse(const char *path, const char *text, size_t text_bytes,
    struct schema **schema, struct tz_error *err)
{
	struct report report = { .text = "" };
	cyaml_config_t config;
	cyaml_err_t error;

	*schema = NULL;
	error = cyaml_load_data((const uint8_t *)text, text_bytes,
	    configuration(&report, &config), &top, (cyaml_data_t **)schema,
	    NULL);
	if (error == CYAML_OK && *schema == NULL)
		return tz_error(
		    err, TZ_EFORMAT, "%s:1:1: there is nothing in it", path);
	if (error == CYAML_OK)
		return 0;
	return complain(
	    path, text, text_bytes, &report, cyaml_strerror(error), err);
}

/* -TZ_EFORMAT at KEY, which is wrong because of WHY. */
static int
refuse(const char *path, const char *text, size_t text_bytes, const char *key,
    const char *why, struct tz_error *err)
{
	struct position at = position_find(text, text_bytes, key);

	return tz_error(
	    err, TZ_EFORMAT, "%s:%u:%u: %.300s", path, at.line, at.column, why);
}

#define ADOPT(member)             \
 do {                             \
  if (schema->member == NULL) {   \
   schema->member = base->member; \
   base->member = NULL;           \
  }                               \
 } while (0)
#define ADOPT_LIST(member)                        \
 do {                                             \
  if (schema->member == NULL) {                   \
   schema->member##_count = base->member##_count; \
   base->member##_count = 0;                      \
   ADOPT(member);                                 \
  }                                               \
 } while (0)

/* The names of scenarios are unique across drivers. */
static int
adopt_scenarios(struct schema *schema, struct schema *base)
{
	bool own = schema->scenarios != NULL;

	ADOPT_LIST(scenarios);
	for (uint32_t i = 0; !own && i < schema->scenarios_count; i++) {
		char **name = &schema->scenarios[i].name, *longer;

		if (asprintf(&longer, "%s-%s", schema->name, *name) < 0)
			return -TZ_EIO;
		free(*name);
		*name = longer;
	}
	return 0;
}

/* What SCHEMA does not say, but name, title and what is built, is moved from BASE. */
static int
adopt(struct schema *schema, struct schema *base)
{
	ADOPT(os);
	ADOPT(module);
	ADOPT(tree_source);
	ADOPT(owner);
	ADOPT(actor);
	ADOPT(settings);
	ADOPT(profile);
	ADOPT(run);
	ADOPT(errors);
	ADOPT_LIST(modes);
	ADOPT_LIST(instances);
	ADOPT_LIST(initial);
	ADOPT_LIST(traced);
	ADOPT_LIST(prefixes);
	ADOPT_LIST(without);
	ADOPT_LIST(stores_to);
	ADOPT_LIST(lives);
	ADOPT_LIST(words);
	ADOPT_LIST(accepts);
	ADOPT_LIST(refuses);
	ADOPT_LIST(defaults);
	ADOPT_LIST(data);
	ADOPT_LIST(operations);
	ADOPT_LIST(msrs);
	ADOPT_LIST(leaves);
	ADOPT_LIST(calls);
	schema->hybrid |= base->hybrid;
	schema->no_trace |= base->no_trace;
	schema->atomic |= base->atomic;
	if (schema->exit_code == 0)
		schema->exit_code = base->exit_code;
	return adopt_scenarios(schema, base);
}

/* The keys that are required of it or of the one that it is like. */
static int
check_required(
    const struct schema *schema, const char *path, struct tz_error *err)
{
	const char *missing = NULL;

	if (schema->owner == NULL)
		missing = "owner";
	if (schema->os == NULL)
		missing = "os";
	if (missing == NULL)
		return 0;
	return tz_error(err, TZ_EFORMAT, "%s:1:1: the key \"%s\" is missing",
	    path, missing);
}

/* A manifest that is like no other. */
static int
load_alone(const char *path, const char *text, size_t text_bytes,
    struct schema **schema, struct tz_error *err)
{
	int error = parse(path, text, text_bytes, schema, err);

	if (error != 0)
		return error;
	if ((*schema)->like != NULL)
		error = refuse(path, text, text_bytes, "like",
		    "another driver is like this one, which then has no such key",
		    err);
	if (error == 0)
		error = names_check(*schema, path, text, text_bytes, err);
	if (error == 0)
		error = check_required(*schema, path, err);
	if (error != 0)
		schema_free(*schema);
	return error;
}

/* The manifest NAME beside PATH, which is DIR/X/driver.yaml. */
static int
read_base(const char *path, const char *name, struct schema **base,
    struct tz_error *err)
{
	const char *end = strrchr(path, '/');
	size_t text_bytes;
	char *file, *text;
	int dir, error;

	for (dir = (int)(end - path); dir > 0 && path[dir - 1] != '/'; dir--)
		continue;
	if (asprintf(&file, "%.*s%s/driver.yaml", dir, path, name) < 0)
		return tz_error(err, TZ_EIO, "%s: out of memory", path);
	text = schema_text(file, &text_bytes, err);
	error = text == NULL ? -TZ_EIO
			     : load_alone(file, text, text_bytes, base, err);
	free(text);
	free(file);
	return error;
}

static int
follow(struct schema *schema, const char *path, const char *text,
    size_t text_bytes, struct tz_error *err)
{
	struct schema *base;
	int error;

	if (strchr(path, '/') == NULL ||
	    strcmp(schema->like, schema->name) == 0)
		return refuse(path, text, text_bytes, "like",
		    "not the name of another driver's folder beside this one",
		    err);
	error = read_base(path, schema->like, &base, err);
	if (error != 0)
		return error;
	if (adopt(schema, base) != 0)
		error = tz_error(err, TZ_EIO, "%s: out of memory", path);
	schema_free(base);
	return error;
}

int
schema_load(const char *path, const char *text, size_t text_bytes,
    struct schema **schema, struct tz_error *err)
{
	int error = parse(path, text, text_bytes, schema, err);

	if (error != 0)
		return error;
	error = names_check(*schema, path, text, text_bytes, err);
	if (error == 0 && (*schema)->like != NULL)
		error = follow(*schema, path, text, text_bytes, err);
	if (error == 0)
		error = check_required(*schema, path, err);
	if (error != 0) {
		schema_free(*schema);
		*schema = NULL;
	}
	return error;
}

void
schema_free(struct schema *schema)
{
	struct report report = { .text = "" };
	cyaml_config_t config;

	cyaml_free(configuration(&report, &config), &top, schema, 0);
}
