#include "traces/verify/counters/counter_unit.h"

#include <string.h>

#define MSR_COUNTER      0xc1u
#define MSR_COUNTER_FULL 0x4c1u
#define MSR_SELECT       0x186u
#define MSR_FIXED        0x309u
#define MSR_DEBUGCTL     0x1d9u
#define MSR_FIXED_CTRL   0x38du
#define MSR_GLOBAL_CTRL  0x38fu
#define MSR_PEBS_ENABLE  0x3f1u

#define SELECT_EDGE      TZ_BIT(18)
#define SELECT_INT       TZ_BIT(20)
#define SELECT_EN        TZ_BIT(22)
#define SELECT_INV_CMASK UINT64_C(0xff800000)
#define SELECT_NEVER_16  UINT64_C(0x10800000) /* fewer than 16 in a cycle */
#define FREEZE_ON_PMI    TZ_BIT(12)           /* of IA32_DEBUGCTL */

/* Cycles of PAUSE without the cost model; every other instruction takes one. */
#define PAUSE_CYCLES 140

enum family { P6, CORE, COVE, ATOM, ARCH, BIG };

static bool
is_of(const struct profile *profile, enum family family)
{
	enum profile_events events = profile->uarch->events;

	switch (family) {
	case P6:
		return events == PROFILE_EVENTS_P6;
	case CORE:
		return events == PROFILE_EVENTS_CORE;
	case COVE:
		return events == PROFILE_EVENTS_COVE;
	case ATOM:
		return events == PROFILE_EVENTS_ATOM;
	case ARCH:
		return events != PROFILE_EVENTS_P6;
	case BIG:
		return events == PROFILE_EVENTS_CORE ||
		    events == PROFILE_EVENTS_COVE;
	}
	return false;
}

bool
counted_is_told(enum counted counted)
{
	return counted != COUNTED_UNKNOWN && counted != COUNTED_REFERENCE;
}

const char *
counted_reason(enum counted counted)
{
	if (counted == COUNTED_CYCLE)
		return "the execution log does not have the times of these cycles";
	return counted == COUNTED_REFERENCE ? "reference cycles"
					    : "the event has no rule";
}

enum counted
counted_of(const struct profile *profile, uint64_t select)
{
	static const struct {
		uint8_t select, umask;
		enum family family;
		enum counted counted;
	} rows[] = {
#define COUNTED(select, umask, family, rule) \
 { select, umask, family, COUNTED_##rule },
#include "traces/verify/counters/counted.def"
#undef COUNTED
	};

	bool never = (select & SELECT_INV_CMASK) == SELECT_NEVER_16;

	if ((select & SELECT_EDGE) != 0 ||
	    ((select & SELECT_INV_CMASK) != 0 && !never))
		return COUNTED_UNKNOWN;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		if (rows[i].select != (select & 0xff) ||
		    rows[i].umask != (select >> 8 & 0xff) ||
		    !is_of(profile, rows[i].family))
			continue;
		if (!never)
			return rows[i].counted;
		/* perf's precise cycles: no processor retires 16 in one. */
		return rows[i].counted == COUNTED_ALL ? COUNTED_CYCLE
						      : COUNTED_UNKNOWN;
	}
	return COUNTED_UNKNOWN;
}

void
counter_unit_start(struct counter_unit *unit, const struct profile *profile)
{
	memset(unit, 0, sizeof(*unit));
	unit->profile = profile;
	/* The counters' enable bits after reset matter to software that sets none. */
	unit->global_ctrl = (UINT64_C(1) << COUNTER_GENERAL) - 1;
}

static bool
is_p6(const struct counter_unit *unit)
{
	return is_of(unit->profile, P6);
}

static uint64_t
value_mask(const struct counter_unit *unit, unsigned i)
{
	uint64_t width = is_p6(unit) ? 40
	    : i < COUNTER_GENERAL    ? unit->profile->perfmon_eax >> 16 & 0xff
				     : unit->profile->perfmon_edx >> 5 & 0xff;

	return (UINT64_C(1) << width) - 1;
}

/* Of counter I, in IA32_PERF_GLOBAL_STATUS and IA32_PEBS_ENABLE. */
static unsigned
counter_bit(unsigned i)
{
	return i < COUNTER_GENERAL ? i : 32 + i - COUNTER_GENERAL;
}

int
counter_unit_value_msr(uint32_t msr)
{
	if (msr - MSR_COUNTER < COUNTER_GENERAL)
		return (int)(msr - MSR_COUNTER);
	if (msr - MSR_COUNTER_FULL < COUNTER_GENERAL)
		return (int)(msr - MSR_COUNTER_FULL);
	if (msr - MSR_FIXED < COUNTER_FIXED)
		return (int)(msr - MSR_FIXED + COUNTER_GENERAL);
	return -1;
}

/* The controls have changed. */
static void
decide(struct counter_unit *unit)
{
	const enum counted fixed[COUNTER_FIXED] = { COUNTED_ALL, COUNTED_CYCLE,
		COUNTED_REFERENCE, COUNTED_UNKNOWN };

	for (unsigned i = 0; i < COUNTER_GENERAL; i++) {
		struct counter_state *counter = &unit->counter[i];
		uint64_t select = unit->select[i];
		/* SDM vol. 3, 20.6.8: bit 22 of the first enables both. */
		uint64_t enable = is_p6(unit) ? unit->select[0] : select;

		counter->user = (select & COUNTER_SELECT_USR) != 0;
		counter->os = (select & COUNTER_SELECT_OS) != 0;
		/* A counter of no event is not in use; on P6 no other bit says so. */
		counter->enabled = (enable & SELECT_EN) != 0 &&
		    (select & 0xffff) != 0 && (counter->user || counter->os);
		counter->running = counter->enabled &&
		    (is_p6(unit) || (unit->global_ctrl >> i & 1) != 0);
		counter->interrupts = (select & SELECT_INT) != 0;
		counter->counted = counted_of(
		    unit->profile, select & ~SELECT_EN);
	}
	for (unsigned i = 0; i < COUNTER_FIXED; i++) {
		struct counter_state *counter =
		    &unit->counter[COUNTER_GENERAL + i];
		uint64_t field = unit->fixed_ctrl >> (4 * i) & 0xf;

		counter->os = (field & 1) != 0;
		counter->user = (field & 2) != 0;
		counter->interrupts = (field & 8) != 0;
		counter->enabled = (field & 3) != 0;
		counter->running = counter->enabled &&
		    (unit->global_ctrl >> (32 + i) & 1) != 0;
		counter->counted = fixed[i];
	}
}

static void
write_pebs_enable(struct counter_unit *unit, uint64_t value)
{
	unit->pebs = 0;
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		if ((value >> counter_bit(i) & 1) != 0)
			unit->pebs |= UINT32_C(1) << i;
	unit->armed &= unit->pebs;
}

void
counter_unit_write(struct counter_unit *unit, uint32_t msr, uint64_t value)
{
	int i = counter_unit_value_msr(msr);

	if (i >= 0) {
		/* Not the full-width form: 32 bits, sign-extended. */
		if (msr - MSR_COUNTER < COUNTER_GENERAL)
			value = (uint64_t)(int64_t)(int32_t)(uint32_t)value;
		unit->counter[i].value = value & value_mask(unit, (unsigned)i);
		unit->counter[i].unsure = 0;
		unit->counter[i].wraps = 0;
		unit->counter[i].unknown = false;
	} else if (msr - MSR_SELECT < COUNTER_GENERAL) {
		unit->select[msr - MSR_SELECT] = value;
	} else if (msr == MSR_FIXED_CTRL) {
		unit->fixed_ctrl = value;
	} else if (msr == MSR_GLOBAL_CTRL) {
		unit->global_ctrl = value;
	} else if (msr == MSR_PEBS_ENABLE) {
		write_pebs_enable(unit, value);
	} else if (msr == MSR_DEBUGCTL) {
		unit->freezes |= (value & FREEZE_ON_PMI) != 0;
	} else {
		return;
	}
	decide(unit);
}

static bool
is_branch(enum code_kind kind)
{
	return kind >= CODE_CONDITIONAL && kind <= CODE_IRET;
}

static bool
is_near_taken(const struct insn_piece *piece)
{
	return (piece->last >= CODE_JMP && piece->last <= CODE_RET) ||
	    (piece->last == CODE_CONDITIONAL && piece->taken == INSN_TAKEN);
}

/* Of the last instruction. */
static bool
last_counts(const struct insn_piece *piece, enum counted counted)
{
	bool conditional = piece->last == CODE_CONDITIONAL;

	switch (counted) {
	case COUNTED_BRANCH:
		return is_branch(piece->last);
	case COUNTED_CONDITIONAL:
		return conditional;
	case COUNTED_CONDITIONAL_TAKEN:
		return conditional && piece->taken == INSN_TAKEN;
	case COUNTED_NOT_TAKEN:
		return conditional && piece->taken == INSN_NOT_TAKEN;
	case COUNTED_NEAR_TAKEN:
		return is_near_taken(piece);
	case COUNTED_CALL:
		return piece->last == CODE_CALL ||
		    piece->last == CODE_CALL_INDIRECT;
	case COUNTED_RET:
		return piece->last == CODE_RET;
	case COUNTED_FAR:
		return piece->last == CODE_FAR || piece->last == CODE_IRET;
	case COUNTED_UNKNOWN:
	case COUNTED_ALL:
	case COUNTED_CYCLE:
	case COUNTED_REFERENCE:
	case COUNTED_INTERRUPT:
		return false;
	}
	return false;
}

/* NMIs are interrupts, too. */
static bool
is_interrupt(const struct counter_unit *unit, const struct insn_piece *piece)
{
	return !unit->soft && (piece->vector == 2 || piece->vector >= 32);
}

uint64_t
counter_unit_events(const struct counter_unit *unit,
    const struct insn_piece *piece, enum counted counted, uint64_t *perhaps)
{
	if (!counted_is_told(counted) ||
	    (counted == COUNTED_CYCLE && unit->profile->cost))
		return 0;
	if (piece->kind == INSN_FLOW_EVENT)
		return counted == COUNTED_INTERRUPT &&
		    is_interrupt(unit, piece);
	if (counted == COUNTED_ALL)
		return piece->count;
	if (counted == COUNTED_CYCLE)
		return piece->count +
		    (piece->last == CODE_PAUSE ? PAUSE_CYCLES - 1 : 0);
	if (piece->last == CODE_CONDITIONAL && piece->taken == INSN_PERHAPS)
		*perhaps += counted == COUNTED_CONDITIONAL_TAKEN ||
		    counted == COUNTED_NOT_TAKEN ||
		    counted == COUNTED_NEAR_TAKEN;
	return last_counts(piece, counted);
}

/* Adds EVENTS to counter I; true: it overflows, when *AT instructions have retired. */
static bool
add(struct counter_unit *unit, unsigned i, const struct insn_piece *piece,
    uint64_t events, uint64_t *at)
{
	struct counter_state *counter = &unit->counter[i];
	uint64_t mask = value_mask(unit, i), left = mask - counter->value;

	counter->value = (counter->value + events) & mask;
	if (events <= left)
		return false;
	*at = piece->before + piece->count;
	if (counter->counted == COUNTED_ALL ||
	    (counter->counted == COUNTED_CYCLE && left < piece->count))
		*at = piece->before + left + 1;
	return true;
}

bool
counter_unit_clocks(const struct counter_unit *unit, unsigned i)
{
	return unit->profile->cost && unit->counter[i].counted == COUNTED_CYCLE;
}

void
counter_unit_pass(struct counter_unit *unit, const uint64_t passed[2],
    uint64_t events[COUNTER_COUNT])
{
	for (unsigned i = 0; i < COUNTER_COUNT; i++) {
		struct counter_state *counter = &unit->counter[i];
		uint64_t mask = value_mask(unit, i), left;

		events[i] = 0;
		if (!counter->running || !counter_unit_clocks(unit, i))
			continue;
		events[i] = (counter->os ? passed[0] : 0) +
		    (counter->user ? passed[1] : 0);
		left = mask - counter->value;
		counter->wraps += events[i] > left;
		counter->value = (counter->value + events[i]) & mask;
	}
}

uint32_t
counter_unit_count(struct counter_unit *unit, const struct insn_piece *piece,
    uint64_t events[COUNTER_COUNT], uint64_t at[COUNTER_COUNT], uint32_t *due)
{
	uint32_t overflows = 0;

	*due = 0;

	for (unsigned i = 0; i < COUNTER_COUNT; i++) {
		struct counter_state *counter = &unit->counter[i];

		events[i] = 0;
		if (!counter->running ||
		    !(piece->cpl == 0 ? counter->os : counter->user))
			continue;
		counter->unknown |= !counted_is_told(counter->counted);
		events[i] = counter_unit_events(
		    unit, piece, counter->counted, &counter->unsure);
		if (events[i] == 0)
			continue;
		if ((unit->armed >> i & 1) != 0)
			*due |= UINT32_C(1) << i;
		if (add(unit, i, piece, events[i], &at[i]))
			overflows |= UINT32_C(1) << i;
	}
	unit->armed = (unit->armed & ~*due) | (overflows & unit->pebs & ~*due);
	unit->soft = piece->kind == INSN_FLOW_INSNS &&
	    piece->last == CODE_FAR && piece->block->transfer == CODE_SOFT;
	return overflows;
}

void
counter_unit_sampled(struct counter_unit *unit, uint32_t counters)
{
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		if ((counters >> i & 1) != 0)
			unit->counter[i].value = unit->reset[i] &
			    value_mask(unit, i);
}
