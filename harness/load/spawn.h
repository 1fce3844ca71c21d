/*
 * A child process from start to end: the compiler, sha256sum.  It has a process group of
 * its own, which ends with this process, when the user wants an end
 * (harness/host/stop.h), or at a limit.
 */
#ifndef TOPAZ_HARNESS_LOAD_SPAWN_H
#define TOPAZ_HARNESS_LOAD_SPAWN_H

#include "emu/base/base.h"

struct spawn {
	const char *const *argv; /* argv[0] is searched in PATH */
	const char *cwd;         /* NULL: here */
	const char *tmpdir;      /* its TMPDIR; NULL: as ours */
	const char *input;   /* file that is its standard input; NULL: empty */
	char *output;        /* its standard output; NULL: our standard error */
	size_t output_size;  /* with a NUL; what does not fit is dropped */
	uint64_t said_bytes; /* of its standard error that reach ours; 0: all */
	unsigned seconds;    /* of processor time, for each process; and in all
				    SPAWN_WALL times as long */
	uint64_t memory_bytes; /* that each process may have mapped; 0: any */
	uint64_t file_bytes;   /* that each file may have; 0: any */
};

#define SPAWN_WALL 4

struct spawn_end {
	int status;       /* exit code, or 128 plus the signal */
	unsigned seconds; /* of processor time, of all its processes */
};

/*
 * Runs it and waits.  -TZ_EIO: it could not be run;
 * -TZ_EUSAGE: it was killed after SPAWN_WALL times its seconds; -TZ_ESTOP: the user
 * wants an end.
 */
int spawn_run(
    const struct spawn *spawn, struct spawn_end *end, struct tz_error *err);

#endif
