/*
 * For each byte of physical memory: which PT unit wrote it last, and whether user space
 * has read it since.  For each page: the owner of the trace buffer that it is in.  Used
 * by the replay of a run's events.  It does not hold the contents.
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
	uint64_t offset; /* of its first byte, in all output of the unit */
};

typedef void (*frames_visit)(void *arg, const struct frames_span *span);

struct frames *frames_create(void);
void frames_destroy(struct frames *frames);

/*
 * CPU's unit writes BYTES at PA, from OFFSET of its output on.  VISIT gets the spans
 * that are overwritten.  False: out of memory.
 */
bool frames_write(struct frames *frames, uint64_t pa, uint64_t bytes,
    uint16_t cpu, uint64_t offset, frames_visit visit, void *arg);

/*
 * READER reads BYTES at PA.  VISIT gets the spans, including those never written, in
 * their state before the read.  READER becomes the owner of the pages.  False: out of
 * memory.
 */
bool frames_read(struct frames *frames, uint64_t pa, uint64_t bytes,
    uint64_t reader, frames_visit visit, void *arg);

/*
 * OWNER becomes the owner of the page of PA.  Pages that one owner is given in
 * succession, with no other owner's between, are in its buffer in that order.  False: out
 * of memory.
 */
bool frames_name(struct frames *frames, uint64_t pa, uint64_t owner);

/* The owner and the first owner of the page of PA, or FRAMES_NOBODY. */
uint64_t frames_owner(const struct frames *frames, uint64_t pa);
uint64_t frames_first_owner(const struct frames *frames, uint64_t pa);

/*
 * True if output that ended before END continues at PA.  At the end of a page that is
 * the start of the next page of the buffer (a ring), or of any page if the order is not
 * known.
 */
bool frames_goes_on(const struct frames *frames, uint64_t end, uint64_t pa);

/* Visits every span that was written and not overwritten, in no defined order. */
void frames_each(const struct frames *frames, frames_visit visit, void *arg);

#endif
