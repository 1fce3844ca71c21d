/*
 * The times of two decoders for the packets that lead to an instruction: libipt, which
 * estimates between timing packets, and clock.h, which does not.  Both walk along the
 * instructions that decode.h finds, so that each time has its place among them.
 */
#ifndef TOPAZ_TRACES_DECODE_DECODE_TIME_H
#define TOPAZ_TRACES_DECODE_DECODE_TIME_H

#include "traces/decode/clock.h"

struct pt_event;
struct pt_insn;
struct times;

struct decode_time_config {
	struct clock_config clock;
	uint32_t signature; /* CPUID.1:EAX, 0: unknown */
	uint32_t errata;    /* that show: bits by profile_erratum */
};

enum decode_time_kind {
	TIMES_TIP,   /* target of the instruction before */
	TIMES_OFF,   /* tracing ends after the instruction before */
	TIMES_ON,    /* tracing begins before the next instruction */
	TIMES_ASYNC, /* interrupt or exception before the next instruction */
};

struct decode_time_mark {
	size_t at; /* instructions before it, of those decode_next() gave */
	enum decode_time_kind kind;
	bool empty;   /* TIMES_OFF: no instruction since the last event */
	uint64_t tsc; /* libipt's */
	struct clock_time exact;
};

/* NULL: out of memory. */
struct times *decode_time_create(const struct decode_time_config *config);
void decode_time_destroy(struct times *times);

/* Starts at the PSB at OFFSET. */
void decode_time_sync(struct times *times, uint64_t offset);

/*
 * To be called for every instruction and every event of libipt's instruction decoder, in
 * order.  True: MARK, all but .at, holds the time of a packet that belongs to it.
 */
bool decode_time_insn(struct times *times, const struct pt_insn *insn,
    struct decode_time_mark *mark);
bool decode_time_event(struct times *times, const struct pt_event *event,
    struct decode_time_mark *mark);

/* Tracing ended at a conditional branch, with a packet but without an event. */
void decode_time_leave(struct times *times);

/*
 * True if, since decode_time_sync(), a packet did not match the instructions.  No times
 * are given then.
 */
bool decode_time_is_lost(const struct times *times);

/*
 * The ticks by which libipt may be off at a packet whose exact time is EXACT, on a core
 * at the ratio CORE.  With CYC: one, if CORE is the TSC's ratio and CYC has no threshold.
 * If not, the sum of
 * - a 128th of the time since the last MTC or TSC, rounded up; for a core faster than
 *   twice the TSC, a 256th of a tick for each cycle, which is more;
 * - a tick for each CYC since;
 * - one cycle: an edge is seen in the cycle after it;
 * - the cycles that a threshold hides: those that no CYC has reported yet, those of a CYC
 *   that began before the MTC or TSC, which libipt counts from there, and those by which
 *   it measured the core clock wrongly.
 * Without CYC: an MTC period.  UINT64_MAX: with TSC alone there is no bound, nor with
 * CYC where libipt mismeasures the core clock, see struct clock_time.
 */
uint64_t decode_time_allowed(const struct clock_config *clock,
    const struct clock_time *exact, uint32_t core);

#endif
