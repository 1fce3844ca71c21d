/*
 * Finds the events of a perf.data file and the PMUs that they belong to.
 */
#ifndef TOPAZ_TRACES_PERF_DATA_PERF_EVENT_H
#define TOPAZ_TRACES_PERF_DATA_PERF_EVENT_H

#include "traces/perf_data/perf_file.h"

/* The event with the identifier ID; NULL: there is none. */
const struct perf_attr *perf_event_find(
    const struct perf_file *file, uint64_t id);

/*
 * The event of a record whose IDENTIFIER field, 8 bytes, is at IDENTIFIER; the first
 * event if it is unknown, or if the records of FILE do not have that field.
 */
const struct perf_attr *perf_event_of(
    const struct perf_file *file, const uint8_t *identifier);

/* ATTR is an event of FILE that a performance counter of a CPU counts. */
bool perf_event_is_counted(
    const struct perf_file *file, const struct perf_attr *attr);

/* The type of the PMU called NAME; UINT32_MAX: unknown. */
uint32_t perf_event_pmu(const struct perf_file *file, const char *name);

/* The name of the PMU of the cores of which CPU is one on a hybrid part; NULL: unknown. */
const char *perf_event_core(const struct perf_file *file, uint32_t cpu);

#endif
