/*
 * Descriptors of the code that the engine runs, one for each stretch [va, va +
 * size) that it announces, so that a stretch is decoded once.  How the engine cuts
 * code into stretches reaches no result: a descriptor only counts instructions and
 * knows its last one.
 *
 * A successor is a remembered way out: where control went, how many instructions that
 * retired, and what the PT unit is to be told, in a form that needs no decision.
 */
#ifndef TOPAZ_EMU_CPU_ENGINE_BLOCK_H
#define TOPAZ_EMU_CPU_ENGINE_BLOCK_H

#include "emu/base/base.h"
#include "emu/cpu/access/access.h"
#include "emu/cpu/access/audit.h"
#include "emu/cpu/access/walk.h"
#include "emu/cpu/insn/insn_cache.h"

#include <string.h>

enum successor_kind {
	EDGE_BIT,      /* nothing, or one TNT bit: see .shift, .bit */
	EDGE_CALL,     /* near direct CALL */
	EDGE_CALL_TIP, /* near indirect CALL */
	EDGE_RET,
	EDGE_TIP, /* near indirect JMP */
};

struct block;

struct successor {
	uint64_t key; /* edge_key() of .to, or EDGE_UNUSED */
	struct block *to;
	uint32_t insns; /* retired by leaving this way */
	uint32_t need;  /* .insns and the instructions of .to */
	uint32_t word;  /* block.word of .to */
	uint8_t kind;
	uint8_t shift; /* EDGE_BIT: TNT bits, 0 or 1 */
	uint8_t bit;   /* EDGE_BIT: the bit; else EDGE_PACKET */
};

/* Where a full TNT has its stop bit: the successor makes a packet now. */
#define EDGE_PACKET 0x40

/*
 * In the key of a successor from or to code that the guest may write or that is audited:
 * it is followed after a look at that code.  No other key is the same: bits 63:62 of
 * edge_key() are alike.
 */
#define EDGE_CHECKED TZ_BIT(63)

/* One instruction of a block, as it was decoded. */
struct block_insn {
	uint16_t at; /* bytes from the block's begin */
	uint8_t length;
	uint8_t class;   /* enum insn_class */
	bool audit_site; /* registers must be looked at just before it */
};

/* What a single instruction's observer is told, as far as it is always so. */
#define EFFECT_KNOWN 0x1
#define EFFECT_LOCAL 0x2
#define EFFECT_SPLIT 0x4

struct block {
	struct successor successor[2]; /* first, on a cache line of its own */
	uint64_t va;
	uint32_t size;
	uint32_t word; /* exec_log_run(); 0: not known */
	uint16_t insns;
	uint8_t space;
	uint8_t victim; /* the successor to replace next */
	bool has_sites; /* holds instructions that must not run natively */
	bool hooked;    /* and the engine knows them */
	bool ambiguous; /* last: conditional, target = next instruction */
	bool writable;  /* code that the guest may write: see block_is_stale */
	bool audited;   /* has accesses, or may call a function of the audit */
	bool calls;     /* the latter */
	bool wary; /* it seems to write over itself: to be run one instruction
		      at a time */
	bool looked_at; /* block_look_at() was called */
	uint8_t effect; /* of a block of one instruction; 0: not known yet */
	uint16_t first_store; /* index of an instruction; .insns: none stores */
	uint16_t split; /* bytes of a writable block before its second page */
	const struct block_insn *insn; /* .insns of them */
	const uint8_t *code[2];        /* a writable block in RAM, by page */
	const uint8_t *bytes; /* what it held; NULL: it is not in RAM */
	const struct block_access *access; /* .access_count, in order */
	/* Registers that they need as the block begins and as it is left. */
	uint32_t reads_first, reads_last;
	uint16_t access_count;
	struct insn last;
	uint64_t last_va;
	uint64_t next_va; /* after the last instruction */
	struct block *chain;
} __attribute__((aligned(64)));

struct block_cache;

struct block_cache *block_cache_create(void);
void block_cache_destroy(struct block_cache *cache);

/*
 * The pages of RAM that may have been written since EPOCH began, one bit each.
 * PAGES NULL: any may have been, at any time.
 */
struct code_written {
	const uint64_t *pages;
	uint32_t epoch;
};

/*
 * To be called when CR3 was loaded or a translation dropped: forgets every
 * descriptor if the code behind a known page has moved or changed, or may be
 * written now and could not before, or the other way round.  True: all descriptors
 * are gone, and pointers to them with them.
 */
bool block_cache_select(struct block_cache *cache,
    const struct walk_space *space, const struct code_written *written);

/*
 * Looks only at what pages of the selected space hold that the guest may not write:
 * another mapping, another CPU or the host may have written them.
 */
void block_cache_verify(struct block_cache *cache,
    const struct walk_space *space, const struct code_written *written);

/*
 * A page whose frame may hold other code than what the engines have translated of it, as
 * they do not notice each store.
 */
struct code_change {
	uint64_t va, pa; /* of the page; VA leads to PA in the selected space */
};

/* The next of them; false: there is none (any more). */
bool block_cache_take_change(
    struct block_cache *cache, struct code_change *change);

/*
 * The same as block_cache_select() where block_cache_compare() was called, or nothing
 * has been written: where pages are is looked at, not what they hold.
 */
bool block_cache_reselect(
    struct block_cache *cache, const struct walk_space *space);

/*
 * RAM was changed behind the guest's back.  CHANGED: one bit for each page of RAM that
 * may be another than it was; NULL: any page.  Calls FORGET with each frame that holds
 * other code than was decoded there, and forgets every descriptor if there is one.
 * False: there may be more of them than are known.
 */
typedef void (*block_forget_fn)(void *arg, uint64_t pa);
bool block_cache_compare(struct block_cache *cache,
    const struct walk_space *space, const uint64_t *changed,
    block_forget_fn forget, void *arg);

/* No code was decoded anywhere: what the engine has translated is gone, too. */
void block_cache_forget_code(struct block_cache *cache);

/* Forgets every successor and every .word, so that each is looked at anew. */
void block_cache_forget_edges(struct block_cache *cache);

/* Forgets every descriptor. */
void block_cache_flush(struct block_cache *cache);

/* The code whose accesses and calls descriptors hold from now on; none at first. */
void block_cache_set_audit(
    struct block_cache *cache, const struct audit *audit);

/* Another number than before: descriptors have been forgotten in between. */
uint32_t block_cache_age(const struct block_cache *cache);

/*
 * The descriptor of [VA, VA + SIZE) in the selected space, decoded now if it is
 * new.  NULL: memory for descriptors is used up, or its page was written (flush, then
 * ask again).  Bytes that are no instruction end a block early.
 */
struct block *block_find(struct block_cache *cache,
    const struct walk_space *space, uint64_t va, uint32_t size);

/* The same as insn_decode(), of code that has maybe been decoded before. */
bool block_decode_insn(struct block_cache *cache, const uint8_t *bytes,
    size_t count, uint64_t va, struct insn *insn);

/* The block of the single instruction at VA, if block_note_insn() knew it last. */
struct block *block_find_insn(const struct block_cache *cache, uint64_t va);
void block_note_insn(struct block_cache *cache, struct block *block);

/*
 * Can BLOCK write over instructions of its own that come later?  The engine may not
 * notice.
 */
static inline bool
block_is_risky(const struct block *block)
{
	return block->bytes != NULL && block->first_store + 1u < block->insns;
}

/*
 * Makes a risky block wary if a register points into it, or a store leads into it, as
 * REGS are when it is entered.
 */
void block_look_at(struct block *block, const struct walk_space *space,
    const struct insn_regs *regs);

/*
 * Of a block that has run: was an instruction written over that came after a store of
 * the block?  What has run then may be the old one.
 */
bool block_wrote_itself(const struct block *block);

/* Number of instructions of BLOCK before RIP; asserts that RIP is a boundary. */
unsigned block_insns_before(const struct block *block, uint64_t rip);

/* The instruction at VA; NULL: none of BLOCK begins there. */
const struct block_insn *block_insn_at(const struct block *block, uint64_t va);

/*
 * describe.c: fills in what follows from the bytes of BLOCK, whose .va and .size are
 * set.  INSN and ACCESS, which BLOCK keeps, have room for a block of any kind.
 */
void block_describe(struct block *block, const struct walk_space *space,
    const struct audit *audit, struct insn_cache *known,
    struct block_insn *insn, struct block_access *access);

/*
 * Calls VISIT for each instruction that BLOCK holds now until it returns false.  KNOWN:
 * those that have been decoded before, or NULL.
 */
typedef bool (*block_visit_fn)(void *arg, uint64_t va, unsigned index,
    const struct insn *insn, const uint8_t *bytes);
void block_visit(const struct block *block, const struct walk_space *space,
    struct insn_cache *known, block_visit_fn visit, void *arg);

#define EDGE_UNUSED     0 /* a block has a size */
#define BLOCK_BYTES_MAX 8192

/* One number for a stretch: bits 63:48 of a canonical address say nothing new. */
static inline uint64_t
successor_key(uint64_t va, uint32_t size)
{
	return va ^ (uint64_t)size << 48;
}

/* Has the guest written over BLOCK since it was decoded?  Writable ones only. */
static inline bool
block_is_stale(const struct block *block)
{
	uint32_t split = block->split;

	if (block->bytes == NULL)
		return false;
	return memcmp(block->code[0], block->bytes, split) != 0 ||
	    (split < block->size &&
		memcmp(block->code[1], block->bytes + split,
		    block->size - split) != 0);
}

/* The same of its bytes [begin, end). */
static inline bool
block_is_part_stale(const struct block *block, uint32_t begin, uint32_t end)
{
	uint32_t split = block->split;
	uint32_t first = begin < split ? split - begin : 0;

	TZ_ASSERT(begin < end);
	if (block->bytes == NULL)
		return false;
	if (end > block->size)
		end = block->size;
	if (first > end - begin)
		first = end - begin;
	return (first > 0 &&
		   memcmp(block->code[0] + begin, block->bytes + begin,
		       first) != 0) ||
	    (first < end - begin &&
		memcmp(block->code[1] + (begin + first - split),
		    block->bytes + begin + first, end - begin - first) != 0);
}

#endif
