/*
 * Work in several processes: each is a copy of this one, works on its share and
 * leaves what it has found in a tally that is shared.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_POOL_H
#define TOPAZ_HARNESS_EXPLORE_POOL_H

#include "harness/explore/tally.h"

#define POOL_JOBS_MAX 64

/* WORKER 0..JOBS-1; STOP becomes true when an end is wanted. */
typedef void (*pool_work)(
    void *arg, unsigned worker, const volatile bool *stop, struct tally *tally);

/* How far all workers are, from time to time, in the process that waits. */
typedef void (*pool_progress)(
    void *arg, const struct tally *tallies, unsigned jobs);

/*
 * Runs WORK in JOBS processes and joins their tallies into TALLY.  Once an end is
 * requested (harness/host/stop.h) they end soon, what they have is joined, and
 * *INTERRUPTED is set; a request before the call is one, too.  -TZ_EIO: no process or
 * memory; -TZ_EBUG: one died, and the text says how.
 */
int pool_run(unsigned jobs, pool_work work, pool_progress progress, void *arg,
    struct tally *tally, bool *interrupted, struct tz_error *err);

#endif
