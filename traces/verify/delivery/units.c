#include "traces/verify/delivery/units.h"

#include <stdlib.h>

#include "traces/decode/vector.h"

static bool
note_fall(struct unit *unit, const struct event *event, size_t index)
{
	if (!GROW(unit->falls, unit->fall_room, unit->fall_count + 1))
		return false;
	unit->falls[unit->fall_count++] = (struct fall){
		.begin = unit->begin,
		.offset = event->c,
		.event = index,
		.cpu = event->cpu,
		.stopped = unit->stopped,
	};
	return true;
}

static bool
note_output(struct unit *unit, const struct event *event)
{
	if (!GROW(unit->spans, unit->span_room, unit->span_count + 1))
		return false;
	unit->spans[unit->span_count++] = (struct span){ event->a, event->b,
		event->c };
	unit->written = event->c + event->b;
	return true;
}

bool
units_read(struct units *units, const struct event *events, size_t count)
{
	bool fits = true;

	for (size_t i = 0; fits && i < count; i++) {
		struct unit *unit = &units->unit[events[i].cpu];

		if (events[i].kind == EVENT_TRACE_ON) {
			unit->stopped = false;
			unit->begin = events[i].c;
		} else if (events[i].kind == EVENT_TRACE_OFF) {
			fits = note_fall(unit, &events[i], i);
		} else if (events[i].kind == EVENT_OUTPUT) {
			fits = note_output(unit, &events[i]);
		} else if (events[i].kind == EVENT_STOPPED ||
		    events[i].kind == EVENT_PT_ERROR) {
			unit->stopped = true;
		}
	}
	return fits;
}

void
units_free(struct units *units)
{
	for (size_t i = 0; i < BUNDLE_CPUS_MAX; i++) {
		free(units->unit[i].spans);
		free(units->unit[i].falls);
	}
}

const struct fall *
units_find_fall(const struct unit *unit, uint64_t offset)
{
	size_t low = 0, high = unit->fall_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (unit->falls[mid].offset < offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low < unit->fall_count ? &unit->falls[low] : NULL;
}

const struct span *
units_find_span(const struct unit *unit, uint64_t offset)
{
	size_t low = 0, high = unit->span_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (unit->spans[mid].offset + unit->spans[mid].bytes <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low < unit->span_count ? &unit->spans[low] : NULL;
}
