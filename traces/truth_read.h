/*
 * The truth of one CPU read back: the words of emu/truth.h become a list of
 * steps in which every instruction named has retired.  String instructions that
 * were interrupted, runs that were cut and redefined entries are settled here.
 * What of it must decode is decided in expect.h.
 */
#ifndef TOPAZ_TRACES_TRUTH_READ_H
#define TOPAZ_TRACES_TRUTH_READ_H

#include "emu/truth.h"
#include "traces/code.h"

/* Instructions that follow one another in memory. */
struct truth_block {
	uint64_t va;
	uint32_t bytes;
	uint32_t count;    /* of instructions, at least 1 */
	uint32_t first;    /* their offsets: truth_log.offsets[first..] */
	bool always_jumps; /* the last one transfers in any case */
};

enum truth_log_step {
	TRUTH_LOG_BLOCK,   /* .index: block: all its instructions retired */
	TRUTH_LOG_CONTEXT, /* .index: context: holds from here on */
	TRUTH_LOG_MSR,     /* .index: msr: written by the next instruction */
	TRUTH_LOG_EVENT,   /* .index: event: taken here */
	TRUTH_LOG_STOPPED, /* the trace unit stopped by itself */
};
#define TRUTH_LOG_BITS 3

struct truth_log {
	size_t count;
	uint32_t *steps; /* index << TRUTH_LOG_BITS | enum truth_log_step */
	struct truth_block *blocks;
	uint16_t *offsets; /* of instructions from their block's va */
	struct truth_log_context {
		uint64_t cr3;
		uint8_t cpl;
	} * contexts;
	struct truth_log_msr {
		uint32_t msr;
		uint64_t value;
	} * msrs;
	struct truth_log_event {
		uint32_t vector;
		uint64_t rip;
	} * events;
	struct truth_log_time {
		uint64_t insns;  /* retired before it */
		uint64_t cycles; /* what the core clock reads then */
	} * times;               /* in order */
	size_t time_count;
	uint64_t insns; /* retired in all */
};

/*
 * What the core clock read when INSNS instructions had retired, after all that
 * passed without one; false: the truth does not say.
 */
bool truth_log_cycles(
    const struct truth_log *log, uint64_t insns, uint64_t *cycles);

/*
 * Reads COUNT words; NAME is for messages.  -TZ_EFORMAT: not the format, or an
 * address that CODE does not cover; -TZ_EIO: no memory.
 */
int truth_read(const char *name, const uint32_t *words, size_t count,
    struct code *code, struct truth_log **log, struct tz_error *err);
void truth_log_free(struct truth_log *log);

/* Address of the INDEX-th instruction of BLOCK. */
static inline uint64_t
truth_block_ip(const struct truth_log *log, const struct truth_block *block,
    uint32_t index)
{
	return block->va + log->offsets[block->first + index];
}

#endif
