/*
 * The state of the invariants, for the files of this folder only (internal.h has their
 * functions).
 */
#ifndef TOPAZ_HARNESS_CHECK_STATE_H
#define TOPAZ_HARNESS_CHECK_STATE_H

#include "emu/base/rtit.h"
#include "harness/check/check.h"
#include "harness/check/memory/freed.h"
#include "harness/guest/user/script.h"

#define CHECK_PAGE_BYTES   UINT64_C(4096)
#define CHECK_EXTENTS_MAX  4096
#define CHECK_PAGES_MAX    16384
#define CHECK_BUFFER_MAX   4096 /* pages of one buffer */
#define CHECK_STREAMS_MAX  16
#define CHECK_SEGMENTS     16
#define CHECK_STACKS_MAX   64
#define CHECK_SITES_MAX    8
#define CHECK_UNNAMED_MAX  32
#define CHECK_CONTEXTS_MAX 4 /* contexts whose configuration is known */
#define CHECK_PERIODS_MAX  8

/* The key of a buffer that user space has not mapped yet, from EVENT_OBJECT_PAGE. */
#define CHECK_OBJECT TZ_BIT(63)

/* Where something happened, and the driver's action that may have caused it. */
struct check_place {
	uint16_t cpu, step;
	uint8_t stream; /* or CHECK_NO_STREAM */
	uint64_t insns, cycles, rip, event;
	uint64_t object_va;            /* as in struct check_violation */
	const char *object;            /* or NULL */
	struct check_site site, blame; /* site 0: see violation_add() */
	bool past; /* the functions that run now have nothing to do with it */
};

/* A physically contiguous part of a live allocation. */
struct check_extent {
	uint64_t pa, bytes;
	uint64_t va; /* start of the allocation */
	uint64_t caller;
	bool fresh; /* allocated by the operation in progress */
};

/* A page of a trace buffer; sorted by frame. */
struct check_page {
	uint32_t frame;
	uint16_t index; /* in its buffer */
	uint8_t stream; /* CHECK_NO_STREAM: freed, but still contains trace */
};

/* Bytes [begin, end) of a buffer that were written and not reported. */
struct check_segment {
	uint32_t begin, end;
	bool old; /* of an earlier session: may be overwritten */
};

/* Bytes that were reported wrongly, summed until the operation ends. */
enum check_tally {
	STATS_UNWRITTEN,
	STATS_TWICE,
	STATS_ORDER,
	STATS_FOREIGN,
	STATS_OVERWRITTEN,
	STATS_COUNT
};

/* Bytes that may be reported again; see check_rereading(). */
struct check_unread {
	struct check_segment segment[CHECK_SEGMENTS]; /* in writing order */
	uint32_t count;
	uint64_t overwritten, lost; /* bytes */
};

struct check_stream {
	uint64_t key;                /* EVENT_STREAM_*, or with CHECK_OBJECT */
	uint32_t context;            /* 0: not known */
	uint32_t page_count, cursor; /* pages named; index of the next */
	uint32_t high;               /* end of the highest bytes ever written */
	struct check_unread unread, kept;
	uint64_t owed; /* unreported bytes that user space has asked for */
	struct {
		uint64_t overwritten, lost;
		bool written;
	} before;     /* state before the start, restored if it fails */
	bool current; /* the last stream mapped with this key */
	bool fresh;   /* nothing was written in this session */
	bool unsure;  /* the unit stopped by itself: losses are not counted */
	bool blurred; /* no longer judged: stream_blur() */
	bool part;    /* the buffer has pages that were not named */
	bool missing; /* user space collected after bytes were overwritten */
	bool asked;   /* user space ran since tracing was turned off */
	bool drained;
	bool to_end;  /* reported up to the buffer's end */
	bool written; /* since .kept */
	bool any_int;
	bool of_thread; /* session/thread.c: only of .thread; 0: of none any more */
	uint32_t thread;
	struct check_place overwritten_at, owed_at;
	struct {
		uint64_t bytes;
		struct check_place at;
	} stats[STATS_COUNT];
	/* site.c: where the driver last read the position in the buffer, and where
	 * TraceEn was last cleared while the unit wrote to it. */
	struct check_site read_at, off_at;
};

/*
 * The state of a CPU, in parts: each part is changed only by the file that its comment
 * names, and reset by check_begin().  Other files read it.
 */
enum check_tracing {
	TRACING_OFF,
	TRACING_ON,             /* TraceEn is 1 */
	TRACING_OFF_IN_HANDLER, /* TraceEn was cleared in a handler */
};

/* session/session.c: tracing since TraceEn was set. */
struct check_trace {
	enum check_tracing state;
	bool in_handler;  /* of an interrupt or NMI, until the next IRET */
	bool first;       /* no output yet */
	bool first_start; /* the pointers were at the buffer's start */
	bool psb;         /* a PSB was seen */
	bool traced;      /* TraceEn was set in this run */
};

/* session/session.c: whether the work of this session is traced. */
struct check_work {
	bool done;     /* work ran on this CPU */
	bool on_seen;  /* TraceEn was 1 */
	bool nonempty; /* packets other than PSB+ were written */
	bool broken;   /* the work's packets cannot be expected */
	bool refused; /* the driver returned an error that the kernel dropped */
	uint64_t bytes, psbs; /* until .nonempty */
};

/* output/table.c: an error or a stop that was not reported yet. */
struct check_loss {
	bool stopped, failed;
	uint8_t stream; /* whose trace it was; or CHECK_NO_STREAM */
	uint8_t during; /* the actors in an operation then, one bit each */
	struct check_place stopped_at, failed_at;
};

/* output/table.c: the table and the region in use, and the last region of a stream. */
struct check_table {
	uint64_t pa, region_pa, region_bytes;
	bool uses_int; /* a region of this run had INT */
	bool last_valid;
	uint8_t last_stream;
	uint32_t last_end;
	uint64_t last_entry;
};

/* Causes of an NMI, one bit each: two at the same time are one NMI. */
enum check_nmi_cause {
	NMI_CAUSE_PMI = 1,
	NMI_CAUSE_FOREIGN = 2,
	NMI_CAUSE_COUNTER = 4, /* or the Debug Store's threshold */
};

/* nmi.c: the causes of the next NMI and of the one in service. */
struct check_nmi {
	uint8_t pending, serving;
	uint16_t entry; /* of the last ToPA PMI, in its table */
	bool serving_bit; /* GLOBAL_STATUS[55] was set when it was delivered ... */
	uint64_t due; /* ... and these bits of what is enabled and interrupts */
};

/*
 * site.c: where TraceEn was last set and cleared, and the driver's last access to trace
 * state.
 */
struct check_action {
	struct check_site on_at, off_at, last_at;
};

struct check_cpu {
	struct check_trace trace;
	struct check_work work;
	struct check_loss loss;
	struct check_table table;
	struct check_nmi nmi;
	struct check_action action;
	uint64_t save_area; /* debug_store.c: IA32_DS_AREA */
	uint8_t stream;     /* output/stream.c: of the last output */
	/* output/stream.c: since TraceEn was set, output went to a page of .stream, and to
	 * one of no stream. */
	bool named, unnamed;
	check_rows excused; /* violation.c */
};

struct check_actor {
	bool active, ages, works;
	/* session/thread.c: nothing else can have changed which threads are traced
	 * since the call began; core.session.follows before it began */
	bool alone, follows;
	uint16_t step, cpu;
	uint32_t call;
};

/* session/operation.c: what the operation that began last has changed. */
struct check_changes {
	bool judged;     /* no other operation was in progress */
	uint64_t handed; /* digest of its data when it began */
	/* the calls that allocated and freed something older; 0: none */
	uint64_t made_by, freed_by;
};

/* The requests of a configuration; element [0] of the list: those common to all. */
struct check_asked {
	uint32_t context, count, checked; /* .checked: one bit for each row */
	uint32_t known,
	    changed; /* rows requested last; valid bits of .before */
	struct check_expect row[CHECK_EXPECT_MAX];
	uint64_t before[CHECK_EXPECT_MAX]; /* that row's last other value */
	/* The rows of the configuration before, if it may still be in force. */
	bool either;
	uint32_t old_count;
	struct check_expect old[CHECK_EXPECT_MAX];
};

struct check_core {
	/* Not reset by check_begin(). */
	uint32_t extent_count, stack_count, freed_count;
	uint64_t freed_sum; /* of a hash of each part, in any order */
	bool extents_full, freed_full;
	struct {
		uint64_t pa, bytes;
	} stack[CHECK_STACKS_MAX];
	/* session/thread.c: physical addresses of the kernel's pointers to the threads
	 * that a CPU runs and will run (0: not known); where their numbers are. */
	struct check_threads {
		uint64_t word[2], number;
	} threads[MACHINE_CPUS_MAX];
	/* Reset by check_begin(), except whether TraceEn is 1. */
	uint32_t page_count, stream_count, site_count, violation_count;
	uint32_t asked_count; /* number of contexts, without [0] */
	uint64_t event_number;
	struct event event;             /* the last event */
	uint64_t site[CHECK_SITES_MAX]; /* callers that allocated buffers */
	struct check_asked asked[1 + CHECK_CONTEXTS_MAX];
	struct check_cpu cpu[MACHINE_CPUS_MAX];
	struct check_actor actor[SCRIPT_ACTORS];
	uint16_t last_actor;
	struct { /* counters.c: periods that were asked for */
		uint32_t count;
		bool more; /* than fit */
		uint64_t events[CHECK_PERIODS_MAX];
	} periods;
	struct check_changes changes;
	struct {
		bool open, accepted;
		/* session/thread.c: threads with a buffer are traced; the last action
		 * of the operation since which they are */
		bool follows;
		struct check_site followed_at;
		uint8_t programs; /* programs that began to be traced */
		uint32_t mask, stopped;
	} session;
	struct check_stream stream[CHECK_STREAMS_MAX];
	/* Pages that were written before they belonged to a stream. */
	uint64_t unnamed[CHECK_UNNAMED_MAX];
	uint32_t unnamed_count;
	bool unnamed_more; /* more of them than fit */
	check_rows unjudged[REASON_COUNT];
	struct check_site last_at; /* of any CPU */
	uint64_t violation_key[CHECK_VIOLATION_MAX];
	struct check_violation violation[CHECK_VIOLATION_MAX];
};

struct check {
	struct check_config config;
	bool explains;
	struct check_core core;
	struct check_extent extent[CHECK_EXTENTS_MAX]; /* sorted by pa */
	struct check_page page[CHECK_PAGES_MAX];
	uint64_t *trace_frames; /* derived from .page */
	struct check_freed freed[CHECK_FREED_MAX];
	uint16_t *freed_head; /* of each page's chain; derived from .freed */
};

#endif
