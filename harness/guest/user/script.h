/*
 * What an actor program is told to do: calls, one after the other, prepared by the
 * host and written into the program's memory.  Shared with the host; needs only
 * <stdint.h>.
 *
 * An actor is a thread of the program; actor 0 is its first one.  A step begins when
 * the step before it has ended, unless that one is SCRIPT_ASYNC: then it begins as
 * soon as that one has begun.  An actor begins a step only when its own last one has
 * ended.  After the last step the actors wait for each other and the program exits
 * with code 0, whatever the calls' results were.
 */
#ifndef TOPAZ_HARNESS_GUEST_USER_SCRIPT_H
#define TOPAZ_HARNESS_GUEST_USER_SCRIPT_H

#include <stdint.h>

#define SCRIPT_ACTORS    4
#define SCRIPT_STEPS_MAX 64
#define SCRIPT_ARGS      5
#define SCRIPT_SLOTS     64 /* results that later steps refer to; 0 at first */
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
 * Calls below SCRIPT_LOCAL are system calls (sys.h); those from it on are done by
 * the program itself, an actor program that does not know one fails with KE_NOSYS.
 */
#define SCRIPT_LOCAL 0x1000u
enum script_local {
	SCRIPT_WORK = SCRIPT_LOCAL, /* n: branches indirectly n times */
	SCRIPT_READ_WORD,           /* address: the 32-bit word there */
	/* hwt (FreeBSD): SESSION is 0..3, the actor program's own number. */
	SCRIPT_HWT_MAP,   /* session, ident, id, bytes, stream: opens node
			     /dev/hwt_IDENT_ID, maps BYTES (0: all) of it, tells
			     the host whose frames these are (SYS_BUFFER, STREAM +
			     ID); the node's fd */
	SCRIPT_HWT_FETCH, /* takes the records that are there, of all sessions,
			     and drains what they report; number of records */
	/* insntrace: of the file /dev/insntrace */
	SCRIPT_INSNTRACE_MAP,  /* fd, descriptor, bytes (0: all): SYS_BUFFER of
				 its frames */
	SCRIPT_INSNTRACE_READ, /* fd, CPUs: state, LOST and DRAIN of all that
				  each one's buffer holds */
	/* hwt again: the session remembers the buffer's size. */
	SCRIPT_HWT_ALLOC, /* session, fd, struct hwt_alloc: the context's ident,
			     which replaces .ident */
	SCRIPT_HWT_UNMAP, /* session, id: of what HWT_MAP mapped; its fd stays */
	/* Programs to be traced; the first TARGETS_MAX of a script. */
	SCRIPT_TARGET_SPAWN,  /* CPU or -1, branches a round, threads at first:
				 its pid */
	SCRIPT_TARGET_WORK,   /* pid: one of its threads does a round */
	SCRIPT_TARGET_THREAD, /* pid: it makes a thread, which does a round */
	SCRIPT_TARGET_KILL,   /* pid */
	/* Devices with the operations of harness/kpi/native/trace.h. */
	SCRIPT_TRACE_SETUP, /* fd, struct trace_config, CPUs: TRACE_SETUP, then
			       SYS_BUFFER of each one's frames */
	SCRIPT_TRACE_READ,  /* fd, CPUs: TRACE_READ, LOST and DRAIN of all that
			       each one's buffer holds */
};

struct script_arg {
	uint64_t kind; /* enum script_kind */
	uint64_t value;
};

/* Where a call that succeeds leaves the position in a buffer: bytes from its
 * beginning.  The program takes all before it. */
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
 * Fixes of kind SCRIPT_SLOT are done anew before every step; the others once.
 */
struct script {
	uint32_t step_count, fix_count;
	struct script_step step[SCRIPT_STEPS_MAX];
	struct script_fix fix[SCRIPT_FIXES_MAX];
	uint8_t data[SCRIPT_DATA_MAX];
};

#endif
