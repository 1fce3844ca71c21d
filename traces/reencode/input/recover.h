/*
 * The control flow and the events of a trace, one after another, from libipt's block
 * decoder.  After an error, decoding starts again at the next PSB.
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
	 * libipt stops at .offset, for .text.  .flag: no image has the memory; .endless:
	 * an endless loop of jumps; .value not 0: the bytes are no instruction, at .ip if
	 * .insns is 0, else at or after the end of the last block
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
 * So many blocks and items are read before the first is replayed: libipt and the unit each
 * fill the host's instruction cache.
 */
#define RECOVER_BATCH 256

struct recover_batch {
	size_t count;                                /* blocks and items */
	struct code_blocks_key block[RECOVER_BATCH]; /* .rest 0: the next item */
	struct recover_item item[RECOVER_BATCH];     /* one after another */
};

/*
 * Reads up to ROOM blocks and items, 1..RECOVER_BATCH; stops after RECOVER_OVERFLOW,
 * RECOVER_ERROR or RECOVER_END, and where blocks are long, but reads one at least.  The
 * result is valid until the next call.
 */
const struct recover_batch *recover_read(struct recover *recover, size_t room);

/* Decoding starts again at the next PSB after the last item. */
void recover_resync(struct recover *recover);

#endif
