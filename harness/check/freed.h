/*
 * Memory that was freed and not allocated since (freed.c), and what the guest kernel
 * says of memory (heap.c).
 */
#ifndef TOPAZ_HARNESS_CHECK_FREED_H
#define TOPAZ_HARNESS_CHECK_FREED_H

#include "emu/base/base.h"

struct check;
struct check_extent;

#define CHECK_FREED_MAX    16384 /* parts, each in one page */

#define CHECK_FREED_LOADED 1
#define CHECK_FREED_STORED 2

/* Bytes of a page that were allocated, freed, and not allocated since. */
struct check_freed {
	uint32_t page;
	uint16_t begin, end;        /* in the page */
	uint16_t next;              /* in the chain of its page; 0: none */
	uint8_t used;               /* in this run: CHECK_FREED_LOADED... */
	uint64_t va;                /* of the allocation */
	uint64_t made_by, freed_by; /* callers */
};

/* EXTENT was freed by the call before FREED_BY. */
void freed_add(
    struct check *check, const struct check_extent *extent, uint64_t freed_by);
/* [PA, +BYTES) is in use again. */
void freed_reuse(struct check *check, uint64_t pa, uint64_t bytes);
/* The part after FREED, or the first, of PA's page, in no order; NULL: no more. */
struct check_freed *freed_next(
    struct check *check, uint64_t pa, const struct check_freed *freed);
/* USE of it has been reported; a new run begins. */
void freed_use(struct check *check, struct check_freed *freed, uint8_t use);
void freed_begin(struct check *check);
void freed_set_heads(struct check *check, bool on);

/* heap.c: without check_config.frames_pa, nothing is known. */
/* Does anybody hold the byte at PA, as the guest kernel knows it? */
bool heap_holds(const struct check *check, uint64_t pa);
/* The end of the item of the heap with the byte at PA; PA + 1: of no item. */
uint64_t heap_item_end(const struct check *check, uint64_t pa);

#endif
