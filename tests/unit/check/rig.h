/*
 * What the tests of the invariants share: short runs written down as tables, on a
 * machine of which there are only the few registers that are read.
 *
 * Before each run: a ToPA table at RIG_TABLE, four pages of a trace buffer from
 * RIG_BUFFER on (stream 0, named), a page of something else at RIG_OTHER, and a stack
 * at RIG_STACK; a page at RIG_FREED was freed.  What is at RIG_STALE was never cleared.
 * The LVT entry is masked.  CR3_MATCH has to be 0 when tracing has stopped.
 */
#ifndef TOPAZ_TESTS_UNIT_CHECK_RIG_H
#define TOPAZ_TESTS_UNIT_CHECK_RIG_H

#include "emu/guest_abi.h"
#include "harness/check/check.h"
#include "harness/guest/user/script.h"

#define RIG_PAGE   UINT64_C(0x1000)
#define RIG_TABLE  UINT64_C(0x10000)
#define RIG_BUFFER UINT64_C(0x20000)
#define RIG_OTHER  UINT64_C(0x30000)
#define RIG_FREED  UINT64_C(0x40000)
#define RIG_STALE  UINT64_C(0x50000)
#define RIG_THREADS \
 UINT64_C(0x54000) /* pointers to the threads that run and run next */
#define RIG_KERNEL UINT64_C(0x60000)    /* physical, of the kernel's data */
#define RIG_STACK  (RIG_KERNEL + 0x800) /* among it, of 256 bytes */
#define RIG_MAPPED UINT64_C(0xffffc00000000000)
#define RIG_TEXT   UINT64_C(0xffffffff81000000)
#define RIG_KDATA  (ABI_KERNBASE + RIG_KERNEL)
#define RIG_DATA   (RIG_KDATA + 0x400)          /* the driver's, among it */
#define RIG_SHARED (RIG_KDATA + 0x600)          /* 8 bytes, stored to rightly */
#define RIG_SITE   UINT64_C(0xffffffff80201000) /* allocates buffers */
#define RIG_FRAMES \
 UINT64_C(0x800000) /* the kernel's table: all are free at first */

enum rig_op {
	RIG_NONE,
	RIG_EVENT,
	RIG_CTL,    /* a: GLOBAL_STATUS, b: LVT, c: MASK_PTRS; TriggerEn = 1 */
	RIG_COUNTS, /* a: GLOBAL_STATUS, b: LVT, c: what is enabled and interrupts:
			  counters, RIG_SAMPLES, RIG_BRANCHES; the counters are
			  all that count; TriggerEn = 0 */
	RIG_IN_NMI,   /* a: the counters that count in an NMI handler */
	RIG_XSS,      /* a: IA32_XSS; the LVT entry is masked */
	RIG_STATUS,   /* a: CR3_MATCH, b: ADDR0_A, c: STATUS; TriggerEn = 0,
			  GLOBAL_STATUS[55] = 1 */
	RIG_TABLE_AT, /* a: OUTPUT_BASE; CTL.ToPA = 1 */
	RIG_WORD,     /* the table at RIG_TABLE: a: index, below 8, b: entry */
	RIG_STORE,    /* a: rip, b: address, of 8 bytes */
	RIG_LOAD,     /* the same */
	RIG_CALL,  /* .text: of that function, a: rip, b: RDI and RSI, c: RDX */
	RIG_FRAME, /* of the page at a: b: word 0 of its record, c: word 1 */
	RIG_STARTING,
	RIG_STARTED,   /* a: CPUs */
	RIG_STOPPED,   /* a: CPUs */
	RIG_ANSWERED,  /* wrongly; a: 1: with success */
	RIG_FILLED_IN, /* a: found, b: right */
	RIG_ERROR,     /* a: found, b: right */
	RIG_REREADING, /* a: stream */
	RIG_COLLECTED, /* a: stream */
	RIG_EXPECT,    /* a: MSR, b: mask, c: value; of the context said last */
	RIG_CONTEXT,   /* a: number */
	RIG_NAMED,     /* a: stream; of the context said last */
	RIG_REGION_AT, /* a: OUTPUT_BASE; no ToPA */
	RIG_RANGE,     /* ADDR0_CFG = 1 */
	RIG_UNTRACED,
	RIG_FOLLOWED,
	RIG_FILLING, /* a: CPU */
	RIG_NEVER_FILLED,
	RIG_UNSERVED, /* a: CPU */
	RIG_KEPT,     /* a: buffers */
	RIG_RUNS,     /* a: the thread that runs, b: the next one */
	RIG_HANDED,   /* a: digest */
	RIG_FAILED,   /* a: digest */
	RIG_PERIOD,   /* a: events */
	RIG_UNLOADED,
	RIG_ENDS, /* a: enum machine_end, b: exit code, c: 1: it waits */
	RIG_PANICS,
};

#define RIG_SAMPLES  (UINT64_C(1) << 62) /* PEBS, as in GLOBAL_STATUS */
#define RIG_BRANCHES (UINT64_C(1) << 63) /* BTS with BTINT */

struct rig_step {
	enum rig_op op;
	enum event_kind kind;
	unsigned cpu;
	uint64_t a, b, c;
	const char *text; /* RIG_PANICS, RIG_CALL */
};

#define EVENT_ON(which, what, a, b, c)          \
 {                                              \
  RIG_EVENT, EVENT_##what, which, a, b, c, NULL \
 }
#define DO(op, a, b, c)                  \
 {                                       \
  RIG_##op, EVENT_NOTE, 0, a, b, c, NULL \
 }

#define CALL(name, to, bytes)                              \
 {                                                         \
  RIG_CALL, EVENT_NOTE, 0, RIG_TEXT, (to), (bytes), (name) \
 }

/* All on CPU 0, actor 0, stream 0. */
#define EV(what, a, b, c) EVENT_ON(0, what, a, b, c)
#define ON                EV(TRACE_ON, 0x2109, 0, 0)
#define OFF               EV(TRACE_OFF, 0x2109, 0, 0)
#define PSB               EV(PSB, 0, 0, 0)
#define OUT(at, bytes)    EV(OUTPUT, RIG_BUFFER + (at), bytes, 0)
#define READ(at, bytes)   EV(DRAIN, 0, RIG_BUFFER + (at), bytes)
#define LOST(bytes)       EV(LOST, 0, 0, bytes)
#define BEGIN(call)       EV(CALL_BEGIN, 0, 0, call)
#define DONE(result)      EV(CALL_END, 0, 0, (uint64_t)(int64_t)(result))
#define START             BEGIN(1), DO(STARTING, 0, 0, 0)
#define STARTED           DONE(0), DO(STARTED, 1, 0, 0)
#define STARTED_THREAD    DONE(0), DO(STARTED, 0, 0, 0)
#define COLLECT           DONE(0), DO(COLLECTED, 0, 0, 0)
#define FINISH            DO(ENDS, MACHINE_EXIT, 0, 0)
#define ENTRY(index, entry) \
 EV(TOPA_ENTRY, RIG_TABLE + 8 * (index), entry, index)

/* With which the program may end besides 0. */
#define RIG_EXIT_CODE 138

/* POSITIONS: user space can ask for a buffer's position, too. */
struct check *rig_create(bool positions);
/* The same where readers follow a ring's writer: as in a booted kernel. */
struct check *rig_create_rings(void);
/* Both end at RIG_NONE. */
void rig_play(struct check *check, const struct rig_step *steps);

#endif
