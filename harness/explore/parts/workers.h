/*
 * Worker processes: each is a fork of this one, does its share of the work and leaves
 * its results in shared statistics.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_PARTS_WORKERS_H
#define TOPAZ_HARNESS_EXPLORE_PARTS_WORKERS_H

#include "harness/explore/trial/stats.h"

#define POOL_JOBS_MAX 64

/* WORKER is 0..JOBS-1; *STOP becomes true when an end is requested. */
typedef void (*workers_work)(
    void *arg, unsigned worker, const volatile bool *stop, struct stats *stats);

/* Called at intervals in the waiting process, with the statistics of all workers. */
typedef void (*workers_progress)(
    void *arg, const struct stats *stats_list, unsigned jobs);

/*
 * Runs WORK in JOBS processes and joins their statistics into STATS.  When an end is
 * requested (harness/host/stop.h), they end soon, their results so far are joined, and
 * *INTERRUPTED is set; a request before the call counts, too.  -TZ_EIO: no process or
 * memory; -TZ_EBUG: a worker died; ERR says how.
 */
int workers_run(unsigned jobs, workers_work work, workers_progress progress,
    void *arg, struct stats *stats, bool *interrupted, struct tz_error *err);

/*
 * For pieces of work of which one can take a thousand times as long as another: a worker
 * takes the next one when it has done the one before.  Which worker does a piece changes
 * no result.  NULL: out of memory.
 */
uint32_t *workers_queue_create(void);
void workers_queue_free(uint32_t *queue);
/* The next of COUNT pieces.  False: all are taken. */
bool workers_take(uint32_t *queue, uint32_t count, uint32_t *index);

#endif
