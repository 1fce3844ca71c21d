/*
 * What is temporary.  A process has at most one scratch folder, topaz-XXXXXX in TMPDIR
 * (/tmp), and all that is temporary lies in it, or in folders that it notes there and
 * that stand beside what they will replace.  All of it goes when the process ends,
 * also by exit(3); and when it was killed, the next process that needs a scratch folder
 * removes it, as nobody holds its lock (owned.h).  Only folders of the same user that
 * are made this way are touched.
 *
 * Processes that were forked use their parent's and remove of it what they have made.
 */
#ifndef TOPAZ_HARNESS_HOST_SCRATCH_H
#define TOPAZ_HARNESS_HOST_SCRATCH_H

#include "harness/host/owned.h"

#define SCRATCH_BESIDE_MAX 4

/*
 * Makes a new empty folder.  -TZ_EIO: the temporary folder cannot be written to.
 */
int scratch_folder(char path[TREE_PATH_BYTES], struct tz_error *err);

/* Removes a folder of scratch_folder(), now. */
void scratch_drop(const char *path);

/* A folder for what is to replace another: both absolute, on one file system. */
struct scratch_place {
	const char *path;
	const char *target; /* what will be replaced */
	const char *name;   /* how messages call the target */
};
#define SCRATCH_OLD "old"

/*
 * Takes the folder of PLACE.  Of what a dead owner left in it, PATH/old goes back to
 * TARGET if there is nothing now, and the rest is removed.  -TZ_EUSAGE: another process
 * has it, or it is something else; -TZ_EIO.
 */
int scratch_beside(const struct scratch_place *place, struct owned **owned,
    struct tz_error *err);

/* Removes it with what is in it. */
void scratch_beside_drop(struct owned *owned);

/* After fork(2), in the child. */
void scratch_forked(void);

/* Removes everything; nothing in a child.  Async-signal-safe. */
void scratch_end(void);

#endif
