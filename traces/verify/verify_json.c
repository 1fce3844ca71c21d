#include "traces/verify/verify.h"

#include <inttypes.h>
#include <jansson.h>

static json_t *
verify_json_count(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *
verify_json_address(bool is_valid, uint64_t va, const char *name)
{
	char text[24];

	if (!is_valid)
		return json_null();
	snprintf(text, sizeof(text), "0x%" PRIx64, va);
	return json_pack("{s:s, s:s}", "ip", text, "name", name);
}

static json_t *
verify_json_difference(const struct verify_difference *difference)
{
	if (!difference->found)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:s}", "index",
	    verify_json_count(difference->index), "packet",
	    verify_json_count(difference->offset), "executed",
	    verify_json_address(difference->has_executed, difference->executed,
		difference->executed_name),
	    "decoded",
	    verify_json_address(difference->has_decoded, difference->decoded,
		difference->decoded_name),
	    "cause", difference->cause);
}

/* null if the trace has no times. */
static json_t *
verify_json_time(const struct verify_time *time)
{
	if (time->compared == 0 && !time->lost)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "compared",
	    verify_json_count(time->compared), "exact",
	    verify_json_count(time->exact), "widest",
	    verify_json_count(time->widest), "largest",
	    verify_json_count(time->largest), "allowed",
	    verify_json_count(time->allowed), "wrong",
	    verify_json_count(time->wrong), "lost", (int)time->lost);
}

static json_t *
verify_json_stream(const struct verify_stream *stream)
{
	json_t *rows = json_object();

	for (unsigned row = 0; row < ACCOUNT_ROW_COUNT; row++)
		json_object_set_new(rows,
		    account_row_name((enum account_row)row),
		    verify_json_count(stream->rows[row]));
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
			 "s:s, s:o, s:o, s:b, s:b, s:o, s:o, s:o, s:o}",
	    "name", stream->name, "kind", stream->thread ? "thread" : "cpu",
	    "id", verify_json_count(stream->id), "expected",
	    verify_json_count(stream->expected), "decoded",
	    verify_json_count(stream->decoded), "matched",
	    verify_json_count(stream->matched), "beyond",
	    verify_json_count(stream->beyond), "segments",
	    verify_json_count(stream->segments), "psbs",
	    verify_json_count(stream->psbs), "bytes", rows, "verdict",
	    verify_verdict(stream), "difference",
	    verify_json_difference(&stream->difference), "jcc_disables",
	    verify_json_count(stream->jcc_disables), "stopped",
	    (int)stream->stopped, "open", (int)stream->open, "time",
	    verify_json_time(&stream->time), "overflows",
	    verify_json_count(stream->overflows), "overflown",
	    verify_json_count(stream->overflown), "misled",
	    verify_json_count(stream->misled));
}

static json_t *
verify_json_records(const struct verify_records *records)
{
	return json_pack("{s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}",
	    "name", records->name, "pebs", (int)records->pebs, "stored",
	    verify_json_count(records->stored), "read",
	    verify_json_count(records->read), "matched",
	    verify_json_count(records->matched), "overwritten",
	    verify_json_count(records->overwritten), "left",
	    verify_json_count(records->left), "missed",
	    verify_json_count(records->missed), "unstored",
	    verify_json_count(records->unstored), "verdict",
	    records->differences == 0 ? "MATCH" : "MISMATCH");
}

static json_t *
verify_json_counter(const struct verify_counter *counter)
{
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{ "events", counter->events },
		{ "values", counter->values },
		{ "values_equal", counter->equal },
		{ "first_slices", counter->first_slices },
		{ "missed", counter->missed },
		{ "entries", counter->entries },
		{ "entries_equal", counter->entries_equal },
		{ "overflows", counter->overflows },
		{ "masked", counter->masked },
		{ "off", counter->off },
		{ "read", counter->read },
		{ "matched", counter->matched },
		{ "chains", counter->chains },
		{ "chains_unknown", counter->chains_unknown },
		{ "no_room", counter->no_room },
		{ "lost", counter->lost },
		{ "discarded", counter->discarded },
		{ "skidded", counter->skidded },
	};
	json_t *object = json_pack("{s:s, s:s, s:b, s:b, s:s}", "name",
	    counter->name, "what", counter->what, "samples",
	    (int)counter->samples, "reported", (int)counter->reported,
	    "verdict",
	    counter->unknown                ? "NOT COMPARED"
		: counter->differences == 0 ? "MATCH"
					    : "MISMATCH");

	if (counter->unknown || counter->reported)
		json_object_set_new(
		    object, "reason", json_string(counter->reason));
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++)
		json_object_set_new(
		    object, rows[i].name, verify_json_count(rows[i].value));
	return object;
}

static json_t *
verify_json_perf(const struct verify_perf *perf)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "aux_records",
	    verify_json_count(perf->records), "truncated",
	    verify_json_count(perf->truncated), "snapshots",
	    verify_json_count(perf->snapshots), "lost_records",
	    verify_json_count(perf->lost));
}

char *
verify_json(const struct verify_result *result)
{
	json_t *streams = json_array(), *findings = json_array();
	json_t *records = json_array(), *counters = json_array();
	json_t *root;
	char *text;

	for (size_t i = 0; i < result->stream_count; i++)
		json_array_append_new(
		    streams, verify_json_stream(&result->streams[i]));
	for (size_t i = 0; i < result->record_count; i++)
		json_array_append_new(
		    records, verify_json_records(&result->records[i]));
	for (size_t i = 0; i < result->counter_count; i++)
		json_array_append_new(
		    counters, verify_json_counter(&result->counters[i]));
	for (size_t i = 0; i < result->finding_count; i++)
		json_array_append_new(
		    findings, json_string(result->findings[i].text));
	root = json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o}", "topaz", 1,
	    "verdict", verify_word(result), "streams", streams,
	    "branch_records", records, "counters", counters, "counter_checks",
	    json_pack("{s:o, s:o, s:o, s:o}", "registers",
		verify_json_count(result->counter_registers), "overflows",
		verify_json_count(result->counter_overflows), "pebs_records",
		verify_json_count(result->pebs_records), "entries",
		verify_json_count(result->process_entries)),
	    "findings", findings);
	if (root == NULL)
		return NULL;
	if (result->perf.present)
		json_object_set_new(
		    root, "perf_data", verify_json_perf(&result->perf));
	text = json_dumps(root, JSON_INDENT(1) | JSON_SORT_KEYS);
	json_decref(root);
	return text;
}
