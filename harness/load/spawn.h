/*
 * Runs a child process: the compiler, sha256sum.  The child has its own process group.
 * The group is killed when this process ends, on a stop request (harness/host/stop.h), or
 * at a limit.
 */
#ifndef TOPAZ_HARNESS_LOAD_SPAWN_H
#define TOPAZ_HARNESS_LOAD_SPAWN_H

#include <sys/types.h>

#include "emu/base/base.h"

struct spawn {
	const char *const *argv; /* argv[0] is searched in PATH */
	const char *cwd;         /* NULL: here */
	const char *tmpdir;      /* the child's TMPDIR; NULL: that of topaz */
	const char *input;       /* file for its standard input; NULL: empty */
	char *output; /* receives standard output; NULL: to standard error */
	size_t output_size;  /* with a NUL; excess output is dropped */
	uint64_t said_bytes; /* limit of standard error passed on; 0: no limit */
	unsigned seconds; /* processor time limit of each process; the wall-clock
				    limit is SPAWN_WALL times as long */
	uint64_t memory_bytes; /* mapped by each process, at most; 0: no limit */
	uint64_t file_bytes;   /* of each file, at most; 0: no limit */
};

#define SPAWN_WALL 4

struct spawn_end {
	int status;       /* exit code, or 128 plus the signal */
	unsigned seconds; /* processor time of all its processes */
};

/* Each is a pipe, or -1: standard output, standard error, the errno of execve(2). */
struct spawn_pipes {
	int output[2], said[2], failure[2];
};

/* A child that runs, from spawn_start() to spawn_finish() or spawn_cancel(). */
struct spawn_child {
	struct spawn spawn;
	struct spawn_pipes pipes;
	pid_t pid;
	int64_t end_nsec; /* when it is killed, as monotonic_nsec() */
};

/*
 * Several children may run at once, at most SPAWN_CHILDREN_MAX.  What SPAWN points to stays
 * valid until the child has ended.  spawn_finish() waits, and then passes on what the child
 * has said; spawn_cancel() kills it.  Errors as of spawn_run().
 */
#define SPAWN_CHILDREN_MAX 8
int spawn_start(
    const struct spawn *spawn, struct spawn_child *child, struct tz_error *err);
int spawn_finish(
    struct spawn_child *child, struct spawn_end *end, struct tz_error *err);
void spawn_cancel(struct spawn_child *child);

/*
 * Runs the child and waits for it.  -TZ_EIO: it could not be run; -TZ_EUSAGE: it was
 * killed after SPAWN_WALL times its seconds; -TZ_ESTOP: a stop was requested.
 */
int spawn_run(
    const struct spawn *spawn, struct spawn_end *end, struct tz_error *err);

#endif
