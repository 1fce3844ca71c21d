#include "traces/reencode/search/infer.h"

/* As emu/pt/msr.h has them; SDM vol. 3, 33.2.8.2 "IA32_RTIT_CTL MSR". */
#define INFER_CYC_EN      TZ_BIT(1)
#define INFER_OS          TZ_BIT(2)
#define INFER_USER        TZ_BIT(3)
#define INFER_PWR_EVT_EN  TZ_BIT(4)
#define INFER_FUP_ON_PTW  TZ_BIT(5)
#define INFER_TOPA        TZ_BIT(8)
#define INFER_MTC_EN      TZ_BIT(9)
#define INFER_TSC_EN      TZ_BIT(10)
#define INFER_DIS_RETC    TZ_BIT(11)
#define INFER_PTW_EN      TZ_BIT(12)
#define INFER_BRANCH_EN   TZ_BIT(13)
#define INFER_EVENT_EN    TZ_BIT(31)
#define INFER_PERIOD_MIN  UINT64_C(2048)
#define INFER_PSB_FREQ(n) ((uint64_t)(n) << 24)
#define INFER_PSB_FREQS   16
#define INFER_LINE_BYTES  64
#define INFER_LOOK_BYTES  960
/* A PSB comes this late behind the look at the counter, at most. */
#define INFER_LATE_BYTES 64

static uint64_t
infer_psb_freq(const struct trace_stats *stats)
{
	unsigned n = 0;

	while (n + 1 < INFER_PSB_FREQS &&
	    stats->gap_max > (INFER_PERIOD_MIN << n) + INFER_LOOK_BYTES +
		    2 * INFER_LATE_BYTES)
		n++;
	return INFER_PSB_FREQ(n);
}

uint64_t
infer_ctl(const struct trace_stats *stats)
{
	const uint64_t *packets = stats->packets;
	uint64_t ctl = INFER_TOPA | INFER_DIS_RETC | infer_psb_freq(stats);

	if (packets[PKT_TIP] + packets[PKT_TNT] + packets[PKT_PGE] +
		packets[PKT_PGD] + packets[PKT_EXEC] + packets[PKT_TSX] !=
	    0)
		ctl |= INFER_BRANCH_EN;
	if (stats->kernel || packets[PKT_PIP] != 0)
		ctl |= INFER_OS;
	if (stats->user || !(ctl & INFER_OS))
		ctl |= INFER_USER;
	if (packets[PKT_CYC] != 0)
		ctl |= INFER_CYC_EN;
	if (packets[PKT_MTC] != 0 || packets[PKT_TMA] != 0)
		ctl |= INFER_MTC_EN;
	if (packets[PKT_TSC] != 0)
		ctl |= INFER_TSC_EN;
	if (packets[PKT_PTW] != 0)
		ctl |= INFER_PTW_EN;
	if (stats->fup_ptws != 0)
		ctl |= INFER_FUP_ON_PTW;
	if (packets[PKT_PWRE] + packets[PKT_PWRX] + packets[PKT_EXSTOP] +
		packets[PKT_MWAIT] !=
	    0)
		ctl |= INFER_PWR_EVT_EN;
	if (packets[PKT_CFE] + packets[PKT_EVD] + stats->flagged != 0)
		ctl |= INFER_EVENT_EN;
	return ctl;
}

/* [low, high] of the counter's zero, relative to the PSB's position. */
struct infer_zero {
	int64_t low, high;
};

/* Narrows ZERO by the PSBs behind INDEX; returns how many of them fit. */
static uint64_t
infer_fit(const struct trace_stats *stats, size_t index, int64_t period,
    uint32_t phase, struct infer_zero *zero)
{
	int64_t first = (int64_t)(stats->psb[index] + phase);
	int64_t line = first - first % INFER_LINE_BYTES;
	int64_t before = 0; /* the look that found the PSB before */
	uint64_t fits = 0;

	for (size_t i = index + 1; i < stats->psb_count; i++) {
		int64_t at = (int64_t)(stats->psb[i] + phase);
		int64_t look = at - at % INFER_LINE_BYTES - line;
		int64_t due = (int64_t)(i - index) * period;
		struct infer_zero both = *zero;
		int64_t apart;

		if (stats->psb_end[i - 1] != UINT64_MAX)
			break;
		if (look % INFER_LOOK_BYTES != 0)
			break;
		/* Found at this look, and not at the one before, but for another. */
		apart = look - before;
		before = look;
		look += line - first;
		if (apart > INFER_LOOK_BYTES &&
		    look - due - INFER_LOOK_BYTES + 1 > both.low)
			both.low = look - due - INFER_LOOK_BYTES + 1;
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
static struct infer_count
infer_try(const struct trace_stats *stats, size_t index, int64_t period,
    uint32_t phase, bool enabled)
{
	uint32_t since = (uint32_t)((stats->psb[index] + phase) % 64);
	struct infer_zero zero = { 0, 0 };
	struct infer_count count = { .phase = phase, .since_look = since };

	/*
	 * Else the period was over at the last look, not at the one before; if an
	 * enable lay between, the one before may have been that much earlier; if several
	 * did, there may have been none for more than one period.
	 */
	if (!enabled) {
		zero.high = -(int64_t)since;
		zero.low = zero.high - 2 * INFER_LOOK_BYTES + 1 - 2 * period;
	}
	count.fits = infer_fit(stats, index, period, phase, &zero);
	count.count = (uint32_t)-zero.high;
	count.count_max = (uint32_t)-zero.low;
	return count;
}

struct infer_count
infer_count(const struct trace_stats *stats, size_t index,
    uint64_t period_bytes, uint32_t phase, bool enabled)
{
	/* A PSB starts a word of 8 bytes. */
	uint32_t word = (uint32_t)-stats->psb[index] % 8;
	uint32_t from = phase < 64 ? phase : word;
	uint32_t to = phase < 64 ? phase : word + 56;
	int64_t period = (int64_t)period_bytes;
	struct infer_count best = infer_try(
	    stats, index, period, from, enabled);

	for (uint32_t tried = from; tried <= to; tried += 8) {
		struct infer_count other = infer_try(
		    stats, index, period, tried, false);

		if (other.fits > best.fits)
			best = other;
		if (!enabled)
			continue;
		other = infer_try(stats, index, period, tried, true);
		if (other.fits > best.fits)
			best = other;
	}
	return best;
}
