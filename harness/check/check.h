/*
 * The invariants of a run as a table (check.def), judged event by event.  A struct
 * check is one block of memory without pointers into itself, so that it is saved and
 * restored together with the machine's snapshots.  README.md lists the events that each
 * row is judged from, and what excuses it.
 *
 * A violation names the place where the driver went wrong (struct check_site) and the
 * object concerned; its message is for people and identifies nothing.  Rows that could
 * not be judged in a run are listed with the reason (reason.def).
 *
 * It does not inspect trace bytes (traces/ decodes them) and knows no driver: the
 * caller describes what an operation means.
 */
#ifndef TOPAZ_HARNESS_CHECK_CHECK_H
#define TOPAZ_HARNESS_CHECK_CHECK_H

#include "emu/machine.h"
#include "harness/check/rows.h"

/*
 * A place in the driver's code: an instruction in the innermost driver function on the
 * stack, and one in the outermost, which the kernel had called.  Both are addresses
 * within a function, not return addresses.  0: unknown.
 */
struct check_site {
	uint64_t rip, entry;
};

/* What a register has to be: (msr & mask) == value. */
#define CHECK_EXPECT_MAX 24
struct check_expect {
	uint32_t msr; /* msr.h: msr_is_known() */
	uint64_t mask, value;
	const char *field; /* field of the configuration, for the message */
};

/* Callbacks that read the machine.  Every member must be set. */
struct check_reads {
	void *arg;
	bool (*translate)(void *arg, unsigned cpu, struct gva va, uint64_t *pa);
	uint64_t (*rip)(void *arg, unsigned cpu);
	void (*pt)(void *arg, unsigned cpu, struct machine_pt *pt);
	/* Reads 8 bytes of RAM; false: no RAM at PA. */
	bool (*word)(void *arg, uint64_t pa, uint64_t *value);
	/* The cause of the last operational error of CPU's unit; NULL: no error. */
	const char *(*pt_error)(void *arg, unsigned cpu);
};
struct check_reads check_reads_machine(struct machine *machine);

struct check_range {
	uint64_t begin, end; /* linear addresses; both 0: unused */
};

/*
 * Kernel functions that access memory for their caller.  A name that makes several
 * accesses is listed several times.
 */
#define CHECK_CALLEES_MAX 64
size_t check_callee_count(void);
const char *check_callee_name(size_t index);

#define CHECK_STORES_TO_MAX 16

struct check_config {
	struct check_reads reads;
	/* The driver's functions that are on CPU's stack now; NULL: not known. */
	struct check_site (*site)(void *arg, unsigned cpu);
	/* The same at the start of the access or call at RIP, during check_access()
	 * or check_call(); NULL: not known. */
	struct check_site (*access_site)(void *arg, unsigned cpu, uint64_t rip);
	void *site_arg;
	unsigned cpu_count;
	uint64_t ram_bytes;
	struct check_range driver_text[4], driver_data[4], kernel_data[4];
	/* Variables in .kernel_data that the driver may store to. */
	struct check_range stores_to[CHECK_STORES_TO_MAX];
	size_t stores_to_count;
	/* The guest kernel's table of frames (harness/guest/memory/frame.h); 0: none, and
	 * freed memory is known only from events. */
	uint64_t frames_pa;
	/* The address of check_callee_name(i); 0: none. */
	uint64_t callee[CHECK_CALLEES_MAX];
	/* Describes VA for messages; NULL: messages have the address only. */
	void (*name)(void *arg, uint64_t va, char *text, size_t size);
	void *name_arg;
	/* User space can also request a buffer's position (EVENT_POSITION): if it
	 * has collected without requesting the position, bytes after the last record
	 * are not missed. */
	bool positions;
	/* Buffers are rings, whose readers follow the writer: that one has been read to
	 * its end does not tell that its trace has stopped there. */
	bool rings;
	/* The program may also end with this exit code, if it is not 0. */
	unsigned exit_code;
	/* What registers have to be when tracing has stopped, and when the driver is
	 * unloaded. */
	struct check_expect leaves[CHECK_EXPECT_MAX];
	size_t leaves_count;
	/* Which of the rows are judged. */
	check_rows enabled;
};

#define CHECK_TEXT_BYTES    200
#define CHECK_NAME_BYTES    64 /* of a name in a violation */
#define CHECK_OBJECT_BYTES  64
#define CHECK_VIOLATION_MAX 8
#define CHECK_NO_STEP       UINT16_MAX
#define CHECK_NO_STREAM     0xff

struct check_violation {
	enum check_id id;
	uint16_t cpu;
	/* operation that ran on that CPU's actor, or CHECK_NO_STEP */
	uint16_t step;
	uint64_t insns, cycles, rip;
	uint64_t event; /* number of the event, from 0 at check_begin() */
	/* The driver's functions that were running; 0: none. */
	struct check_site site;
	/* check_explain(): the driver's last action that can have caused the
	 * violation; 0: unknown. */
	struct check_site blame;
	/* The object concerned: the address of the call that allocated it, or of a
	 * kernel variable, or 0; and a field of the configuration, or "". */
	uint64_t object_va;
	char object[CHECK_OBJECT_BYTES];
	uint8_t stream; /* of a trace buffer, or CHECK_NO_STREAM */
	char text[CHECK_TEXT_BYTES];
};

struct check;

/* NULL: out of memory. */
struct check *check_create(const struct check_config *config);
void check_destroy(struct check *check);

/* Begins a new run: resets everything except allocations, stacks and TraceEn. */
void check_begin(struct check *check);

/* To be called with each event of the machine, in order, from boot on. */
void check_event(struct check *check, const struct event *event);
/*
 * To be called with each load and store of the driver's text, and its calls of
 * check_callee_name()s.
 */
void check_access(struct check *check, const struct audit_access *access);
void check_call(struct check *check, const struct audit_call *call);
/*
 * A deviation was injected: its effects are excused.  EVENT_DEVIATION does the same;
 * to be told twice changes nothing.
 */
void check_note_deviation(
    struct check *check, unsigned cpu, enum deviation_kind kind);
/*
 * The run ended.  WAITS, where it ended at its instruction limit: an operation of the
 * driver is in progress and does not end; false: the run is only long.
 */
void check_end(
    struct check *check, const struct machine_result *result, bool waits);

/*
 * The caller's knowledge of the operations.  "At EVENT_CALL_BEGIN" means after that
 * event was given to check_event(), and so on.
 */
#define CHECK_ALL_STREAMS UINT64_MAX

/*
 * At EVENT_CALL_END of success: the configuration of CONTEXT; replaces its expected
 * values.  A CPU is judged by the context whose buffer it writes to; if that is
 * unknown, by the rows of CONTEXT 0, which hold for all contexts.
 */
void check_configured(struct check *check, unsigned context,
    const struct check_expect *expect, size_t count);
/*
 * After check_configured(): a start was in progress at the same time.  Until the next
 * start, the configuration before may be in force as well, but no mixture of both.
 */
void check_configured_late(struct check *check, unsigned context);
/* After EVENT_BUFFER: the owner of that stream; CONTEXT 0: not known. */
void check_named(struct check *check, uint64_t stream, unsigned context);
/* At EVENT_CALL_BEGIN: work of a program that is not traced. */
void check_untraced(struct check *check);
/*
 * At EVENT_CALL_BEGIN of an operation that starts a session: bytes not collected until
 * now may be lost.  If the operation fails, this is reverted.
 */
void check_starting(struct check *check);
/*
 * At EVENT_CALL_END of success of that operation: the CPUs that trace; 0: threads of
 * a target are traced, on any CPU.
 */
void check_started(struct check *check, unsigned cpu_mask);
/*
 * At EVENT_CALL_END: if all threads with a buffer were traced before the operation, they
 * are now; a thread that got a buffer from it is one of them.
 */
void check_followed(struct check *check);
/*
 * Where work goes on on CPU, which must be traced there, because of WHY: TraceEn must be
 * 1, and some packet must come of all such work.
 */
void check_filling(struct check *check, unsigned cpu, const char *why);
/* At EVENT_NMI_DONE: a ToPA PMI interrupted work, and its handler did not serve it. */
void check_unserved(struct check *check, unsigned cpu);
/* At the end: the driver was to fill a buffer; no work went on with one open. */
void check_never_filled(struct check *check);
/* At the end: the owner has gone, and COUNT of its trace buffers were not freed. */
void check_kept(struct check *check, unsigned count);
/* At EVENT_CALL_END: the owner's program ends now, and its session with it. */
void check_owner_ends(struct check *check);
/*
 * At EVENT_CALL_END: OPERATION, with VALUE, succeeded although it had to fail, or
 * the reverse.
 */
void check_answered_wrongly(struct check *check, bool succeeded,
    const char *operation, const char *value);
/* At EVENT_CALL_END: OPERATION failed with the error FOUND; the correct one is RIGHT. */
void check_failed_wrongly(
    struct check *check, const char *operation, uint64_t found, uint64_t right);
/* At EVENT_CALL_END: OPERATION succeeded although STATE, which guards it, does not hold. */
void check_answered_unguarded(
    struct check *check, const char *operation, const char *state, bool holds);
/* At EVENT_CALL_END: OPERATION returned FOUND in FIELD; the correct value is RIGHT. */
void check_filled_in(struct check *check, const char *operation,
    const char *field, uint64_t found, uint64_t right);
/*
 * At EVENT_CALL_BEGIN: HANDED is a digest of the data that the operation is handed; at
 * EVENT_CALL_END of failure: the digest now.  Both 0: not judged.
 */
void check_handed(struct check *check, uint64_t handed);
void check_failed(struct check *check, const char *operation, uint64_t handed);
/* At EVENT_CALL_END of success: no CPU of the mask traces until a new start. */
void check_stopped(struct check *check, unsigned cpu_mask);
/*
 * At EVENT_CALL_BEGIN of an operation that reports the buffer's contents each time it
 * is called: if nothing was written since, it may report the same bytes again.
 */
void check_rereading(struct check *check, uint64_t stream);
/*
 * At EVENT_CALL_END of success: user space has taken all records of STREAM (or
 * CHECK_ALL_STREAMS) that the driver delivers without being asked.  A position is
 * delivered only on request, so it is not one of them.
 */
void check_collected(struct check *check, uint64_t stream);
/* At EVENT_CALL_BEGIN: a counter shall interrupt every EVENTS events. */
void check_period(struct check *check, uint64_t events);
/* At EVENT_CALL_END of success: the driver is unloaded. */
void check_unloaded(struct check *check);

/*
 * True if the guest kernel's panic TEXT says that its RAM is exhausted.  Real hardware
 * has more RAM, so the run is not judged.
 */
bool check_is_memory_panic(const char *text);

/* Violations in order; one for each row, site and object. */
size_t check_count(const struct check *check);
const struct check_violation *check_at(const struct check *check, size_t index);

/* The rows that REASON has kept from being judged so far. */
check_rows check_unjudged(const struct check *check, enum check_reason reason);

/* True if the violation EFFECT is a symptom of the earlier CAUSE (symptom.def). */
bool check_is_symptom(
    const struct check_violation *effect, const struct check_violation *cause);

/* True if one of the rows can be a symptom of the other. */
bool check_is_related(enum check_id one, enum check_id other);

/*
 * If ON, violations from now on have a .blame.  This costs time and is not part of
 * check_hash(): in a run that merges with another, .blame is meaningless.
 */
void check_explain(struct check *check, bool on);

/* Pages of RAM that hold trace: one bit a page, for machine_hash(). */
const uint64_t *check_trace_frames(const struct check *check);

/*
 * Saving and restoring the state, for snapshots: check_size() is the size that
 * check_save() writes now.  The hash excludes absolute time and counts.
 */
size_t check_size(const struct check *check);
void check_save(const struct check *check, void *state);
void check_restore(struct check *check, const void *state);
uint64_t check_hash(const struct check *check);

#endif
