/*
 * The instructions that must decode, computed from the execution log alone: from its
 * instructions, CPL, CR3 and writes of the trace MSRs.  It implements the PT enables
 * (SDM vol. 3, 33.2.6 "Packet Generation Enable Controls") independently of emu/pt, with
 * no shared code.
 *
 * Not modelled: TraceStop ranges end tracing through the execution log's STOPPED only;
 * production enclaves; the finer CR3 comparison of PAE paging.
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
	bool jumped; /* the next instruction is surely the target of a transfer */
	bool look;   /* FilterEn is to be evaluated at the next instruction */
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
	/*
	 * So many of .count are listed by a decoder.  INT n as the last one is not: its
	 * packets are a FUP with its address and a TIP.
	 */
	uint32_t listed;
	uint64_t retired; /* instructions retired before this item */
};

void expect_start(struct expect *expect, const struct exec_log_file *log);

/* The next item; after the last one, always EXPECT_END. */
void expect_next(struct expect *expect, struct expect_item *item);

#endif
