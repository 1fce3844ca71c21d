/*
 * The clocks of the processor that wrote a trace, recovered from its timing packets.
 * Before each event the unit's clocks are set to them.
 *
 * The packet at the offset that the unit's output has reached is the one that the unit
 * must send next: a CYC there gives the core cycles that went by, an MTC says that an edge
 * of the crystal clock comes before anything else.
 */
#ifndef TOPAZ_TRACES_REENCODE_REPLAY_CLOCK_H
#define TOPAZ_TRACES_REENCODE_REPLAY_CLOCK_H

#include "traces/reencode/replay/unit_driver.h"

/* The next packets of the trace. */
struct clock_next {
	struct pkt packet;       /* the first that is neither CYC nor PAD */
	struct pkt_parser after; /* at the packet after .packet */
	uint64_t cycles;         /* of the CYCs before it */
	bool cyc;                /* there is one */
	bool wraps;              /* each of them is of a counter at its end */
	bool after_tnt; /* a TNT of outcomes that the unit holds precedes it */
	bool simple;    /* .cycles go by before it, and that is all */
};

struct clock {
	struct unit_driver *driver;
	uint64_t most;          /* the greatest value of the cycle counter */
	struct pkt_parser look; /* where the unit's output has come to */
	struct pt_time now;
	uint64_t zero;   /* .now.cycles at the last CYC */
	uint64_t jumps;  /* of the crystal clock, over MTCs that are missing */
	uint64_t looked; /* .look.offset at which .next was found, if any */
	struct clock_next next;
	bool timed; /* the unit sends timing packets */
	bool hides; /* CycThresh: a CYC of one cycle is not sent */
};

/* Takes the clocks from the PSB+ or the enable's status packets at OFFSET. */
void clock_start(struct clock *clock, uint64_t offset);

/* The unit has sent the packets up to OFFSET. */
void clock_move(struct clock *clock, uint64_t offset);

/*
 * The next packets, where the unit holds PENDING outcomes.  The result is CLOCK's, valid
 * until the next call for CLOCK.
 */
const struct clock_next *clock_look(struct clock *clock, unsigned pending);

/* The unit's crystal clock reaches the edge of the MTC in NEXT. */
void clock_edge(struct clock *clock, const struct clock_next *next);

/* It reaches its next edge, whose MTC is lost. */
void clock_edge_lost(struct clock *clock);

/* The cycles of the CYC in NEXT go by. */
void clock_apply(struct clock *clock, const struct clock_next *next);

/* Takes the clocks from the PSB+, or the TSC, TMA and CBR, after AT. */
void clock_status(struct clock *clock, struct pkt_parser at);

#endif
