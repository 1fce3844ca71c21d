/*
 * The parts of the tracer: the session with the tracing framework, and the
 * buffers that it drains.
 */
#ifndef TOPAZ_HARNESS_KPI_FREEBSD_USER_TRACE_H
#define TOPAZ_HARNESS_KPI_FREEBSD_USER_TRACE_H

#include <sys/event.h>
#include <sys/hwt.h>

#include "harness/guest/user/user.h"

#define BUFFERS_MAX 64
#define RECORDS_MAX 16

/* One trace buffer: a CPU's, or a thread's. */
struct trace_buffer {
	bool open;
	int id; /* CPU or thread number */
	int64_t fd;
	uint64_t base;     /* where it is mapped */
	uint64_t position; /* all before it has been drained */
	uint64_t drained_bytes;
};

struct trace_session {
	bool thread_mode, traces_kernel;
	uint64_t cpus, bytes;
	int ident;
	unsigned buffer_count;
	struct trace_buffer buffer[BUFFERS_MAX];
	uint64_t records, buffer_records, wraps;
	int64_t queue; /* of events; negative: there is none */
};

struct trace_batch {
	int count;
	struct hwt_record_user_entry entry[RECORDS_MAX];
	bool has_event;
	struct kevent event;
};

/* Creates the context, opens and maps its buffers.  Exits on failure. */
void trace_open(struct trace_session *session, const char *args);
/* Uses the host's configuration; exits on failure. */
void trace_configure(struct trace_session *session);
void trace_start(struct trace_session *session);
/* Returns 0, or a negative error. */
int64_t trace_stop(struct trace_session *session);
int64_t trace_read_position(struct trace_session *session);

/* Takes the bytes of each buffer up to the position that the driver reports. */
void trace_take_positions(struct trace_session *session);

/* Fetches records; with WAIT sleeps until some come (or for nothing). */
void trace_fetch(
    const struct trace_session *session, struct trace_batch *batch, bool wait);
/* Drains exactly what the records report, in the order of fetching. */
void trace_handle(
    struct trace_session *session, const struct trace_batch *batch);
void trace_print(const struct trace_session *session);

#endif
