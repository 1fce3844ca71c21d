/*
 * The end of an overflow of the internal buffer, and the packets lost until then.
 * output/output_queue.c and inject.c begin an overflow.
 *
 * Source: SDM vol. 3, 33.3.8 "Internal Buffer Overflow".
 */
#ifndef TOPAZ_EMU_PT_OVERFLOW_H
#define TOPAZ_EMU_PT_OVERFLOW_H

#include "emu/pt/unit.h"

/*
 * OVF, then the address IP where the trace resumes.  Packets after it do not depend
 * on lost ones.
 */
void overflow_resolve(struct pt_unit *unit, uint64_t ip);

/* APL11: OVF, then a TIP.PGD at once, where TraceEn is cleared. */
void overflow_resolve_by_pgd(struct pt_unit *unit);

/* A transfer to IP, not into a TraceStop range, while the buffer overflows. */
void overflow_lose(struct pt_unit *unit, uint64_t ip);

/* OVF, after a CYC with the overflow's duration. */
void overflow_send(struct pt_unit *unit);

/*
 * The buffer was drained up to now: an overflow that it began may be over.  While
 * PacketEn is 1, its end waits for the address at which tracing resumes: see
 * pt_unit_wants_ip().
 */
void overflow_drained(struct pt_unit *unit);

#endif
