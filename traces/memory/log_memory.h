/*
 * The code of a booted kernel and its programs as the execution logs of a bundle have it:
 * each instruction that was executed while TraceEn was 1, at its address.  A kernel patches
 * its own code, so a file of it has other bytes, and a program may make code that is in no
 * file.
 */
#ifndef TOPAZ_TRACES_MEMORY_LOG_MEMORY_H
#define TOPAZ_TRACES_MEMORY_LOG_MEMORY_H

#include "traces/bundle/bundle.h"
#include "traces/memory/memory_image.h"

struct log_memory;

/* -TZ_EFORMAT: a log is damaged; -TZ_EIO.  log_memory_free() frees *MEMORY. */
int log_memory_read(const struct bundle *bundle, struct log_memory **memory,
    struct tz_error *err);
void log_memory_free(struct log_memory *memory);

/*
 * Adds the pages with that code to IMAGE; what was not executed in them is no instruction.
 * Of code that changed, or is another program's at the same address, the last version.
 * -TZ_EIO.
 */
int log_memory_add(const struct log_memory *memory, struct memory_image *image,
    struct tz_error *err);

#endif
