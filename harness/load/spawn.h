/*
 * A child process from start to end: the compiler, sha256sum.
 */
#ifndef TOPAZ_HARNESS_LOAD_SPAWN_H
#define TOPAZ_HARNESS_LOAD_SPAWN_H

#include "emu/base.h"

/*
 * Runs argv[0] (searched in PATH) in folder CWD (NULL: here) and waits for it.
 * Up to output_size - 1 bytes of its standard output go to OUTPUT, with a NUL
 * (NULL: to ours); its standard error is ours.  *status is the exit code, or
 * 128 plus the signal.  -TZ_EIO: it could not be run.
 */
int spawn_run(const char *const *argv, const char *cwd, char *output,
    size_t output_size, int *status, struct tz_error *err);

#endif
