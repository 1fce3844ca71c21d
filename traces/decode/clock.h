/*
 * The time at each packet of a trace as an interval that surely holds it: every timing
 * packet narrows the interval, and nothing is estimated.  It is independent of libipt's
 * time (decode_time.h): it uses only libipt's packet layer, and nothing of the PT unit.
 *
 * Time is counted in fractions of a TSC tick that also divide a core cycle.
 *
 * Source: SDM vol. 3, 33.8.3.
 */
#ifndef TOPAZ_TRACES_DECODE_CLOCK_H
#define TOPAZ_TRACES_DECODE_CLOCK_H

#include "emu/base/base.h"

struct clock;

struct clock_config {
	const uint8_t *bytes; /* outlive the clock */
	size_t count;
	uint64_t ctl;              /* IA32_RTIT_CTL that made them */
	uint32_t tsc_num, tsc_den; /* CPUID.15H:EBX and EAX */
	uint32_t cbr; /* core:bus ratio at which a cycle is a TSC tick */
	bool cut_cyc; /* SKD007 shows: OVF may replace the rest of a CYC */
};

enum clock_packet {
	CLOCK_TIP,
	CLOCK_PGE,
	CLOCK_PGD,
};

/* The time at a packet. */
struct clock_time {
	enum clock_packet packet;
	uint64_t offset;      /* of the packet */
	bool known;           /* a TSC packet came before it */
	uint64_t first, last; /* TSC lies in [first, last]; UINT64_MAX: open */
	uint64_t since;     /* upper bound of ticks since the last TSC or MTC */
	uint64_t cyc_count; /* CYC packets since then */
	uint64_t overlap; /* ticks before that packet in the first CYC after it */
	/*
	 * Between the last two MTCs the trace was off: who measures the core clock by the
	 * CYCs between them, as libipt does, has another one up to the next MTC.
	 */
	bool mismeasured;
};

/* True if CTL enables packets from which this clock gets the time. */
bool clock_is_timed(uint64_t ctl);

/* NULL: out of memory. */
struct clock *clock_create(const struct clock_config *config);
void clock_destroy(struct clock *clock);

/* Starts at the PSB at OFFSET.  False: libipt finds no PSB there. */
bool clock_sync(struct clock *clock, uint64_t offset);

/* The time at the next TIP, TIP.PGE or TIP.PGD.  False: no readable one is left. */
bool clock_next(struct clock *clock, struct clock_time *time);

#endif
