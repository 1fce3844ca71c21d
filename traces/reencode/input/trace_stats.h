/*
 * What the packets of a whole trace say, counted and listed.  No control flow is
 * followed.
 */
#ifndef TOPAZ_TRACES_REENCODE_INPUT_TRACE_STATS_H
#define TOPAZ_TRACES_REENCODE_INPUT_TRACE_STATS_H

#include "traces/reencode/input/pkt.h"

/* A PSB, and where the first CBR outside PSB+ (an enable) or OVF after it is. */
struct trace_stats_psb {
	uint64_t offset, end; /* UINT64_MAX: none before the next PSB */
};

/* A CBR packet whose ratio is not that of the one before. */
struct trace_stats_cbr {
	uint64_t offset;
	uint8_t ratio;
};

/* A TIP.PGD or OVF, and the last IP before it. */
struct trace_stats_mark {
	uint64_t offset, last_ip;
};

/* What the clocks' packets say of MTCFreq and CycThresh. */
#define TRACE_STATS_FREQS 16

struct trace_stats_clock {
	uint64_t freq[TRACE_STATS_FREQS]; /* MTCs that follow a TMA as with it */
	/* CYC payloads, but for those of OVFs; least above most: no CYC. */
	uint64_t cyc_min, cyc_max;
	uint64_t cyc; /* while reading: of the last packet, if it was one */
	bool in_cyc;  /* while reading: it was */
	uint64_t ctc; /* while reading: of the last TMA */
	bool tma;     /* while reading: the last of TMA and MTC was one */
};

struct trace_stats {
	struct trace_stats_clock clock;
	uint64_t packets[PKT_KINDS];
	uint64_t bad;           /* bytes where no packet starts; on at a PSB */
	uint64_t first_psb;     /* offset; the size of the trace if none */
	uint64_t first_psb_end; /* of its PSB+; 0: it is not whole */
	/* Bytes at the end, where a packet or a PSB+ is not whole, PADs before. */
	uint64_t cut_off;
	bool junk;           /* they are no packets */
	uint64_t ips_sext48; /* IP packets of 6 bytes, sign-extended */
	uint64_t ips_full;   /* of 8 bytes */
	uint64_t long_tnts;
	uint64_t split_tnts; /* TNTs after one of 6 outcomes: it was full */
	bool full_tnt;       /* while reading: that is the last but CYC, PAD */
	uint64_t pgd_ips;    /* TIP.PGD with an IP */
	bool kernel, user;   /* IPs in either half */
	uint64_t gap_max;  /* between two PSBs, and from the last to the end */
	uint64_t tsx;      /* MODE.TSX outside PSB+ */
	uint64_t fup_ptws; /* PTW with a FUP */
	uint64_t flagged;  /* MODE.Exec with IF */
	uint64_t cbrs;     /* where branches are traced, outside PSB+ */
	bool traced;       /* while reading: after a TIP.PGE or so */
	size_t psb_count, psb_room;
	size_t cbr_count, cbr_room;
	size_t mark_count, mark_room;
	struct trace_stats_mark *mark;
	struct trace_stats_psb *psb;
	struct trace_stats_cbr *cbr;
};

/* Reads all packets.  False: out of memory. */
bool trace_stats_read(
    struct trace_stats *stats, const uint8_t *bytes, uint64_t count);
void trace_stats_free(struct trace_stats *stats);

/* The ratio in the CBR of what begins at OFFSET, PSB+ or enable; 0: none. */
uint8_t trace_stats_cbr(const struct trace_stats *stats, uint64_t offset);

/* Index of the first PSB at or after OFFSET; their count: there is none. */
size_t trace_stats_psb_index(const struct trace_stats *stats, uint64_t offset);

/* The same of marks. */
size_t trace_stats_mark_index(const struct trace_stats *stats, uint64_t offset);

#endif
