/*
 * Where an exploration was interrupted, so that the same command goes on there: which of
 * its parts were done, what they gave, and which generated sequences reached something
 * new.  A part that was interrupted is done again.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_CHECKPOINT_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_CHECKPOINT_H

#include "harness/explore/runner/reach.h"
#include "harness/explore/search/stats.h"

#define CHECKPOINT_RESULTS_BITS 65536

struct checkpoint {
	uint64_t parts; /* that are done, in order */
	struct stats stats;
	/* Of the generated sequences that are done: did it reach something new? */
	uint8_t *novel;
	size_t count, room;
	uint8_t seen[REACH_BYTES];
	uint8_t results[CHECKPOINT_RESULTS_BITS / 8];
	uint64_t endless; /* of those sequences, how many reached their limit */
};

/* Notes the next generated sequence.  False: no memory. */
bool checkpoint_add(struct checkpoint *checkpoint, bool novel);

/*
 * Writes CHECKPOINT, of an exploration that KEY stands for (everything that decides what
 * it finds), to the file PATH.  -TZ_EIO.
 */
int checkpoint_write(const char *path, uint64_t key,
    const struct checkpoint *checkpoint, struct tz_error *err);

/*
 * Reads one.  -TZ_ENOENT: there is none, or it is of another exploration; -TZ_EFORMAT: it
 * is damaged, with a line; errors of harness/host/input.h.
 */
int checkpoint_read(const char *path, uint64_t key,
    struct checkpoint **checkpoint, struct tz_error *err);
void checkpoint_free(struct checkpoint *checkpoint);

#endif
