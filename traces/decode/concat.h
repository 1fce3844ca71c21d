/*
 * Takes libipt over a TIP.PGD without an IP that belongs to a conditional
 * branch which leaves the filter ranges.  The architecture allows that packet
 * (SDM vol. 3, 33.4.2 "Packet Definitions", TIP.PGD), libipt 2.1 does not bind
 * it: decoding goes on at the next TIP.PGE, in a copy of the stream in which a
 * PSB+ stands in front of that packet.  Only for decode.c.
 */
#ifndef TOPAZ_TRACES_DECODE_CONCAT_H
#define TOPAZ_TRACES_DECODE_CONCAT_H

#include "emu/base/base.h"

struct pt_config;
struct stitch;

/* Copies the bytes of CONFIG.  NULL: out of memory. */
struct stitch *concat_create(const struct pt_config *config);
void concat_destroy(struct stitch *stitch);

/* Decoding starts anew at the PSB at OFFSET: counting TIP.PGDs does, too. */
void concat_sync(struct stitch *stitch, uint64_t offset);

enum concat_end {
	STITCH_RESUMED,
	STITCH_NO_MORE, /* tracing is not enabled again in these bytes */
	STITCH_REFUSED, /* no such TIP.PGD, it has an IP, or an OVF follows */
};

/*
 * Goes past the NTH TIP.PGD (from 0) since the PSB, which must have no IP, to
 * the TIP.PGE after it.  STITCH_RESUMED: CONFIG's bytes now begin with a PSB
 * and that TIP.PGE, and *OFFSET is what to add to offsets in them.
 */
enum concat_end concat_resume(struct stitch *stitch, uint64_t nth,
    struct pt_config *config, int64_t *offset);

#endif
