/*
 * How a trace was made, by the facts in it: which parts of IA32_RTIT_CTL were on, the
 * ranges, the PSB period and the state of its counter.
 */
#ifndef TOPAZ_TRACES_REENCODE_SEARCH_INFER_H
#define TOPAZ_TRACES_REENCODE_SEARCH_INFER_H

#include "traces/decode/decode.h"
#include "traces/reencode/input/trace_stats.h"

/* IA32_RTIT_CTL as the packets show it, without ranges and with DisRETC. */
uint64_t infer_ctl(const struct trace_stats *stats);

/*
 * Ranges that hold every traced IP and no target of a TIP.PGD, as wide as can
 * be.  -TZ_EFORMAT: four are not enough; -TZ_EIO: out of memory.
 */
int infer_ranges(struct decode_filter *filter, const uint8_t *bytes,
    uint64_t count, struct tz_error *err);

/* PacketByteCnt and what goes with it, at a PSB. */
struct infer_count {
	uint32_t phase;      /* output offset minus trace offset, modulo 64 */
	uint32_t count;      /* PacketByteCnt: the least that fits */
	uint32_t count_max;  /* and the most */
	uint32_t since_look; /* bytes since it was looked at last */
	uint64_t fits;       /* PSBs after this one that come where they must */
};

/*
 * The state in which a unit must be at PSB number INDEX so that the PSBs after
 * it come where they do, PERIOD_BYTES being the PSB period.  PHASE is known, or
 * 64: not known.  ENABLED: the PSB may be that of an enable.
 */
struct infer_count infer_count(const struct trace_stats *stats, size_t index,
    uint64_t period_bytes, uint32_t phase, bool enabled);

#endif
