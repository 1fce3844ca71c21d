/*
 * Memory for what may be larger than RAM: above SPILL_MIN bytes, the pages of a temporary
 * file without a name.  The kernel can write them out, and a process that goes through
 * them once can leave those behind it.
 */
#ifndef TOPAZ_HARNESS_HOST_FOLDER_SPILL_H
#define TOPAZ_HARNESS_HOST_FOLDER_SPILL_H

#include "emu/base/base.h"

#define SPILL_MIN (UINT64_C(16) << 20)

struct spill {
	uint8_t *bytes; /* zeroes at first; NULL: none */
	size_t count;
	bool mapped; /* a file's */
};

/* COUNT bytes.  -TZ_EIO: no memory, or no room for the file. */
int spill_make(struct spill *spill, size_t count, struct tz_error *err);

/* Takes the first COUNT bytes out of memory; they can still be read and written. */
void spill_leave(const struct spill *spill, size_t count);

/* For one that was never made, too, if it is all zeroes. */
void spill_free(struct spill *spill);

#endif
