/*
 * Descriptors of the code that the engine runs, one for each stretch [va, va +
 * size) that it announces, so that a stretch is decoded once.  How the engine cuts
 * code into stretches affects no result: a descriptor only counts instructions and
 * identifies its last one.
 */
#ifndef TOPAZ_EMU_CPU_ENGINE_BLOCK_H
#define TOPAZ_EMU_CPU_ENGINE_BLOCK_H

#include "emu/base/base.h"
#include "emu/cpu/access/access.h"
#include "emu/cpu/access/audit.h"
#include "emu/cpu/access/walk.h"
#include "emu/cpu/engine/successor.h"
#include "emu/cpu/insn/insn_cache.h"

#include <string.h>

/* One instruction of a block, as it was decoded. */
struct block_insn {
	uint16_t at; /* offset in the block, in bytes */
	uint8_t length;
	uint8_t class;   /* enum insn_class */
	bool audit_site; /* registers must be read just before it */
};

/*
 * A 16-byte operand of SSE: .add + .base + .index * .scale, modulo the size of a page, with
 * the registers at the entry of its block.
 */
struct block_wide {
	uint16_t add;
	uint8_t base, index; /* general registers, or INSN_NO_REG */
	uint8_t scale;
	bool aligned; /* it must be aligned */
};

#define BLOCK_WIDE_MAX 8

/* .units of a block before clock.c has found its cost. */
#define BLOCK_UNPRICED UINT32_MAX

/* Constant properties of a single instruction that are reported to its observer. */
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
	bool calls;     /* it may call a function of the audit */
	bool wary; /* it seems to overwrite itself: run it one instruction at a
		      time */
	bool looked_at; /* block_look_at() was called */
	uint8_t effect; /* of a block of one instruction; 0: not known yet */
	uint16_t first_store; /* index of an instruction; .insns: none stores */
	uint16_t split; /* bytes of a writable block before its second page */
	/* Its first instruction, or the one after its last, begins a run of the cost model,
	 * whatever was before. */
	bool begins_run, ends_run;
	uint32_t units;  /* its cost, if it begins a run; BLOCK_UNPRICED */
	uint32_t repeat; /* what is added where its last run follows itself */
	uint32_t iteration; /* or where its last instruction, with REP, repeats */
	const struct block_insn *insn; /* .insns of them */
	const uint8_t *code[2];        /* a writable block in RAM, by page */
	const uint8_t *bytes; /* content when decoded; NULL: not in RAM */
	const struct block_access *access; /* .access_count, in order */
	/* Registers that .access needs at the begin and at the end of the block. */
	uint32_t reads_first, reads_last;
	uint16_t access_count;
	/*
	 * Not 0: the engine runs the block right if block_wide_is_right() holds for
	 * each of .wide at its entry, so only then it needs no hooks.
	 */
	uint8_t wide_count;
	struct block_wide wide[BLOCK_WIDE_MAX];
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
 * PAGES NULL: any page may have been, at any time.
 */
struct code_written {
	const uint64_t *pages;
	uint32_t epoch;
};

/*
 * To be called when CR3 was loaded or a translation dropped: drops every descriptor if
 * the code of a known page has changed, or a page of the kernel's half has moved, or has
 * become writable or read-only; if that is a page of the user half, the descriptors of
 * this user space.  Those of a page of the kernel's half that is not mapped now stay,
 * and block_find() looks at the page before it returns one.  True: descriptors were
 * dropped; pointers to them are invalid.
 */
bool block_cache_select(struct block_cache *cache,
    const struct walk_space *space, const struct code_written *written);

/*
 * Checks only the content of pages of the selected space that the guest may not
 * write: another mapping, another CPU or the host may have written them.
 */
void block_cache_verify(struct block_cache *cache,
    const struct walk_space *space, const struct code_written *written);

/*
 * A page whose frame may hold code that differs from what the engines have
 * translated, because they do not notice every store.
 */
struct code_change {
	uint64_t va, pa; /* of the page; VA leads to PA in the selected space */
};

/* Takes the next change; false: there is none left. */
bool block_cache_take_change(
    struct block_cache *cache, struct code_change *change);

/*
 * Like block_cache_select(), but checks only where pages are mapped, not their
 * content.  For use after block_cache_compare(), or if nothing was written.
 */
bool block_cache_reselect(
    struct block_cache *cache, const struct walk_space *space);

/*
 * The host has changed RAM.  CHANGED: one bit for each page of RAM that may have
 * changed; NULL: any page.  Calls FORGET for each frame whose code differs from
 * what was decoded there, and drops every descriptor if there is such a frame.
 * False: there may be more such frames than are known.
 */
typedef void (*block_forget_fn)(void *arg, uint64_t pa);
bool block_cache_compare(struct block_cache *cache,
    const struct walk_space *space, const uint64_t *changed,
    block_forget_fn forget, void *arg);

/* Drops the record of all decoded code; the engine's translations are gone, too. */
void block_cache_forget_code(struct block_cache *cache);

/* No block is .hooked any more, nor a successor. */
void block_cache_unhook(struct block_cache *cache);

/* The table of CACHE, which has it until it is destroyed. */
struct far_successors *block_cache_far(struct block_cache *cache);

/* Drops every successor and every .word, so that each is computed anew. */
void block_cache_forget_edges(struct block_cache *cache);

/* Drops every descriptor. */
void block_cache_flush(struct block_cache *cache);

/* Sets the code whose accesses and calls descriptors hold from now on; initially none. */
void block_cache_set_audit(
    struct block_cache *cache, const struct audit *audit);

/* A number that changes whenever descriptors were dropped. */
uint32_t block_cache_age(const struct block_cache *cache);

/*
 * The descriptor of [VA, VA + SIZE) in the selected space, decoded now if it is
 * new.  NULL: memory for descriptors is used up, or its page was written; flush,
 * then call again.  Bytes that are not an instruction end a block early.
 */
struct block *block_find(struct block_cache *cache,
    const struct walk_space *space, uint64_t va, uint32_t size);

/* The same as insn_decode(), but uses the cache of decoded instructions. */
bool block_decode_insn(struct block_cache *cache, const uint8_t *bytes,
    size_t count, uint64_t va, struct insn *insn);

/* The block of the single instruction at VA, if block_note_insn() recorded it last. */
struct block *block_find_insn(const struct block_cache *cache, uint64_t va);
void block_note_insn(struct block_cache *cache, struct block *block);

/*
 * True if BLOCK can overwrite later instructions of its own.  The engine may not
 * notice.
 */
static inline bool
block_is_risky(const struct block *block)
{
	return block->bytes != NULL && block->first_store + 1u < block->insns;
}

/*
 * Sets .wary of a risky block if, with the registers REGS at its entry, a register
 * or a store points into it.
 */
void block_look_at(struct block *block, const struct walk_space *space,
    const struct insn_regs *regs);

/*
 * For a block that has run: true if an instruction after a store of the block, and
 * before the offset END, was overwritten.  The engine may then have run the old
 * instruction.
 */
bool block_wrote_itself(const struct block *block, uint32_t end);

/*
 * For a block that has run to its end: true if its last instruction alone was
 * overwritten, and that was a direct JMP.  It had no effect but on RIP, so the CPU can
 * go back to it.
 */
bool block_wrote_jump(const struct block *block);

/* Number of instructions of BLOCK before RIP; asserts that RIP is a boundary. */
unsigned block_insns_before(const struct block *block, uint64_t rip);

/* The instruction at VA; NULL: no instruction of BLOCK begins there. */
const struct block_insn *block_insn_at(const struct block *block, uint64_t va);

/*
 * describe.c: fills in the members that follow from the bytes of BLOCK, whose .va
 * and .size are set.  INSN and ACCESS, which BLOCK keeps, have room for any block.
 */
void block_describe(struct block *block, const struct walk_space *space,
    const struct audit *audit, struct insn_cache *known,
    struct block_insn *insn, struct block_access *access);

/*
 * Calls VISIT for each instruction that BLOCK holds now until it returns false.
 * KNOWN: instructions that have been decoded before, or NULL.
 */
typedef bool (*block_visit_fn)(void *arg, uint64_t va, unsigned index,
    const struct insn *insn, const uint8_t *bytes);
void block_visit(const struct block *block, const struct walk_space *space,
    struct insn_cache *known, block_visit_fn visit, void *arg);

/*
 * True if the engine runs the instruction of WIDE right: its operand, at VA, is within a
 * page and aligned if it must be.  Bits 63:12 of VA do not matter.
 */
static inline bool
block_wide_is_right(const struct block_wide *wide, uint64_t va)
{
	return wide->aligned ? va % 16 == 0
			     : va % TZ_PAGE_BYTES <= TZ_PAGE_BYTES - 16;
}

#define BLOCK_BYTES_MAX 8192

#endif
