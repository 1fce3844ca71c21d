/*
 * Compares two packet streams: the trace, which is in memory, and the unit's output, which
 * comes in pieces.  As long as the bytes are equal no packet is read; from the first byte
 * that differs on, packets are compared in the form that the caller chose.
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
	COMPARE_BYTES,  /* all bytes, at the same offsets */
};

/* So much of the unit's output is kept from the packet that differs on. */
#define COMPARE_KEPT_BYTES 1024

/* The first packet that differs. */
struct compare_difference {
	bool found;
	uint64_t offset; /* in the trace, where it differs */
	/*
	 * The unit's packet, of .ours_bytes, 0: it sends none; up to .ours_kept what
	 * it had sent after it.
	 */
	uint8_t ours[COMPARE_KEPT_BYTES];
	uint64_t ours_bytes, ours_kept;
	uint64_t ours_offset; /* as if equal up to there */
	/* The packet that differs is a PSB, or PADs and the next packet is a PSB. */
	bool theirs_psb, ours_psb;
	bool pad; /* one of the two packets is a PAD */
};

/* One of the two streams, read packet by packet. */
struct compare_side {
	struct pkt_parser parser;
	struct pkt packet; /* the last one */
	uint64_t left_out; /* kinds of packets, see compare_begin() */
	unsigned bits;     /* outcomes of .packet that were not compared yet */
	uint64_t value;    /* of .packet, or of its last outcome */
	bool drop_fup; /* the next FUP belongs to a packet that is left out */
	uint64_t exec; /* payload of the last MODE.Exec */
	bool exec_known;
};

struct compare {
	enum compare_form form;
	const uint8_t *bytes;
	uint64_t count, whole; /* bytes to compare; bytes of the trace */
	uint64_t left_out;
	uint64_t start;    /* trace offset of compare_start() */
	uint64_t at;       /* trace offset up to which all bytes are equal */
	uint64_t boundary; /* end of a packet, at or before .at */
	bool apart;        /* a byte differed: packets are compared */
	bool limited;      /* output after .count is not compared */
	struct compare_side theirs, ours;
	uint8_t *own; /* output from .boundary on, while apart */
	uint64_t own_count;
	size_t own_room;
	bool failed; /* out of memory: nothing is compared any more */
	struct compare_difference difference;
};

/* "canonical" ... */
const char *compare_form_name(enum compare_form form);

/*
 * LEFT_OUT: the set of kinds (enum pkt_kind) that the trace has and the unit cannot send.
 * Every form but COMPARE_BYTES ignores them.
 */
void compare_begin(struct compare *compare, enum compare_form form,
    const uint8_t *bytes, uint64_t count, uint64_t left_out);
void compare_end(struct compare *compare);

/* The next byte of output belongs to trace offset OFFSET. */
void compare_start(struct compare *compare, uint64_t offset);

/* Compares COUNT more bytes of output; WHOLE: a packet ends with them. */
void compare_feed(
    struct compare *compare, const uint8_t *bytes, uint64_t count, bool whole);

/* Until the next compare_start(), output after trace offset END is not compared. */
void compare_limit(struct compare *compare, uint64_t end);

/* The output since compare_start() is complete: it must reach trace offset END. */
void compare_stop(struct compare *compare, uint64_t end);

/*
 * The outcome that the trace has for the next conditional branch, 0 or 1, where PENDING
 * outcomes before it were not sent yet; -1: the trace has no outcome there.
 */
int compare_outcome(const struct compare *compare, unsigned pending);

/* The trace offset up to which the output was compared and is equal. */
uint64_t compare_offset(const struct compare *compare);

#endif
