/*
 * The script of an actor program: a sequence of calls, which the host prepares
 * and writes into the program's memory.  Shared with the host; needs only
 * <stdint.h>.
 *
 * An actor is a thread of the program; actor 0 is the first thread.  A step
 * begins when the previous step has ended or, if that one is SCRIPT_ASYNC, has
 * begun.  An actor begins a step only when its own previous step has ended.
 * After the last step the actors wait for each other and the program exits with
 * code 0, whatever the calls returned.
 */
#ifndef TOPAZ_HARNESS_GUEST_USER_SCRIPT_H
#define TOPAZ_HARNESS_GUEST_USER_SCRIPT_H

#include <stdint.h>

#define SCRIPT_ACTORS    4
#define SCRIPT_STEPS_MAX 64
#define SCRIPT_ARGS      5
#define SCRIPT_SLOTS     64 /* results that later steps refer to; initially 0 */
#define SCRIPT_FIXES_MAX 64
#define SCRIPT_DATA_MAX  16384

enum script_kind {
	SCRIPT_VALUE, /* .value itself */
	SCRIPT_SLOT,  /* what is in slot .value */
	SCRIPT_DATA,  /* the address of data + .value */
};

#define SCRIPT_ASYNC   1u      /* flag of a step */
#define SCRIPT_NO_SLOT 0xffffu /* the result is not kept */

/*
 * Calls below SCRIPT_LOCAL are system calls (sys.h); the program executes those
 * from SCRIPT_LOCAL on itself.  KE_NOSYS: the program has no such call.
 */
#define SCRIPT_LOCAL 0x1000u
enum script_local {
	SCRIPT_WORK = SCRIPT_LOCAL, /* n: branches indirectly n times */
	SCRIPT_READ_WORD,           /* address: the 32-bit word there */
	/* hwt (FreeBSD): SESSION is 0..3, the actor program's own number. */
	SCRIPT_HWT_MAP,   /* session, ident, id, bytes, stream: opens node
			     /dev/hwt_IDENT_ID, maps BYTES (0: all) of it,
			     reports its frames to the host (SYS_BUFFER, STREAM
			     + ID); the node's fd */
	SCRIPT_HWT_FETCH, /* takes all present records of all sessions,
			     and drains what they report; their number */
	/* insntrace: of the file /dev/insntrace */
	SCRIPT_INSNTRACE_MAP,  /* fd, descriptor, bytes (0: all): SYS_BUFFER of
				 its frames */
	SCRIPT_INSNTRACE_READ, /* fd, traces: state, LOST and DRAIN of all that
				  each one's buffer holds */
	/* hwt again: the session remembers the buffer's size. */
	SCRIPT_HWT_ALLOC, /* session, fd, struct hwt_alloc: the context's ident,
			     which replaces .ident */
	SCRIPT_HWT_UNMAP, /* session, id: of HWT_MAP's mapping; its fd stays */
	/* Programs to be traced; the first TARGETS_MAX of a script. */
	SCRIPT_TARGET_SPAWN,  /* CPU or -1, branches a round, threads at first:
				 its pid */
	SCRIPT_TARGET_WORK,   /* pid: one of its threads does a round */
	SCRIPT_TARGET_THREAD, /* pid: it creates a thread, which does a round */
	SCRIPT_TARGET_KILL,   /* pid */
	/* Devices with the operations of harness/kpi/native/trace.h. */
	SCRIPT_TRACE_SETUP, /* fd, struct trace_config, CPUs: TRACE_SETUP, then
			       SYS_BUFFER of each one's frames */
	SCRIPT_TRACE_READ,  /* fd, CPUs: TRACE_READ, LOST and DRAIN of all that
			       each one's buffer holds */
	SCRIPT_TARGET_GO,   /* pid: as TARGET_WORK, but does not wait for the
			       round's end; the program is given nothing more */
	SCRIPT_INSNTRACE_RELEASE, /* fd, descriptor: ReleaseThreadBuffer */
	SCRIPT_INSNTRACE_ASSIGN, /* fd, descriptor, pid, index: AssignThreadBuffer
				    of that thread of the process */
	SCRIPT_INSNTRACE_FREE,   /* fd, descriptor: FreeBuffer */
};

struct script_arg {
	uint64_t kind; /* enum script_kind */
	uint64_t value;
};

/* Where a successful call leaves a position in a buffer, in bytes from its
 * beginning.  The program takes all bytes before the position. */
enum script_position_kind {
	SCRIPT_NO_POSITION,
	SCRIPT_POSITION_DATA, /* data + .offset_at, and 4096 times the number at
				   data + .page_at; 0 bytes: absent */
	SCRIPT_POSITION_MAPPED, /* 8 bytes at .offset_at of the mapped buffer */
};
struct script_position {
	uint8_t kind, page_bytes, offset_bytes, reserved;
	uint32_t page_at, offset_at;
};

struct script_step {
	uint8_t actor, flags;
	uint16_t slot;
	uint32_t call;
	struct script_arg arg[SCRIPT_ARGS];
	struct script_position position;
};

/* Before the first step the 8 bytes at data + .at become .arg. */
struct script_fix {
	uint64_t at;
	struct script_arg arg;
};

/*
 * Fixes of kind SCRIPT_SLOT are applied before every step; the others once.
 */
struct script {
	uint32_t step_count, fix_count;
	struct script_step step[SCRIPT_STEPS_MAX];
	struct script_fix fix[SCRIPT_FIXES_MAX];
	uint8_t data[SCRIPT_DATA_MAX];
};

#endif
