/*
 * Files that user space wrote of the trace, of a guest that reports no reads: found again
 * in what the PT units wrote, they become events DRAIN.  The account (../account) and the
 * decoding go on from there.
 *
 * A CPU's stream must be the output of that CPU's intervals of TraceEn, a thread's that of
 * any CPU's, each up to the fall of TraceEn and in their order.  Of the first interval the
 * beginning may be missing, and intervals may be left out: the account says what became of
 * that output.  A thread's interval must go on in memory where the one before it ended, or
 * at another page.
 */
#ifndef TOPAZ_TRACES_VERIFY_DELIVERY_FILE_DELIVERY_H
#define TOPAZ_TRACES_VERIFY_DELIVERY_FILE_DELIVERY_H

#include "traces/verify/verify_internal.h"

/* True if WORK's bundle has such files: streams, but none of EVENTS is a read. */
bool file_delivery_needed(
    const struct verify_work *work, const struct event *events, size_t count);

/*
 * As perf_delivery_read(), for the streams of the bundle.  -TZ_EIO: no memory, or a file
 * cannot be read.
 */
int file_delivery_read(
    struct verify_work *work, struct event **events, size_t *count);

#endif
