/*
 * Decoding and comparing one part, the bytes of a stream without a hole: state shared by
 * verify_part.c, which calls verify_overflow.c, and that verify_align.c.
 */
#ifndef TOPAZ_TRACES_VERIFY_VERIFY_PART_H
#define TOPAZ_TRACES_VERIFY_VERIFY_PART_H

#include "traces/decode/decode_time.h"
#include "traces/verify/verify_internal.h"

#define PART_BATCH 4096

/* An instruction: the index in the stream's intervals, and instructions retired before. */
struct verify_place {
	size_t at;
	uint64_t retired;
};

/* One run of the decoder over a part, from a PSB on. */
struct part_run {
	struct verify_work *work;
	const struct verify_bytes *bytes;
	const struct verify_part *part;
	struct decode *decode;
	struct flow flow;
	uint64_t sync_offset; /* of the PSB, in the part */
	uint64_t since_sync;  /* instructions decoded since */
	struct flow aimed;    /* as part_aim() left .flow */
	enum decode_state state;
	size_t count;
	uint64_t ips[PART_BATCH];
	bool timed;
	struct decode_time_config times;
	const struct verify_overflow *overflow; /* the next one, or NULL */
	size_t overflow_interval;               /* of the account */
	uint64_t overflow_at;                   /* byte of the stream */
	uint64_t left; /* bytes of the stream that are out of memory */
	bool gave_up;  /* after an overflow: not compared up to the next PSB */
	bool guessed; /* the decoder itself chose where to continue after one */
	struct verify_place guess; /* where the overflow ended */
	uint64_t doubt_end; /* retired in .guess.at: all CALLs known from there */
	struct verify_step before; /* last instruction of the previous batch */
	struct verify_step steps[PART_BATCH];
};

/*
 * If the execution log has the code: moves the flow near the place at which the decoder
 * will start, so that it finds the code.
 */
void part_aim(struct part_run *run);

/* Moves the flow to the place at which the decoder started. */
void part_align(struct part_run *run);

/* Index in the stream's list of the account's INTERVAL. */
size_t part_interval_at(const struct verify_bytes *bytes, size_t interval);

/*
 * Moves the flow forward to the place in the execution log that agrees with the most of
 * the first decoded instructions.  Of equal places, it takes the one nearest to HINT
 * retired instructions in interval AT of the stream.  The comparison that follows does
 * not rely on the place.  Returns how many agree; 0: the flow is not moved.
 */
size_t part_search(struct part_run *run, size_t at, uint64_t hint);

/*
 * SKD007: joins the pairs of CYCs that look like a CYC cut by an OVF where the unit
 * reported no overflow.  False: out of memory.
 */
bool part_join_cycs(struct part_run *run);

/* Finds the first overflow after .sync_offset, where a run of the decoder begins. */
void part_begin_overflows(struct part_run *run);

/* True if the next instruction may be lost to the next overflow. */
bool part_is_lost(struct part_run *run);

/*
 * Continues after an overflow that the unit reported, at the instruction at which it
 * ended.  The instructions in between are lost.
 */
void part_skip_overflow(struct part_run *run);

/*
 * SKD010: the FUP with the IP at which an overflow ended is missing.  If a TIP comes
 * next, libipt continues at its target, and the instructions before that are lost as
 * well.  Moves the flow there; BEFORE is the flow before the batch was decoded.
 */
void part_take_up(struct part_run *run, struct flow before);

/*
 * SKD010: if a TNT comes next, libipt cannot continue.  If a FUP comes next, or if a CALL
 * in between has a compressed RET, it may decode a wrong flow.  True if the current error
 * or difference may come from that: all instructions up to the next PSB are then lost.
 */
bool part_gives_up(struct part_run *run);

/* As above, if no PSB follows and the part is .complete: the rest of it is lost. */
void part_lose_rest(struct part_run *run);

#endif
