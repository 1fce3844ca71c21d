/*
 * What the whole-run tests share: a run from a driver's source to a bundle in a
 * folder of the test's own, and the verdict on it.
 */
#ifndef TOPAZ_TESTS_WHOLE_WHOLE_H
#define TOPAZ_TESTS_WHOLE_WHOLE_H

#include "harness/run.h"
#include "traces/verify/verify.h"

#define WHOLE_PATH_BYTES 256

/* The command line: topaz's shared folder may be absent; then NULL. */
void whole_init(int argc, char **argv);

/* The unmodified driver whose source is not ours, or skips the running test by name. */
const char *whole_driver_source(void);

/* Options of a test-size run of DRIVER that writes bundle NAME. */
struct run_options whole_options(const char *driver, const char *name);

/* Runs; fails the test where the run itself could not be made. */
void whole_run(const struct run_options *options, struct run_outcome *outcome);

/* Runs, demands a clean end, and verifies the bundle; to be freed. */
void whole_verify(
    const struct run_options *options, struct verify_result *result);

/* Demands that every instruction and every byte but the tail at stop is right. */
void whole_assert_match(
    const struct verify_result *result, size_t streams, uint64_t insns_min);

/* Are two bundles of this test equal, byte for byte? */
bool whole_equal(const char *name_a, const char *name_b);

#endif
