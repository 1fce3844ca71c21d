/*
 * Records a running machine into a bundle: its events, the trace that user space
 * collects, the content of trace frames when TraceEn is cleared, and the console.  It
 * judges nothing.
 */
#ifndef TOPAZ_HARNESS_RECORD_H
#define TOPAZ_HARNESS_RECORD_H

#include "emu/machine.h"

struct bundle_info;
struct bundle_writer;
struct image;
struct cpu_set;
struct record;

/* Adds the code of IMAGE, as it is in RAM, for decoders.  -TZ_EIO. */
int record_code(struct bundle_writer *writer, const struct image *image,
    const uint8_t *ram);

/*
 * BUFFER_BYTES is the size of one trace buffer.  Its ToPA regions have one size; filling
 * the last one is a wrap.  The console goes to standard error too if VERBOSE.
 * NULL: out of memory.
 */
struct record *record_create(
    struct bundle_writer *writer, uint64_t buffer_bytes, bool verbose);
void record_destroy(struct record *record);

/* The observer for machine_create(); afterwards, the RAM that events refer to. */
struct machine_observer record_observer(struct record *record);
void record_set_ram(struct record *record, const uint8_t *ram, uint64_t bytes);

/*
 * Ends the record.  The frames of a CPU that still traces are kept as if TraceEn had been
 * cleared.  Returns 0, the bundle's first error, or -TZ_EIO: no memory.
 */
int record_end(struct record *record);

/* Enters each CPU's processor model into the bundle's manifest. */
void record_models(struct bundle_info *info, const struct cpu_set *cpu_set);

/* Counters of the run. */
uint64_t record_wraps(const struct record *record, unsigned cpu);
uint64_t record_pt_errors(const struct record *record, unsigned cpu);
/* The console: *BYTES characters, the first RECORD_CONSOLE_BYTES at most. */
#define RECORD_CONSOLE_BYTES (1u << 20)
const char *record_console(const struct record *record, size_t *bytes);

#endif
