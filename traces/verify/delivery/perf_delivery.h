/*
 * What perf got of the trace, compared with what the PT units wrote.  The AUX records of a
 * perf.data say which bytes of the AUX area were written, the AUXTRACE records hold them.
 * Both are matched with the output that the bundle knows, and become events: user space
 * read these bytes.  The account (../account.h) and the decoding go on from there.
 *
 * On each CPU the AUX records, in the order of time, must name the unit's output from its
 * first byte on, without a gap, and each must end where TraceEn fell.  If output is missing
 * before a record, its bytes tell how much, and what follows is matched from there.
 * TRUNCATED must be there where the unit stopped by itself, and nowhere else.  A snapshot
 * must be the last output before a fall of TraceEn.
 */
#ifndef TOPAZ_TRACES_VERIFY_DELIVERY_PERF_DELIVERY_H
#define TOPAZ_TRACES_VERIFY_DELIVERY_PERF_DELIVERY_H

#include "traces/verify/verify_internal.h"

/*
 * Replaces *EVENTS, *COUNT of them, by a list with an event DRAIN for each stretch that
 * perf got.  WORK->delivery gets the bytes, its findings what does not match.
 * -TZ_ENOENT, -TZ_EUSAGE, -TZ_EFORMAT: of the perf.data; -TZ_EIO: no memory.
 */
int perf_delivery_read(
    struct verify_work *work, struct event **events, size_t *count);

#endif
