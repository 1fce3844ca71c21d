/*
 * The time that two decoders give to the packets that lead to an instruction:
 * libipt, which estimates between what it is told, and clock.h, which does not.
 * They are walked along the instructions that decode.h finds, so that each time
 * has its place among them.
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
	uint32_t errata;    /* that show, bits by profile_erratum */
};

enum decode_time_kind {
	TIMES_TIP,   /* of the instruction before: where it went to */
	TIMES_OFF,   /* after the instruction before */
	TIMES_ON,    /* before the instruction that follows */
	TIMES_ASYNC, /* an interrupt or exception: before what follows */
};

struct decode_time_mark {
	size_t at; /* instructions before it, in what decode_next() gave */
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
 * To be told of every instruction and every event of libipt's instruction decoder,
 * in order.  True: MARK holds the time of a packet that belongs to it, but .at.
 */
bool decode_time_insn(struct times *times, const struct pt_insn *insn,
    struct decode_time_mark *mark);
bool decode_time_event(struct times *times, const struct pt_event *event,
    struct decode_time_mark *mark);

/* Tracing ended at a conditional branch, with a packet but without an event. */
void decode_time_leave(struct times *times);

/*
 * Has the walk lost its way since decode_time_sync(): packets and instructions do not
 * go together?  It gives no times then.
 */
bool decode_time_is_lost(const struct times *times);

/*
 * By how many ticks libipt may be off at a packet whose exact time is EXACT, of a core
 * at the ratio CORE: where that is the TSC's and each cycle is told, by one; else by a
 * 128th of the time since it was told the time, rounded up (by more of a core faster than
 * twice the TSC: a 256th of a tick a cycle), a tick a CYC, one cycle (an edge is seen in
 * the cycle after it), and of what a threshold hides: the cycles that are not
 * told yet, those of a CYC that began before the MTC or TSC, which it counts from
 * there, and those by which it measured the core clock wrongly.  Without CYC by an MTC
 * period; UINT64_MAX: with TSC alone there is no bound.
 */
uint64_t decode_time_allowed(const struct clock_config *clock,
    const struct clock_time *exact, uint32_t core);

#endif
