/*
 * The clocks of the processor that made a trace, as its own packets tell them:
 * what the unit is handed in before each event, and the crystal's edges.
 *
 * A packet that the trace has where the unit's output has come to is the next one
 * that the unit must send: a CYC there says how late it is, an MTC that an edge
 * comes before whatever else happens.
 */
#ifndef TOPAZ_TRACES_REENCODE_REPLAY_CLOCK_H
#define TOPAZ_TRACES_REENCODE_REPLAY_CLOCK_H

#include "traces/reencode/replay/unit_driver.h"

/* What stands next in the trace. */
struct clock_next {
	struct pkt packet;       /* the first that is no CYC and no PAD */
	struct pkt_parser after; /* it; valid until the trace is at an end */
	uint64_t cycles;         /* of the CYC before it */
	bool cyc;                /* there is one */
	bool wraps;     /* it and those before it are of a counter at its end */
	bool after_tnt; /* that the unit has yet to send */
	bool simple; /* with it .cycles go by, and nothing else is to be known */
};

struct clock {
	struct unit_driver *driver;
	uint64_t most;          /* the end of the cycle counter */
	struct pkt_parser look; /* up to where the output has come */
	struct pt_time now;
	uint64_t zero;  /* .now.cycles at the last CYC */
	uint64_t jumps; /* of the crystal clock, over MTCs that are not there */
	uint64_t looked; /* .look.offset at which .next was found, if any */
	struct clock_next next;
	bool timed; /* the unit sends timing packets */
	bool hides; /* CycThresh: a CYC of one cycle */
};

/* A stretch begins at OFFSET, by a PSB+ or by the status of an enable. */
void clock_start(struct clock *clock, uint64_t offset);

/* Goes on to OFFSET. */
void clock_move(struct clock *clock, uint64_t offset);

/*
 * Looks ahead with PENDING outcomes not sent.  The result is CLOCK's, valid until it is
 * looked at or moved again.
 */
const struct clock_next *clock_look(struct clock *clock, unsigned pending);

/* The unit reaches the edge of the MTC that NEXT is. */
void clock_edge(struct clock *clock, const struct clock_next *next);

/* It reaches an edge now, of whose packets all but a CYC are lost. */
void clock_edge_lost(struct clock *clock);

/* What comes next has its CYC, the first before an eligible packet, in NEXT. */
void clock_apply(struct clock *clock, const struct clock_next *next);

/* PSB+, or TSC and what goes with it, stands next after AT. */
void clock_status(struct clock *clock, struct pkt_parser at);

#endif
