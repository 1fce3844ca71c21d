/*
 * State shared by the parts of the accounting: the data (account.c), closing
 * (account_finish.c) and replay (account_replay.c).  Not for other files.
 */
#ifndef TOPAZ_TRACES_VERIFY_ACCOUNT_ACCOUNT_INTERNAL_H
#define TOPAZ_TRACES_VERIFY_ACCOUNT_ACCOUNT_INTERNAL_H

#include "traces/bundle/frames.h"
#include "traces/verify/account/account.h"

#define ACCOUNT_CPUS_MAX 8

/* Contiguous bytes of one interval; .tail is set when the tails are known. */
struct account_span {
	size_t interval;
	uint64_t offset, bytes;
	bool tail;
};

/* Sums over an interval, kept until its stream is known. */
struct account_sums {
	uint64_t written, overwritten;
	uint64_t overwritten_offset; /* of the first such byte */
	uint64_t pa, end_pa;         /* of its first byte, after its last */
	uint64_t owner; /* of the frame at .pa at the first write */
	uint64_t taken; /* bytes read by another stream */
	bool read; /* by its stream; with files: or it goes on from or to such */
	/* Of the bytes written when its stream's driver last reported a loss of unknown
	 * size: their end, and those overwritten until then or later. */
	uint64_t end, told_end, told_overwritten;
};

struct account_work {
	struct account *account;
	struct frames *frames;
	struct tz_error *err;
	int error;
	struct account_sums *sums; /* one for each interval */
	struct account_cpu {
		size_t count, room;
		size_t *intervals; /* indices, by rising offset */
	} cpus[ACCOUNT_CPUS_MAX];
	struct account_stream *reader; /* of the current DRAIN event */
	uint64_t position;             /* of its next byte in its file */
	size_t span_count, span_room;
	struct account_span *spans; /* unreported at the end */
	bool any_thread;            /* a thread's stream exists */
	bool files;                 /* account_replay() */
};

/* Sets the error "out of memory" unless an error is set already. */
void account_no_memory(struct account_work *work);

/* The stream with KEY, created if new; NULL: out of memory. */
struct account_stream *account_stream(struct account_work *work, uint64_t key);

/* The part of a span that is in the same interval as its first byte. */
struct account_span account_split(
    struct account_work *work, unsigned cpu, uint64_t offset, uint64_t bytes);

/* Appends to a stream's pieces. */
void account_add_piece(struct account_work *work, struct account_stream *stream,
    struct account_piece piece);

/* After the replay: assigns intervals to streams, finds the tails, fills the rows. */
void account_finish(struct account_work *work);

#endif
