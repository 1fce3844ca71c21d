/*
 * Continues libipt's decoding after a TIP.PGD without an IP that belongs to a
 * conditional branch which leaves the filter ranges.  The architecture allows that packet
 * (SDM vol. 3, 33.4.2 "Packet Definitions", TIP.PGD), but libipt 2.1 does not assign it
 * to the branch.  Decoding continues at the next TIP.PGE, in a copy of the stream with a
 * PSB+ inserted before that packet.  Only for decode.c.
 */
#ifndef TOPAZ_TRACES_DECODE_CONCAT_H
#define TOPAZ_TRACES_DECODE_CONCAT_H

#include "emu/base/base.h"

struct pt_config;
struct concat;

/* Copies the bytes of CONFIG.  NULL: out of memory. */
struct concat *concat_create(const struct pt_config *config);
void concat_destroy(struct concat *concat);

/* Decoding restarts at the PSB at OFFSET; the count of TIP.PGDs restarts at 0. */
void concat_sync(struct concat *concat, uint64_t offset);

enum concat_end {
	CONCAT_RESUMED,
	CONCAT_NO_MORE, /* tracing is not enabled again in these bytes */
	CONCAT_REFUSED, /* no such TIP.PGD, or it has an IP, or an OVF follows */
};

/*
 * Goes to the TIP.PGE after the NTH TIP.PGD (from 0) since the PSB; that TIP.PGD must
 * have no IP.  CONCAT_RESUMED: CONFIG's bytes now begin with a PSB+ and that TIP.PGE;
 * adding *OFFSET to an offset in them gives the offset in the stream.
 */
enum concat_end concat_resume(struct concat *concat, uint64_t nth,
    struct pt_config *config, int64_t *offset);

#endif
