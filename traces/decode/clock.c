#include "traces/decode/clock.h"

#include "emu/base/rtit.h"
#include "traces/bundle/image.h"

#include <intel-pt.h>
#include <stdlib.h>

#define CLOCK_TSC_BITS 56
#define CLOCK_MTC_MASK 0xffu
#define CLOCK_TMA_BITS 16

/* OVF, 02 F3, as CYCs: 33.4.2.14 "Cycle Count (CYC) Packet". */
#define CLOCK_CYC_FIRST  32 /* number of values of the first byte */
#define CLOCK_OVF_FIRST  1  /* a second byte 02 adds it times that number */
#define CLOCK_OVF_CYCLES 30

/* An interval of time; .last UINT64_MAX: no upper bound. */
struct span {
	uint64_t first, last;
};

struct clock {
	struct clock_config config;
	struct pt_packet_decoder *decoder;
	uint64_t tick;   /* length of a TSC tick, in parts */
	uint64_t cycle;  /* length of a core cycle, in parts */
	struct span now; /* the next packet was made then or later */
	struct span cyc; /* of the last CYC, or of the packet that replaces it */
	struct span since; /* of the last TSC or MTC */
	uint64_t cyc_count;
	uint64_t overlap; /* parts of the first CYC before .since */
	bool known;
	/* Crystal clock: its tick .art was at TSC .base_tsc. */
	bool crystal;
	uint64_t art, base_tsc;
	uint64_t art_at;       /* crystal tick of the last MTC, or of TMA */
	uint32_t payload;      /* payload of an MTC at .art_at */
	uint32_t payload_mask; /* known bits of .payload */
	bool cut;              /* the packet before may be a CYC cut by OVF */
	bool mtc;              /* there was one since clock_sync() or OVF */
	bool jumped;           /* since then TSC went on without CYCs */
	bool mismeasured;      /* see struct clock_time */
};

bool
clock_is_timed(uint64_t ctl)
{
	return (ctl & (CTL_TIMING)) != 0;
}

struct clock *
clock_create(const struct clock_config *config)
{
	struct clock *clock = calloc(1, sizeof(*clock));
	struct pt_config packets;

	if (clock == NULL)
		return NULL;
	clock->config = *config;
	image_config(&packets, config->bytes, config->count, 0, 0);
	clock->decoder = pt_pkt_alloc_decoder(&packets);
	if (clock->decoder == NULL) {
		free(clock);
		return NULL;
	}
	return clock;
}

void
clock_destroy(struct clock *clock)
{
	if (clock == NULL)
		return;
	pt_pkt_free_decoder(clock->decoder);
	free(clock);
}

bool
clock_sync(struct clock *clock, uint64_t offset)
{
	clock->known = clock->crystal = false;
	clock->mtc = clock->jumped = clock->mismeasured = false;
	/* Until the first CBR. */
	clock->tick = clock->cycle = 1;
	return pt_pkt_sync_set(clock->decoder, offset) >= 0;
}

static uint64_t
later(uint64_t time, uint64_t by)
{
	return time == UINT64_MAX ? UINT64_MAX : time + by;
}

static uint64_t
greatest_divisor(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Converts SPAN from TICK parts a tick to OTHER; it never becomes narrower. */
static void
rescale(struct span *span, uint64_t tick, uint64_t other)
{
	if (span->last != UINT64_MAX)
		span->last = ((span->last + 1) * other + tick - 1) / tick - 1;
	span->first = span->first * other / tick;
}

/* The ratio of the core clock changes. */
static void
take_cbr(struct clock *clock, uint32_t ratio)
{
	uint64_t divisor = greatest_divisor(clock->config.cbr, ratio);
	uint64_t tick = clock->tick;

	clock->mismeasured = false;
	if (ratio == 0)
		return;
	clock->tick = ratio / divisor;
	clock->cycle = clock->config.cbr / divisor;
	if (!clock->known || tick == clock->tick)
		return;
	rescale(&clock->now, tick, clock->tick);
	rescale(&clock->cyc, tick, clock->tick);
	rescale(&clock->since, tick, clock->tick);
}

/* Cycles that may pass without a CYC although packets are sent: the threshold. */
static uint64_t
silent_cycles(const struct clock *clock)
{
	unsigned threshold = (unsigned)tz_bits(clock->config.ctl, 22, 19);

	return threshold == 0 ? 0 : (UINT64_C(1) << (threshold - 1)) - 1;
}

/* The current packet says that the time is within SPAN. */
static void
narrow(struct clock *clock, struct span span)
{
	const struct span *now = &clock->now;

	/* The interval from earlier CYCs may be narrower. */
	if (clock->known && now->first > span.first && now->first <= span.last)
		span.first = now->first;
	if (clock->known && now->last < span.last && now->last >= span.first)
		span.last = now->last;
	clock->now = clock->since = span;
	clock->cyc_count = 0;
	clock->overlap = 0;
}

static unsigned
mtc_shift(const struct clock *clock)
{
	return (unsigned)tz_bits(clock->config.ctl, 17, 14);
}

/* The time at crystal tick ART; two TSC ticks wide if the ratio is no integer. */
static struct span
crystal_span(const struct clock *clock, uint64_t art)
{
	const struct clock_config *config = &clock->config;
	uint64_t ticks = (art - clock->art) * config->tsc_num;
	uint64_t tsc = clock->base_tsc + ticks / config->tsc_den;
	bool whole = config->tsc_num % config->tsc_den == 0;
	struct span span = { tsc * clock->tick,
		(tsc + (whole ? 0 : 2)) * clock->tick };

	return span;
}

/* The latest time at which a packet can have been made here. */
static uint64_t
latest(const struct clock *clock)
{
	uint64_t last = UINT64_MAX, edge;

	if (clock->config.ctl & CTL_CYC_EN)
		last = later(
		    clock->cyc.last, silent_cycles(clock) * clock->cycle);
	if ((clock->config.ctl & CTL_MTC_EN) == 0 || !clock->crystal)
		return last;
	edge = ((clock->art_at >> mtc_shift(clock)) + 1) << mtc_shift(clock);
	edge = crystal_span(clock, edge).last + clock->cycle - 1;
	return edge < last ? edge : last;
}

static void
take_tsc(struct clock *clock, uint64_t tsc)
{
	struct span span = { tsc * clock->tick, (tsc + 1) * clock->tick - 1 };
	uint64_t silent = silent_cycles(clock) * clock->cycle;

	clock->jumped |= clock->known && span.first > latest(clock);
	narrow(clock, span);
	/* The last CYC is at most that long ago: if not, there would be one here. */
	clock->cyc = clock->now;
	clock->cyc.first -= silent < clock->cyc.first ? silent : 0;
	clock->known = true;
	clock->crystal = false;
	clock->base_tsc = tsc;
}

static void
take_tma(struct clock *clock, uint32_t ctc, uint32_t fc)
{
	unsigned shift = mtc_shift(clock);

	if (!clock->known)
		return;
	clock->crystal = true;
	clock->art = clock->art_at = ctc;
	clock->base_tsc -= fc;
	clock->payload = ctc >> shift & CLOCK_MTC_MASK;
	clock->payload_mask = CLOCK_MTC_MASK >>
	    (shift > CLOCK_TMA_BITS - 8 ? shift - (CLOCK_TMA_BITS - 8) : 0);
}

/* An MTC is made in the first cycle that begins at or after the edge. */
static void
take_mtc(struct clock *clock, uint8_t payload)
{
	unsigned shift = mtc_shift(clock);
	uint32_t steps = (payload - clock->payload) & clock->payload_mask;
	struct span span;

	clock->mismeasured = clock->mtc && clock->jumped;
	clock->mtc = true;
	clock->jumped = false;
	if (!clock->crystal)
		return;
	clock->art_at = ((clock->art_at >> shift) + steps) << shift;
	clock->payload = payload;
	clock->payload_mask = CLOCK_MTC_MASK;
	span = crystal_span(clock, clock->art_at);
	span.last += clock->cycle - 1;
	narrow(clock, span);
	if (silent_cycles(clock) == 0)
		clock->cyc = clock->now;
}

static void
take_cyc(struct clock *clock, uint64_t cycles)
{
	struct span span = { later(clock->cyc.first, cycles * clock->cycle),
		later(clock->cyc.last, cycles * clock->cycle) };

	if (!clock->known)
		return;
	if (clock->cyc_count++ == 0 && clock->since.last > clock->cyc.first)
		clock->overlap = clock->since.last - clock->cyc.first;
	/* An MTC without a CYC may have given a later lower bound. */
	if (clock->now.first > span.first && clock->now.first <= span.last)
		span.first = clock->now.first;
	clock->now = clock->cyc = span;
}

static void
tell(const struct clock *clock, struct clock_time *time)
{
	uint64_t last = latest(clock);

	if (last < clock->now.first)
		last = clock->now.last;
	time->known = clock->known;
	time->first = clock->now.first / clock->tick;
	time->last = last == UINT64_MAX ? last : last / clock->tick;
	time->since = (clock->now.first - clock->since.first) / clock->tick + 1;
	time->cyc_count = clock->cyc_count;
	time->mismeasured = clock->mismeasured;
	time->overlap = (clock->overlap + clock->tick - 1) / clock->tick;
}

/* Crystal edges were lost: the time is unknown until the next TSC. */
static void
take_ovf(struct clock *clock)
{
	clock->known = clock->crystal = clock->mtc = false;
}

/*
 * SKD007: the first byte of OVF looks like the end of a CYC of two bytes, and the second
 * byte alone like a CYC of 30 cycles.
 */
static void
take_cut_cyc(struct clock *clock, uint64_t cycles)
{
	if (clock->cut && cycles == CLOCK_OVF_CYCLES) {
		clock->cut = false;
		take_ovf(clock);
		return;
	}
	clock->cut = clock->config.cut_cyc &&
	    cycles / CLOCK_CYC_FIRST == CLOCK_OVF_FIRST;
	take_cyc(clock, cycles);
}

/* Evaluates a timing packet.  True: PACKET is one of enum clock_packet. */
static bool
take_packet(struct clock *clock, const struct pt_packet *packet,
    enum clock_packet *kind)
{
	if (packet->type != ppt_cyc)
		clock->cut = false;
	switch ((int)packet->type) {
	case ppt_tsc:
		take_tsc(clock,
		    packet->payload.tsc.tsc & (TZ_BIT(CLOCK_TSC_BITS) - 1));
		break;
	case ppt_tma:
		take_tma(
		    clock, packet->payload.tma.ctc, packet->payload.tma.fc);
		break;
	case ppt_mtc:
		take_mtc(clock, packet->payload.mtc.ctc);
		break;
	case ppt_cyc:
		take_cut_cyc(clock, packet->payload.cyc.value);
		break;
	case ppt_cbr:
		take_cbr(clock, packet->payload.cbr.ratio);
		break;
	case ppt_ovf:
		take_ovf(clock);
		break;
	case ppt_tip:
		*kind = CLOCK_TIP;
		return true;
	case ppt_tip_pge:
		*kind = CLOCK_PGE;
		return true;
	case ppt_tip_pgd:
		*kind = CLOCK_PGD;
		return true;
	default:
		break;
	}
	return false;
}

bool
clock_next(struct clock *clock, struct clock_time *time)
{
	struct pt_packet packet;

	for (;;) {
		if (pt_pkt_get_offset(clock->decoder, &time->offset) < 0 ||
		    pt_pkt_next(clock->decoder, &packet, sizeof(packet)) < 0)
			return false;
		if (take_packet(clock, &packet, &time->packet)) {
			tell(clock, time);
			return true;
		}
	}
}
