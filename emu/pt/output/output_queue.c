#include "emu/pt/output/output_queue.h"

#include "emu/pt/output/buffer.h"
#include "emu/pt/output/pmi.h"
#include "emu/pt/output/topa.h"
#include "emu/pt/state.h"

#include <stdlib.h>

#define DRAIN_CHUNK_BYTES 64

int
pt_unit_set_cycles(struct pt_unit *unit, const struct pt_cycles *cycles)
{
	TZ_ASSERT(pt_cycles_check(cycles, NULL) == 0);
	TZ_ASSERT(unit->buffer == NULL);
	TZ_ASSERT(!(unit->msrs.ctl & CTL_TRACE_EN));
	if (cycles->buffer_bytes == 0)
		return 0;
	unit->buffer = calloc(1, sizeof(*unit->buffer));
	if (unit->buffer == NULL)
		return -TZ_EIO;
	unit->cycles = *cycles;
	return 0;
}

static uint64_t
output_queue_now(const struct pt_unit *unit)
{
	return unit->timing.now.cycles;
}

uint64_t
output_queue_held(const struct pt_unit *unit)
{
	return unit->buffer == NULL ? 0 : buffer_held(unit->buffer);
}

uint64_t
pt_unit_occupancy(const struct pt_unit *unit)
{
	return unit->buffer == NULL
	    ? 0
	    : buffer_occupancy(unit->buffer, output_queue_now(unit));
}

bool
output_queue_fits(const struct pt_unit *unit, size_t bytes)
{
	uint64_t room = unit->cycles.buffer_bytes;

	if (unit->buffer == NULL)
		return unit->topa.lose_at == 0 ||
		    unit->topa.written + bytes <= unit->topa.lose_at;
	if (unit->overflow.reserve)
		room += CYCLES_RESERVE;
	return pt_unit_occupancy(unit) + bytes <= room;
}

void
output_queue_put(struct pt_unit *unit, const uint8_t *data, size_t bytes)
{
	TZ_ASSERT(output_queue_fits(unit, bytes));
	if (unit->buffer == NULL)
		topa_write(unit, data, bytes);
	else if (unit->topa.open)
		buffer_put(unit->buffer, &unit->cycles, output_queue_now(unit),
		    data, bytes);
}

/* Writes the oldest BYTES held bytes; the others are lost if output ends. */
static void
output_queue_write(struct pt_unit *unit, uint64_t bytes)
{
	uint8_t chunk[DRAIN_CHUNK_BYTES];

	while (bytes != 0 && unit->topa.open) {
		size_t part = bytes < sizeof(chunk) ? (size_t)bytes
						    : sizeof(chunk);

		buffer_take(unit->buffer, chunk, part);
		topa_write(unit, chunk, part);
		bytes -= part;
	}
	/* SDM vol. 3, 33.2.7.2, "ToPA STOP" and "ToPA Errors". */
	if (!unit->topa.open)
		buffer_forget(unit->buffer);
}

void
output_queue_run(struct pt_unit *unit)
{
	if (unit->buffer == NULL)
		return;
	pmi_run(unit);
	output_queue_write(unit,
	    buffer_arrived(
		unit->buffer, &unit->cycles, output_queue_now(unit)));
}

void
output_queue_flush(struct pt_unit *unit)
{
	if (unit->buffer == NULL)
		return;
	output_queue_write(unit, buffer_held(unit->buffer));
	buffer_forget(unit->buffer);
}

static void
output_queue_event(struct pt_unit *unit, bool begins)
{
	struct pt_event event = { .kind = PT_EVENT_OVERFLOW,
		.value = begins,
		.offset_bytes = unit->topa.written + output_queue_held(unit) };

	unit->port.event(unit->port.arg, &event);
}

void
output_queue_overflow(struct pt_unit *unit)
{
	TZ_ASSERT(unit->buffer != NULL || unit->topa.lose_at != 0);
	TZ_ASSERT(!unit->overflow.on);
	state_lose(unit, (struct overflow){ .on = true, .full = true });
	output_queue_event(unit, true);
}

void
output_queue_tell_over(struct pt_unit *unit)
{
	output_queue_event(unit, false);
}

bool
output_queue_is_over(const struct pt_unit *unit)
{
	return buffer_empty_at(unit->buffer) <= output_queue_now(unit);
}

uint64_t
pt_unit_bytes_to_intr(struct pt_unit *unit)
{
	uint64_t bytes, held = output_queue_held(unit);

	if (!unit->gate.trigger_en || !unit->topa.open ||
	    !topa_leads_to_intr(unit, &bytes))
		return UINT64_MAX;
	return bytes > held ? bytes - held : 0;
}

bool
pt_unit_wants_ip(const struct pt_unit *unit)
{
	return unit->overflow.ripe;
}

bool
pt_unit_overflows(const struct pt_unit *unit)
{
	return unit->overflow.full;
}

static uint64_t
earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t
pt_unit_due(const struct pt_unit *unit)
{
	const struct topa *topa = &unit->topa;
	uint64_t due = UINT64_MAX;

	if (unit->buffer == NULL)
		return due;
	if (unit->late_pmi.on)
		due = unit->late_pmi.due;
	if (topa->open)
		due = earlier(due,
		    buffer_arrival(unit->buffer, &unit->cycles,
			topa->region_bytes - topa->offset_bytes - 1));
	if (unit->overflow.full && !unit->overflow.ripe)
		due = earlier(due, buffer_empty_at(unit->buffer));
	return due;
}
