/*
 * Counts and lists of the packets of a whole trace, without following the control flow.
 */
#ifndef TOPAZ_TRACES_REENCODE_INPUT_TRACE_STATS_H
#define TOPAZ_TRACES_REENCODE_INPUT_TRACE_STATS_H

#include "traces/reencode/input/pkt.h"

/* A PSB, and the first CBR outside PSB+ (of an enable) or OVF after it. */
struct trace_stats_psb {
	uint64_t offset, end; /* UINT64_MAX: none before the next PSB */
};

struct trace_stats_cbr {
	uint64_t offset;
	uint8_t ratio;
};

/* A TIP.PGD or OVF, and the last IP before it. */
struct trace_stats_mark {
	uint64_t offset, last_ip;
};

/* Values of MTCFreq. */
#define TRACE_STATS_FREQS 16

struct trace_stats_clock {
	/* By MTCFreq: MTCs after a TMA that have the value that this MTCFreq gives. */
	uint64_t freq[TRACE_STATS_FREQS];
	/* Payloads of CYCs, without those of OVFs; .cyc_min > .cyc_max: no CYC. */
	uint64_t cyc_min, cyc_max;
};

struct trace_stats {
	struct trace_stats_clock clock;
	uint64_t packets[PKT_KINDS];
	uint64_t bad; /* places where no packet starts */
	/* Offset of the first PSB; the size of the trace: there is none. */
	uint64_t first_psb;
	uint64_t first_psb_end; /* offset of its PSBEND; 0: it has none */
	/* Bytes at the end, from an incomplete packet or PSB+ on. */
	uint64_t cut_off;
	bool junk;           /* these bytes are no packets */
	uint64_t ips_sext48; /* IP packets of 6 bytes, sign-extended */
	uint64_t ips_full;   /* of 8 bytes */
	uint64_t long_tnts;
	/* TNTs directly after one of 6 outcomes, which was then a full one. */
	uint64_t split_tnts;
	uint64_t pgd_ips;  /* TIP.PGD with an IP */
	bool kernel, user; /* IPs in the upper, the lower half */
	uint64_t gap_max;  /* between two PSBs, and from the last to the end */
	uint64_t tsx;      /* MODE.TSX outside PSB+ */
	uint64_t fup_ptws; /* PTW with a FUP */
	uint64_t flagged;  /* MODE.Exec with IF */
	uint64_t cbrs;     /* CBRs outside PSB+ while branches are traced */
	size_t psb_count, cbr_count, mark_count;
	struct trace_stats_mark *mark;
	struct trace_stats_psb *psb;
	struct trace_stats_cbr *cbr;
};

/* Reads all packets.  False: out of memory. */
bool trace_stats_read(
    struct trace_stats *stats, const uint8_t *bytes, uint64_t count);
void trace_stats_free(struct trace_stats *stats);

/* The ratio of the CBR of the PSB+ or enable at OFFSET; 0: the trace has no CBR. */
uint8_t trace_stats_cbr(const struct trace_stats *stats, uint64_t offset);

/* Index of the first PSB at or after OFFSET; .psb_count: there is none. */
size_t trace_stats_psb_index(const struct trace_stats *stats, uint64_t offset);

/* Index of the first mark at or after OFFSET; .mark_count: there is none. */
size_t trace_stats_mark_index(const struct trace_stats *stats, uint64_t offset);

#endif
