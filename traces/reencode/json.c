/*
 * The result of a re-encoding as JSON.
 */
#include "traces/reencode/reencode.h"

#include <inttypes.h>
#include <jansson.h>

static json_t *
json_count(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *
json_hex(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return json_string(text);
}

static json_t *
json_lines(const struct excerpt_lines *lines, bool insn)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < lines->count; i++) {
		const struct excerpt_line *line = &lines->line[i];

		json_array_append_new(array,
		    json_pack("{s:o, s:s}", insn ? "ip" : "offset",
			insn ? json_hex(line->at) : json_count(line->at),
			"text", line->text));
	}
	return array;
}

/* The numbers of instructions by which those of a long excerpt lie between its packets. */
static void
json_add_numbers(json_t *object, const struct excerpt *excerpt)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < excerpt->both.count; i++)
		json_array_append_new(
		    array, json_count(excerpt->both.line[i].insns));
	json_object_set_new(object, "instructions_before", array);
	json_object_set_new(
	    object, "first_instruction", json_count(excerpt->insn_first));
}

static void
json_add_excerpt(json_t *object, const struct excerpt *excerpt)
{
	const struct pkt_kind_row *rule = excerpt->rule;

	json_object_set_new(
	    object, "instructions", json_lines(&excerpt->insn, true));
	json_object_set_new(object, "both", json_lines(&excerpt->both, false));
	json_object_set_new(
	    object, "trace", json_lines(&excerpt->trace, false));
	if (rule == NULL)
		return;
	json_object_set_new(object, "unit", json_lines(&excerpt->unit, false));
	json_object_set_new(object, "rule",
	    json_pack("{s:s, s:s, s:s}", "packet", rule->name, "file",
		rule->file, "citation", rule->citation));
}

/* Where the trace is not equal, and why; null: nowhere. */
static json_t *
json_place(const struct reencode_result *result, bool whole)
{
	const struct replay_result *replay = &result->replay;
	struct excerpt part = excerpt_short(&result->excerpt);
	const struct replay_gap *gap;
	json_t *object = NULL;

	switch (result_verdict(result)) {
	case RESULT_EQUAL:
	case RESULT_NOTHING:
		return json_null();
	case RESULT_DIFFERS:
		object = json_pack(
		    "{s:o}", "offset", json_count(replay->difference.offset));
		break;
	case RESULT_CONTRADICTION:
		object = json_pack("{s:o, s:o, s:s}", "offset",
		    json_count(replay->wrong_offset), "ip",
		    json_hex(replay->wrong_ip), "text", replay->wrong);
		break;
	case RESULT_UNDECODED:
		gap = result_undecoded(result);
		object = json_pack("{s:o, s:s}", "offset", json_count(gap->at),
		    "text", gap->text);
		break;
	}
	json_add_excerpt(object, whole ? &result->excerpt : &part);
	if (whole)
		json_add_numbers(object, &result->excerpt);
	return object;
}

static void
json_leave(json_t *array, uint64_t from, uint64_t bytes, const char *why)
{
	if (bytes != 0)
		json_array_append_new(array,
		    json_pack("{s:o, s:o, s:s}", "offset", json_count(from),
			"bytes", json_count(bytes), "why", why));
}

/* What was not compared, in the order of the trace. */
static json_t *
json_left_out(const struct reencode_result *result)
{
	const struct replay_result *replay = &result->replay;
	const struct trace_stats *stats = &result->stats;
	uint64_t end = result->bytes - stats->cut_off;
	json_t *array = json_array();

	if (stats->psb_count != 0)
		json_leave(array, 0, stats->first_psb, "before the first PSB");
	for (size_t i = 0; i < replay->gap_count; i++)
		json_leave(array, replay->gaps[i].from,
		    replay->gaps[i].to - replay->gaps[i].from,
		    replay->gaps[i].text);
	json_leave(array, end - replay->tail, replay->tail, "0 at the end");
	json_leave(array, end, stats->cut_off,
	    stats->junk ? "no packets" : "a packet is cut off");
	return array;
}

static json_t *
json_packets(const struct trace_stats *stats)
{
	json_t *object = json_object();

	for (unsigned kind = 0; kind < PKT_BAD; kind++)
		if (stats->packets[kind] != 0)
			json_object_set_new(object,
			    pkt_kind_row((enum pkt_kind)kind)->name,
			    json_count(stats->packets[kind]));
	return object;
}

struct json_t *
reencode_json(const char *name, const struct reencode_options *options,
    const struct reencode_result *result, bool whole)
{
	static const char *const verdicts[] = { [RESULT_EQUAL] = "EQUAL",
		[RESULT_DIFFERS] = "DIFFERS",
		[RESULT_CONTRADICTION] = "WRONG",
		[RESULT_UNDECODED] = "WRONG",
		[RESULT_NOTHING] = "NOTHING" };
	const struct replay_result *replay = &result->replay;
	json_t *inferred = json_array();

	for (unsigned i = 0; i < result->line_count; i++)
		json_array_append_new(inferred, json_string(result->line[i]));
	return json_pack(
	    "{s:s, s:s, s:o, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
	    "s:o}",
	    "kind", "trace", "name", name, "bytes", json_count(result->bytes),
	    "profile", options->profile->name, "compared",
	    compare_form_name(options->form), "verdict",
	    verdicts[result_verdict(result)], "ctl", json_hex(result->ctl),
	    "inferred", inferred, "left_out", json_left_out(result), "packets",
	    json_packets(&result->stats), "covered",
	    json_count(replay->covered), "instructions",
	    json_count(replay->insns), "overflows",
	    json_count(replay->overflows), "difference",
	    json_place(result, whole));
}
