/*
 * The branches, interrupts and exceptions of one CPU, and which of them a branch trace
 * store must have recorded, computed from the execution log alone: from its instructions,
 * CPL, CR3 and writes of MSRs (SDM vol. 3, 18.4.5 "Branch Trace Store (BTS)", 18.4.6
 * "CPL-Qualified Branch Trace Mechanism").  It shares no code with emu/ds.
 */
#ifndef TOPAZ_TRACES_VERIFY_BRANCH_FLOW_H
#define TOPAZ_TRACES_VERIFY_BRANCH_FLOW_H

#include "traces/bundle/exec_log_read.h"

enum branch_kind {
	BRANCH_TAKEN, /* .from and .to */
	BRANCH_AREA, /* IA32_DS_AREA is .to from here on; .from: the old value */
	BRANCH_END,  /* of the execution log */
};

struct branch {
	enum branch_kind kind;
	uint64_t from, to;
	uint64_t insns; /* retired before it has its effect */
	uint64_t cr3;   /* of the source, as .cpl */
	uint64_t area;  /* IA32_DS_AREA */
	uint8_t cpl;
	bool recorded; /* a record of it must exist ... */
	bool perhaps; /* ... or may: the log does not say whether it was taken */
};

/* A position in the branches of one CPU. */
struct branch_flow {
	const struct exec_log_file *log;
	bool trace_excludes; /* no records while TraceEn is 1, on this processor */
	size_t at;           /* next step of the log */
	uint64_t retired;
	uint64_t cr3, debugctl, area, ctl;
	uint64_t new_debugctl, new_area,
	    new_ctl; /* after the next instruction */
	uint64_t source_cr3;
	uint8_t cpl, source_cpl;
	bool written; /* the next instruction writes MSRs */
	/* The last instruction, whose end is not told yet. */
	bool open, open_event;
	enum code_transfer transfer;
	uint64_t ip, follows;
	struct branch peeked; /* valid if .has_peeked */
	bool has_peeked;
};

void branch_flow_start(struct branch_flow *flow,
    const struct exec_log_file *log, bool trace_excludes);

/* The next item, which stays the next one; after the last, always BRANCH_END. */
const struct branch *branch_flow_peek(struct branch_flow *flow);
/* Goes to the one after it. */
void branch_flow_take(struct branch_flow *flow);

#endif
