/*
 * What counters count, and when they overflow.
 *
 * Each core cycle has at most one event of each signal (model choice), so a threshold
 * (CMASK) of 1 changes nothing, a higher one is never reached, and the complement
 * (INV) counts the cycles without an event.
 */
#include "emu/pmu/pmu.h"

#include <string.h>
#include <xxhash.h>

#include "emu/pmu/state.h"

struct event {
	uint32_t select, umask;
	uint32_t families;
	enum pmu_signal signal;
};

#define CORE  TZ_BIT(PROFILE_EVENTS_CORE)
#define COVE  TZ_BIT(PROFILE_EVENTS_COVE)
#define ATOM  TZ_BIT(PROFILE_EVENTS_ATOM)
#define BOTH  (CORE | COVE)
#define P6    TZ_BIT(PROFILE_EVENTS_P6)
#define EVERY (BOTH | ATOM | TZ_BIT(PROFILE_EVENTS_CORE2))

static const struct event events[] = {
#define EVENT(select, umask, families, signal, text, citation) \
 { select, umask, families, PMU_##signal },
#include "emu/pmu/event.def"
#undef EVENT
};

/* Of the fixed counters; slots, which the fourth counts, have no model. */
static const enum pmu_signal fixed_signals[PMU_FIXED_MAX] = { PMU_INSTRUCTIONS,
	PMU_CYCLES, PMU_REFERENCE, PMU_SIGNALS };

static enum pmu_signal
event_signal(const struct profile *profile, uint64_t select)
{
	uint32_t family = (uint32_t)TZ_BIT(profile->uarch->events);

	for (size_t i = 0; i < TZ_ARRAY_LEN(events); i++)
		if (events[i].select == SELECT_EVENT(select) &&
		    events[i].umask == SELECT_UMASK(select) &&
		    (events[i].families & family) != 0)
			return events[i].signal;
	return PMU_SIGNALS;
}

/* Edge detection has no model: it needs the signals of each single cycle. */
static enum pmu_rule
select_rule(uint64_t select, enum pmu_signal signal)
{
	uint32_t threshold = SELECT_CMASK(select);

	if (signal == PMU_SIGNALS || (select & SELECT_EDGE) != 0)
		return PMU_RULE_NONE;
	if (threshold == 0)
		return PMU_RULE_EVENTS;
	if ((select & SELECT_INV) == 0)
		return threshold == 1 ? PMU_RULE_EVENTS : PMU_RULE_NONE;
	return threshold == 1 ? PMU_RULE_WITHOUT : PMU_RULE_CYCLES;
}

static bool
is_counting(const struct pmu *pmu, unsigned number)
{
	/* SDM vol. 3, 20.6.8: one flag for both. */
	if (pmu_is_p6(pmu->profile))
		return (pmu->select[0] & SELECT_EN) != 0;
	bool frozen = pmu_version(pmu->profile) >= 4 &&
	    (pmu->global_status & PMU_STATUS_CTR_FRZ) != 0;

	return !frozen && (pmu->global_ctrl & pmu_counter_bit(number)) != 0;
}

/* The flag of the counter itself. */
static bool
is_enabled(const struct pmu *pmu, unsigned gp)
{
	return pmu_is_p6(pmu->profile) || (pmu->select[gp] & SELECT_EN) != 0;
}

static void
decide_gp(struct pmu *pmu, unsigned gp)
{
	struct pmu_counter *counter = &pmu->counter[gp];
	uint64_t select = pmu->select[gp];
	enum pmu_rule rule = PMU_RULE_NONE;

	counter->signal = event_signal(pmu->profile, select);
	if (is_enabled(pmu, gp) && is_counting(pmu, gp))
		rule = select_rule(select, counter->signal);
	counter->rule[0] = (select & SELECT_OS) != 0 ? rule : PMU_RULE_NONE;
	counter->rule[1] = (select & SELECT_USR) != 0 ? rule : PMU_RULE_NONE;
	counter->interrupts = (select & SELECT_INT) != 0;
}

static void
decide_fixed(struct pmu *pmu, unsigned fixed)
{
	struct pmu_counter *counter = &pmu->counter[PMU_GP_MAX + fixed];
	unsigned field = (unsigned)(pmu->fixed_ctrl >> (4 * fixed));
	enum pmu_rule rule = PMU_RULE_NONE;

	counter->signal = fixed_signals[fixed];
	if (counter->signal != PMU_SIGNALS &&
	    is_counting(pmu, PMU_GP_MAX + fixed))
		rule = PMU_RULE_EVENTS;
	counter->rule[0] = (field & FIXED_OS) != 0 ? rule : PMU_RULE_NONE;
	counter->rule[1] = (field & FIXED_USR) != 0 ? rule : PMU_RULE_NONE;
	counter->interrupts = (field & FIXED_PMI) != 0;
}

void
pmu_decide(struct pmu *pmu)
{
	for (unsigned i = 0; i < pmu_gp_count(pmu->profile); i++)
		decide_gp(pmu, i);
	for (unsigned i = 0; i < pmu_fixed_count(pmu->profile); i++)
		decide_fixed(pmu, i);
	pmu->wanted = 0;
	for (size_t i = 0; i < TZ_ARRAY_LEN(pmu->counter); i++) {
		const struct pmu_counter *counter = &pmu->counter[i];

		for (unsigned user = 0; user < 2; user++) {
			if (counter->rule[user] == PMU_RULE_NONE)
				continue;
			pmu->wanted |= (uint32_t)TZ_BIT(PMU_CYCLES);
			if (counter->rule[user] != PMU_RULE_CYCLES)
				pmu->wanted |= (uint32_t)TZ_BIT(
				    counter->signal);
		}
	}
}

void
pmu_reset(struct pmu *pmu, const struct profile *profile)
{
	memset(pmu, 0, sizeof(*pmu));
	pmu->profile = profile;
	/* SDM vol. 3, 10.1.1 "Processor State After Reset": IA32_PERF_GLOBAL_CTRL. */
	if (pmu_version(profile) >= 2)
		pmu->global_ctrl = (UINT64_C(1) << pmu_gp_count(profile)) - 1;
	pmu_decide(pmu);
}

static uint64_t
mask_of(const struct pmu *pmu, unsigned number)
{
	return pmu_value_mask(pmu->profile, number >= PMU_GP_MAX);
}

static uint64_t
increment(
    const struct pmu_counter *counter, bool user, const struct pmu_slice *slice)
{
	uint64_t cycles = slice->count[PMU_CYCLES];

	switch (counter->rule[user]) {
	case PMU_RULE_EVENTS:
		return slice->count[counter->signal];
	case PMU_RULE_WITHOUT:
		return cycles < slice->count[counter->signal]
		    ? 0
		    : cycles - slice->count[counter->signal];
	case PMU_RULE_CYCLES:
		return cycles;
	case PMU_RULE_NONE:
		break;
	}
	return 0;
}

struct pmu_outcome
pmu_count(
    struct pmu *pmu, bool user, const struct pmu_slice *slice, bool freeze)
{
	struct pmu_outcome outcome = { 0 };

	for (unsigned i = 0; i < TZ_ARRAY_LEN(pmu->counter); i++) {
		struct pmu_counter *counter = &pmu->counter[i];
		uint64_t bit = pmu_counter_bit(i), mask, value;

		if (counter->rule[user] == PMU_RULE_NONE)
			continue;
		mask = mask_of(pmu, i);
		value = counter->value + increment(counter, user, slice);
		if ((pmu->pebs_armed & bit) != 0 && value != counter->value)
			outcome.pebs |= bit;
		if (value > mask) {
			outcome.overflows |= bit;
			if ((pmu->pebs_enable & bit) != 0)
				pmu->pebs_armed |= bit;
			else
				outcome.pmi |= counter->interrupts;
		}
		counter->value = value & mask;
	}
	pmu->global_status |= outcome.overflows;
	if (outcome.pmi && freeze)
		pmu_freeze(pmu);
	return outcome;
}

bool
pmu_pebs_done(struct pmu *pmu, uint64_t counters, const uint64_t *reset)
{
	bool interrupts = false;

	for (unsigned i = 0; i < TZ_ARRAY_LEN(pmu->counter); i++) {
		struct pmu_counter *counter = &pmu->counter[i];

		if ((counters & pmu_counter_bit(i)) == 0)
			continue;
		counter->value = reset[i] & mask_of(pmu, i);
		interrupts |= counter->interrupts;
	}
	pmu->pebs_armed &= ~counters;
	pmu->global_status &= ~counters;
	return interrupts;
}

void
pmu_pebs_lost(struct pmu *pmu, uint64_t counters)
{
	pmu->pebs_armed &= ~counters;
}

/* A counter without the flag has the basic group alone. */
uint64_t
pmu_pebs_groups(const struct pmu *pmu, uint64_t counters)
{
	for (unsigned i = 0; i < PMU_GP_MAX; i++)
		if ((counters & pmu_counter_bit(i)) != 0 &&
		    (pmu->select[i] & SELECT_ADAPTIVE) != 0)
			return pmu->pebs_config;
	for (unsigned i = 0; i < PMU_FIXED_MAX; i++)
		if ((counters & pmu_counter_bit(PMU_GP_MAX + i)) != 0 &&
		    (pmu->fixed_ctrl & FIXED_ADAPTIVE(i)) != 0)
			return pmu->pebs_config;
	return 0;
}

void
pmu_ds_overflow(struct pmu *pmu)
{
	pmu->global_status |= PMU_STATUS_OVF_DS;
}

/* SDM vol. 3, 20.2.4.1 "Enhancement in IA32_PERF_GLOBAL_STATUS", 18.4.7 "Freezing". */
void
pmu_freeze(struct pmu *pmu)
{
	if (pmu_version(pmu->profile) >= 4)
		pmu->global_status |= PMU_STATUS_CTR_FRZ;
	else
		pmu->global_ctrl = 0;
	pmu_decide(pmu);
}

/* The most that COUNTER advances with an instruction or a cycle; 0: with neither. */
static uint64_t
steps(const struct pmu_counter *counter, bool user, uint64_t ticks)
{
	switch (counter->rule[user]) {
	case PMU_RULE_EVENTS:
		if (counter->signal == PMU_REFERENCE)
			return ticks;
		return counter->signal <= PMU_BUS ? 1 : 0;
	case PMU_RULE_WITHOUT:
	case PMU_RULE_CYCLES:
		return 1;
	case PMU_RULE_NONE:
		break;
	}
	return 0;
}

/* True if COUNTER advances with each instruction, not with time. */
static bool
counts_insns(const struct pmu_counter *counter, bool user)
{
	return counter->rule[user] == PMU_RULE_EVENTS &&
	    counter->signal == PMU_INSTRUCTIONS;
}

struct pmu_room
pmu_room(const struct pmu *pmu, bool user, uint64_t ticks)
{
	struct pmu_room room = { UINT64_MAX, UINT64_MAX };

	TZ_ASSERT(ticks > 0);
	for (unsigned i = 0; i < TZ_ARRAY_LEN(pmu->counter); i++) {
		const struct pmu_counter *counter = &pmu->counter[i];
		uint64_t step = steps(counter, user, ticks), left;
		uint64_t *least = counts_insns(counter, user) ? &room.insns
							      : &room.cycles;

		if (step == 0)
			continue;
		left = mask_of(pmu, i) - counter->value + 1;
		left = (left + step - 1) / step;
		if ((pmu->pebs_armed & pmu_counter_bit(i)) != 0)
			room.insns = 1;
		if (left < *least)
			*least = left;
	}
	return room;
}

uint64_t
pmu_counting(const struct pmu *pmu)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < TZ_ARRAY_LEN(pmu->counter); i++) {
		const struct pmu_counter *counter = &pmu->counter[i];

		if (counter->rule[0] != PMU_RULE_NONE ||
		    counter->rule[1] != PMU_RULE_NONE)
			bits |= pmu_counter_bit(i);
	}
	return bits;
}

uint64_t
pmu_interrupting(const struct pmu *pmu)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < TZ_ARRAY_LEN(pmu->counter); i++)
		if (pmu->counter[i].interrupts)
			bits |= pmu_counter_bit(i);
	return bits & pmu_counting(pmu) & ~pmu->pebs_enable;
}

bool
pmu_hasten(struct pmu *pmu)
{
	uint64_t bits = pmu_interrupting(pmu), least = UINT64_MAX;
	unsigned nearest = 0;

	for (unsigned i = 0; i < TZ_ARRAY_LEN(pmu->counter); i++) {
		uint64_t left = mask_of(pmu, i) - pmu->counter[i].value;

		if ((bits & pmu_counter_bit(i)) != 0 && left < least) {
			least = left;
			nearest = i;
		}
	}
	if (least == 0 || least == UINT64_MAX)
		return false;
	pmu->counter[nearest].value = mask_of(pmu, nearest);
	return true;
}

bool
pmu_is_unknown_event(const struct pmu *pmu, unsigned gp)
{
	uint64_t select = pmu->select[gp];

	TZ_ASSERT(gp < PMU_GP_MAX);
	return is_enabled(pmu, gp) && SELECT_EVENT(select) != 0 &&
	    (event_signal(pmu->profile, select) == PMU_SIGNALS ||
		(select & SELECT_EDGE) != 0);
}

void
pmu_topa_pmi(struct pmu *pmu)
{
	pmu->global_status |= PMU_STATUS_TOPA_PMI;
}

void
pmu_stick(struct pmu *pmu, uint64_t resets)
{
	pmu->stuck_resets = resets;
}

uint64_t
pmu_hash(const struct pmu *pmu)
{
	uint64_t words[2 * PMU_GP_MAX + PMU_FIXED_MAX + 7];
	size_t count = 0;

	for (size_t i = 0; i < TZ_ARRAY_LEN(pmu->counter); i++)
		words[count++] = pmu->counter[i].value;
	for (size_t i = 0; i < PMU_GP_MAX; i++)
		words[count++] = pmu->select[i];
	words[count++] = pmu->fixed_ctrl;
	words[count++] = pmu->global_ctrl;
	words[count++] = pmu->global_status;
	words[count++] = pmu->stuck_resets;
	words[count++] = pmu->pebs_enable;
	words[count++] = pmu->pebs_config;
	words[count++] = pmu->pebs_armed;
	TZ_ASSERT(count == TZ_ARRAY_LEN(words));
	return XXH3_64bits(words, sizeof(words));
}
