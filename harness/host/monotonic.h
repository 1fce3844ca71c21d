/*
 * The host's clock, for what a user waits for: limits and progress.  No result depends on
 * it.
 */
#ifndef TOPAZ_HARNESS_HOST_MONOTONIC_H
#define TOPAZ_HARNESS_HOST_MONOTONIC_H

#include <stdint.h>

/* Nanoseconds since an unspecified time.  Async-signal-safe. */
int64_t monotonic_nsec(void);

/* The same in seconds. */
double monotonic_seconds(void);

#endif
