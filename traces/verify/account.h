/*
 * Where each byte that the PT units wrote ended up: the events of a run
 * replayed in global order over physical memory.  It looks at no trace byte,
 * only at who wrote where and who read what when.
 *
 * An interval is what one CPU traced from TraceEn 0-to-1 to the next one.  A
 * stream is what went to one trace buffer.  An interval belongs to who read of
 * it first; if nobody did, to whose buffer the frame of its first byte was then
 * (as user space had named it, the newest name counts), or came to be first.
 * The bytes of a stream's intervals, one interval after the other in global
 * order, are its logical bytes: a driver that loses nothing delivers them from
 * 0 on without a hole.
 *
 * The tail is what stands behind the last report without a hole up to the end
 * of the stream's last interval with output.  Earlier intervals take part only
 * as far as the next one's output went on in the buffer where theirs ended: what
 * lies behind a position that was set back is never reported.
 */
#ifndef TOPAZ_TRACES_VERIFY_ACCOUNT_H
#define TOPAZ_TRACES_VERIFY_ACCOUNT_H

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
	uint64_t begin, end; /* offsets in all that the CPU's unit wrote */
	uint64_t nth;        /* of its CPU, from 0 */
	size_t stream;       /* index, ACCOUNT_NONE: nobody's */
	uint64_t logical;    /* of its first byte in its stream */
	bool stopped;        /* the unit stopped by itself */
	bool open;           /* TraceEn was still 1 when the run ended */
};

/* Bytes of a stream that lie together everywhere. */
struct account_piece {
	uint64_t bytes;
	uint64_t position; /* in the stream's file; of a tail: past its end */
	size_t interval;   /* ACCOUNT_NONE: stale */
	uint64_t offset;   /* of the first byte in all that the unit wrote */
	bool tail;
};

struct account_stream {
	uint64_t key;     /* as in the events: EVENT_STREAM_* */
	uint64_t drained; /* bytes in its file */
	uint64_t claimed; /* bytes that the driver said were lost */
	uint64_t logical; /* bytes of its intervals */
	uint64_t rows[ACCOUNT_ROW_COUNT];
	/* Where the first byte of a row is: CPU and offset; valid if rows[]. */
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

/* Replays COUNT events.  -TZ_EFORMAT: they contradict themselves; -TZ_EIO. */
int account_replay(const struct event *events, size_t count,
    struct account *account, struct tz_error *err);
void account_free(struct account *account);

/* The CPUs that wrote the intervals of the STREAM-th stream, one bit each. */
uint32_t account_cpus(const struct account *account, size_t stream);

/* "reported", "reported to user space". */
const char *account_row_name(enum account_row row);
const char *account_row_text(enum account_row row);

#endif
