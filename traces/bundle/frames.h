/*
 * Who wrote each byte of physical memory last, whether user space has read it
 * since, and in whose trace buffer a page is: what the replay of a run's events
 * needs.  It holds no contents.
 */
#ifndef TOPAZ_TRACES_BUNDLE_FRAMES_H
#define TOPAZ_TRACES_BUNDLE_FRAMES_H

#include "emu/base/base.h"

#define FRAMES_NOBODY UINT64_MAX

struct frames;

struct frames_span {
	uint64_t pa;
	uint64_t bytes;
	bool written;    /* false: no PT unit ever wrote there */
	bool reported;   /* user space has read it since */
	uint16_t cpu;    /* whose unit wrote it, if .written */
	uint64_t offset; /* of its first byte in all that the unit wrote */
};

typedef void (*frames_visit)(void *arg, const struct frames_span *span);

struct frames *frames_create(void);
void frames_destroy(struct frames *frames);

/*
 * CPU's unit writes BYTES at PA, from OFFSET of its output on; VISIT gets what
 * was there, if written.  False: out of memory.
 */
bool frames_write(struct frames *frames, uint64_t pa, uint64_t bytes,
    uint16_t cpu, uint64_t offset, frames_visit visit, void *arg);

/*
 * READER takes BYTES at PA; VISIT gets what was there, also what was never
 * written, as it was before.  The pages are READER's now.  False: out of memory.
 */
bool frames_read(struct frames *frames, uint64_t pa, uint64_t bytes,
    uint64_t reader, frames_visit visit, void *arg);

/*
 * The page of PA is OWNER's now.  Pages that an owner is given one after the
 * other, with nobody in between, lie in his buffer in that order.  False: out
 * of memory.
 */
bool frames_name(struct frames *frames, uint64_t pa, uint64_t owner);

/* Whose the page of PA is, and whose it was first; FRAMES_NOBODY. */
uint64_t frames_owner(const struct frames *frames, uint64_t pa);
uint64_t frames_first_owner(const struct frames *frames, uint64_t pa);

/*
 * Is PA where output goes on that ended before END?  After the end of a page
 * that is the start of the next one in the buffer (a ring), or of any page
 * where no order is known.
 */
bool frames_goes_on(const struct frames *frames, uint64_t end, uint64_t pa);

/* Visits all that was written and is there still, in no certain order. */
void frames_each(const struct frames *frames, frames_visit visit, void *arg);

#endif
