/*
 * Results as JSON lines.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/mutate/bench.h"
#include "harness/mutate/patch.h"

/* Bytes of a source that are not valid UTF-8 become '?'. */
static json_t *
text_of(const char *text)
{
	json_t *json = json_string(text);
	char *copy;

	if (json != NULL)
		return json;
	copy = strdup(text);
	if (copy == NULL)
		return NULL;
	for (char *c = copy; *c != '\0'; c++) {
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	}
	json = json_string(copy);
	free(copy);
	return json;
}

static void
set_text(json_t *json, const char *key, const char *text)
{
	if (text != NULL)
		json_object_set_new(json, key, text_of(text));
}

json_t *
record_baseline(const struct mutate_list *list,
    const struct mutate_baseline *baseline, const struct mutate_result *result)
{
	json_t *causes = json_array(), *covered = json_object();
	char text[MUTATE_ID_BYTES];

	for (size_t i = 0; i < baseline->cause_count; i++) {
		snprintf(text, sizeof(text), "%016" PRIx64, baseline->cause[i]);
		json_array_append_new(causes, json_string(text));
	}
	for (size_t i = 0; i < list->drawn_count; i++) {
		mutate_id(list, &list->mutants.at[list->drawn[i]], text);
		json_object_set_new(covered, text,
		    json_pack("[b, I, I]", result[i].has_code,
			(json_int_t)result[i].scenarios,
			(json_int_t)result[i].sequences));
	}
	return json_pack("{s:s, s:o, s:o, s:I, s:I, s:I}", "kind", "baseline",
	    "causes", causes, "covered", covered, "schedules",
	    (json_int_t)baseline->schedules, "scenarios",
	    (json_int_t)baseline->scenarios, "sequences",
	    (json_int_t)baseline->sequences);
}

json_t *
record_result(const struct mutate_list *list, size_t index,
    const struct mutate_result *result)
{
	const struct mutant *mutant = &list->mutants.at[list->drawn[index]];
	const struct mutate_source *source = &list->source[mutant->source];
	char *diff = patch_diff(
	    source->name, source->text, source->bytes, mutant);
	char id[MUTATE_ID_BYTES];
	json_t *json;

	mutate_id(list, mutant, id);
	json = json_pack("{s:s, s:s, s:s, s:s, s:i, s:s}", "kind", "mutant",
	    "id", id, "operator", operator_info(mutant->op)->name, "file",
	    source->name, "line", (int)mutant->line, "function", mutant->owner);
	set_text(json, "diff", diff);
	free(diff);
	if (!result->known)
		return json;
	set_text(json, "class", mutate_class_name(result->class));
	set_text(json, "check", result->check);
	set_text(json, "message", result->message);
	set_text(json, "kinds", result->kinds);
	set_text(json, "subject", result->subject);
	json_object_set_new(
	    json, "schedules", json_integer((json_int_t)result->schedules));
	json_object_set_new(json, "code", json_boolean(result->has_code));
	json_object_set_new(
	    json, "scenarios", json_integer((json_int_t)result->scenarios));
	json_object_set_new(
	    json, "sequences", json_integer((json_int_t)result->sequences));
	return json;
}

json_t *
record_summary(const struct mutate_list *list, const struct mutate_run *run)
{
	struct mutate_score score;
	json_t *json;

	mutate_score(list, run, &score);
	json = json_pack(
	    "{s:s, s:I}", "kind", "summary", "mutants", (json_int_t)score.all);
	for (unsigned i = 0; i < MUTATE_CLASSES; i++)
		json_object_set_new(json,
		    mutate_class_name((enum mutate_class)i),
		    json_integer((json_int_t)score.count[i]));
	json_object_set_new(json, "score_percent",
	    score.tenths < 0 ? json_null() : json_real(score.tenths / 10.0));
	return json;
}

static bool
is_kind(const json_t *json, const char *kind)
{
	const char *is = json_string_value(json_object_get(json, "kind"));

	return is != NULL && strcmp(is, kind) == 0;
}

static uint64_t
number_of(const json_t *json, const char *key)
{
	json_int_t number = json_integer_value(json_object_get(json, key));

	return number < 0 ? 0 : (uint64_t)number;
}

static bool
read_covered(const json_t *covered, const struct mutate_list *list,
    struct mutate_result *result)
{
	for (size_t i = 0; i < list->drawn_count; i++) {
		char id[MUTATE_ID_BYTES];
		json_int_t scenarios, sequences;
		int code;

		mutate_id(list, &list->mutants.at[list->drawn[i]], id);
		if (json_unpack(json_object_get(covered, id), "[b, I, I]",
			&code, &scenarios, &sequences) != 0)
			return false;
		result[i].has_code = code != 0;
		result[i].scenarios = (uint64_t)scenarios;
		result[i].sequences = (uint64_t)sequences;
	}
	return true;
}

bool
record_read_baseline(const json_t *json, const struct mutate_list *list,
    struct mutate_baseline *baseline, struct mutate_result *result)
{
	const json_t *causes = json_object_get(json, "causes");
	size_t count = json_array_size(causes);

	if (!is_kind(json, "baseline") || !json_is_array(causes) ||
	    !read_covered(json_object_get(json, "covered"), list, result))
		return false;
	free(baseline->cause);
	baseline->cause_count = 0;
	baseline->cause = calloc(count + 1, sizeof(*baseline->cause));
	if (baseline->cause == NULL)
		return false;
	for (size_t i = 0; i < count; i++) {
		const char *text = json_string_value(json_array_get(causes, i));

		if (text == NULL ||
		    sscanf(text, "%16" SCNx64, &baseline->cause[i]) != 1)
			return false;
		baseline->cause_count++;
	}
	baseline->schedules = number_of(json, "schedules");
	baseline->scenarios = number_of(json, "scenarios");
	baseline->sequences = number_of(json, "sequences");
	baseline->known = true;
	return true;
}

static char *
get_text(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text != NULL ? strdup(text) : NULL;
}

void
record_free(struct mutate_result *result)
{
	free(result->check);
	free(result->message);
	free(result->kinds);
	free(result->subject);
	result->check = result->message = result->kinds = NULL;
	result->subject = NULL;
}

bool
record_read_result(const json_t *json, const struct mutate_list *list,
    size_t *index, struct mutate_result *result)
{
	const char *id = json_string_value(json_object_get(json, "id"));
	const char *class = json_string_value(json_object_get(json, "class"));
	struct mutate_result *to;
	size_t i = 0;

	if (!is_kind(json, "mutant") || id == NULL || class == NULL)
		return false;
	for (; i < list->drawn_count; i++) {
		char own[MUTATE_ID_BYTES];

		mutate_id(list, &list->mutants.at[list->drawn[i]], own);
		if (strcmp(own, id) == 0)
			break;
	}
	if (i == list->drawn_count ||
	    mutate_class_find(class) == MUTATE_CLASSES)
		return false;
	*index = i;
	to = &result[i];
	record_free(to);
	to->class = mutate_class_find(class);
	to->check = get_text(json, "check");
	to->message = get_text(json, "message");
	to->kinds = get_text(json, "kinds");
	to->subject = get_text(json, "subject");
	to->schedules = number_of(json, "schedules");
	to->known = true;
	return true;
}
