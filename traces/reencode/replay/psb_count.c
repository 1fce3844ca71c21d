/*
 * PacketByteCnt at a PSB, inferred from the places of the PSBs after it.
 */
#include "traces/reencode/replay/replay_internal.h"

/* The counter is checked at the begin of lines of this size. */
#define PSB_COUNT_LINE 64

/* Where the counter was 0, relative to the PSB: between .low and .high. */
struct psb_count_zero {
	int64_t low, high;
};

/* Narrows ZERO by the PSBs after INDEX; returns how many of them fit. */
static uint64_t
psb_count_fit(const struct trace_stats *stats, size_t index, int64_t period,
    uint32_t phase, struct psb_count_zero *zero)
{
	int64_t first = (int64_t)(stats->psb[index].offset + phase);
	int64_t line = first - first % PSB_COUNT_LINE;
	int64_t before = 0; /* the check that found the PSB before */
	uint64_t fits = 0;

	for (size_t i = index + 1; i < stats->psb_count; i++) {
		int64_t at = (int64_t)(stats->psb[i].offset + phase);
		int64_t look = at - at % PSB_COUNT_LINE - line;
		int64_t due = (int64_t)(i - index) * period;
		struct psb_count_zero both = *zero;
		int64_t apart;

		if (stats->psb[i - 1].end != UINT64_MAX)
			break;
		if (look % PT_LOOK_BYTES != 0)
			break;
		/* Due at this check, and not at the one before it. */
		apart = look - before;
		before = look;
		look += line - first;
		if (apart > PT_LOOK_BYTES &&
		    look - due - PT_LOOK_BYTES + 1 > both.low)
			both.low = look - due - PT_LOOK_BYTES + 1;
		if (look - due < both.high)
			both.high = look - due;
		if (both.low > both.high)
			break;
		*zero = both;
		fits++;
	}
	return fits;
}

/* Tries one phase; the counter was 0 at the PSB if ENABLED. */
static struct psb_count
psb_count_try(const struct trace_stats *stats, size_t index, int64_t period,
    uint32_t phase, bool enabled)
{
	uint32_t since = (uint32_t)((stats->psb[index].offset + phase) % 64);
	struct psb_count_zero zero = { 0, 0 };
	struct psb_count count = { .phase = phase, .since_look = since };

	/*
	 * Else the period ended between the last check and the one before it, which an
	 * enable between them may have delayed, and several enables by more than a period.
	 */
	if (!enabled) {
		zero.high = -(int64_t)since;
		zero.low = zero.high - 2 * PT_LOOK_BYTES + 1 - 2 * period;
	}
	count.fits = psb_count_fit(stats, index, period, phase, &zero);
	count.count = (uint32_t)-zero.high;
	count.most = (uint32_t)-zero.low;
	return count;
}

struct psb_count
psb_count_infer(const struct trace_stats *stats, size_t index,
    uint64_t period_bytes, uint32_t phase, bool enabled)
{
	/* A PSB starts a word of 8 bytes. */
	uint32_t word = (uint32_t)-stats->psb[index].offset % 8;
	uint32_t from = phase < 64 ? phase : word;
	uint32_t to = phase < 64 ? phase : word + 56;
	int64_t period = (int64_t)period_bytes;
	struct psb_count best = psb_count_try(
	    stats, index, period, from, enabled);

	for (uint32_t tried = from; tried <= to; tried += 8)
		for (int way = 0; way <= enabled; way++) {
			struct psb_count other = psb_count_try(
			    stats, index, period, tried, way != 0);

			if (other.fits > best.fits)
				best = other;
		}
	return best;
}
