/*
 * Temporary files.  A process has at most one scratch folder, topaz-XXXXXX in TMPDIR
 * (/tmp).  All temporary files are in it, or in folders beside the output that they will
 * replace; the scratch folder lists those.  All of them are removed when the process ends,
 * also by exit(3).  If the process was killed, the next process that needs a scratch
 * folder removes them, as their locks are free (owned.h).  Only folders of the same user
 * that were made this way are removed.
 *
 * Forked processes use their parent's scratch folder and remove only what they have made.
 */
#ifndef TOPAZ_HARNESS_HOST_FOLDER_SCRATCH_H
#define TOPAZ_HARNESS_HOST_FOLDER_SCRATCH_H

#include "harness/host/folder/owned.h"

#define SCRATCH_BESIDE_MAX 4

/* Makes a new empty folder.  -TZ_EIO: the temporary folder cannot be written to. */
int scratch_folder(char path[TREE_PATH_BYTES], struct tz_error *err);

/* Removes a folder of scratch_folder(). */
void scratch_drop(const char *path);

/* A new file without a name, to be read and written.  -TZ_EIO. */
int scratch_file(int *fd, struct tz_error *err);

/* A folder that will replace .target: both absolute, on one file system. */
struct scratch_place {
	const char *path;
	const char *target;
	const char *name; /* of the target, in messages */
};
#define SCRATCH_OLD "old"

/*
 * Takes the folder of PLACE.  If a former owner was killed, PATH/old is moved back to
 * TARGET if TARGET does not exist, and the rest is removed.  -TZ_EUSAGE: another process
 * has the folder, or PATH is something else; -TZ_EIO.
 */
int scratch_beside(const struct scratch_place *place, struct owned **owned,
    struct tz_error *err);

/* Removes the folder of scratch_beside() with its content. */
void scratch_beside_drop(struct owned *owned);

/* After fork(2), in the child. */
void scratch_forked(void);

/* Removes all temporary files; in a forked process, none.  Async-signal-safe. */
void scratch_end(void);

#endif
