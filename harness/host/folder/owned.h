/*
 * A folder that belongs to one running process.  It contains the file "lock", which holds
 * the process's PID and which the process keeps locked (flock(2)).  The kernel drops the
 * lock when the process ends, however it ends.  So a process that can lock the file knows
 * that the owner has ended.  Forked processes do not keep the lock: owned_leave().
 */
#ifndef TOPAZ_HARNESS_HOST_FOLDER_OWNED_H
#define TOPAZ_HARNESS_HOST_FOLDER_OWNED_H

#include <sys/types.h>

#include "harness/host/folder/tree.h"

#define OWNED_LOCK "lock"

struct owned {
	char path[TREE_PATH_BYTES]; /* absolute */
	int lock;                   /* open and locked */
};

enum owned_result {
	OWNED_TAKEN,
	OWNED_BUSY,    /* another running process has it */
	OWNED_FOREIGN, /* not a folder of this kind, or another user's */
	OWNED_GONE,    /* it does not exist, and MAKE is false */
	OWNED_ERROR,   /* errno says why */
};

/*
 * Takes the folder PATH, absolute; MAKE: creates it if it does not exist.  The files of a
 * former owner are kept.  *PID is the owner if OWNED_BUSY; 0: not known.
 */
enum owned_result owned_take(
    const char *path, bool make, struct owned *owned, pid_t *pid);

/* Removes the folder with its content and releases the lock. */
void owned_remove(struct owned *owned);

/* After fork(2), in the child: leaves the lock to the parent. */
void owned_leave(struct owned *owned);

#endif
