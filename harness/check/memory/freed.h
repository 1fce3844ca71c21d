/*
 * Memory that was freed and not allocated since (freed.c), and the guest kernel's own
 * table of memory (heap.c).
 */
#ifndef TOPAZ_HARNESS_CHECK_MEMORY_FREED_H
#define TOPAZ_HARNESS_CHECK_MEMORY_FREED_H

#include "emu/base/base.h"

struct check;
struct check_extent;

#define CHECK_FREED_MAX    16384 /* parts, each in one page */

#define CHECK_FREED_LOADED 1
#define CHECK_FREED_STORED 2

/* Bytes of a page that were allocated, freed, and not allocated since. */
struct check_freed {
	uint32_t page;
	uint16_t begin, end; /* in the page */
	/* index of the next part of the same page; 0: none */
	uint16_t next;
	/* in this run: bits CHECK_FREED_LOADED... */
	uint8_t used;
	uint64_t va;                /* of the allocation */
	uint64_t made_by, freed_by; /* callers */
};

/* EXTENT was freed by the call before address FREED_BY. */
void freed_add(
    struct check *check, const struct check_extent *extent, uint64_t freed_by);
/* [PA, +BYTES) is allocated again. */
void freed_reuse(struct check *check, uint64_t pa, uint64_t bytes);
/*
 * Iterates over the parts of PA's page, in no particular order: the part after
 * FREED, or the first if FREED is NULL; NULL: no more.
 */
struct check_freed *freed_next(
    struct check *check, uint64_t pa, const struct check_freed *freed);
/* freed_use(): USE of FREED has been reported.  freed_begin(): a new run begins. */
void freed_use(struct check *check, struct check_freed *freed, uint8_t use);
void freed_begin(struct check *check);
void freed_set_heads(struct check *check, bool on);

/* heap.c.  Without check_config.frames_pa, nothing is known. */
/* True if, in the guest kernel's table, the byte at PA has an owner. */
bool heap_holds(const struct check *check, uint64_t pa);
/* The end of the heap item that contains the byte at PA; PA + 1: in no item. */
uint64_t heap_item_end(const struct check *check, uint64_t pa);

#endif
