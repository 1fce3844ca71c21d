/*
 * Work in several processes: each is a copy of this one, works on its share and
 * leaves what it has found in a statistics that is shared.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_WORKERS_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_WORKERS_H

#include "harness/explore/search/stats.h"

#define POOL_JOBS_MAX 64

/* WORKER 0..JOBS-1; STOP becomes true when an end is wanted. */
typedef void (*workers_work)(
    void *arg, unsigned worker, const volatile bool *stop, struct stats *stats);

/* How far all workers are, from time to time, in the process that waits. */
typedef void (*workers_progress)(
    void *arg, const struct stats *stats_list, unsigned jobs);

/*
 * Runs WORK in JOBS processes and joins their statistics into TALLY.  Once an end is
 * requested (harness/host/stop.h) they end soon, what they have is joined, and
 * *INTERRUPTED is set; a request before the call is one, too.  -TZ_EIO: no process or
 * memory; -TZ_EBUG: one died, and the text says how.
 */
int workers_run(unsigned jobs, workers_work work, workers_progress progress,
    void *arg, struct stats *stats, bool *interrupted, struct tz_error *err);

#endif
