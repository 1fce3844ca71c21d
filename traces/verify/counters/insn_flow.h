/*
 * The instructions and events of one CPU in the order of its execution log, in pieces
 * that a counter can take at once: at most the last instruction of a piece is a branch.
 */
#ifndef TOPAZ_TRACES_VERIFY_COUNTERS_INSN_FLOW_H
#define TOPAZ_TRACES_VERIFY_COUNTERS_INSN_FLOW_H

#include "traces/bundle/exec_log_read.h"

enum insn_flow_kind {
	INSN_FLOW_INSNS,
	INSN_FLOW_EVENT, /* an interrupt or exception is taken */
	INSN_FLOW_LIMIT, /* as many instructions as were wanted, or the log's end */
};

enum insn_taken { INSN_NOT_TAKEN, INSN_TAKEN, INSN_PERHAPS };

struct insn_piece {
	enum insn_flow_kind kind;
	uint64_t before; /* instructions that retired before it */
	uint64_t cr3;    /* at its begin, as .cpl */
	uint8_t cpl;
	/* INSN_FLOW_INSNS: consecutive instructions in memory. */
	uint32_t count;      /* at least 1 */
	enum code_kind last; /* of the last one, if the block ends with it */
	/* Of a conditional branch: PERHAPS: not in the log. */
	enum insn_taken taken;
	/* After .last: where execution went on; 0: not in the log. */
	uint64_t next;
	const struct exec_log_block *block;
	uint32_t index; /* of its first instruction in the block */
	/* INSN_FLOW_EVENT. */
	uint32_t vector;
	uint64_t rip; /* return address */
};

/* The core clock, where the log has it. */
struct insn_clock {
	size_t next; /* time of the log */
	bool known;  /* .at is a time of the clock: it has run since */
	bool moved;  /* instructions have retired since */
	bool halted; /* HLT has retired, and no event has come since */
	bool sleeps; /* .halted: HLT itself is over */
	uint64_t at;
	uint64_t last; /* .sleeps: cycles from the time before .at */
	/* To be taken by the caller: cycles that passed in ring 0, in others; more have
	   passed, of which the log does not say where. */
	uint64_t passed[2];
	bool lost;
};

struct insn_flow {
	const struct exec_log_file *log;
	size_t at;      /* next step of the log */
	uint32_t taken; /* instructions of that step that were given already */
	uint64_t retired;
	uint64_t cr3;
	uint8_t cpl;
	struct insn_clock clock;
};

void insn_flow_start(struct insn_flow *flow, const struct exec_log_file *log);

/* The clock is AT now, when as many instructions have retired as were given. */
void insn_flow_pass(struct insn_flow *flow, uint64_t at);

/*
 * The next piece; no instruction beyond the first LIMIT ones that the CPU retired.  Events
 * that come when exactly LIMIT have retired are given, too.
 */
struct insn_piece insn_flow_next(struct insn_flow *flow, uint64_t limit);

/* Address of instruction I of PIECE. */
static inline uint64_t
insn_piece_ip(
    const struct insn_flow *flow, const struct insn_piece *piece, uint32_t i)
{
	return exec_log_block_ip(flow->log, piece->block, piece->index + i);
}

#endif
