/*
 * One stretch of a stream without a hole, decoded and compared: what verify_part.c
 * and verify_overflow.c share.
 */
#ifndef TOPAZ_TRACES_VERIFY_VERIFY_PART_H
#define TOPAZ_TRACES_VERIFY_VERIFY_PART_H

#include "traces/decode/decode_time.h"
#include "traces/verify/verify_internal.h"

#define PART_BATCH 4096

/* An instruction of a part: the interval of the stream's, and what retired before. */
struct verify_place {
	size_t at;
	uint64_t retired;
};

/* One run of the decoder over a part, from a PSB on. */
struct part_run {
	struct verify_work *work;
	const struct verify_bytes *bytes;
	const struct verify_part *part;
	struct bundle_model model;
	struct decode_filter filter;
	struct decode *decode;
	struct flow flow;
	uint64_t sync_offset; /* of the PSB, in the part */
	uint64_t since_sync;  /* instructions decoded since */
	enum decode_state state;
	size_t count;
	uint64_t ips[PART_BATCH];
	bool timed;
	struct decode_time_config times;
	const struct verify_overflow *overflow; /* the next one, or NULL */
	size_t overflow_interval;               /* of the account */
	uint64_t overflow_at;                   /* byte of the stream */
	bool gave_up; /* after an overflow: nothing is said up to the next PSB */
	bool guessed; /* the decoder itself chose where to go on after one */
	struct verify_place guess; /* where the overflow ended */
	uint64_t doubt_end; /* of guess.at's: from there on it knows all calls */
	struct verify_step before; /* the last instruction of the batch before */
	struct verify_step steps[PART_BATCH];
};

/* Place of the account's INTERVAL in the stream's list. */
size_t part_interval_at(const struct verify_bytes *bytes, size_t interval);

/*
 * Puts the flow, from where it is on, at the place where the first instructions
 * decoded agree best with the execution log, and of equal places at the one nearest to HINT
 * instructions retired in interval AT of the stream's.  What follows is compared as
 * strictly as ever.  How many agree; 0: the flow stays.
 */
size_t part_search(struct part_run *run, size_t at, uint64_t hint);

/* A run of the decoder begins at .sync_offset: the overflow that comes first. */
void part_begin_overflows(struct part_run *run);

/* May the next instruction be lost to the next overflow? */
bool part_is_lost(struct part_run *run);

/*
 * Goes on behind an overflow that the unit told of, at the instruction at which it
 * ended: those in between are lost.
 */
void part_skip_overflow(struct part_run *run);

/*
 * SKD010, the FUP that says where an overflow ended is missing.  libipt then goes on
 * at the target of a TIP that comes next, and what lies before that is lost as well:
 * the flow, which was BEFORE until a batch was decoded, goes there.
 */
void part_take_up(struct part_run *run, struct flow before);

/*
 * Where a TNT comes next, libipt cannot go on; where a FUP comes next, or there was
 * a call in between whose RET is compressed, it goes wrong: is the error or the
 * difference at hand of that kind?  Then all up to the next PSB is lost.
 */
bool part_gives_up(struct part_run *run);

/* The same where no PSB follows and the part is .complete. */
void part_lose_rest(struct part_run *run);

#endif
