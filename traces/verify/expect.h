/*
 * What must decode, computed from the execution log alone: instructions, CPL, CR3 and
 * the writes of the trace MSRs.  A second opinion on the enables of the PT unit
 * (SDM vol. 3, 33.2.6 "Packet Generation Enable Controls"): it shares no line
 * with emu/pt.
 *
 * Not modelled: TraceStop ranges end tracing through the execution log's STOPPED only;
 * production enclaves; PAE paging's finer CR3 compare.
 */
#ifndef TOPAZ_TRACES_VERIFY_EXPECT_H
#define TOPAZ_TRACES_VERIFY_EXPECT_H

#include "traces/bundle/exec_log_read.h"

#define EXPECT_RANGES 4

/* The trace MSRs that the predicate needs. */
struct expect_msrs {
	uint64_t ctl, status, cr3_match;
	uint64_t addr_a[EXPECT_RANGES], addr_b[EXPECT_RANGES];
};

/* A position in the flow of one CPU; plain data, may be copied and kept. */
struct expect {
	const struct exec_log_file *log;
	size_t at;        /* next step of the log */
	uint32_t skip;    /* instructions already taken of the block at .at */
	uint64_t retired; /* instructions before this position */
	uint64_t follows; /* address after the last instruction */
	uint64_t cr3;
	uint8_t cpl;
	bool jumped; /* the next instruction was transferred to for sure */
	bool look;   /* FilterEn is due to be looked at */
	bool filter_en;
	bool written; /* .next holds: the next instruction writes MSRs */
	struct expect_msrs msrs;
	struct expect_msrs next; /* after the next instruction */
};

enum expect_kind {
	EXPECT_RUN,     /* instructions that must decode */
	EXPECT_ON,      /* TraceEn 0 to 1 */
	EXPECT_OFF,     /* TraceEn 1 to 0 */
	EXPECT_STOPPED, /* the unit stopped by itself */
	EXPECT_END,     /* of the execution log */
};

struct expect_item {
	enum expect_kind kind;
	const struct exec_log_block *block; /* EXPECT_RUN: its instructions */
	uint32_t first, count;              /* [first, first + count) */
	uint64_t retired; /* instructions retired before this item */
};

void expect_start(struct expect *expect, const struct exec_log_file *log);

/* The next item; stays at EXPECT_END. */
void expect_next(struct expect *expect, struct expect_item *item);

#endif
