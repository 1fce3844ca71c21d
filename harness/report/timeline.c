/*
 * A finding's run as the page's data: events, places, spans and boundaries as rows of
 * numbers, and the tables that give the numbers names.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "emu/base/deviation.h"
#include "emu/pmu/pmu.h"
#include "emu/pt/msr/msr.h"
#include "harness/report/internal.h"

/* Unique places: an array, and the index of each by its text. */
struct places {
	json_t *array, *index;
};

/* Index of PLACE; -1: unknown. */
static json_int_t
place_index(struct places *places, const struct finding_place *place)
{
	char key[sizeof(struct finding_place) + 32];
	json_t *index;

	if (place->function[0] == '\0' && place->file[0] == '\0')
		return -1;
	snprintf(key, sizeof(key), "%s+%" PRIu32 " %s:%d", place->function,
	    place->offset_bytes, place->file, place->line);
	/* A key that is invalid UTF-8 is not found, so the place is added again. */
	index = json_object_get(places->index, key);
	if (index == NULL) {
		index = json_integer(
		    (json_int_t)json_array_size(places->array));
		json_object_set(places->index, key, index);
		json_decref(index);
		json_array_append_new(places->array, report_json_place(place));
		return (json_int_t)json_array_size(places->array) - 1;
	}
	return json_integer_value(index);
}

/* Clocks are relative to the run's start; earlier ones are negative. */
static json_t *
clock_json(uint64_t clock)
{
	return json_integer((json_int_t)clock);
}

static json_t *
event_json(const struct event *event, json_int_t place)
{
	TZ_ASSERT(event->kind < EVENT_KIND_COUNT);
	return json_pack("[i, i, o, o, o, o, o, I]", (int)event->kind,
	    (int)event->cpu, clock_json(event->insns),
	    clock_json(event->cycles), report_json_u64(event->a),
	    report_json_u64(event->b), report_json_u64(event->c), place);
}

static json_t *
events_json(const struct event *event, size_t count,
    const struct finding_place *place, struct places *places)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array,
		    event_json(&event[i],
			place == NULL ? -1 : place_index(places, &place[i])));
	return array;
}

static json_t *
spans_json(const struct finding_timeline *timeline, struct places *places)
{
	json_t *array = json_array();

	for (size_t i = 0; i < timeline->span_count; i++) {
		const struct finding_span *span = &timeline->span[i];
		int flags = (span->in_nmi ? 1 : 0) |
		    (span->in_interrupt ? 2 : 0) | (span->driver ? 4 : 0);

		json_array_append_new(array,
		    json_pack("[i, i, i, o, o, I]", (int)span->cpu,
			(int)span->depth, flags, clock_json(span->begin_cycles),
			clock_json(span->end_cycles),
			place_index(places, &span->place)));
	}
	return array;
}

static json_t *
ticks_json(const struct finding_timeline *timeline)
{
	json_t *array = json_array();

	for (size_t i = 0; i < timeline->tick_count; i++) {
		const struct finding_tick *tick = &timeline->tick[i];

		json_array_append_new(array,
		    json_pack("[i, i, o, o, o]", (int)tick->cpu,
			(int)tick->outcome, report_json_u64(tick->insns),
			json_sprintf("0x%" PRIx64, tick->rip),
			report_json_string(tick->token)));
	}
	return array;
}

/* [name, text, a, b, c] of each kind of event. */
static json_t *
kinds_json(void)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < EVENT_KIND_COUNT; i++) {
		const struct event_info *info = event_info((enum event_kind)i);

		json_array_append_new(array,
		    json_pack("[s, s, s, s, s]", info->name, info->text,
			info->arg[0], info->arg[1], info->arg[2]));
	}
	return array;
}

static json_t *
acts_json(void)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < DEVIATION_COUNT; i++) {
		const struct deviation_info *info = deviation_info(
		    (enum deviation_kind)i);

		json_array_append_new(array,
		    json_pack("[s, s, s]", info->word,
			info->class == DEVIATION_CLASS_FAULT ? "fault"
							     : "schedule",
			info->text));
	}
	return array;
}

/* MSRs in events other than the trace MSRs; listed without fields. */
static const struct {
	uint32_t index;
	const char *name;
} other_msr[] = {
	{ PMU_MSR_GLOBAL_STATUS, "GLOBAL_STATUS" },
	{ PMU_MSR_GLOBAL_STATUS_RESET, "GLOBAL_STATUS_RESET" },
	{ 0xda0, "XSS" },
};

/* By decimal number: { name, fields: [[high, low, name]] }. */
static json_t *
msrs_json(void)
{
	static const struct {
		uint32_t index;
		const char *name;
	} msr[] = {
#define MSR(index, name, exists, arg, citation) { index, #name },
#include "emu/pt/msr/msr.def"
#undef MSR
	};
	static const struct {
		const char *msr;
		int high, low;
		const char *name;
	} field[] = {
#define FIELD(msr, hi, lo, name, rule, arg, citation) { #msr, hi, lo, #name },
#include "emu/pt/msr/msr.def"
#undef FIELD
	};
	json_t *root = json_object(), *fields;
	char key[16];

	for (size_t i = 0; i < TZ_ARRAY_LEN(msr); i++) {
		fields = json_array();
		for (size_t j = 0; j < TZ_ARRAY_LEN(field); j++)
			if (strcmp(field[j].msr, msr[i].name) == 0)
				json_array_append_new(fields,
				    json_pack("[i, i, s]", field[j].high,
					field[j].low, field[j].name));
		snprintf(key, sizeof(key), "%" PRIu32, msr[i].index);
		json_object_set_new(root, key,
		    json_pack(
			"{s:s, s:o}", "name", msr[i].name, "fields", fields));
	}
	for (size_t i = 0; i < TZ_ARRAY_LEN(other_msr); i++) {
		snprintf(key, sizeof(key), "%" PRIu32, other_msr[i].index);
		json_object_set_new(root, key,
		    json_pack(
			"{s:s, s:[]}", "name", other_msr[i].name, "fields"));
	}
	return root;
}

json_t *
report_json_timeline(const struct finding_timeline *timeline)
{
	struct places places = { json_array(), json_object() };
	json_t *events, *spans, *passing, *root;

	events = events_json(timeline->event, timeline->event_count,
	    timeline->event_place, &places);
	passing = events_json(timeline->passing_event,
	    timeline->passing_event_count, NULL, &places);
	spans = spans_json(timeline, &places);
	json_decref(places.index);
	root = json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
			 "s:o}",
	    "cpu_count", (int)timeline->cpu_count, "buffer_bytes",
	    report_json_u64(timeline->buffer_bytes), "kinds", kinds_json(),
	    "acts", acts_json(), "msrs", msrs_json(), "events", events,
	    "passing", passing, "spans", spans, "ticks", ticks_json(timeline),
	    "places", places.array, "console",
	    timeline->console == NULL ? json_null()
				      : report_json_string(timeline->console));
	return root;
}
