/*
 * A child process from start to end: the compiler, sha256sum.
 */
#ifndef TOPAZ_HARNESS_LOAD_SPAWN_H
#define TOPAZ_HARNESS_LOAD_SPAWN_H

#include "emu/base.h"

struct spawn {
	const char *const *argv; /* argv[0] is searched in PATH */
	const char *cwd;         /* NULL: here */
	const char *input; /* file that is its standard input; NULL: ours */
};

/*
 * Runs SPAWN and waits for it.  Up to output_size - 1 bytes of its standard output go
 * to OUTPUT, with a NUL (NULL: to ours); its standard error is ours.  *status is the
 * exit code, or 128 plus the signal.  -TZ_EIO: it could not be run.
 */
int spawn_run(const struct spawn *spawn, char *output, size_t output_size,
    int *status, struct tz_error *err);

#endif
