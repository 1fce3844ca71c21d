#include "emu/pt/place.h"

#include "emu/pt/drain.h"
#include "emu/pt/state.h"
#include "emu/pt/topa.h"

#include <endian.h>
#include <string.h>

#define PLACE_FLUSH_BYTES 16
#define PLACE_LINE_BYTES  64

/* Bytes from POSITION to the next multiple of UNIT. */
static unsigned
place_pad_to(uint64_t position, unsigned unit)
{
	return (unsigned)((unit - position % unit) % unit);
}

/*
 * Model choice, from captures of Skylake: a small packet never crosses a word;
 * a wide one has its payload at the start of a word and closes that word; PSB
 * and OVF start a word.
 */
struct place_step
place_next(uint64_t position, bool close_word, const struct packet *packet)
{
	struct place_step step = { 0 };
	uint64_t at = position;

	TZ_ASSERT(packet->bytes >= packet->header_bytes);
	TZ_ASSERT(packet->header_bytes >= 1);
	if (close_word)
		at += place_pad_to(at, PLACE_WORD_BYTES);
	if (packet->place == PLACE_SMALL &&
	    at % PLACE_WORD_BYTES + packet->bytes > PLACE_WORD_BYTES)
		at += place_pad_to(at, PLACE_WORD_BYTES);
	if (packet->place == PLACE_WIDE) {
		at += place_pad_to(at + packet->header_bytes, PLACE_WORD_BYTES);
		step.close_word = true;
	}
	if (packet->place == PLACE_WORD) {
		at += place_pad_to(at, PLACE_WORD_BYTES);
		step.close_word = true;
	}
	step.pad_bytes = (unsigned)(at - position);
	TZ_ASSERT(step.pad_bytes < 2 * PLACE_WORD_BYTES);
	return step;
}

/* The byte counter is looked at once in this many bytes. */
static uint64_t
place_look_step(const struct pt_unit *unit)
{
	TZ_ASSERT(unit->profile->manner->psb_look_lines != 0);
	return (uint64_t)unit->profile->manner->psb_look_lines *
	    PLACE_LINE_BYTES;
}

uint64_t
place_made(const struct pt_unit *unit)
{
	return unit->topa.written + drain_held(unit);
}

static uint64_t
place_position(const struct pt_unit *unit)
{
	return place_made(unit) + unit->place.bias;
}

/* SDM vol. 3, 33.2.8.2, PSBFreq: a PSB every 2^(value + 11) bytes. */
static uint64_t
place_period_bytes(const struct pt_unit *unit)
{
	return UINT64_C(2048) << CTL_PSB_FREQ(unit->msrs.ctl);
}

/*
 * Model choice, from captures: the counter is looked at every so many lines (15), and the
 * period is subtracted from it, so that the mean distance is the period.
 */
static void
place_look(struct pt_unit *unit)
{
	struct place *place = &unit->place;
	uint64_t period_bytes = place_period_bytes(unit);

	TZ_ASSERT(place->look % place_look_step(unit) == 0);
	while (place_position(unit) >= place->look) {
		if (place->look - place->zero >= period_bytes) {
			place->zero += period_bytes;
			place->psb_due = true;
			place->due_at = place->look;
		}
		place->look += place_look_step(unit);
	}
	topa_set_look(unit, place->look - place->bias);
	TZ_ASSERT(place->look > place_position(unit));
}

uint64_t
place_late(const struct pt_unit *unit)
{
	return place_position(unit) - unit->place.due_at;
}

bool
place_psb_waits(const struct pt_unit *unit)
{
	return unit->place.psb_due && place_late(unit) < unit->place.hold_bytes;
}

void
place_begin(struct pt_unit *unit, uint64_t count)
{
	struct place *place = &unit->place;
	uint64_t position = unit->topa.offset_bytes % PLACE_LINE_BYTES;

	TZ_ASSERT(count <= STATUS_COUNT_MASK);
	TZ_ASSERT(unit->msrs.ctl & CTL_TRACE_EN);
	place->bias = position - unit->topa.written;
	place->zero = position - count;
	place->look = place_look_step(unit);
	place->close_word = false;
	place->psb_due = false;
	topa_set_look(unit, place->look - place->bias);
}

void
place_resume(struct pt_unit *unit, uint64_t count, uint64_t since_look)
{
	struct place *place = &unit->place;

	TZ_ASSERT(since_look < place_look_step(unit));
	TZ_ASSERT(
	    (unit->topa.offset_bytes - since_look) % PLACE_LINE_BYTES == 0);
	place_begin(unit, count);
	place->bias = since_look - unit->topa.written;
	place->zero = since_look - count;
	place->due_at = since_look;
	topa_set_look(unit, place->look - place->bias);
}

uint64_t
place_count(const struct pt_unit *unit)
{
	return (place_position(unit) - unit->place.zero) & STATUS_COUNT_MASK;
}

/* SDM vol. 3, 33.4.2.20 "PAD Packet": ignored by decoders, legal anywhere. */
static void
place_pad(struct pt_unit *unit, unsigned bytes)
{
	static const uint8_t pads[2 * PLACE_WORD_BYTES];

	TZ_ASSERT(bytes <= sizeof(pads));
	TZ_ASSERT(PLACE_FLUSH_BYTES <= sizeof(pads));
	drain_put(unit, pads, bytes);
}

/* Writes what ends within the region, before any mark and any look at the counter. */
static void
place_free(
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
place_put(struct pt_unit *unit, const struct packet *packet)
{
	struct place *place = &unit->place;
	struct place_step step = place_next(
	    place_position(unit), place->close_word, packet);

	TZ_ASSERT(packet->bytes >= 1);
	TZ_ASSERT(packet->bytes <= PACKET_BYTES_MAX);
	/* What else belongs to an event of which a packet was lost is lost, too. */
	if (unit->overflow.on)
		return;
	if (unit->buffer == NULL &&
	    unit->topa.written + step.pad_bytes + packet->bytes <
		unit->topa.free_limit) {
		place_free(unit, packet, step.pad_bytes);
		place->close_word = step.close_word;
		return;
	}
	if (!drain_fits(unit, step.pad_bytes + packet->bytes)) {
		drain_overflow(unit);
		return;
	}
	if (step.pad_bytes != 0)
		place_pad(unit, step.pad_bytes);
	drain_put(unit, packet->data, packet->bytes);
	place->close_word = step.close_word;
	if (place_position(unit) >= place->look)
		place_look(unit);
}

bool
place_short(
    struct pt_unit *unit, uint8_t header, uint32_t payload, unsigned bytes)
{
	struct topa *topa = &unit->topa;
	unsigned used = (topa->written + unit->place.bias) % PLACE_WORD_BYTES;
	unsigned pad = 0;
	uint8_t *at;

	if (topa->written + 2 * PLACE_WORD_BYTES >= topa->free_limit ||
	    unit->buffer != NULL || unit->overflow.on)
		return false;
	at = unit->window + topa->offset_bytes;
	if (used != 0 &&
	    (unit->place.close_word || used + 1 + bytes > PLACE_WORD_BYTES)) {
		pad = PLACE_WORD_BYTES - used;
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
place_align(struct pt_unit *unit)
{
	place_pad(unit, place_pad_to(place_position(unit), PLACE_WORD_BYTES));
	unit->place.close_word = false;
	TZ_ASSERT(
	    !unit->topa.open || place_position(unit) % PLACE_WORD_BYTES == 0);
}

void
place_fill(struct pt_unit *unit)
{
	static const uint8_t pads[4096];
	uint64_t left = unit->topa.region_bytes - unit->topa.offset_bytes;

	TZ_ASSERT(unit->topa.open && drain_held(unit) == 0);
	TZ_ASSERT(left != 0);
	while (left != 0) {
		size_t chunk = left < sizeof(pads) ? left : sizeof(pads);

		topa_write(unit, pads, chunk);
		left -= chunk;
	}
	unit->place.close_word = false;
	if (place_position(unit) >= unit->place.look)
		place_look(unit);
	TZ_ASSERT(place_position(unit) % PLACE_LINE_BYTES == 0);
}

uint64_t
place_look_bytes(const struct pt_unit *unit)
{
	return unit->place.look - place_position(unit);
}

void
place_flush(struct pt_unit *unit)
{
	/* Model choice, from captures: the flush pads to 16 bytes. */
	place_pad(unit, place_pad_to(place_position(unit), PLACE_FLUSH_BYTES));
	unit->place.close_word = false;
	TZ_ASSERT(
	    !unit->topa.open || place_position(unit) % PLACE_FLUSH_BYTES == 0);
}
