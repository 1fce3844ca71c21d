/*
 * Accounts for every byte that the PT units wrote.  The events of a run are replayed in
 * global order over physical memory.  Trace bytes are not read: only the writes of the
 * units and the reads of user space count.
 *
 * An interval is what one CPU traced from TraceEn 0-to-1 to the next one.  A stream is
 * what went to one trace buffer.  An interval belongs to the stream that first read from
 * it.  If none did, it belongs to the stream in whose buffer the frame of its first byte
 * was when it began (the newest name that user space gave), or else was named first
 * afterwards.  Where streams are files, nobody says when a buffer is freed, and its frames
 * may be in another one that has no file: there such an interval is the stream's only if
 * output goes on, in the buffer, from or to one that the file has, also by way of others.
 *
 * The bytes of a stream's intervals, one interval after the other in global
 * order, are its logical bytes: a driver that loses nothing delivers them from 0 on
 * without a hole.
 *
 * The tail is the bytes after the last report, without a hole, up to the end of the
 * stream's last interval with output.  Earlier intervals are part of it only as far as
 * the next one's output continued in the buffer where theirs ended: bytes after a
 * position that was set back are never reported.
 */
#ifndef TOPAZ_TRACES_VERIFY_ACCOUNT_ACCOUNT_H
#define TOPAZ_TRACES_VERIFY_ACCOUNT_ACCOUNT_H

#include "emu/base/event.h"

/*
 * Rows: written = reported + lost + tail + overwritten + unreported + prefix.
 * ROW(ID, json name, text)
 */
#define ACCOUNT_ROWS(ROW)                                  \
 ROW(WRITTEN, "written", "written by the PT unit")         \
 ROW(REPORTED, "reported", "reported to user space")       \
 ROW(LOST, "lost", "reported lost")                        \
 ROW(TAIL, "tail", "tail at stop")                         \
 ROW(OVERWRITTEN, "overwritten", "overwritten unreported") \
 ROW(UNREPORTED, "unreported", "never reported")           \
 ROW(PREFIX, "prefix", "undecodable prefix")               \
 ROW(STALE, "stale", "reported but not written")

enum account_row {
#define ACCOUNT_ROW_ENUM(id, name, text) ACCOUNT_##id,
	ACCOUNT_ROWS(ACCOUNT_ROW_ENUM)
#undef ACCOUNT_ROW_ENUM
	    ACCOUNT_ROW_COUNT
};

#define ACCOUNT_NONE SIZE_MAX

struct account_interval {
	unsigned cpu;
	uint64_t begin, end; /* offsets in all output of the CPU's unit */
	uint64_t nth;        /* number among its CPU's intervals, from 0 */
	size_t stream;       /* index; ACCOUNT_NONE: of no stream */
	uint64_t logical;    /* of its first byte in its stream */
	bool stopped;        /* the unit stopped by itself */
	bool open;           /* TraceEn was still 1 when the run ended */
};

/* Bytes that are contiguous in the stream's file and in the unit's output. */
struct account_piece {
	uint64_t bytes;
	uint64_t position; /* in the stream's file; of a tail: past its end */
	size_t interval;   /* ACCOUNT_NONE: stale */
	uint64_t offset;   /* of the first byte, in all output of the unit */
	bool tail;
};

struct account_stream {
	uint64_t key;     /* as in the events: EVENT_STREAM_* */
	uint64_t drained; /* bytes in its file */
	uint64_t claimed; /* bytes that the driver reported lost */
	bool claims_any;  /* it has reported a loss of unknown size */
	uint64_t logical; /* bytes of its intervals */
	uint64_t rows[ACCOUNT_ROW_COUNT];
	/* Place of a row's first byte; valid if its rows[] is not 0. */
	struct account_place {
		unsigned cpu;
		uint64_t offset;
	} places[ACCOUNT_ROW_COUNT];
	size_t piece_count, piece_room;
	struct account_piece *pieces; /* drained ones, then the tail */
};

struct account {
	size_t interval_count, interval_room;
	struct account_interval *intervals; /* in global order */
	size_t stream_count, stream_room;
	struct account_stream *streams; /* CPUs, then threads, by rising id */
	uint64_t nobodys; /* bytes of intervals that belong to no stream */
	struct account_place nobodys_place;
};

/*
 * Replays COUNT events.  FILES: each stream was read once, at its end.
 * -TZ_EFORMAT: events contradict each other; -TZ_EIO.
 */
int account_replay(const struct event *events, size_t count, bool files,
    struct account *account, struct tz_error *err);
void account_free(struct account *account);

/* The CPUs that wrote the intervals of stream STREAM (an index), one bit each. */
uint32_t account_cpus(const struct account *account, size_t stream);

/* Name and text of a row in ACCOUNT_ROWS. */
const char *account_row_name(enum account_row row);
const char *account_row_text(enum account_row row);

#endif
