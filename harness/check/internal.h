/*
 * The functions that the files of harness/check call of each other, lowest level first: a
 * file calls only files above it in this list, and no file calls one that is not in it
 * (tests/meta/source/tidy.sh).  check.c calls the handlers, those with an event, for each
 * event of their kind, in the order of its table.
 */
#ifndef TOPAZ_HARNESS_CHECK_INTERNAL_H
#define TOPAZ_HARNESS_CHECK_INTERNAL_H

#include "harness/check/state.h"

#define CHECK_ROW(id) CHECK_BIT(CHECK_##id)

/* site.c */
void site_event(struct check *check, const struct event *event);
/* The place of the current event. */
struct check_place site_here(const struct check *check);
/* The operation that runs on CPU's actor, or CHECK_NO_STEP. */
uint16_t site_step(const struct check *check, unsigned cpu);
/* True if ADDRESS is in the driver's text. */
bool site_is_driver(const struct check *check, uint64_t address);
/* The driver's functions that are on CPU's stack. */
struct check_site site_now(const struct check *check, unsigned cpu);
/* The first known one of FIRST, SECOND, the CPU's last and any CPU's last access. */
struct check_site site_or(const struct check *check, unsigned cpu,
    const struct check_site *first, const struct check_site *second);

/* memory/page.c.  NULL: PA is in no trace buffer. */
const struct check_page *page_find(const struct check *check, uint64_t pa);
/* The page of PA is page INDEX of STREAM.  False: there are too many pages. */
bool page_name(
    struct check *check, uint64_t pa, unsigned stream, uint32_t index);
/* Detaches all pages from STREAM. */
void page_forget_stream(struct check *check, unsigned stream);
/* [PA, +BYTES) is allocated again and no longer contains trace. */
void page_reuse(struct check *check, uint64_t pa, uint64_t bytes);
void page_set_frames(struct check *check, bool on);

/* violation.c */
/* Records a violation; SUB distinguishes violations of one row at one place. */
void violation_add(struct check *check, enum check_id id, unsigned sub,
    const struct check_place *at, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* Marks ROWS as not judged in this run. */
void violation_skip(
    struct check *check, enum check_reason reason, check_rows rows);
/* Violations of ROWS on CPU are excused to the end of the run. */
void violation_excuse(struct check *check, unsigned cpu, check_rows rows);

/* memory/heap.c: in memory/freed.h */
/* memory/freed.c: in memory/freed.h */

/* memory/owner.c */
void owner_alloc(struct check *check, const struct event *event);
void owner_free(struct check *check, const struct event *event);
void owner_stack(struct check *check, const struct event *event);
void owner_output(struct check *check, const struct event *event);
void owner_site(struct check *check, const struct event *event);
void owner_mapped(struct check *check, const struct event *event);
void owner_exit(struct check *check, const struct event *event);
void owner_unloaded(struct check *check);
/* An operation begins: what is allocated from now on is fresh. */
void owner_begin(struct check *check);
/* OPERATION failed: judges what it allocated and freed. */
void owner_failed(struct check *check, const char *operation);
/* The live extent that contains PA, or NULL. */
const struct check_extent *owner_find(const struct check *check, uint64_t pa);
/*
 * Iterates over the live extents of the allocation at VA: the one after AFTER, or the
 * first if AFTER is NULL; NULL: no more.
 */
const struct check_extent *owner_next(
    const struct check *check, uint64_t va, const struct check_extent *after);
bool owner_is_stack(const struct check *check, uint64_t pa);

/* debug_store.c */
void debug_store_msr(struct check *check, const struct event *event);
void debug_store_record(struct check *check, const struct event *event);
void debug_store_sample(struct check *check, const struct event *event);
void debug_store_sleep(struct check *check, const struct event *event);

/* output/stream.c */
/* The last stream named with KEY; CHECK_STREAMS_MAX: none. */
unsigned stream_find(const struct check *check, uint64_t key);
/* Finds or makes the stream of KEY; CHECK_STREAMS_MAX: there are too many. */
unsigned stream_make(struct check *check, uint64_t key);
/* True if user space has not mapped the buffer yet. */
bool stream_is_object(const struct check_stream *stream);
/*
 * User space maps the buffer of stream INDEX, which was made before or mapped with
 * another key, from its first page.
 */
void stream_rename(struct check *check, unsigned index, uint64_t key);
/* The page of PA is the next one of stream INDEX. */
void stream_add_page(struct check *check, unsigned index, uint64_t pa);
/* Trace was written to the page of PA, which belongs to no known stream. */
void stream_note_unnamed(struct check *check, uint64_t pa);
/* The event's CPU has written to stream INDEX. */
void stream_note_output(struct check *check, uint8_t index);
void stream_trace_on(struct check *check, const struct event *event);
/* Resets stream INDEX; its pages are named again, or belong to no stream. */
void stream_reset(struct check *check, unsigned index);
/* Stops judging stream INDEX in this run. */
void stream_blur(struct check *check, unsigned index, enum check_reason reason);

/* output/segment.c: the unreported bytes of a stream. */
void segment_write(
    struct check *check, unsigned stream, uint32_t begin, uint32_t end);
void segment_read(
    struct check *check, unsigned stream, uint32_t begin, uint32_t end);
uint64_t segment_bytes(const struct check_stream *stream);
void segment_tally(struct check *check, unsigned stream, enum check_tally stats,
    uint64_t bytes);

/* session/registers.c */
/* The register's value; CTL: that of IA32_RTIT_CTL. */
uint64_t registers_value(
    const struct machine_pt *pt, uint32_t msr, uint64_t ctl);
void registers_stopped(struct check *check);
void registers_unloaded(struct check *check);
void registers_exit(struct check *check, const struct event *event);

/* nmi.c */
void nmi_pmi(struct check *check, const struct event *event);
void nmi_counter(struct check *check, const struct event *event);
void nmi_threshold(struct check *check, const struct event *event);
void nmi_delivered(struct check *check, const struct event *event);
void nmi_done(struct check *check, const struct event *event);
void nmi_deviation(struct check *check, const struct event *event);
void nmi_call_end(struct check *check, const struct event *event);

/* counters.c */
void counters_write(struct check *check, const struct event *event);
void counters_owner_gone(struct check *check, const struct event *event);
void counters_exit(struct check *check, const struct event *event);
void counters_unloaded(struct check *check);

/* session/session.c */
void session_trace_on(struct check *check, const struct event *event);
void session_trace_off(struct check *check, const struct event *event);
void session_delivered(struct check *check, const struct event *event);
void session_iret(struct check *check, const struct event *event);
void session_psb(struct check *check, const struct event *event);
void session_output(struct check *check, const struct event *event);
void session_broken(struct check *check, const struct event *event);
void session_dropped(struct check *check, const struct event *event);
void session_call_begin(struct check *check, const struct event *event);
void session_call_end(struct check *check, const struct event *event);
void session_owner_gone(struct check *check, const struct event *event);
void session_exit(struct check *check, const struct event *event);
void thread_words(struct check *check, const struct event *event);
void thread_traced(struct check *check, const struct event *event);
void thread_output(struct check *check, const struct event *event);
void thread_call_begin(struct check *check, const struct event *event);
void thread_unsure(struct check *check, const struct event *event);
/* The call that ended last has started a session. */
void thread_started(struct check *check);
/* Events at which a CPU's thread may be at work in its program. */
void thread_at_work(struct check *check, const struct event *event);
void thread_switched(struct check *check, const struct event *event);
/* The session ends: judges whether work was traced. */
void session_settle(struct check *check);
/* The operation that began last starts a session. */
void session_starting(struct check *check);
/* True if a CPU of the last accepted session traces. */
bool session_is_on(const struct check *check);
void session_left_on(struct check *check, const char *when);

/* output/table.c */
void table_entry(struct check *check, const struct event *event);
void table_trace_on(struct check *check, const struct event *event);
void table_error(struct check *check, const struct event *event);
void table_stopped(struct check *check, const struct event *event);
void table_call_begin(struct check *check, const struct event *event);
void table_call_end(struct check *check, const struct event *event);
/* The loss in STREAM was reported; table_told_all(): in all streams. */
void table_told(struct check *check, unsigned stream);
void table_told_all(struct check *check);
void table_collected(struct check *check, unsigned stream);
/* A buffer is new or gone: the next region follows none. */
void table_moved(struct check *check);
void table_freed(struct check *check, const struct check_extent *extent);

/* output/ledger.c */
void ledger_buffer(struct check *check, const struct event *event);
void ledger_object_page(struct check *check, const struct event *event);
void ledger_position(struct check *check, const struct event *event);
void ledger_output(struct check *check, const struct event *event);
void ledger_drain(struct check *check, const struct event *event);
void ledger_lost(struct check *check, const struct event *event);
void ledger_off(struct check *check, const struct event *event);
void ledger_free(struct check *check, const struct event *event);
void ledger_call_end(struct check *check, const struct event *event);
/* Reports bytes that were reported wrongly; if FINAL, judges missing bytes, too. */
void ledger_settle(struct check *check, unsigned stream, bool final);
/* A session starts: bytes not collected until now may be overwritten. */
void ledger_starting(struct check *check);
/* Counts the bytes of STREAM that user space has missed; if ALL, those left, too. */
void ledger_collect(struct check *check, unsigned stream, bool all);

/* session/operation.c */
void operation_begin(struct check *check, const struct event *event);
void operation_point(struct check *check, const struct event *event);

#endif
