#include "traces/verify/counters/counters_internal.h"

#include <inttypes.h>
#include <stdarg.h>

struct verify_counter *
counters_result(const struct counters *counters, const struct owned *owned)
{
	return &counters->work->result->counters[owned->result];
}

void
counters_tell(
    struct counters *counters, const struct owned *owned, const char *fmt, ...)
{
	struct verify_counter *result = counters_result(counters, owned);
	va_list ap;

	va_start(ap, fmt);
	verify_add_difference(counters->work, result->name,
	    &result->differences, result->difference, fmt, ap);
	va_end(ap);
}

void
counters_name(
    const struct counters *counters, uint64_t va, char text[VERIFY_NAME_BYTES])
{
	const struct symbolizer *symbolizer =
	    counters->work->options->symbolizer;

	if (symbolizer == NULL ||
	    !symbolizer->name(symbolizer->arg, va, text, VERIFY_NAME_BYTES))
		snprintf(text, VERIFY_NAME_BYTES, "0x%" PRIx64, va);
}

struct space *
counters_space(struct counters *counters, uint64_t pid)
{
	for (size_t i = 0; i < counters->space_count; i++)
		if (counters->spaces[i].pid == pid)
			return &counters->spaces[i];
	return NULL;
}

uint64_t
counters_pid_of(const struct counters *counters, uint64_t cr3)
{
	for (size_t i = counters->space_count; i-- != 0;)
		if (counters->spaces[i].cr3 == cr3)
			return counters->spaces[i].pid;
	return COUNTERS_NO_PID;
}

bool
counters_is_target(const struct owned *owned, uint64_t pid)
{
	for (size_t i = 0; i < owned->target_count; i++)
		if (owned->targets[i] == pid)
			return true;
	return false;
}

struct owned *
counters_owned(struct counters *counters, uint64_t id)
{
	for (size_t i = counters->owned_count; i-- != 0;)
		if (counters->owned[i].id == id)
			return &counters->owned[i];
	return NULL;
}

void
counters_note_kind(struct counters *counters, const struct owned *owned)
{
	struct verify_counter *result = counters_result(counters, owned);

	if (result->unknown ||
	    (counted_is_told(owned->counted) && !owned->untold))
		return;
	result->reported = owned->samples;
	result->unknown = !owned->samples;
	result->reason = counted_reason(owned->counted);
}

void
counters_differ(struct counters *counters, unsigned cpu, const char *fmt, ...)
{
	struct counters_cpu *own = &counters->cpu[cpu];
	char text[VERIFY_TEXT_BYTES - 16];
	va_list ap;

	if (own->differs)
		return;
	own->differs = true;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	verify_add_finding(counters->work, "cpu%u: %s", cpu, text);
}

bool
counters_is_compared(const struct counters_cpu *own, unsigned i)
{
	const struct counter_state *counter = &own->unit.counter[i];

	return !own->unit.freezes && !counter->unknown && counter->unsure == 0;
}

struct owned *
counters_owner(
    struct counters *counters, const struct counters_cpu *own, unsigned i)
{
	return own->use[i].owner == COUNTERS_NO_OWNER
	    ? NULL
	    : &counters->owned[own->use[i].owner];
}

unsigned
counters_number(const struct event *event)
{
	return event->a < 32 ? (unsigned)event->a
			     : COUNTER_GENERAL + (unsigned)event->a - 32;
}
