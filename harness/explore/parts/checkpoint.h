/*
 * The state of an interrupted exploration, from which the same command resumes: the
 * completed parts, their results, and which generated sequences reached something new.
 * An interrupted part is repeated.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_PARTS_CHECKPOINT_H
#define TOPAZ_HARNESS_EXPLORE_PARTS_CHECKPOINT_H

#include "harness/explore/runner/reach.h"
#include "harness/explore/trial/stats.h"

#define CHECKPOINT_RESULTS_BITS 65536

/* What the generated sequences have reached so far. */
struct checkpoint_reach {
	uint8_t code[REACH_BYTES];
	uint8_t results[CHECKPOINT_RESULTS_BITS / 8];
	uint64_t endless; /* number of sequences that reached their limit */
};

struct checkpoint {
	uint64_t parts; /* completed parts; they are completed in order */
	struct stats stats;
	/* For each completed generated sequence: whether it reached something new. */
	uint8_t *novel;
	size_t count, room;
	struct checkpoint_reach reached;
};

/* Adds the result of the next generated sequence.  False: no memory. */
bool checkpoint_add(struct checkpoint *checkpoint, bool novel);

/*
 * Writes CHECKPOINT to the file PATH.  KEY identifies the exploration: a hash of
 * everything that determines its results.  -TZ_EIO.
 */
int checkpoint_write(const char *path, uint64_t key,
    const struct checkpoint *checkpoint, struct tz_error *err);

/*
 * Reads a checkpoint.  -TZ_ENOENT: no file, or of another exploration; -TZ_EFORMAT:
 * damaged, with the line number; errors of harness/host/input.h.
 */
int checkpoint_read(const char *path, uint64_t key,
    struct checkpoint **checkpoint, struct tz_error *err);
void checkpoint_free(struct checkpoint *checkpoint);

#endif
