/*
 * Guest RAM, and copies of it that cost what has changed.  RAM is a private mapping
 * of a file in memory, the image: what RAM was when the first of the present copies
 * was taken.  Pages that became the mapping's own since are hot; a copy holds hot
 * pages, and shares those that did not change with the copy before it.
 *
 * A process that forks goes on with RAM and copies of its own: an image is not
 * written once it is one.  To be used by one thread at a time.
 */
#ifndef TOPAZ_EMU_MEMORY_H
#define TOPAZ_EMU_MEMORY_H

#include "emu/base/base.h"

#include <sys/types.h>

#define MEMORY_PAGE_BYTES 4096u

struct page_copy;

/* .copy: what the page held when copied or put back last; NULL: the image's. */
struct hot_page {
	uint32_t page;
	struct page_copy *copy;
};

struct memory {
	uint8_t *ram;
	uint64_t bytes;
	int fd;               /* the image */
	const uint8_t *image; /* mapped; NULL: there is none yet */
	struct hot_page *hot; /* in the order in which they were found */
	size_t hot_count, hot_max;
	uint64_t *hot_bits;  /* one bit a page */
	uint32_t generation; /* of the order of .hot */
	size_t copies;       /* that exist */
	struct page_copy *spare;

	/* Finding hot pages. */
	int pagemap;
	pid_t process, thread; /* that used it last */
	long faults;           /* of that thread, then */
	bool counts_faults; /* the host counts the faults that make pages hot */
	bool scans;         /* the host can list them by itself */
};

/* False: the host refuses; nothing is to be destroyed then. */
bool memory_create(struct memory *memory, uint64_t bytes);
void memory_destroy(struct memory *memory);

/* NULL: the host refuses.  The first copy must be freed last. */
struct memory_copy;
struct memory_copy *memory_take(struct memory *memory);
void memory_free(struct memory *memory, struct memory_copy *copy);

/*
 * Makes RAM what it was when COPY was taken.  The answer has a bit set for each page
 * that may have changed; NULL: any may.
 */
const uint64_t *memory_apply(
    struct memory *memory, const struct memory_copy *copy);

/*
 * The pages that may have been written since EPOCH began, one bit each; NULL: any
 * may have been.
 */
const uint64_t *memory_written(struct memory *memory, uint32_t *epoch);

/* Physical [begin, end). */
struct memory_range {
	uint64_t begin, end;
};

/*
 * A hash of how RAM differs from the image, without the pages that HIDDEN (one bit a
 * page, or NULL) and the bytes that DEAD say.  Needs a copy to exist.
 */
uint64_t memory_hash(struct memory *memory, const uint64_t *hidden,
    const struct memory_range *dead, size_t dead_count);

/* dirty_pages.c: puts pages that have become hot at the end of .hot; false: no memory. */
bool memory_find_hot(struct memory *memory);
void memory_open_pagemap(struct memory *memory);
bool memory_add_hot(struct memory *memory, uint64_t page);
/* Faults so far were the host's own doing. */
void memory_ignore_faults(struct memory *memory);

#endif
