#include "emu/cpu/access/access.h"

#include <assert.h>

#define NO_SYMBOL UINT32_MAX /* the value is a number */

static_assert((int)INSN_REGS <= ACCESS_AT_END, "places do not overlap");
static_assert((int)ACCESS_VALUES <= 64, "a mask of places has 64 bits");

void
access_flow_begin(struct access_flow *flow)
{
	*flow = (struct access_flow){ .symbols = INSN_REGS };
	for (uint32_t i = 0; i < INSN_REGS; i++)
		flow->reg[i].symbol = i;
}

static void
note_part(const struct access_flow *flow, struct block_access *access,
    enum access_part part, uint8_t reg)
{
	access->part[part].symbol = NO_SYMBOL;
	access->part[part].add = 0;
	if (reg == INSN_NO_REG)
		return;
	access->part[part].symbol = flow->reg[reg].symbol;
	access->part[part].add = flow->reg[reg].add;
}

static void
note_access(const struct access_flow *flow, const struct insn_access *at,
    struct block_access *access)
{
	*access = (struct block_access){ .at = *at, .insn = flow->insns };
	note_part(flow, access, ACCESS_BASE, at->base);
	note_part(flow, access, ACCESS_INDEX, at->index);
	note_part(flow, access, ACCESS_SEGMENT, at->segment);
	note_part(flow, access, ACCESS_BITS, at->bits);
	note_part(flow, access, ACCESS_COUNT, at->rep ? INSN_RCX : INSN_NO_REG);
	note_part(flow, access, ACCESS_FRAME, INSN_RBP);
}

static void
set_value(struct access_flow *flow, uint8_t reg, uint32_t symbol, uint64_t add)
{
	flow->reg[reg] = (struct access_value){ symbol, add, flow->insns };
}

static void
run_insn(struct access_flow *flow, const struct insn_uses *uses)
{
	struct access_value from = { .symbol = NO_SYMBOL };

	/* The sum uses the old value of .from, which the loop may overwrite. */
	if (uses->to != INSN_NO_REG && uses->from != INSN_NO_REG)
		from = flow->reg[uses->from];
	for (uint8_t i = 0; i < INSN_REGS; i++) {
		if (uses->written >> i & 1)
			set_value(flow, i, flow->symbols++, 0);
	}
	if (uses->to != INSN_NO_REG)
		set_value(flow, uses->to, from.symbol, from.add + uses->add);
}

unsigned
access_flow_insn(struct access_flow *flow, const uint8_t *bytes, size_t count,
    uint64_t va, struct block_access *access)
{
	struct insn_uses uses;

	insn_uses(bytes, count, va, &uses);
	for (unsigned i = 0; i < uses.access_count; i++)
		note_access(flow, &uses.access[i], &access[i]);
	run_insn(flow, &uses);
	flow->insns++;
	return uses.access_count;
}

/*
 * Finds a place for PART of ACCESS: the registers at the block's end, if the value
 * has not changed since the instruction; else those at its begin.  The end is
 * preferred because the block may be left anywhere after the instruction, and one
 * read then serves all accesses.  False: neither place has the value.
 */
static bool
find_sum(const struct access_flow *flow, const struct block_access *access,
    enum access_part part, struct access_sum *sum)
{
	uint32_t symbol = access->part[part].symbol;

	*sum = (struct access_sum){ INSN_NO_REG, access->part[part].add };
	if (symbol == NO_SYMBOL)
		return true;
	for (uint8_t i = 0; i < INSN_REGS; i++) {
		const struct access_value *value = &flow->reg[i];

		if (value->symbol == symbol && value->since <= access->insn) {
			sum->place = (uint8_t)(ACCESS_AT_END + i);
			sum->add -= value->add;
			return true;
		}
	}
	sum->place = (uint8_t)symbol;
	return symbol < INSN_REGS;
}

/* False: only the registers just before the instruction have all values. */
static bool
find_parts(const struct access_flow *flow, struct block_access *access)
{
	struct access_sum sum[ACCESS_PARTS];
	struct insn_access *at = &access->at;

	for (unsigned i = 0; i < ACCESS_PARTS; i++) {
		if (!find_sum(flow, access, (enum access_part)i, &sum[i]))
			return false;
	}
	/* A bit number cannot be a sum. */
	if (sum[ACCESS_BITS].add != 0)
		return false;
	at->disp += sum[ACCESS_BASE].add + sum[ACCESS_INDEX].add * at->scale +
	    sum[ACCESS_SEGMENT].add;
	at->base = sum[ACCESS_BASE].place;
	at->index = sum[ACCESS_INDEX].place;
	at->segment = sum[ACCESS_SEGMENT].place;
	at->bits = sum[ACCESS_BITS].place;
	access->count = sum[ACCESS_COUNT];
	access->frame = sum[ACCESS_FRAME];
	return true;
}

void
access_flow_end(
    const struct access_flow *flow, struct block_access *access, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (find_parts(flow, &access[i]))
			continue;
		access[i].site = true;
		access[i].count.place = INSN_RCX;
		access[i].frame.place = INSN_RBP;
	}
}

bool
access_flow_at_begin(const struct block_access *access, struct insn_access *at)
{
	uint8_t place[ACCESS_PARTS];

	for (unsigned i = ACCESS_BASE; i <= ACCESS_BITS; i++) {
		uint32_t symbol = access->part[i].symbol;

		if (symbol != NO_SYMBOL && symbol >= INSN_REGS)
			return false;
		place[i] = symbol == NO_SYMBOL ? INSN_NO_REG : (uint8_t)symbol;
	}
	if (access->part[ACCESS_BITS].add != 0)
		return false;
	*at = access->at;
	at->disp += access->part[ACCESS_BASE].add +
	    access->part[ACCESS_INDEX].add * at->scale +
	    access->part[ACCESS_SEGMENT].add;
	at->base = place[ACCESS_BASE];
	at->index = place[ACCESS_INDEX];
	at->segment = place[ACCESS_SEGMENT];
	at->bits = place[ACCESS_BITS];
	return true;
}

uint64_t
access_places(const struct block_access *access)
{
	const struct insn_access *at = &access->at;
	const uint8_t place[] = { at->base, at->index, at->segment, at->bits,
		at->rep ? access->count.place : INSN_NO_REG };
	uint64_t places = 0;

	for (size_t i = 0; i < TZ_ARRAY_LEN(place); i++) {
		if (place[i] != INSN_NO_REG)
			places |= TZ_BIT(place[i]);
	}
	return places;
}
