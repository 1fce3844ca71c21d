/*
 * What time it is at each packet of a trace, computed exactly: every timing packet
 * narrows an interval in which the time lies, and nothing is estimated.  An opinion
 * of its own, beside libipt's (decode_time.h): of libipt it uses the packet layer alone,
 * and of the PT unit nothing.
 *
 * Time is kept in parts of a TSC tick so small that a core cycle, too, is a whole
 * number of them.  Source: SDM vol. 3, 33.8.3.
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
	bool cut_cyc; /* SKD007 shows: OVF in place of the rest of a CYC */
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
	bool known;           /* there was a TSC packet */
	uint64_t first, last; /* TSC lies in [first, last]; UINT64_MAX: open */
	uint64_t since;       /* ticks since the last TSC or MTC, at most */
	uint64_t cyc_count;   /* CYC packets since then */
	uint64_t overlap; /* ticks before it that the first of them counts */
};

/* Does what CTL asks for hold time? */
bool clock_is_timed(uint64_t ctl);

/* NULL: out of memory. */
struct clock *clock_create(const struct clock_config *config);
void clock_destroy(struct clock *clock);

/* Starts at the PSB at OFFSET.  False: libipt does not find it. */
bool clock_sync(struct clock *clock, uint64_t offset);

/* The next TIP, TIP.PGE or TIP.PGD.  False: none is left that can be read. */
bool clock_next(struct clock *clock, struct clock_time *time);

#endif
