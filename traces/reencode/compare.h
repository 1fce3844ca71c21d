/*
 * Two packet streams side by side: the trace, which is in memory, and the unit's
 * output, which comes in pieces.  Bytes that are equal need no look at packets;
 * from the first byte that is not on, packets are compared in the form asked for.
 */
#ifndef TOPAZ_TRACES_REENCODE_COMPARE_H
#define TOPAZ_TRACES_REENCODE_COMPARE_H

#include "traces/reencode/input/pkt.h"

enum compare_form {
	/*
	 * Branch outcomes one by one, IPs expanded, MODE.Exec where it changes;
	 * without PAD, timing packets, CBR and PSB+.
	 */
	COMPARE_CANONICAL,
	COMPARE_STRICT, /* all packets but PAD, byte for byte */
	COMPARE_BYTES,  /* everything, at the same offset */
};

#define COMPARE_PACKET_BYTES 16

/* The first packet that differs. */
struct compare_difference {
	bool found;
	uint64_t offset; /* in the trace, where it differs */
	/* The unit's packet; .ours_bytes 0: it sends none. */
	uint8_t ours[COMPARE_PACKET_BYTES];
	uint64_t ours_bytes;
	uint64_t ours_offset; /* as if equal up to there */
	/* A PSB is what differs, or what comes after PADs that do. */
	bool theirs_psb, ours_psb;
	bool pad; /* one of the two packets is a PAD */
};

/* One of the two streams, read packet by packet. */
struct compare_side {
	struct pkt_parser parser;
	struct pkt packet; /* the last one */
	uint64_t left_out;
	unsigned bits;  /* outcomes of .packet that are still to come */
	uint64_t value; /* of .packet, or that of the last outcome */
	bool drop_fup;  /* the next FUP belongs to what is left out */
	uint64_t exec;  /* payload of the last MODE.Exec */
	bool exec_known;
};

struct compare {
	enum compare_form form;
	const uint8_t *bytes;
	uint64_t count, whole; /* up to a limit; all of them */
	uint64_t left_out;
	uint64_t start;    /* of this stretch in the trace */
	uint64_t at;       /* in the trace: equal up to here, byte for byte */
	uint64_t boundary; /* a packet ends there, not after .at */
	bool apart;        /* the bytes are not equal: packets are compared */
	bool limited;      /* output after .count is not compared */
	struct compare_side theirs, ours;
	uint8_t *own; /* output from .boundary on, while apart */
	uint64_t own_count;
	size_t own_room;
	bool failed; /* out of memory: nothing is compared any more */
	struct compare_difference difference;
};

/*
 * LEFT_OUT: a set of kinds (enum pkt_kind) that are in the trace but not what the unit
 * was asked for; ignored in every form but bytes.
 */
void compare_begin(struct compare *compare, enum compare_form form,
    const uint8_t *bytes, uint64_t count, uint64_t left_out);
void compare_end(struct compare *compare);

/* The unit's output goes on where the trace is at OFFSET. */
void compare_start(struct compare *compare, uint64_t offset);

/* COUNT bytes more of output; WHOLE: they end where a packet ends. */
void compare_feed(
    struct compare *compare, const uint8_t *bytes, uint64_t count, bool whole);

/* Until compare_start(): the output is not compared with what is after END. */
void compare_limit(struct compare *compare, uint64_t end);

/* The output of this stretch is over: so must be the trace up to END. */
void compare_stop(struct compare *compare, uint64_t end);

/*
 * The outcome in the trace, 0 or 1, of the branch that comes after PENDING ones
 * which the unit has not sent; -1: the trace has none there.
 */
int compare_outcome(const struct compare *compare, unsigned pending);

/* Where in the trace the output has come to, as far as it is equal. */
uint64_t compare_offset(const struct compare *compare);

#endif
