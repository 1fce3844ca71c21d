/*
 * What a running machine shows, put into a bundle: its events, the trace that
 * user space takes, trace frames as they stand when TraceEn falls; and the
 * console.  It judges nothing.
 */
#ifndef TOPAZ_HARNESS_RECORD_H
#define TOPAZ_HARNESS_RECORD_H

#include "emu/machine.h"

struct bundle_info;
struct bundle_writer;
struct image;
struct cpu_set;
struct record;

/* The code of IMAGE as it stands in RAM, for whoever decodes.  -TZ_EIO. */
int record_code(struct bundle_writer *writer, const struct image *image,
    const uint8_t *ram);

/*
 * BUFFER_BYTES is the size of one trace buffer: filling its last ToPA region,
 * all of one size, is a wrap.  The console goes to standard error too if VERBOSE.
 * NULL: out of memory.
 */
struct record *record_create(
    struct bundle_writer *writer, uint64_t buffer_bytes, bool verbose);
void record_destroy(struct record *record);

/* For machine_create; then the RAM that events speak of. */
struct machine_observer record_observer(struct record *record);
void record_set_ram(struct record *record, const uint8_t *ram, uint64_t bytes);

/*
 * Ends the record: what lies in frames of a CPU that still traces is kept as if
 * TraceEn had fallen.  The first error that the bundle gave, -TZ_EIO without memory, or
 * 0.
 */
int record_end(struct record *record);

/* Which CPU is which processor, for the manifest. */
void record_models(struct bundle_info *info, const struct cpu_set *cpu_set);

/* What was counted on the way. */
uint64_t record_wraps(const struct record *record, unsigned cpu);
uint64_t record_pt_errors(const struct record *record, unsigned cpu);
/* The console: *BYTES characters, the first RECORD_CONSOLE_BYTES at most. */
#define RECORD_CONSOLE_BYTES (1u << 20)
const char *record_console(const struct record *record, size_t *bytes);

#endif
