/*
 * Guest RAM, and copies of it whose cost is the number of changed pages.  RAM is a
 * private mapping of a memory file, the image, which holds RAM as it was when the
 * first of the existing copies was taken.  Pages that were written since (copied on
 * write) are hot.  A copy holds the hot pages, and shares unchanged ones with the
 * copy before it.
 *
 * After a fork, each process has RAM and copies of its own: a finished image is
 * never written.  Not thread-safe.
 */
#ifndef TOPAZ_EMU_MEMORY_H
#define TOPAZ_EMU_MEMORY_H

#include "emu/base/base.h"

#include <sys/types.h>

struct page_copy;

/*
 * .copy: content of the page when last copied or restored; NULL: that of the image.
 */
struct hot_page {
	uint32_t page;
	struct page_copy *copy;
};

struct memory {
	uint8_t *ram;
	uint64_t bytes;
	int fd;               /* the image */
	const uint8_t *image; /* mapped; NULL before the first copy */
	struct hot_page *hot; /* in the order in which they were found */
	size_t hot_count, hot_max;
	uint64_t *hot_bits;  /* one bit a page */
	uint32_t generation; /* changes with the order of .hot */
	size_t copies;       /* number of existing copies */
	struct page_copy *spare;

	/* Finding hot pages. */
	int pagemap;
	pid_t process, thread; /* the last users */
	long faults;           /* page faults of that thread at that time */
	bool counts_faults; /* the host counts the faults that make pages hot */
	bool scans;         /* the host can list hot pages */
};

/* False: the host refuses; there is then nothing to destroy. */
bool memory_create(struct memory *memory, uint64_t bytes);
void memory_destroy(struct memory *memory);

/* NULL: the host refuses.  The first copy must be freed last. */
struct memory_copy;
struct memory_copy *memory_take(struct memory *memory);
void memory_free(struct memory *memory, struct memory_copy *copy);

/*
 * Calls VISIT, in ascending order, for each page of COPY that is not all 0; COPY was taken
 * when no other one existed.  Stops at the first value that is not 0, and returns it.
 */
typedef int (*memory_page)(void *arg, uint64_t page, const uint8_t *bytes);
int memory_visit(const struct memory *memory, const struct memory_copy *copy,
    memory_page visit, void *arg);

/*
 * Fills RAM that nothing has written to yet: first the content of COUNT pages from PAGE on,
 * any number of times, then, once, the rest is 0.  Writes are known from there on:
 * memory_written().  False: the host refuses.
 */
bool memory_fill(
    struct memory *memory, uint64_t page, uint64_t count, const uint8_t *bytes);
bool memory_filled(struct memory *memory);

/*
 * Restores RAM to COPY.  Returns one bit for each page, set if the page may have
 * changed; NULL: any page may have.
 */
const uint64_t *memory_apply(
    struct memory *memory, const struct memory_copy *copy);

/*
 * The pages that may have been written since EPOCH began, one bit each; NULL: any
 * page may have been.
 */
const uint64_t *memory_written(struct memory *memory, uint32_t *epoch);

/* Physical [begin, end). */
struct memory_range {
	uint64_t begin, end;
};

/*
 * A hash of how RAM differs from the image, without the pages in HIDDEN (one bit a
 * page, or NULL) and the bytes in DEAD.  A copy must exist.
 */
uint64_t memory_hash(struct memory *memory, const uint64_t *hidden,
    const struct memory_range *dead, size_t dead_count);

/* dirty_pages.c: appends pages that have become hot to .hot; false: no memory. */
bool memory_find_hot(struct memory *memory);
void memory_open_pagemap(struct memory *memory);
bool memory_add_hot(struct memory *memory, uint64_t page);
/*
 * Page faults up to now were caused by the host: do not count them as guest writes.
 */
void memory_ignore_faults(struct memory *memory);

#endif
