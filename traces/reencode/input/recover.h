/*
 * The control flow and the events of a trace, one after another, as libipt's
 * block decoder finds them.  It resynchronises by itself; it compares nothing.
 */
#ifndef TOPAZ_TRACES_REENCODE_INPUT_RECOVER_H
#define TOPAZ_TRACES_REENCODE_INPUT_RECOVER_H

#include "traces/decode/decode.h"
#include "traces/reencode/input/code_blocks.h"

struct recover;

enum recover_kind {
	RECOVER_SYNC,           /* decoding (re)starts at the PSB at .offset */
	RECOVER_PSB,            /* a PSB+ before .ip, unless .no_ip */
	RECOVER_ENABLED,        /* .ip */
	RECOVER_DISABLED,       /* by the last branch, to .to unless .no_ip */
	RECOVER_ASYNC_DISABLED, /* before .ip; to .to unless .no_ip */
	RECOVER_ASYNC_BRANCH,   /* from .ip to .to */
	RECOVER_PAGING,         /* CR3 .value, .flag: non-root */
	RECOVER_ASYNC_PAGING,   /* the same, before .ip */
	RECOVER_OVERFLOW,       /* resumes at .ip unless .no_ip */
	RECOVER_MODE,           /* .bits from .ip on */
	RECOVER_VMCS,           /* .value the address */
	RECOVER_OTHER,          /* an event that says nothing of the flow */
	/*
	 * libipt stops at .offset: .text; .flag: no memory there; .endless: in a ring
	 * of jumps; .value: no instruction, at .ip if .insns is 0, else after or at
	 * the last block's end
	 */
	RECOVER_ERROR,
	RECOVER_END,
};

struct recover_item {
	enum recover_kind kind;
	bool no_ip, flag, endless;
	uint8_t bits;   /* 16, 32, 64 */
	uint16_t insns; /* of the last block */
	uint64_t ip, to;
	uint64_t value;
	uint64_t offset;
	const char *text; /* static */
};

/* NULL: out of memory. */
struct recover *recover_create(const struct decode_config *config);
void recover_destroy(struct recover *recover);

/*
 * What libipt finds before any of it is driven: its code and the unit's each fill the
 * host's cache of instructions, and come in turns.
 */
#define RECOVER_BATCH 256

struct recover_batch {
	size_t count;                                /* blocks and items */
	struct code_blocks_key block[RECOVER_BATCH]; /* .rest 0: the next item */
	struct recover_item item[RECOVER_BATCH];     /* one after another */
};

/*
 * The next ROOM blocks and items, 1..RECOVER_BATCH, or up to RECOVER_OVERFLOW,
 * RECOVER_ERROR or RECOVER_END, at which libipt is then; fewer, but one at least, where
 * blocks are long.  Valid until the next call.
 */
const struct recover_batch *recover_read(struct recover *recover, size_t room);

/* The next item is that of the next PSB after the last one read, or the end. */
void recover_resync(struct recover *recover);

#endif
