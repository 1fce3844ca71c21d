/*
 * The counters of one CPU, counted again from its execution log and from the writes of
 * their registers (SDM vol. 3, 20.2 "Architectural Performance Monitoring", 20.6.8 for the
 * two of P6).  It shares no code with emu/pmu.
 */
#ifndef TOPAZ_TRACES_VERIFY_COUNTERS_COUNTER_UNIT_H
#define TOPAZ_TRACES_VERIFY_COUNTERS_COUNTER_UNIT_H

#include "emu/profile/profile.h"
#include "traces/verify/counters/insn_flow.h"

#define COUNTER_GENERAL    8
#define COUNTER_FIXED      4
#define COUNTER_COUNT      (COUNTER_GENERAL + COUNTER_FIXED) /* general ones first */

#define COUNTER_SELECT_USR TZ_BIT(16)
#define COUNTER_SELECT_OS  TZ_BIT(17)

/* What a counter counts. */
enum counted {
	COUNTED_UNKNOWN,   /* it has no row here: not compared */
	COUNTED_ALL,       /* instructions */
	COUNTED_CYCLE,     /* not halted */
	COUNTED_REFERENCE, /* the same of the TSC: fixed counter 2; not told */
	COUNTED_BRANCH,
	COUNTED_CONDITIONAL,
	COUNTED_CONDITIONAL_TAKEN,
	COUNTED_NOT_TAKEN,
	COUNTED_NEAR_TAKEN,
	COUNTED_CALL,
	COUNTED_RET,
	COUNTED_FAR,
	COUNTED_INTERRUPT,
};

struct counter_unit {
	const struct profile *profile;
	uint64_t select[COUNTER_GENERAL], fixed_ctrl, global_ctrl;
	struct counter_state {
		enum counted counted;
		bool enabled; /* by its own control */
		bool running; /* by the global one, too */
		bool user, os, interrupts;
		uint64_t value;
		bool unknown; /* .value: it has counted what is not compared */
		/* Conditional branches of which the execution log does not say
		   whether they were taken: as many events more are possible. */
		uint64_t unsure;
		/* Of the cost model's cycles: overflows that nobody has reported. */
		unsigned wraps;
	} counter[COUNTER_COUNT];
	/* Counters as bits: those with PEBS; of these, those whose next event makes a
	   record; what they start from after it (the DS save area). */
	uint32_t pebs, armed;
	uint64_t reset[COUNTER_COUNT];
	bool freezes; /* a PMI freezes the counters, which is not followed here */
	bool soft;    /* the last instruction is INT n */
};

/* The execution log tells what COUNTED counts. */
bool counted_is_told(enum counted counted);
/* Why it does not. */
const char *counted_reason(enum counted counted);
/* What SELECT, a value of IA32_PERFEVTSELx, counts on PROFILE. */
enum counted counted_of(const struct profile *profile, uint64_t select);

void counter_unit_start(
    struct counter_unit *unit, const struct profile *profile);

/* The number of a counter whose value MSR is; -1: MSR is none. */
int counter_unit_value_msr(uint32_t msr);

/* WRMSR of any MSR; those of other units do nothing. */
void counter_unit_write(
    struct counter_unit *unit, uint32_t msr, uint64_t value);

/* Counter I counts the cost model's cycles: counter_unit_pass(). */
bool counter_unit_clocks(const struct counter_unit *unit, unsigned i);

/*
 * Counts cycles of the core clock: PASSED in ring 0, and in
 * others.  EVENTS: of each counter.
 */
void counter_unit_pass(struct counter_unit *unit, const uint64_t passed[2],
    uint64_t events[COUNTER_COUNT]);

/*
 * Events of PIECE that COUNTED counts; 0 if they are not told, or told by the clock.
 * *PERHAPS is added to: as .unsure above.
 */
uint64_t counter_unit_events(const struct counter_unit *unit,
    const struct insn_piece *piece, enum counted counted, uint64_t *perhaps);

/*
 * Counts PIECE, event by event.  EVENTS: of each counter.  Bit i of the result: counter i
 * has overflowed, when AT[i] instructions had retired.  Bit i of *DUE: counter i makes a
 * PEBS record; while .pebs is not 0, PIECE must be one instruction.  A record that is
 * stored lets its counters start again: counter_unit_sampled().
 */
uint32_t counter_unit_count(struct counter_unit *unit,
    const struct insn_piece *piece, uint64_t events[COUNTER_COUNT],
    uint64_t at[COUNTER_COUNT], uint32_t *due);
void counter_unit_sampled(struct counter_unit *unit, uint32_t counters);

#endif
