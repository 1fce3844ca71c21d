/*
 * Topaz's own driver with faults put into it, in a folder of the test's own: what
 * an exploration must find, wherever the tests run.
 *
 * Its interrupt handler claims every NMI, tracing or not, and leaves the LVT entry
 * masked; its operations take no lock.
 */
#ifndef TOPAZ_TESTS_WHOLE_BROKEN_H
#define TOPAZ_TESTS_WHOLE_BROKEN_H

#include "harness/explore/runner/runner.h"

#define BROKEN_PATH_BYTES 256

/* Its scenarios, beside which it has none. */
#define BROKEN_ONE_CPU  "broken-one"  /* a session of a few operations */
#define BROKEN_TWO_CPUS "broken-race" /* a buffer is freed while it is read */

/* Makes the folder; the test ends where it cannot.  It goes at exit. */
void broken_init(void);

/* The folder; or NAME in it, for what else a test writes. */
const char *broken_folder(void);
void broken_path(char path[BROKEN_PATH_BYTES], const char *name);

/* A build cache for the broken driver. */
struct build_cache *broken_workshop(void);

#endif
