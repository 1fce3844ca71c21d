/*
 * Writes a bundle into an empty folder; harness/host/folder/output.h replaces
 * an old folder with a new one.  After the first error every function does
 * nothing and returns that error.
 */
#ifndef TOPAZ_TRACES_BUNDLE_BUNDLE_WRITE_H
#define TOPAZ_TRACES_BUNDLE_BUNDLE_WRITE_H

#include "traces/bundle/bundle.h"

struct bundle_writer;

/*
 * Starts a bundle in the folder PATH, which is made if there is none.  -TZ_EUSAGE: it is
 * not empty; -TZ_EIO.
 */
int bundle_create(const char *path, unsigned cpu_count,
    struct bundle_writer **writer, struct tz_error *err);

/* Adds COUNT executable bytes at VA. */
int bundle_add_image(struct bundle_writer *writer, const char *name,
    uint64_t va, const void *bytes, size_t count);

/* Adds an ELF file. */
int bundle_add_object(struct bundle_writer *writer, const char *name,
    uint64_t bias, const void *bytes, size_t count);

/*
 * An exec_log_sink and its argument: exec_log_create(bundle_exec_log_sink,
 * bundle_exec_log_arg(writer, cpu)).
 */
void *bundle_exec_log_arg(struct bundle_writer *writer, unsigned cpu);
int bundle_exec_log_sink(void *arg, const uint32_t *words, size_t count);

/* Appends to the log of events, in global order. */
int bundle_add_event(struct bundle_writer *writer, const struct event *event);

/* Appends the next bytes that user space read; STREAM as in emu/base/event.h. */
int bundle_add_stream(struct bundle_writer *writer, uint64_t stream,
    const void *bytes, size_t count);

/* Appends the next bytes that user space read of a driver's LOG. */
int bundle_add_log(struct bundle_writer *writer, uint64_t log,
    const void *bytes, size_t count);

/* Appends the contents of CPU's trace frames at the fall of TraceEn. */
int bundle_add_trace_off(struct bundle_writer *writer, unsigned cpu,
    const struct trace_off_header *header, const void *bytes);

/* Adds the text file NAME at the bundle's top level; no file may have that name yet. */
int bundle_add_text(struct bundle_writer *writer, const char *name,
    const char *text, size_t count);

/*
 * Completes the bundle with INFO (its cpu_count is overwritten).  Always frees WRITER.
 * After an error the folder is removed.  Returns the first error of the writer, or
 * -TZ_EIO.
 */
int bundle_finish(struct bundle_writer *writer, const struct bundle_info *info,
    struct tz_error *err);

/* The first error of WRITER, with its text; 0: no error. */
int bundle_error(const struct bundle_writer *writer, struct tz_error *err);

/* Removes the folder and frees WRITER (which may be NULL). */
void bundle_abandon(struct bundle_writer *writer);

#endif
