/*
 * How far each CPU was at the events whose place in the order of all CPUs counts: those of
 * user space and of the kernel.
 */
#ifndef TOPAZ_TRACES_VERIFY_RECORDS_EVENT_ORDER_H
#define TOPAZ_TRACES_VERIFY_RECORDS_EVENT_ORDER_H

#include "traces/bundle/bundle.h"

/*
 * For each of COUNT events for which NEEDS is true, in order: BUNDLE_CPUS_MAX numbers, the
 * instructions that each CPU had retired then.  Its next event says so, as it does not run
 * meanwhile; UINT64_MAX: it has none.  The caller frees it.  NULL: no memory.
 */
uint64_t *event_order(const struct event *events, size_t count,
    bool (*needs)(const struct event *event));

#endif
