#include "emu/pt/output/layout.h"

#include "emu/pt/output/output_queue.h"
#include "emu/pt/output/topa.h"
#include "emu/pt/state.h"

#include <endian.h>
#include <string.h>

#define LAYOUT_FLUSH_BYTES 16
#define LAYOUT_LINE_BYTES  64

/* Bytes from POSITION to the next multiple of UNIT. */
static unsigned
layout_pad_to(uint64_t position, unsigned unit)
{
	return (unsigned)((unit - position % unit) % unit);
}

/*
 * Model choice, from captures of Skylake: a small packet never crosses a word;
 * a wide one has its payload at the start of a word and closes that word; PSB
 * and OVF start a word.
 */
struct layout_step
layout_next(uint64_t position, bool close_word, const struct packet *packet)
{
	struct layout_step step = { 0 };
	uint64_t at = position;

	TZ_ASSERT(packet->bytes >= packet->header_bytes);
	TZ_ASSERT(packet->header_bytes >= 1);
	if (close_word)
		at += layout_pad_to(at, LAYOUT_WORD_BYTES);
	if (packet->place == LAYOUT_SMALL &&
	    at % LAYOUT_WORD_BYTES + packet->bytes > LAYOUT_WORD_BYTES)
		at += layout_pad_to(at, LAYOUT_WORD_BYTES);
	if (packet->place == LAYOUT_WIDE) {
		at += layout_pad_to(
		    at + packet->header_bytes, LAYOUT_WORD_BYTES);
		step.close_word = true;
	}
	if (packet->place == LAYOUT_WORD) {
		at += layout_pad_to(at, LAYOUT_WORD_BYTES);
		step.close_word = true;
	}
	step.pad_bytes = (unsigned)(at - position);
	TZ_ASSERT(step.pad_bytes < 2 * LAYOUT_WORD_BYTES);
	return step;
}

/* Interval, in bytes, at which the byte counter is checked. */
static uint64_t
layout_look_step(const struct pt_unit *unit)
{
	TZ_ASSERT(unit->profile->uarch->psb_look_lines != 0);
	return (uint64_t)unit->profile->uarch->psb_look_lines *
	    LAYOUT_LINE_BYTES;
}

uint64_t
layout_made_bytes(const struct pt_unit *unit)
{
	return unit->topa.written + output_queue_held(unit);
}

static uint64_t
layout_position(const struct pt_unit *unit)
{
	return layout_made_bytes(unit) + unit->place.bias;
}

/* SDM vol. 3, 33.2.8.2, PSBFreq: a PSB every 2^(value + 11) bytes. */
static uint64_t
layout_period_bytes(const struct pt_unit *unit)
{
	return UINT64_C(2048) << CTL_PSB_FREQ(unit->msrs.ctl);
}

/*
 * Model choice, from captures: the counter is checked every .psb_look_lines lines
 * (15), and the period is subtracted from it, so that the mean distance is the
 * period.
 */
static void
layout_check_psb_counter(struct pt_unit *unit)
{
	struct place *place = &unit->place;
	uint64_t period_bytes = layout_period_bytes(unit);

	TZ_ASSERT(place->look % layout_look_step(unit) == 0);
	while (layout_position(unit) >= place->look) {
		if (place->look - place->zero >= period_bytes) {
			place->zero += period_bytes;
			place->psb_due = true;
			place->due_at = place->look;
		}
		place->look += layout_look_step(unit);
	}
	topa_set_look(unit, place->look - place->bias);
	TZ_ASSERT(place->look > layout_position(unit));
}

uint64_t
layout_late(const struct pt_unit *unit)
{
	return layout_position(unit) - unit->place.due_at;
}

bool
layout_psb_waits(const struct pt_unit *unit)
{
	return unit->place.psb_due &&
	    layout_late(unit) < unit->place.hold_bytes;
}

void
layout_begin(struct pt_unit *unit, uint64_t count)
{
	struct place *place = &unit->place;
	uint64_t position = unit->topa.offset_bytes % LAYOUT_LINE_BYTES;

	TZ_ASSERT(count <= STATUS_COUNT_MASK);
	TZ_ASSERT(unit->msrs.ctl & CTL_TRACE_EN);
	place->bias = position - unit->topa.written;
	place->zero = position - count;
	place->look = layout_look_step(unit);
	place->close_word = false;
	place->psb_due = false;
	topa_set_look(unit, place->look - place->bias);
}

void
layout_resume(struct pt_unit *unit, uint64_t count, uint64_t since_look)
{
	struct place *place = &unit->place;

	TZ_ASSERT(since_look < layout_look_step(unit));
	TZ_ASSERT(
	    (unit->topa.offset_bytes - since_look) % LAYOUT_LINE_BYTES == 0);
	layout_begin(unit, count);
	place->bias = since_look - unit->topa.written;
	place->zero = since_look - count;
	place->due_at = since_look;
	topa_set_look(unit, place->look - place->bias);
}

uint64_t
layout_count(const struct pt_unit *unit)
{
	return (layout_position(unit) - unit->place.zero) & STATUS_COUNT_MASK;
}

/* SDM vol. 3, 33.4.2.20 "PAD Packet": ignored by decoders, legal anywhere. */
static void
layout_pad(struct pt_unit *unit, unsigned bytes)
{
	static const uint8_t pads[2 * LAYOUT_WORD_BYTES];

	TZ_ASSERT(bytes <= sizeof(pads));
	TZ_ASSERT(LAYOUT_FLUSH_BYTES <= sizeof(pads));
	output_queue_put(unit, pads, bytes);
}

/*
 * Writes bytes that end within the region, and before any PMI position and the next
 * check of the counter.
 */
static void
layout_free(
    struct pt_unit *unit, const struct packet *packet, unsigned pad_bytes)
{
	struct topa *topa = &unit->topa;
	uint8_t *at = unit->window + topa->offset_bytes;

	TZ_ASSERT(topa->open && unit->buffer == NULL);
	if (pad_bytes != 0)
		memset(at, 0, pad_bytes);
	memcpy(at + pad_bytes, packet->data, packet->bytes);
	topa->offset_bytes += pad_bytes + packet->bytes;
	topa->written += pad_bytes + packet->bytes;
}

void
layout_emit(struct pt_unit *unit, const struct packet *packet)
{
	struct place *place = &unit->place;
	struct layout_step step = layout_next(
	    layout_position(unit), place->close_word, packet);

	TZ_ASSERT(packet->bytes >= 1);
	TZ_ASSERT(packet->bytes <= PACKET_BYTES_MAX);
	/* Once a packet of an event was lost, the other packets of the event are
	 * lost, too. */
	if (unit->overflow.on)
		return;
	if (unit->buffer == NULL &&
	    unit->topa.written + step.pad_bytes + packet->bytes <
		unit->topa.free_limit) {
		layout_free(unit, packet, step.pad_bytes);
		place->close_word = step.close_word;
		return;
	}
	if (!output_queue_fits(unit, step.pad_bytes + packet->bytes)) {
		output_queue_overflow(unit);
		return;
	}
	if (step.pad_bytes != 0)
		layout_pad(unit, step.pad_bytes);
	output_queue_put(unit, packet->data, packet->bytes);
	place->close_word = step.close_word;
	if (layout_position(unit) >= place->look)
		layout_check_psb_counter(unit);
}

bool
layout_emit_short(
    struct pt_unit *unit, uint8_t header, uint32_t payload, unsigned bytes)
{
	struct topa *topa = &unit->topa;
	unsigned used = (topa->written + unit->place.bias) % LAYOUT_WORD_BYTES;
	unsigned pad = 0;
	uint8_t *at;

	if (topa->written + 2 * LAYOUT_WORD_BYTES >= topa->free_limit ||
	    unit->buffer != NULL || unit->overflow.on)
		return false;
	at = unit->window + topa->offset_bytes;
	if (used != 0 &&
	    (unit->place.close_word || used + 1 + bytes > LAYOUT_WORD_BYTES)) {
		pad = LAYOUT_WORD_BYTES - used;
		memset(at, 0, pad);
	}
	at[pad] = header;
	payload = htole32(payload);
	if (bytes == 2)
		memcpy(at + pad + 1, &payload, 2);
	else
		memcpy(at + pad + 1, &payload, 4);
	topa->offset_bytes += pad + 1 + bytes;
	topa->written += pad + 1 + bytes;
	unit->place.close_word = false;
	return true;
}

void
layout_align(struct pt_unit *unit)
{
	layout_pad(
	    unit, layout_pad_to(layout_position(unit), LAYOUT_WORD_BYTES));
	unit->place.close_word = false;
	TZ_ASSERT(
	    !unit->topa.open || layout_position(unit) % LAYOUT_WORD_BYTES == 0);
}

void
layout_fill(struct pt_unit *unit)
{
	static const uint8_t pads[4096];
	uint64_t left = unit->topa.region_bytes - unit->topa.offset_bytes;

	TZ_ASSERT(unit->topa.open && output_queue_held(unit) == 0);
	TZ_ASSERT(left != 0);
	while (left != 0) {
		size_t chunk = left < sizeof(pads) ? left : sizeof(pads);

		topa_write(unit, pads, chunk);
		left -= chunk;
	}
	unit->place.close_word = false;
	if (layout_position(unit) >= unit->place.look)
		layout_check_psb_counter(unit);
	TZ_ASSERT(layout_position(unit) % LAYOUT_LINE_BYTES == 0);
}

uint64_t
layout_look_bytes(const struct pt_unit *unit)
{
	return unit->place.look - layout_position(unit);
}

void
layout_flush(struct pt_unit *unit)
{
	/* Model choice, from captures: the flush pads to 16 bytes. */
	layout_pad(
	    unit, layout_pad_to(layout_position(unit), LAYOUT_FLUSH_BYTES));
	unit->place.close_word = false;
	TZ_ASSERT(!unit->topa.open ||
	    layout_position(unit) % LAYOUT_FLUSH_BYTES == 0);
}
