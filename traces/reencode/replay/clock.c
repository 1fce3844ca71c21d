#include "traces/reencode/replay/clock.h"

#include "emu/base/rtit.h"

#define CLOCK_TSC_BITS 56
#define CLOCK_CTC_BITS 16
#define CLOCK_FC_MASK  0x1ff
/* The first value of the cycle clock: earlier cycles do not make it negative. */
#define CLOCK_CYCLES (UINT64_C(1) << 48)
/* A longer CYC is taken as this many cycles. */
#define CLOCK_CYC_MAX  (UINT64_C(1) << 40)
#define CLOCK_MTC_BITS 8

static uint64_t
clock_capped(uint64_t cycles)
{
	return cycles < CLOCK_CYC_MAX ? cycles : CLOCK_CYC_MAX;
}

/* CYCLES, at least, have gone by since the last CYC. */
static void
clock_pass(struct clock *clock, uint64_t cycles)
{
	if (clock->zero + cycles > clock->now.cycles)
		clock->now.cycles = clock->zero + cycles;
}

/* The first value not below LEAST that ends in the BITS bits of VALUE. */
static uint64_t
clock_after(uint64_t least, uint64_t value, unsigned bits)
{
	uint64_t span = TZ_BIT(bits);
	uint64_t found = (least & ~(span - 1)) | (value & (span - 1));

	return found < least ? found + span : found;
}

/* Status packets: TSC, TMA and the CYC before them. */
struct clock_status {
	bool cyc, tsc, tma;
	uint64_t cycles, tsc_value, tma_value;
};

static struct clock_status
clock_read(struct pkt_parser *parser, bool overflow)
{
	struct clock_status status = { 0 };
	struct pkt packet;
	bool lost = false, forced = false;

	while (pkt_next_full(parser, &packet)) {
		switch ((int)packet.kind) {
		case PKT_CBR:
			/* The last packet of an enable's status. */
			if (!parser->in_psb)
				return status;
			break;
		case PKT_OVF:
			if (!overflow)
				return status;
			overflow = false;
			lost = true;
			break;
		case PKT_PSB:
			break;
		case PKT_CYC:
			if (lost && status.cyc)
				return status;
			if (!status.tsc)
				status.cycles += clock_capped(packet.value);
			status.cyc = true;
			break;
		case PKT_TSC:
			status.tsc = true;
			status.tsc_value = packet.value;
			break;
		case PKT_TMA:
			status.tma = true;
			status.tma_value = packet.value;
			break;
		case PKT_PSBEND:
			return status;
		case PKT_TNT:
			/* The status forces pending outcomes out first. */
			if (forced || status.tsc || parser->in_psb)
				return status;
			forced = true;
			break;
		default:
			if (!parser->in_psb)
				return status;
			break;
		}
	}
	return status;
}

/*
 * The crystal clock: its low bits are those of the TMA, its high bits such that the next
 * MTC is that of the trace; without a TMA, it is one tick before that MTC.
 */
static uint64_t
clock_crystal(const struct clock *clock, const struct clock_status *status,
    struct pkt_parser behind, unsigned freq)
{
	unsigned bits = freq + CLOCK_MTC_BITS;
	uint64_t art = clock->now.art;
	struct pkt next;
	bool mtc = pkt_next_of(&behind, &next, PKT_BIT(MTC));

	if (!status->tma)
		return mtc ? clock_after(art, (next.value << freq) - 1, bits)
			   : art;
	art = clock_after(art, status->tma_value, CLOCK_CTC_BITS);
	for (unsigned n = 0; mtc && n < TRACE_STATS_FREQS; n++) {
		uint64_t found = art + n * TZ_BIT(CLOCK_CTC_BITS);

		if ((((found >> freq) + 1) & 0xff) == next.value)
			return found;
	}
	return art;
}

/* Takes over what STATUS says of TSC and FastCounter. */
static void
clock_take(struct clock *clock, const struct clock_status *status)
{
	if (status->tsc)
		clock->now.tsc = clock_after(
		    clock->now.tsc, status->tsc_value, CLOCK_TSC_BITS);
	if (status->tma)
		clock->now.fc = (uint32_t)(status->tma_value >> 24) &
		    CLOCK_FC_MASK;
}

void
clock_start(struct clock *clock, uint64_t offset)
{
	struct pkt_parser parser = clock->look;
	struct clock_status status;

	clock->timed = (clock->driver->ctl & CTL_TIMING) != 0;
	clock->hides = CTL_CYC_THRESH(clock->driver->ctl) > 1;
	if (clock->now.cycles == 0)
		clock->now.cycles = CLOCK_CYCLES;
	if (!clock->timed)
		return;
	parser.offset = offset;
	status = clock_read(&parser, true);
	clock_take(clock, &status);
	clock->now.art = clock_crystal(
	    clock, &status, parser, CTL_MTC_FREQ(clock->driver->ctl));
	clock->now.cycles += status.cycles;
	clock->zero = clock->now.cycles - status.cycles;
	clock->driver->now = clock->now;
	clock->driver->cycles = status.cycles;
	clock->driver->cyc_sent = status.tsc && !status.cyc;
}

void
clock_move(struct clock *clock, uint64_t offset)
{
	const struct clock_next *next = &clock->next;
	struct pkt packet;

	/* The packets of the last clock_look() were sent. */
	if (clock->look.offset < offset &&
	    clock->looked == clock->look.offset &&
	    next->after.offset == offset && next->simple) {
		clock->look = next->after;
		clock->zero += next->cycles;
		clock_pass(clock, 0);
		return;
	}
	while (clock->look.offset < offset && pkt_next(&clock->look, &packet)) {
		if (packet.kind == PKT_CYC)
			clock->zero += clock_capped(packet.value);
		else if (packet.kind == PKT_OVF)
			clock->zero = clock->now.cycles;
		/* Its cycles may not have gone by in the unit. */
		clock_pass(clock, 0);
	}
}

const struct clock_next *
clock_look(struct clock *clock, unsigned pending)
{
	struct clock_next *next = &clock->next;
	struct pkt *packet = &next->packet;
	/* SDM vol. 3, 33.4.2.14, "CYC-eligible packets": not these, nor the end. */
	const uint64_t timeless = PKT_BIT(CUT) | PKT_BIT(MNT) | PKT_BIT(PWRX) |
	    PKT_BIT(PSB) | PKT_BIT(CBR) | PKT_BIT(STOP);
	struct pkt_parser parser = clock->look;
	bool whole = false;
	uint64_t last = 0;

	clock->looked = clock->look.offset;
	next->cycles = 0;
	next->cyc = next->after_tnt = false;
	while (pkt_next_full(&parser, packet)) {
		if (packet->kind == PKT_TNT && pending != 0 && !whole &&
		    packet->bits == pending && !next->after_tnt) {
			next->after_tnt = true;
			continue;
		}
		/* A counter at its end sends a CYC before it goes on. */
		if (packet->kind != PKT_CYC || whole)
			break;
		next->cyc = true;
		last = clock_capped(packet->value);
		next->cycles += last;
		whole = packet->value != clock->most;
	}
	next->simple = packet->kind != PKT_OVF && packet->kind != PKT_CYC;
	/* The last CYC is that of the OVF, which is sent after what was lost. */
	if (packet->kind == PKT_OVF && next->cyc) {
		next->cycles -= last;
		next->cyc = next->cycles != 0;
		next->cycles += next->cyc;
	}
	next->wraps = next->cyc && !whole;
	/*
	 * The counter went on after its end: while outcomes were pending, before a
	 * packet that has no CYC, or for fewer cycles than CycThresh.
	 */
	if (next->wraps &&
	    (clock->hides || pkt_is(packet, timeless) ||
		(packet->kind == PKT_TNT && pending != 0 && !next->after_tnt))) {
		next->cycles++;
		next->simple = false;
	}
	next->after = parser;
	return next;
}

void
clock_apply(struct clock *clock, const struct clock_next *next)
{
	if (!next->cyc || !pt_unit_fast(clock->driver->unit)->timed)
		return;
	clock_pass(clock, next->cycles);
	pt_unit_time(clock->driver->unit, &clock->now);
}

/* Sets the unit's clocks to values that they do not reach by themselves. */
static void
clock_jump(struct clock *clock)
{
	clock->jumps++;
	pt_unit_set_time(
	    clock->driver->unit, &clock->now, clock->now.cycles - clock->zero);
}

/* The crystal clock reaches the edge DUE. */
static void
clock_reach(struct clock *clock, uint64_t due)
{
	clock->now.art = due;
	clock->now.fc = 0;
	pt_unit_time(clock->driver->unit, &clock->now);
}

void
clock_edge_lost(struct clock *clock)
{
	uint64_t due = pt_unit_mtc_due(clock->driver->unit);

	if (due != UINT64_MAX)
		clock_reach(clock, due);
}

void
clock_edge(struct clock *clock, const struct clock_next *next)
{
	unsigned freq = CTL_MTC_FREQ(clock->driver->ctl);
	uint64_t due = pt_unit_mtc_due(clock->driver->unit);

	if (due == UINT64_MAX || !pt_unit_fast(clock->driver->unit)->timed)
		return;
	if ((due >> freq & 0xff) != next->packet.value) {
		clock->now.art = clock_after(clock->now.art,
		    (next->packet.value << freq) - 1, freq + CLOCK_MTC_BITS);
		clock_jump(clock);
		due = pt_unit_mtc_due(clock->driver->unit);
	}
	if (next->cyc)
		clock_pass(clock, next->cycles);
	clock_reach(clock, due);
}

void
clock_status(struct clock *clock, struct pkt_parser at)
{
	struct clock_status status = clock_read(&at, false);
	uint64_t art = clock->now.art;

	if (!pt_unit_fast(clock->driver->unit)->timed)
		return;
	clock_take(clock, &status);
	clock_pass(clock, status.cycles);
	if (status.tma)
		clock->now.art = clock_after(
		    art, status.tma_value, CLOCK_CTC_BITS);
	if (clock->now.art >= pt_unit_mtc_due(clock->driver->unit)) {
		clock->now.art = clock_crystal(
		    clock, &status, at, CTL_MTC_FREQ(clock->driver->ctl));
		clock_jump(clock);
	}
	pt_unit_time(clock->driver->unit, &clock->now);
}
