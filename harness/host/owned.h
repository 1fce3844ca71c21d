/*
 * A folder that belongs to one living process: it holds the file "lock", which the
 * process keeps locked (flock(2)) and which has its number.  The kernel drops the lock
 * when the process ends, however it ends, so whoever can lock the file knows that the
 * owner is gone.  Processes that were forked do not keep the lock: owned_leave().
 */
#ifndef TOPAZ_HARNESS_HOST_OWNED_H
#define TOPAZ_HARNESS_HOST_OWNED_H

#include <sys/types.h>

#include "harness/host/tree.h"

#define OWNED_LOCK "lock"

struct owned {
	char path[TREE_PATH_BYTES]; /* absolute */
	int lock;                   /* open and locked */
};

enum owned_result {
	OWNED_TAKEN,
	OWNED_BUSY,    /* another process that lives has it */
	OWNED_FOREIGN, /* it is no folder of this kind, or another user's */
	OWNED_GONE,    /* there is none, and none was to be made */
	OWNED_ERROR,   /* errno says why */
};

/*
 * Takes the folder PATH, absolute; MAKE: makes it if there is none.  What a dead owner
 * left in it stays there.  *PID is the owner if OWNED_BUSY; 0: not known.
 */
enum owned_result owned_take(
    const char *path, bool make, struct owned *owned, pid_t *pid);

/* Removes the folder with all that is in it and gives up the lock. */
void owned_remove(struct owned *owned);

/* After fork(2), in the child: the lock is the parent's alone. */
void owned_leave(struct owned *owned);

#endif
