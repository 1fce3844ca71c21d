#include "tests/fuzz/events/events_pair.h"

#include <stdlib.h>
#include <string.h>

#include "emu/pt/inject.h"
#include "tests/fuzz/fuzz.h"

static uint8_t *
pair_window(void *arg, struct gpa pa, uint64_t bytes)
{
	struct pair_side *side = arg;

	if (pa.u >= PAIR_RAM_BYTES || bytes > PAIR_RAM_BYTES - pa.u)
		return NULL;
	return side->ram + pa.u;
}

static bool
pair_read64(void *arg, struct gpa pa, uint64_t *value)
{
	struct pair_side *side = arg;

	if (pa.u > PAIR_RAM_BYTES - 8)
		return false;
	memcpy(value, side->ram + pa.u, 8);
	return true;
}

static void
pair_raise_pmi(void *arg)
{
	struct pair_side *side = arg;

	side->digest = side->digest * 31 + 7;
}

static void
pair_event(void *arg, const struct pt_event *event)
{
	struct pair_side *side = arg;

	if (event->kind != PT_EVENT_OUTPUT) {
		side->digest = side->digest * 31 + (uint64_t)event->kind;
		side->digest = side->digest * 31 + event->value;
		side->digest = side->digest * 31 + event->offset_bytes;
		side->stopped |= event->kind == PT_EVENT_STOPPED;
		side->lost |= event->kind == PT_EVENT_ERROR ||
		    (event->kind == PT_EVENT_STOPPED && side->full);
		side->full = event->kind == PT_EVENT_REGION_FULL;
		side->over += event->kind == PT_EVENT_OVERFLOW &&
		    event->value == 0;
		return;
	}
	TZ_ASSERT(event->pa.u + event->bytes <= PAIR_RAM_BYTES);
	if (side->room - side->count < event->bytes) {
		side->room = 2 * side->room + event->bytes;
		side->stream = realloc(side->stream, side->room);
		TZ_ASSERT(side->stream != NULL);
	}
	memcpy(
	    side->stream + side->count, side->ram + event->pa.u, event->bytes);
	side->count += event->bytes;
}

static struct pt_unit *
pair_unit(struct pair *pair, struct pair_side *side)
{
	struct pt_port port = { .arg = side,
		.window = pair_window,
		.read64 = pair_read64,
		.raise_pmi = pair_raise_pmi,
		.event = pair_event };
	struct pt_unit *unit = pt_unit_create(&pair->profile, &port);

	TZ_ASSERT(unit != NULL);
	TZ_ASSERT(pt_unit_set_cycles(unit, &pair->figures) == 0);
	return unit;
}

void
pair_create(struct pair *pair)
{
	for (unsigned s = 0; s < 2; s++) {
		struct pair_side *side = &pair->side[s];

		side->room = 4096;
		side->ram = calloc(1, PAIR_RAM_BYTES);
		side->stream = malloc(side->room);
		TZ_ASSERT(side->ram != NULL && side->stream != NULL);
		side->unit = pair_unit(pair, side);
	}
}

void
pair_destroy(struct pair *pair)
{
	for (unsigned s = 0; s < 2; s++) {
		pt_unit_destroy(pair->side[s].unit);
		free(pair->side[s].ram);
		free(pair->side[s].stream);
	}
}

void
pair_wrmsr(struct pair *pair, uint32_t index, uint64_t value,
    const struct pt_context *at, uint64_t nlip)
{
	for (unsigned s = 0; s < 2; s++) {
		enum fault fault = pt_unit_wrmsr(
		    pair->side[s].unit, index, value, at, nlip);

		FUZZ_CHECK(fault == FAULT_NONE, "WRMSR %x of %llx faults",
		    index, (unsigned long long)value);
	}
}

uint64_t
pair_rdmsr(const struct pair *pair, uint32_t index)
{
	uint64_t value[2] = { 0 };

	for (unsigned s = 0; s < 2; s++)
		pt_unit_rdmsr(pair->side[s].unit, index, &value[s]);
	FUZZ_CHECK(value[0] == value[1], "RDMSR %x: %llx and %llx", index,
	    (unsigned long long)value[0], (unsigned long long)value[1]);
	return value[0];
}

/* Reports TRANSFER as a CPU in a hurry would; false: it has to be done in full. */
static bool
pair_transfer_fast(struct pt_unit *unit, const struct pt_transfer *transfer)
{
	const struct pt_fast *fast = pt_unit_fast(unit);
	uint64_t target = transfer->after.ip;
	bool near = transfer->kind <= PT_TRANSFER_RET;

	if (near && fast->off)
		return true;
	if (!near || !fast->steady || target < fast->low || target > fast->high)
		return false;
	if (transfer->kind == PT_TRANSFER_COND && fast->fast)
		pt_unit_fast_cond(unit, transfer->taken);
	else if (transfer->kind == PT_TRANSFER_COND)
		pt_unit_steady_cond(unit, transfer->taken);
	if (transfer->kind == PT_TRANSFER_CALL_INDIRECT ||
	    (transfer->kind == PT_TRANSFER_CALL_DIRECT &&
		target != transfer->nlip))
		pt_unit_fast_call(unit, transfer->nlip);
	if (transfer->kind == PT_TRANSFER_CALL_INDIRECT ||
	    transfer->kind == PT_TRANSFER_JMP_INDIRECT)
		pt_unit_steady_tip(unit, target);
	if (transfer->kind == PT_TRANSFER_RET && fast->fast)
		pt_unit_fast_ret(unit, target);
	else if (transfer->kind == PT_TRANSFER_RET)
		pt_unit_steady_ret(unit, target);
	return true;
}

void
pair_transfer(struct pair *pair, const struct pt_transfer *transfer)
{
	pt_unit_transfer(pair->side[0].unit, transfer);
	if (!pair_transfer_fast(pair->side[1].unit, transfer))
		pt_unit_transfer(pair->side[1].unit, transfer);
}

static void
pair_tell(struct pair *pair, uint64_t cycles, uint64_t ratio)
{
	struct pt_time now = { .cycles = cycles,
		.tsc = cycles,
		.art = cycles / ratio,
		.fc = (uint32_t)(cycles % ratio) };

	for (unsigned s = 0; s < 2; s++)
		pt_unit_time(pair->side[s].unit, &now);
}

/* The cycle in which a unit must be told the time next. */
static uint64_t
pair_due(const struct pair *pair, uint64_t ratio)
{
	uint64_t mtc[2], buffer[2];

	for (unsigned s = 0; s < 2; s++) {
		mtc[s] = pt_unit_mtc_due(pair->side[s].unit);
		buffer[s] = pt_unit_due(pair->side[s].unit);
	}
	FUZZ_CHECK(mtc[0] == mtc[1], "MTC due at different times");
	FUZZ_CHECK(buffer[0] == buffer[1], "buffers due at different times");
	if (mtc[0] != UINT64_MAX && mtc[0] * ratio < buffer[0])
		return mtc[0] * ratio;
	return buffer[0];
}

void
pair_pass(struct pair *pair, uint64_t cycles)
{
	const struct profile *profile = &pair->profile;
	uint64_t ratio = profile->tsc_den == 0
	    ? 100
	    : profile->tsc_num / profile->tsc_den;
	uint64_t end = pair->cycles + cycles;

	for (;;) {
		uint64_t due = pair_due(pair, ratio);

		if (due > end)
			break;
		/* What is due since before is due now. */
		if (due > pair->cycles)
			pair->cycles = due;
		pair_tell(pair, pair->cycles, ratio);
	}
	pair->cycles = end;
	pair_tell(pair, end, ratio);
}

void
pair_snapshot(struct pair *pair)
{
	struct pair_side *side = &pair->side[1];
	void *state = malloc(pt_unit_size(side->unit));

	TZ_ASSERT(state != NULL);
	pt_unit_save(side->unit, state);
	pt_unit_destroy(side->unit);
	side->unit = pair_unit(pair, side);
	pt_unit_restore(side->unit, state);
	free(state);
}

void
pair_compare(struct pair *pair)
{
	const struct pair_side *slow = &pair->side[0], *fast = &pair->side[1];

	pt_unit_sync_output(slow->unit);
	pt_unit_sync_output(fast->unit);
	FUZZ_CHECK(slow->count == fast->count &&
		memcmp(slow->stream + pair->compared,
		    fast->stream + pair->compared,
		    slow->count - pair->compared) == 0,
	    "the fast path's stream differs (%zu and %zu bytes)", slow->count,
	    fast->count);
	pair->compared = slow->count;
	FUZZ_CHECK(slow->digest == fast->digest, "the events differ");
	FUZZ_CHECK(pt_unit_hash(slow->unit) == pt_unit_hash(fast->unit),
	    "the hashes differ");
}
