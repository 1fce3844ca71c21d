/*
 * The execution log of one CPU read back: the words of emu/base/exec_log.h become a list of
 * steps.  Every instruction in a step has retired.  Interrupted string instructions,
 * runs that were cut short and redefined entries are resolved here.
 * ../verify/expect.h decides which instructions must decode.
 */
#ifndef TOPAZ_TRACES_BUNDLE_EXEC_LOG_READ_H
#define TOPAZ_TRACES_BUNDLE_EXEC_LOG_READ_H

#include "emu/base/exec_log.h"
#include "traces/bundle/step_list.h"
#include "traces/decode/code.h"

/* Consecutive instructions in memory. */
struct exec_log_block {
	uint64_t va;
	uint32_t bytes;
	uint32_t count; /* of instructions, at least 1 */
	uint32_t first; /* their offsets: exec_log_file.offsets[first..] */
	enum code_transfer transfer; /* of the last one, as .kind and .rep */
	enum code_kind kind;
	bool rep;
	/* Number, from 1, of the last instruction that sets the frame at RBP, and of the
	 * last after which it is gone; 0: none. */
	uint32_t sets_frame, drops_frame;
	uint64_t code; /* exec_log_file.code[code..]; EXEC_LOG_NO_CODE */
};

#define EXEC_LOG_NO_CODE UINT64_MAX

enum exec_log_file_step {
	EXEC_LOG_FILE_BLOCK,   /* .index: block: all its instructions retired */
	EXEC_LOG_FILE_CONTEXT, /* .index: context: holds from here on */
	EXEC_LOG_FILE_MSR,   /* .index: msr: written by the next instruction */
	EXEC_LOG_FILE_EVENT, /* .index: event: taken here */
	EXEC_LOG_FILE_STOPPED, /* the trace unit stopped by itself */
	EXEC_LOG_FILE_GAP, /* .index: gap: the log holds nothing of what ran here */
};
#define EXEC_LOG_FILE_BITS 3

struct exec_log_file {
	/* Index << EXEC_LOG_FILE_BITS | enum exec_log_file_step. */
	struct step_list steps;
	struct exec_log_block *blocks; /* in the order of the log */
	size_t block_count;
	uint16_t *offsets; /* of instructions from their block's va */
	uint8_t
	    *code; /* if the log keeps it; NULL: the bundle's images have it */
	struct exec_log_file_context {
		uint64_t cr3;
		uint8_t cpl;
	} * contexts;
	struct exec_log_file_msr {
		uint32_t msr;
		uint64_t value;
	} * msrs;
	struct exec_log_file_event {
		uint32_t vector;
		uint64_t rip;
	} * events;
	uint64_t *gaps; /* instructions retired at the end of each */
	struct exec_log_file_time {
		uint64_t insns;  /* retired before it */
		uint64_t cycles; /* core clock at that point */
		size_t step;     /* of .steps, before which it is */
	} * times;               /* in order */
	size_t time_count;
	uint64_t *softs; /* instructions retired after each INT n, INT3 or INTO */
	size_t soft_count;
	uint64_t insns; /* retired in all */
};

/*
 * *CYCLES: the core clock when INSNS instructions had retired, including the cycles that
 * passed before the next one without an instruction.  False: not in the execution log.
 */
bool exec_log_file_cycles(
    const struct exec_log_file *log, uint64_t insns, uint64_t *cycles);

/*
 * *CYCLES: the core clock at the N-th moment of which the log has a time when INSNS
 * instructions had retired: N is 0 for the first.  With the cost model that is when the
 * last of them retired; the others are ends of the times that passed before the next
 * one.  False: there are not so many.
 */
bool exec_log_file_moment(const struct exec_log_file *log, uint64_t insns,
    size_t n, uint64_t *cycles);

/* Is the last of the first INSNS instructions a software interrupt? */
bool exec_log_file_is_soft(const struct exec_log_file *log, uint64_t insns);

/*
 * Reads COUNT words; NAME is for messages.  -TZ_EFORMAT: a format error, or an
 * address that CODE does not cover; -TZ_EIO: no memory.
 */
int exec_log_read(const char *name, const uint32_t *words, size_t count,
    struct code *code, struct exec_log_file **log, struct tz_error *err);

/* The same of the packed FILE that NAME names, piece by piece. */
int exec_log_read_packed(const char *name, FILE *file, struct code *code,
    struct exec_log_file **log, struct tz_error *err);
void exec_log_file_free(struct exec_log_file *log);

/* Address of the INDEX-th instruction of BLOCK. */
static inline uint64_t
exec_log_block_ip(const struct exec_log_file *log,
    const struct exec_log_block *block, uint32_t index)
{
	return block->va + log->offsets[block->first + index];
}

#endif
