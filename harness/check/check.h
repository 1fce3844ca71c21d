/*
 * The invariants of a run as a table (check.def), judged event by event.  A struct
 * check is one block of memory without pointers into itself, so that it is saved and
 * restored together with the machine's snapshots.  README.md says which events each
 * row is judged from, and what excuses it.
 *
 * A violation names the place where the driver went wrong (struct check_site) and
 * the object concerned; its message is for people and identifies nothing.  What could
 * not be judged in a run is listed with its reason (reason.def).
 *
 * It does not look into trace bytes (traces/ decodes them) and knows no driver: what
 * an operation means, the caller says.
 */
#ifndef TOPAZ_HARNESS_CHECK_CHECK_H
#define TOPAZ_HARNESS_CHECK_CHECK_H

#include "emu/machine.h"

enum check_id {
#define CHECK(id, name, family, text, citation) CHECK_##id,
#include "harness/check/check.def"
#undef CHECK
	CHECK_COUNT
};

/* As check.def describes them. */
enum check_family {
	FAMILY_ALONE,
	FAMILY_CRASH,
	FAMILY_LIFETIME,
	FAMILY_LOSS,
	FAMILY_SETUP,
	FAMILY_UNJUDGED,
};

struct check_info {
	const char *name; /* "topa-error": in reports and baselines */
	enum check_family family;
	const char *text;     /* the invariant, one sentence */
	const char *citation; /* where it comes from */
};
const struct check_info *check_info(enum check_id id);
/* The check of that name; CHECK_COUNT: there is none. */
enum check_id check_find(const char *name);
/* All rows, for check_config.enabled. */
uint64_t check_all(void);

/* Why a row was not judged in a run. */
enum check_reason {
#define REASON(id, name, text) REASON_##id,
#include "harness/check/reason.def"
#undef REASON
	REASON_COUNT
};
const char *check_reason_name(enum check_reason reason);
const char *check_reason_text(enum check_reason reason);
/* The reason of that name; REASON_COUNT: there is none. */
enum check_reason check_reason_find(const char *name);

/*
 * A place in the driver's code: the instruction in the innermost of its functions
 * that were running, and one in the outermost, which the kernel had called.  Both are
 * addresses within a function, not return addresses.  0: no place is known.
 */
struct check_site {
	uint64_t rip, entry;
};

/* What a trace MSR has to be when TraceEn rises: (msr & mask) == value. */
#define CHECK_EXPECT_MAX 24
struct check_expect {
	uint32_t msr; /* 0x570 CTL, 0x572 CR3_MATCH, 0x580.. ADDRn */
	uint64_t mask, value;
	const char *field; /* of the configuration: for the message */
};

/* What is read of the machine.  Every member must be set. */
struct check_reads {
	void *arg;
	bool (*translate)(void *arg, unsigned cpu, struct gva va, uint64_t *pa);
	uint64_t (*rip)(void *arg, unsigned cpu);
	void (*pt)(void *arg, unsigned cpu, struct machine_pt *pt);
	/* 8 bytes of RAM; false: there is none. */
	bool (*word)(void *arg, uint64_t pa, uint64_t *value);
	/* Why CPU's unit met its last operational error; NULL: it met none. */
	const char *(*pt_error)(void *arg, unsigned cpu);
};
struct check_reads check_reads_machine(struct machine *machine);

struct check_range {
	uint64_t begin, end; /* linear; both 0: unused */
};

/*
 * Kernel functions that access memory for their caller.  A name may stand for several
 * accesses and be there several times.
 */
#define CHECK_CALLEES_MAX 64
size_t check_callee_count(void);
const char *check_callee_name(size_t index);

struct check_config {
	struct check_reads reads;
	/* The driver's functions on CPU's stack now; NULL: not known. */
	struct check_site (*site)(void *arg, unsigned cpu);
	/* Those as the access or the call at RIP began that is being given to
	 * check_access() or check_call(); NULL: not known. */
	struct check_site (*access_site)(void *arg, unsigned cpu, uint64_t rip);
	void *site_arg;
	unsigned cpu_count;
	uint64_t ram_bytes;
	struct check_range driver_text[4], driver_data[4], kernel_data[4];
	/* The guest kernel's table of frames (harness/guest/frame.h); 0: there
	 * is none, and what is freed is known of events alone. */
	uint64_t frames_pa;
	/* Where check_callee_name(i) is; 0: nowhere. */
	uint64_t callee[CHECK_CALLEES_MAX];
	/* What is at VA, for messages; NULL: only its number is known. */
	void (*name)(void *arg, uint64_t va, char *text, size_t size);
	void *name_arg;
	/* User space can also ask for a buffer's position (EVENT_POSITION): then who
	 * has collected and has not asked does not miss the rest. */
	bool positions;
	/* Which of the rows are judged; bit by enum check_id. */
	uint64_t enabled;
};

#define CHECK_TEXT_BYTES    200
#define CHECK_NAME_BYTES    64 /* of a name in it */
#define CHECK_OBJECT_BYTES  64
#define CHECK_VIOLATION_MAX 8
#define CHECK_NO_STEP       UINT16_MAX
#define CHECK_NO_STREAM     0xff

struct check_violation {
	enum check_id id;
	uint16_t cpu;
	uint16_t step; /* of the script that ran on that CPU's actor, or
			  CHECK_NO_STEP */
	uint64_t insns, cycles, rip;
	uint64_t event; /* number of the event, from 0 at check_begin() */
	/* The driver's functions that were running; 0: none was. */
	struct check_site site;
	/* check_explain(): the driver's last action that the violation can
	 * come from; 0: none is known. */
	struct check_site blame;
	/* The object concerned: the call that allocated it, or a variable of
	 * the kernel, or 0; and a field of the configuration, or "". */
	uint64_t object_va;
	char object[CHECK_OBJECT_BYTES];
	uint8_t stream; /* of a trace buffer, or CHECK_NO_STREAM */
	char text[CHECK_TEXT_BYTES];
};

struct check;

/* NULL: out of memory. */
struct check *check_create(const struct check_config *config);
void check_destroy(struct check *check);

/* Forgets everything but allocations, stacks and TraceEn: a new run begins. */
void check_begin(struct check *check);

/* Each event of the machine, in order, from boot on. */
void check_event(struct check *check, const struct event *event);
/* Each load and store of the driver's text, and its calls of check_callee_name()s. */
void check_access(struct check *check, const struct audit_access *access);
void check_call(struct check *check, const struct audit_call *call);
/* A deviation was caused on purpose: what is excused by it.  EVENT_DEVIATION says the
 * same; both may come. */
void check_note_deviation(
    struct check *check, unsigned cpu, enum deviation_kind kind);
/*
 * The run is over.  WAITS: at its limit of instructions, with an operation of the
 * driver in progress that does not end; false: it is only long.
 */
void check_end(
    struct check *check, const struct machine_result *result, bool waits);

/*
 * What the caller knows of the operations.  At EVENT_CALL_BEGIN means after that
 * event was given to check_event(), and so on.
 */
#define CHECK_ALL_STREAMS UINT64_MAX

/*
 * At EVENT_CALL_END of success: what CONTEXT is configured to; replaces what was
 * expected of it.  A CPU is judged by the context whose buffer it writes to; where
 * that is not known, by the rows of CONTEXT 0: what holds for all of them.
 */
void check_configured(struct check *check, unsigned context,
    const struct check_expect *expect, size_t count);
/* After EVENT_BUFFER: whose buffer that stream is; CONTEXT 0: not known. */
void check_named(struct check *check, uint64_t stream, unsigned context);
/*
 * At EVENT_CALL_BEGIN of an operation that starts a session: what nobody collected
 * until now nobody wants.  If the operation fails, this is taken back.
 */
void check_starting(struct check *check);
/* At its EVENT_CALL_END of success.  The CPUs that trace; 0: threads of a target
 * are traced, wherever they run. */
void check_started(struct check *check, unsigned cpu_mask);
/* At EVENT_CALL_END: OPERATION, with VALUE, was to fail and has not, or the other way. */
void check_answered_wrongly(struct check *check, bool succeeded,
    const char *operation, const char *value);
/* At EVENT_CALL_END: OPERATION has filled in FOUND for FIELD, which is RIGHT. */
void check_filled_in(struct check *check, const char *operation,
    const char *field, uint64_t found, uint64_t right);
/* At EVENT_CALL_END of success: no CPU of the mask traces until a new start. */
void check_stopped(struct check *check, unsigned cpu_mask);
/*
 * At EVENT_CALL_BEGIN of an operation that reports what a buffer holds as often as
 * it is asked: if nothing was written since, the same may be reported once more.
 */
void check_rereading(struct check *check, uint64_t stream);
/*
 * At EVENT_CALL_END of success: user space has taken all that the driver reports
 * of STREAM (or CHECK_ALL_STREAMS) by itself: not the positions that are asked for.
 */
void check_collected(struct check *check, uint64_t stream);
/* At EVENT_CALL_END of success: the driver is unloaded. */
void check_unloaded(struct check *check);

/*
 * Does the guest kernel's panic TEXT say that its RAM is used up?  Real hardware has
 * more, so that the run is not judged.
 */
bool check_is_memory_panic(const char *text);

/* Violations in order; of one row, site and object there is one. */
size_t check_count(const struct check *check);
const struct check_violation *check_at(const struct check *check, size_t index);

/* The rows that REASON kept from being judged so far, one bit each. */
uint64_t check_unjudged(const struct check *check, enum check_reason reason);

/* Is the violation EFFECT a consequence of the earlier one CAUSE? (symptom.def) */
bool check_is_symptom(
    const struct check_violation *effect, const struct check_violation *cause);

/* Can one of the rows be a symptom of the other? */
bool check_is_related(enum check_id one, enum check_id other);

/*
 * From now on violations have a .blame, which costs time and is no part of
 * check_hash(): in a run that merges with another it means nothing.
 */
void check_explain(struct check *check, bool on);

/* Pages of RAM that hold trace: one bit a page, for machine_hash(). */
const uint64_t *check_trace_frames(const struct check *check);

/* State, for snapshots: check_size() is what check_save() writes now.  The hash is
 * without absolute time and counts. */
size_t check_size(const struct check *check);
void check_save(const struct check *check, void *state);
void check_restore(struct check *check, const void *state);
uint64_t check_hash(const struct check *check);

#endif
