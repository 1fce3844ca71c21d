/*
 * Goal: every row finds what violates it, and nothing else; what is right violates
 * no row.  Method: runs as tables of events; the bad ones name the one row that they
 * violate; a last test wants a bad run for each row.
 */
#include "harness/guest/sys.h"
#include "tests/unit/check/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define STEPS_MAX  40
#define BIT55      TZ_BIT(55)
#define MASKED     TZ_BIT(16)
#define INT        UINT64_C(4)
#define STOP       UINT64_C(16)
#define END        UINT64_C(1)
#define B          RIG_BUFFER

#define GOOD       CHECK_COUNT

#define ON_AS(ctl) EV(TRACE_ON, ctl, 0, 0)
/* Stream 0 is context 1's, stream 1, at RIG_OTHER, is context 2's. */
#define CONTEXTS                                                              \
 DO(CONTEXT, 1, 0, 0), DO(NAMED, 0, 0, 0), DO(EXPECT, 0x570, 0x3000, 0x2000), \
     DO(CONTEXT, 2, 0, 0), EV(BUFFER, 1, RIG_OTHER, RIG_PAGE),                \
     DO(NAMED, 1, 0, 0), DO(EXPECT, 0x570, 0x3000, 0x1000)

/* Thread N runs on CPU 0, and thread 7 has the buffer. */
#define WORKS(n) THREADS, EV(TRACED_THREAD, 0, 7, 0), DO(RUNS, n, n, 0)
#define PROGRAM  UINT64_C(0x400000)
#define TICK     EV(INTERRUPT, 0xf0, PROGRAM, 0)
#define THREADS  EV(THREAD, RIG_THREADS, RIG_THREADS + 8, 4)

struct run {
	const char *name;
	enum check_id row; /* GOOD: none */
	struct rig_step steps[STEPS_MAX];
};

static const struct run memory_runs[] = {
	{ "output to a buffer", GOOD, { ON, PSB, OUT(0, 64) } },
	{ "output to nobody's frame", CHECK_OUTPUT_OWNED,
	    { ON, PSB, EV(OUTPUT, 0x70000, 64, 0) } },
	{ "output beyond an allocation", CHECK_OUTPUT_OWNED,
	    { ON, PSB, EV(OUTPUT, B + 0x3f00, 0x200, 0) } },
	{ "output to a freed frame", CHECK_OUTPUT_FREED,
	    { ON, PSB, EV(OUTPUT, RIG_FREED, 64, 0) } },
	{ "output to a frame that was freed and allocated", GOOD,
	    { EV(ALLOC, ABI_DMAP + RIG_FREED, RIG_PAGE, RIG_SITE), ON, PSB,
		EV(OUTPUT, RIG_FREED, 64, 0) } },
	{ "output to another allocation", CHECK_OUTPUT_FOREIGN,
	    { ON, PSB, EV(OUTPUT, RIG_OTHER, 64, 0) } },
	{ "output to pages mapped one by one", GOOD,
	    { EV(ALLOC, RIG_MAPPED, 2 * RIG_PAGE, RIG_SITE), ON, PSB,
		EV(OUTPUT, 0x82000, 64, 0) } },
	{ "output between pages mapped one by one", CHECK_OUTPUT_OWNED,
	    { EV(ALLOC, RIG_MAPPED, 2 * RIG_PAGE, RIG_SITE), ON, PSB,
		EV(OUTPUT, 0x81000, 64, 0) } },
	{ "the table is freed while tracing", CHECK_FREED_IN_USE,
	    { ON, ENTRY(0, B), EV(FREE, ABI_DMAP + RIG_TABLE, 0, 0) } },
	{ "the region is freed while tracing", CHECK_FREED_IN_USE,
	    { ON, ENTRY(0, B), EV(FREE, ABI_DMAP + B, 0, 0) } },
	{ "all is freed after tracing", GOOD,
	    { ON, ENTRY(0, B), OFF, EV(FREE, ABI_DMAP + RIG_TABLE, 0, 0),
		EV(FREE, ABI_DMAP + B, 0, 0) } },
	{ "a store into the kernel's data", CHECK_FOREIGN_STORE,
	    { DO(STORE, RIG_TEXT, RIG_KDATA + 8, 0) } },
	{ "stores of the driver where it may", GOOD,
	    { DO(STORE, RIG_TEXT, RIG_DATA, 0),
		DO(STORE, RIG_TEXT, RIG_KDATA + 0x808, 0),
		DO(STORE, RIG_TEXT, ABI_DMAP + RIG_OTHER, 0),
		DO(STORE, RIG_SITE, RIG_KDATA, 0) } },
	{ "a store into a freed page", CHECK_STORE_FREED,
	    { DO(STORE, RIG_TEXT, ABI_DMAP + RIG_FREED + 8, 0) } },
	{ "a store into a page that was freed and allocated", GOOD,
	    { EV(ALLOC, ABI_DMAP + RIG_FREED, RIG_PAGE, RIG_SITE),
		DO(STORE, RIG_TEXT, ABI_DMAP + RIG_FREED + 8, 0) } },
	{ "a load from a freed page", CHECK_LOAD_FREED,
	    { DO(LOAD, RIG_TEXT, ABI_DMAP + RIG_FREED + 8, 0) } },
	{ "output to a buffer that was freed", CHECK_OUTPUT_FREED,
	    { ON, PSB, OUT(0, 64), OFF, EV(FREE, ABI_DMAP + B, 0, 0), ON, PSB,
		OUT(0, 64) } },
	{ "a page that was not cleared is mapped", CHECK_MAPPED_STALE,
	    { EV(ALLOC, ABI_DMAP + RIG_STALE, RIG_PAGE, RIG_SITE),
		EV(BUFFER, 1, RIG_STALE, RIG_PAGE) } },
	{ "a page of nobody's is mapped", GOOD,
	    { EV(BUFFER, 1, RIG_STALE, RIG_PAGE) } },
	{ "the driver's table is left at the end", CHECK_LEAK,
	    { EV(EXIT, 0, 0, 0) } },
	{ "the driver's table is left at unload", CHECK_LEAK,
	    { DO(UNLOADED, 0, 0, 0) } },
	{ "the driver's table is freed at unload", GOOD,
	    { EV(FREE, ABI_DMAP + RIG_TABLE, 0, 0), DO(UNLOADED, 0, 0, 0) } },
};

#define AREA(at)   EV(MSR_WRITE, 0x600, ABI_DMAP + (at), 0)
#define BRANCH(at) EV(BTS_RECORD, 0x1000, 0x2000, ABI_DMAP + (at))

static const struct run record_runs[] = {
	{ "a record of a branch in a buffer", GOOD,
	    { AREA(B), BRANCH(B + 96) } },
	{ "a record across pages of one allocation", GOOD,
	    { AREA(B), BRANCH(B + 0xff8) } },
	{ "a record in a freed frame", CHECK_RECORD_OWNED,
	    { AREA(B), BRANCH(RIG_FREED) } },
	{ "a record beyond an allocation", CHECK_RECORD_OWNED,
	    { AREA(B), BRANCH(B + 0x3ff0) } },
	{ "a save area that is nobody's", CHECK_RECORD_OWNED,
	    { AREA(0x70000), BRANCH(B) } },
	{ "a save area of another CPU", GOOD,
	    { AREA(B), EVENT_ON(1, MSR_WRITE, 0x600, ABI_DMAP + 0x70000, 0),
		BRANCH(B) } },
	{ "a PEBS record in a freed frame", CHECK_RECORD_OWNED,
	    { AREA(B), EV(PEBS_RECORD, 0x1000, 1, ABI_DMAP + RIG_FREED) } },
	{ "a record that faults", GOOD,
	    { AREA(B), EV(BTS_RECORD, 0x1000, 0x2000, 0x5000) } },
	{ "a function that may sleep, where it may not", CHECK_SLEEP,
	    { EV(ATOMIC_SLEEP, RIG_TEXT + 8, 0, 0) } },
};

static const struct run table_runs[] = {
	{ "a walk round a buffer", GOOD,
	    { ON, ENTRY(0, B), ENTRY(1, B + 0x1000), ENTRY(2, B + 0x2000),
		ENTRY(3, B + 0x3000 + INT), ENTRY(4, RIG_TABLE + END),
		ENTRY(0, B), ENTRY(1, B + 0x1000) } },
	{ "a walk that goes on elsewhere after a pause", GOOD,
	    { ON, ENTRY(0, B), OFF, ON, ENTRY(3, B + 0x3000) } },
	{ "a table outside memory", CHECK_TABLE_OWNED,
	    { ON, EV(TOPA_ENTRY, 0x70000, B, 0) } },
	{ "an entry behind the table's allocation", CHECK_TABLE_OWNED,
	    { ON, ENTRY(9, B) } },
	{ "a table that goes on in another allocation", CHECK_TABLE_WHOLE,
	    { EV(ALLOC, ABI_DMAP + RIG_TABLE + 64, 64, 0), ON, ENTRY(9, B) } },
	{ "a table whose next page is nobody's", CHECK_TABLE_WHOLE,
	    { EV(ALLOC, ABI_DMAP + 0x60000, 4096, 0),
		DO(TABLE_AT, 0x60000, 0, 0), ON } },
	{ "a table whose next page is another's", CHECK_TABLE_WHOLE,
	    { EV(ALLOC, ABI_DMAP + 0x60000, 4096, 0),
		EV(ALLOC, ABI_DMAP + 0x61000, 4096, 0),
		DO(TABLE_AT, 0x60000, 0, 0), ON } },
	{ "a table of many pages in one allocation", GOOD,
	    { EV(ALLOC, ABI_DMAP + 0x60000, 65536 * 8, 0),
		DO(TABLE_AT, 0x60000, 0, 0), ON } },
	{ "tables that lead round the buffer", GOOD,
	    { DO(WORD, 0, B, 0), DO(WORD, 1, B + 0x1000, 0),
		DO(WORD, 2, B + 0x2000, 0), DO(WORD, 3, B + 0x3000 + INT, 0),
		DO(TABLE_AT, RIG_TABLE, 0, 0), ON } },
	{ "tables that leave out the last page", CHECK_TOPA_ORDER,
	    { DO(WORD, 0, B, 0), DO(WORD, 1, B + 0x1000, 0),
		DO(WORD, 2, B + 0x2000, 0), DO(TABLE_AT, RIG_TABLE, 0, 0),
		ON } },
	{ "tables with INT before the last region", CHECK_WRAP_INT,
	    { DO(WORD, 0, B, 0), DO(WORD, 1, B + 0x1000, 0),
		DO(WORD, 2, B + 0x2000 + INT, 0), DO(WORD, 3, B + 0x3000, 0),
		DO(TABLE_AT, RIG_TABLE, 0, 0), ON } },
	{ "tables with a region that nobody holds", CHECK_OUTPUT_OWNED,
	    { DO(WORD, 0, B, 0), DO(WORD, 1, 0x70000, 0),
		DO(TABLE_AT, RIG_TABLE, 0, 0), ON } },
	{ "an END that leads where nobody holds memory", CHECK_TABLE_OWNED,
	    { DO(WORD, 0, B, 0), DO(WORD, 1, 0x70000 + END, 0),
		DO(TABLE_AT, RIG_TABLE, 0, 0), ON } },
	{ "tables that stop the output before a mistake", GOOD,
	    { DO(WORD, 0, B, 0), DO(WORD, 1, B + 0x1000 + STOP + INT, 0),
		DO(WORD, 2, 0x70000, 0), DO(TABLE_AT, RIG_TABLE, 0, 0), ON } },
	{ "regions out of order", CHECK_TOPA_ORDER,
	    { ON, ENTRY(0, B), ENTRY(1, B + 0x2000) } },
	{ "a region longer than the buffer", CHECK_TOPA_ORDER,
	    { ON, ENTRY(0, B + 0x3000 + 0x40) } },
	{ "a region that is mapped in part", GOOD,
	    { EV(ALLOC, ABI_DMAP + 0x60000, 2 * RIG_PAGE, RIG_SITE),
		EV(BUFFER, 1, 0x60000, RIG_PAGE), ON,
		ENTRY(0, 0x60000 + 0x40) } },
	{ "a region that is mapped in part and too long", CHECK_TOPA_ORDER,
	    { EV(ALLOC, ABI_DMAP + 0x60000, RIG_PAGE, RIG_SITE),
		EV(BUFFER, 1, 0x60000, RIG_PAGE), ON,
		ENTRY(0, 0x60000 + 0x40) } },
	{ "INT before the last region", CHECK_WRAP_INT,
	    { ON, ENTRY(0, B), ENTRY(1, B + 0x1000), ENTRY(2, B + 0x2000 + INT),
		ENTRY(3, B + 0x3000), ENTRY(4, RIG_TABLE + END),
		ENTRY(0, B) } },
	{ "no INT at all", GOOD,
	    { ON, ENTRY(2, B + 0x2000), ENTRY(3, B + 0x3000),
		ENTRY(4, RIG_TABLE + END), ENTRY(0, B) } },
	{ "STOP without INT", CHECK_STOP_INT, { ON, ENTRY(0, B + STOP) } },
	{ "STOP with INT", GOOD, { ON, ENTRY(0, B + STOP + INT) } },
	{ "an operational error", CHECK_TOPA_ERROR,
	    { ON, EV(PT_ERROR, 0, 0, 0) } },
	{ "an operational error beside one that was caused", CHECK_TOPA_ERROR,
	    { EV(DEVIATION, DEVIATION_ERROR, 0, 0),
		EVENT_ON(1, PT_ERROR, 0, 0, 0) } },
	{ "an operational error that was caused", GOOD,
	    { ON, EV(DEVIATION, DEVIATION_ERROR, 0, 0), EV(PT_ERROR, 0, 0, 0),
		OFF, BEGIN(2), LOST(0), COLLECT, FINISH } },
	{ "an error that is not reported", CHECK_ERROR_SILENT,
	    { ON, PSB, OUT(0, 64), EV(DEVIATION, DEVIATION_ERROR, 0, 0),
		EV(PT_ERROR, 0, 0, 0), OFF, BEGIN(2), READ(0, 64), COLLECT } },
	{ "an error before any output, not reported", CHECK_ERROR_SILENT,
	    { EV(DEVIATION, DEVIATION_ERROR, 0, 0), ON, EV(PT_ERROR, 0, 0, 0),
		OFF, BEGIN(2), COLLECT } },
	{ "a stop that is not reported", CHECK_STOPPED_SILENT,
	    { ON, PSB, OUT(0, 64), EV(STOPPED, 0, 0, 0), OFF, BEGIN(2),
		READ(0, 64), COLLECT } },
	{ "a stop before the CPU traced another thread", GOOD,
	    { EV(BUFFER, 1, RIG_OTHER, RIG_PAGE), ON, PSB, OUT(0, 64), OFF, ON,
		ENTRY(0, B), EV(STOPPED, 0, 0, 0), OFF, ON, ENTRY(0, RIG_OTHER),
		PSB, EV(OUTPUT, RIG_OTHER, 64, 0), OFF, BEGIN(2), LOST(0),
		READ(0, 64), EV(DRAIN, 1, RIG_OTHER, 64), COLLECT } },
	{ "the same, told of the other thread", CHECK_STOPPED_SILENT,
	    { EV(BUFFER, 1, RIG_OTHER, RIG_PAGE), ON, PSB, OUT(0, 64), OFF, ON,
		ENTRY(0, B), EV(STOPPED, 0, 0, 0), OFF, ON, ENTRY(0, RIG_OTHER),
		PSB, EV(OUTPUT, RIG_OTHER, 64, 0), OFF, BEGIN(2),
		EV(LOST, 1, 0, 0), READ(0, 64), EV(DRAIN, 1, RIG_OTHER, 64),
		COLLECT } },
	{ "a stop of a thread whose trace is not yet written",
	    CHECK_STOPPED_SILENT,
	    { EV(BUFFER, 1, RIG_OTHER, RIG_PAGE), ON, PSB, OUT(0, 64), OFF, ON,
		ENTRY(0, RIG_OTHER), EV(STOPPED, 0, 0, 0), OFF, BEGIN(2),
		LOST(0), READ(0, 64), DONE(0),
		DO(COLLECTED, CHECK_ALL_STREAMS, 0, 0) } },
	{ "a stop while user space collects", GOOD,
	    { ON, PSB, OUT(0, 64), BEGIN(2), EV(STOPPED, 0, 0, 0), READ(0, 64),
		COLLECT, OFF } },
	{ "a stop during a fetch, not reported", CHECK_STOPPED_SILENT,
	    { ON, PSB, OUT(0, 64), BEGIN(2), EV(STOPPED, 0, 0, 0), READ(0, 64),
		COLLECT, BEGIN(2), DONE(0), DO(COLLECTED, 0, 0, 0), OFF } },
	{ "a stop whose record the kernel lost", GOOD,
	    { ON, PSB, OUT(0, 64), EV(STOPPED, 0, 0, 0), OFF,
		EV(DROPPED, ABI_DROPPED_RECORD, 12, 0), BEGIN(2), READ(0, 64),
		COLLECT } },
	{ "a stop that a failed call tells of", GOOD,
	    { ON, PSB, OUT(0, 64), EV(STOPPED, 0, 0, 0), OFF, BEGIN(2),
		DONE(-5), BEGIN(2), READ(0, 64), COLLECT } },
	{ "a stop at the end of the buffer, all read", GOOD,
	    { ON, PSB, OUT(0, 0x4000), EV(STOPPED, 0, 0, 0), OFF, BEGIN(2),
		READ(0, 0x4000), COLLECT, FINISH } },
};

static const struct run ledger_runs[] = {
	{ "all that was written is read, round the end", GOOD,
	    { ON, PSB, OUT(0, 0x3000), READ(0, 0x3000), OUT(0x3000, 0x1000),
		OUT(0, 0x800), READ(0x3000, 0x1000), OFF, BEGIN(2),
		READ(0, 0x800), COLLECT, FINISH } },
	{ "a full circle, the loss is reported", GOOD,
	    { START, ON, PSB, STARTED, OUT(0, 0x4000), OUT(0, 0x500), OFF,
		BEGIN(2), LOST(0x500), READ(0x500, 0x3b00), READ(0, 0x500),
		COLLECT, FINISH } },
	{ "a full circle, a loss without a size is reported", GOOD,
	    { START, ON, PSB, STARTED, OUT(0, 0x4000), OUT(0, 0x500), OFF,
		BEGIN(2), LOST(0), READ(0x500, 0x3b00), READ(0, 0x500), COLLECT,
		FINISH } },
	{ "after bytes that are skipped reading goes on in the middle", GOOD,
	    { START, ON, PSB, STARTED, OUT(0, 0x4000), OUT(0, 0x500), BEGIN(2),
		LOST(ABI_LOST_SKIPPED), READ(0x3000, 0x1000), READ(0, 0x500),
		COLLECT, OUT(0x500, 0x100), OFF, BEGIN(2), READ(0x500, 0x100),
		COLLECT, FINISH } },
	{ "after a loss of unknown size what is left is reported",
	    CHECK_UNREPORTED_TAIL,
	    { START, ON, PSB, STARTED, OUT(0, 0x4000), OFF, BEGIN(2), LOST(0),
		COLLECT, FINISH } },
	{ "after a loss of known size it does not", CHECK_REPORTED_ORDER,
	    { START, ON, PSB, STARTED, OUT(0, 0x4000), OUT(0, 0x500), OFF,
		BEGIN(2), LOST(0x500), READ(0x3000, 0x1000), READ(0, 0x500),
		COLLECT } },
	{ "what is written after that is not skipped", CHECK_REPORTED_ORDER,
	    { START, ON, PSB, STARTED, OUT(0, 0x1000), BEGIN(2),
		LOST(ABI_LOST_SKIPPED), OUT(0x1000, 0x100), READ(0x1080, 0x80),
		COLLECT } },
	{ "a loss of unknown size, and another one after it",
	    CHECK_OVERWRITTEN_UNREPORTED,
	    { START, ON, PSB, STARTED, OUT(0, 0x4000), OUT(0, 0x500), BEGIN(2),
		LOST(0), READ(0x500, 0x3b00), READ(0, 0x500), COLLECT,
		OUT(0x500, 0x3b00), OUT(0, 0x500), OUT(0x500, 0x100), OFF,
		BEGIN(2), READ(0x600, 0x3a00), READ(0, 0x600), COLLECT,
		FINISH } },
	{ "bytes that are skipped, and others overwritten after it",
	    CHECK_OVERWRITTEN_UNREPORTED,
	    { START, ON, PSB, STARTED, OUT(0, 0x4000), OUT(0, 0x500), BEGIN(2),
		LOST(ABI_LOST_SKIPPED), READ(0x500, 0x3b00), READ(0, 0x500),
		COLLECT, OUT(0x500, 0x3b00), OUT(0, 0x500), OUT(0x500, 0x100),
		OFF, BEGIN(2), READ(0x600, 0x3a00), READ(0, 0x600), COLLECT,
		FINISH } },
	{ "reading once more is allowed where it was announced", GOOD,
	    { ON, PSB, OUT(0, 0x500), OFF, BEGIN(2), DO(REREADING, 0, 0, 0),
		READ(0, 0x500), COLLECT, BEGIN(2), DO(REREADING, 0, 0, 0),
		READ(0, 0x500), COLLECT, FINISH } },
	{ "a new session forgets", GOOD,
	    { START, ON, PSB, STARTED, OUT(0, 0x1000), OFF, START, ON, PSB,
		STARTED, OUT(0, 0x800), OFF, BEGIN(2), READ(0, 0x800), COLLECT,
		FINISH } },
	{ "read before it is written", CHECK_REPORTED_UNWRITTEN,
	    { ON, PSB, OUT(0, 64), READ(0, 128), BEGIN(2), DONE(0) } },
	{ "read twice", CHECK_REPORTED_TWICE,
	    { ON, PSB, OUT(0, 64), READ(0, 64), READ(0, 64), BEGIN(2),
		DONE(0) } },
	{ "read out of order", CHECK_REPORTED_ORDER,
	    { ON, PSB, OUT(0, 128), READ(64, 64), READ(0, 64), BEGIN(2),
		DONE(0) } },
	{ "read of another's buffer", CHECK_REPORTED_FOREIGN,
	    { EV(ALLOC, ABI_DMAP + RIG_FREED, RIG_PAGE, RIG_SITE),
		EV(BUFFER, 1, RIG_FREED, RIG_PAGE), ON, PSB, OUT(0, 64),
		EV(DRAIN, 1, B, 64), BEGIN(2), DONE(0) } },
	{ "a round too late", CHECK_OVERWRITTEN,
	    { ON, PSB, OUT(0, 0x4000), OUT(0, 0x1000), READ(0, 0x1000),
		BEGIN(2), DONE(0) } },
	{ "overwritten, not reported", CHECK_OVERWRITTEN_UNREPORTED,
	    { START, ON, PSB, STARTED, OUT(0, 0x4000), OUT(0, 0x500), OFF,
		BEGIN(2), READ(0x500, 0x3b00), READ(0, 0x500), COLLECT,
		FINISH } },
	{ "two rounds, each with its PMI", CHECK_OVERWRITTEN_UNREPORTED,
	    { START, ON, PSB, STARTED, OUT(0, 0x4000), EV(TOPA_PMI, 3, 0, 0),
		EV(NMI, 0, 0, 0), EV(NMI_DONE, 1, 0, 0), OUT(0, 0x4000),
		EV(TOPA_PMI, 3, 0, 0), EV(NMI, 0, 0, 0), EV(NMI_DONE, 1, 0, 0),
		OUT(0, 0x500), OFF, BEGIN(2), READ(0x500, 0x3b00),
		READ(0, 0x500), COLLECT, FINISH } },
	{ "two rounds, the second before the first one's PMI is served", GOOD,
	    { START, ON, PSB, STARTED, OUT(0, 0x4000), EV(TOPA_PMI, 3, 0, 0),
		OUT(0, 0x4000), EV(TOPA_PMI, 3, 1, 0), OUT(0, 0x500),
		EV(NMI, 0, 0, 0), EV(NMI_DONE, 1, 0, 0), OFF, BEGIN(2),
		READ(0x500, 0x3b00), READ(0, 0x500), COLLECT, FINISH } },
	{ "a round, and a PMI of another entry before it",
	    CHECK_OVERWRITTEN_UNREPORTED,
	    { START, ON, PSB, STARTED, OUT(0, 0x1000), EV(TOPA_PMI, 0, 0, 0),
		OUT(0x1000, 0x3000), EV(TOPA_PMI, 3, 1, 0), OUT(0, 0x500),
		EV(NMI, 0, 0, 0), EV(NMI_DONE, 1, 0, 0), OFF, BEGIN(2),
		READ(0x500, 0x3b00), READ(0, 0x500), COLLECT, FINISH } },
	{ "exactly one round, and the position is the same",
	    CHECK_OVERWRITTEN_UNREPORTED,
	    { ON, PSB, OUT(0, 0x1000), READ(0, 0x1000), OUT(0x1000, 0x3000),
		OUT(0, 0x1000), OUT(0x1000, 0x1000), READ(0x2000, 0x2000),
		READ(0, 0x2000), BEGIN(2), COLLECT, OFF, FINISH } },
	{ "set back to the start", CHECK_OVERWRITTEN_UNREPORTED,
	    { ON, PSB, OUT(0, 0x800), OFF, ON, OUT(0, 0x800), BEGIN(2),
		READ(0, 0x800), COLLECT, OFF, FINISH } },
	{ "set back to the start; a refused start changes nothing",
	    CHECK_OVERWRITTEN_UNREPORTED,
	    { ON, PSB, OUT(0, 0x800), START, DONE(-16), OFF, ON, OUT(0, 0x800),
		BEGIN(2), READ(0, 0x800), COLLECT, OFF, FINISH } },
	{ "the tail is never read", CHECK_UNREPORTED_TAIL,
	    { ON, PSB, OUT(0, 0x1000), OUT(0x1000, 64), OFF, BEGIN(2),
		READ(0, 0x1000), COLLECT, FINISH } },
	{ "nobody asked for the tail", GOOD,
	    { ON, PSB, OUT(0, 0x1000), OUT(0x1000, 64), BEGIN(2),
		READ(0, 0x1000), COLLECT, OFF, FINISH } },
	{ "nobody asked again for the tail", GOOD,
	    { ON, PSB, OUT(0, 0x1000), OUT(0x1000, 64), OFF, BEGIN(2),
		READ(0, 0x1000), COLLECT, ON, OUT(0x1040, 64), OFF, FINISH } },
	{ "the tail comes behind the call", GOOD,
	    { ON, PSB, OUT(0, 0x1000), OUT(0x1000, 64), OFF, BEGIN(2),
		READ(0, 0x1000), COLLECT, READ(0x1000, 64), FINISH } },
	{ "nobody asked for what is overwritten", GOOD,
	    { ON, PSB, OUT(0, 0x4000), OUT(0, 0x500), OFF, FINISH } },
	{ "loss that nobody can count", GOOD,
	    { ON, PSB, OUT(0, 64), EV(STOPPED, 0, 0, 0), OFF, BEGIN(2),
		LOST(64), READ(0, 64), COLLECT, FINISH } },
	{ "teardown frees what nobody ever read", GOOD,
	    { ON, PSB, OUT(0, 128), OFF, EV(FREE, ABI_DMAP + B, 0, 0) } },
	{ "the tail comes later", GOOD,
	    { ON, PSB, OUT(0, 0x1000), OUT(0x1000, 64), OFF, BEGIN(2),
		READ(0, 0x1000), COLLECT, BEGIN(2), READ(0x1000, 64), COLLECT,
		FINISH } },
	{ "teardown frees what it found", CHECK_UNREPORTED_CLOSE,
	    { ON, PSB, OUT(0, 128), READ(0, 64), OFF,
		EV(FREE, ABI_DMAP + B, 0, 0) } },
	{ "user space frees what it could have read", GOOD,
	    { ON, PSB, OUT(0, 128), READ(0, 64), OFF, BEGIN(2), DONE(0),
		EV(FREE, ABI_DMAP + B, 0, 0) } },
	{ "loss of a buffer that nobody named", GOOD,
	    { BEGIN(2), EV(LOST, 1, 0, 64), COLLECT, FINISH } },
	{ "the same once more after a start that was refused", GOOD,
	    { ON, PSB, OUT(0, 4096), OUT(0, 64), OFF, BEGIN(2),
		DO(REREADING, 0, 0, 0), LOST(64), READ(64, 4032), READ(0, 64),
		COLLECT, START, DONE(-1), BEGIN(2), DO(REREADING, 0, 0, 0),
		LOST(64), READ(64, 4032), READ(0, 64), COLLECT, FINISH } },
	{ "loss without loss", CHECK_LOST_EXCESS,
	    { ON, PSB, OUT(0, 64), OFF, BEGIN(2), LOST(64), READ(0, 64),
		COLLECT, FINISH } },
	{ "loss in pages of the buffer that nobody named", GOOD,
	    { EV(ALLOC, RIG_MAPPED, 2 * RIG_PAGE, RIG_SITE), ON, PSB,
		OUT(0, 0x4000), EV(OUTPUT, 0x82000, 0x1000, 0), OUT(0, 0x4000),
		OFF, BEGIN(2), LOST(0x5000), READ(0, 0x4000), COLLECT,
		FINISH } },
	{ "the same, its unnamed pages first", GOOD,
	    { EV(ALLOC, RIG_MAPPED, 2 * RIG_PAGE, RIG_SITE), ON, PSB,
		EV(OUTPUT, 0x82000, 0x1000, 0), OUT(0, 0x4000), OFF, BEGIN(2),
		LOST(0x1000), READ(0, 0x4000), COLLECT, FINISH } },
	{ "loss without loss, beside a buffer that nobody named",
	    CHECK_LOST_EXCESS,
	    { EV(ALLOC, RIG_MAPPED, 2 * RIG_PAGE, RIG_SITE), ON, PSB,
		EV(OUTPUT, 0x82000, 0x1000, 0), OFF, ON, PSB, OUT(0, 64), OFF,
		BEGIN(2), LOST(64), READ(0, 64), COLLECT, FINISH } },
};

static const struct run nmi_runs[] = {
	{ "a PMI that is handled", GOOD,
	    { ON, ENTRY(0, B + INT), EV(TOPA_PMI, 0, 0, 0),
		DO(CTL, BIT55, MASKED, 0x7f), EV(NMI, 0, 0, 0),
		DO(CTL, 0, 0, 0x7f), EV(NMI_DONE, 1, 0, 0), BEGIN(2),
		DONE(0) } },
	{ "bit 55 is left", CHECK_PMI_LOST,
	    { ON, DO(CTL, BIT55, 0, 0x7f), BEGIN(2), DONE(0) } },
	{ "the LVT entry is left masked", CHECK_PMI_LOST,
	    { ON, ENTRY(0, B + INT), DO(CTL, 0, MASKED, 0x7f), BEGIN(2),
		DONE(0) } },
	{ "the PMI was taken away on purpose", GOOD,
	    { ON, EV(DEVIATION, DEVIATION_LOST, 0, 0), DO(CTL, BIT55, 0, 0x7f),
		BEGIN(2), DONE(0) } },
	{ "another CPU's fault excuses nothing", CHECK_PMI_LOST,
	    { ON, EVENT_ON(1, DEVIATION, DEVIATION_LOST, 0, 0),
		DO(CTL, BIT55, 0, 0x7f), BEGIN(2), DONE(0) } },
	{ "bit 55 with tracing off", GOOD,
	    { DO(STATUS, 0, 0, 0), BEGIN(2), DONE(0) } },
	{ "nobody claims a PMI", CHECK_NMI_UNCLAIMED,
	    { EV(TOPA_PMI, 0, 0, 0), EV(NMI, 0, 0, 0),
		EV(NMI_DONE, 0, 0, 0) } },
	{ "nobody claims a spurious one", GOOD,
	    { EV(DEVIATION, DEVIATION_SPURIOUS, 0, 0), EV(NMI, 0, 0, 0),
		EV(NMI_DONE, 0, 0, 0) } },
	{ "nobody claims a PMI beside a spurious one", GOOD,
	    { EV(DEVIATION, DEVIATION_SPURIOUS, 0, 0), EV(TOPA_PMI, 0, 0, 0),
		EV(NMI, 0, 0, 0), EV(NMI_DONE, 0, 0, 0) } },
	{ "nobody claims a foreign one after a PMI", GOOD,
	    { EV(TOPA_PMI, 0, 0, 0), EV(NMI, 0, 0, 0), EV(NMI_DONE, 1, 0, 0),
		EV(DEVIATION, DEVIATION_NMI, 0, 0), EV(NMI, 0, 0, 0),
		EV(NMI_DONE, 0, 0, 0) } },
	{ "nobody claims a foreign one", GOOD,
	    { EV(DEVIATION, DEVIATION_NMI, 0, 0), EV(NMI, 0, 0, 0),
		EV(NMI_DONE, 0, 0, 0) } },
	{ "a foreign one is claimed", CHECK_NMI_STOLEN,
	    { EV(DEVIATION, DEVIATION_NMI, 0, 0), EV(NMI, 0, 0, 0),
		EV(NMI_DONE, 1, 0, 0) } },
	{ "a PMI that a foreign one's handler has served", GOOD,
	    { EV(DEVIATION, DEVIATION_NMI, 0, 0), EV(NMI, 0, 0, 0),
		EV(TOPA_PMI, 0, 0, 0), EV(NMI_DONE, 1, 0, 0), EV(NMI, 0, 0, 0),
		EV(NMI_DONE, 0, 0, 0) } },
	{ "that handler claims it without clearing the bit",
	    CHECK_NMI_UNCLAIMED,
	    { EV(DEVIATION, DEVIATION_NMI, 0, 0), EV(NMI, 0, 0, 0),
		EV(TOPA_PMI, 0, 0, 0), DO(CTL, BIT55, MASKED, 0x7f),
		EV(NMI_DONE, 1, 0, 0), EV(NMI, 0, 0, 0),
		EV(NMI_DONE, 0, 0, 0) } },
	{ "that handler claims nothing", CHECK_NMI_UNCLAIMED,
	    { EV(DEVIATION, DEVIATION_NMI, 0, 0), EV(NMI, 0, 0, 0),
		EV(TOPA_PMI, 0, 0, 0), EV(NMI_DONE, 0, 0, 0), EV(NMI, 0, 0, 0),
		EV(NMI_DONE, 0, 0, 0) } },
	{ "the handler of a PMI serves the next one, too", CHECK_NMI_UNCLAIMED,
	    { EV(TOPA_PMI, 0, 0, 0), EV(NMI, 0, 0, 0), EV(TOPA_PMI, 0, 0, 0),
		EV(NMI_DONE, 1, 0, 0), EV(NMI, 0, 0, 0),
		EV(NMI_DONE, 0, 0, 0) } },
	{ "the PMI after one that was served for a foreign one",
	    CHECK_NMI_UNCLAIMED,
	    { EV(DEVIATION, DEVIATION_NMI, 0, 0), EV(NMI, 0, 0, 0),
		EV(TOPA_PMI, 0, 0, 0), EV(NMI_DONE, 1, 0, 0), EV(NMI, 0, 0, 0),
		EV(NMI_DONE, 0, 0, 0), EV(TOPA_PMI, 0, 0, 0), EV(NMI, 0, 0, 0),
		EV(NMI_DONE, 0, 0, 0) } },
	{ "a foreign one that meets a counter's is claimed", GOOD,
	    { EV(COUNTER_OVERFLOW, 0, 1, 0), EV(DEVIATION, DEVIATION_NMI, 0, 0),
		EV(NMI, 0, 0, 0), EV(NMI_DONE, 1, 0, 0) } },
	{ "a counter overflows in a foreign one, which is claimed", GOOD,
	    { EV(DEVIATION, DEVIATION_NMI, 0, 0), EV(NMI, 0, 0, 0),
		EV(COUNTER_OVERFLOW, 0, 1, 0), EV(NMI_DONE, 1, 0, 0) } },
	{ "a counter overflows without a PMI, a foreign one is claimed",
	    CHECK_NMI_STOLEN,
	    { EV(COUNTER_OVERFLOW, 0, 0, 0), EV(DEVIATION, DEVIATION_NMI, 0, 0),
		EV(NMI, 0, 0, 0), EV(NMI_DONE, 1, 0, 0) } },
	{ "a threshold, dropped, and a foreign one that is claimed",
	    CHECK_NMI_STOLEN,
	    { EV(BTS_PMI, 1, 0, 0), EV(DEVIATION, DEVIATION_NMI, 0, 0),
		EV(NMI, 0, 0, 0), EV(NMI_DONE, 1, 0, 0) } },
	{ "a threshold's is claimed beside a foreign one", GOOD,
	    { EV(PEBS_PMI, 0, 0, 0), EV(DEVIATION, DEVIATION_NMI, 0, 0),
		EV(NMI, 0, 0, 0), EV(NMI_DONE, 1, 0, 0) } },
	{ "nobody claims a counter's", CHECK_NMI_UNCLAIMED,
	    { EV(COUNTER_OVERFLOW, 0, 1, 0), DO(COUNTS, 1, MASKED, 3),
		EV(NMI, 0, 0, 0), EV(NMI_DONE, 0, 0, 0) } },
	{ "nobody claims a counter's that was stopped", GOOD,
	    { EV(COUNTER_OVERFLOW, 0, 1, 0), DO(COUNTS, 1, MASKED, 2),
		EV(NMI, 0, 0, 0), EV(NMI_DONE, 0, 0, 0) } },
	{ "a counter's overflow is left", CHECK_PMI_LOST,
	    { DO(COUNTS, 1, 0, 3), BEGIN(2), DONE(0) } },
	{ "counters run with the LVT entry masked", CHECK_PMI_LOST,
	    { DO(COUNTS, 0, MASKED, 1), BEGIN(2), DONE(0) } },
	{ "a counter that is off has overflowed", GOOD,
	    { DO(COUNTS, 2, 0, 1), BEGIN(2), DONE(0) } },
	{ "the LVT entry is masked and no counter runs", GOOD,
	    { DO(COUNTS, 0, MASKED, 0), BEGIN(2), DONE(0) } },
	{ "a threshold of PEBS records is left", CHECK_PMI_LOST,
	    { DO(COUNTS, RIG_SAMPLES, 0, RIG_SAMPLES), BEGIN(2), DONE(0) } },
	{ "PEBS without a PMI that is wanted", GOOD,
	    { DO(COUNTS, 0, MASKED, RIG_SAMPLES), BEGIN(2), DONE(0) } },
	{ "branches are recorded with the LVT entry masked", CHECK_PMI_LOST,
	    { DO(COUNTS, 0, MASKED, RIG_BRANCHES), BEGIN(2), DONE(0) } },
	{ "branches are recorded with the LVT entry open", GOOD,
	    { DO(COUNTS, 0, 0, RIG_BRANCHES), BEGIN(2), DONE(0) } },
	{ "a foreign one that meets a PMI is claimed", GOOD,
	    { EV(DEVIATION, DEVIATION_NMI, 0, 0), EV(TOPA_PMI, 0, 0, 0),
		EV(NMI, 0, 0, 0), EV(NMI_DONE, 1, 0, 0) } },
};

static const struct run session_runs[] = {
	{ "the configuration is there", GOOD,
	    { DO(EXPECT, 0x570, 0x2000, 0x2000), ON } },
	{ "a bit of CTL is missing", CHECK_CONFIG_APPLIED,
	    { DO(EXPECT, 0x570, 0x80, 0x80), ON, OFF, ON } },
	{ "the CR3 is another", CHECK_CONFIG_APPLIED,
	    { DO(EXPECT, 0x572, UINT64_MAX, 0x5000), DO(STATUS, 0x4000, 0, 0),
		ON } },
	{ "the range is there", GOOD,
	    { DO(EXPECT, 0x580, UINT64_MAX, 0x5000), DO(STATUS, 0, 0x5000, 0),
		ON } },
	{ "two contexts, each as it was configured", GOOD,
	    { CONTEXTS, DO(REGION_AT, B, 0, 0), ON_AS(0x2009), OFF,
		DO(REGION_AT, RIG_OTHER, 0, 0), ON_AS(0x1009) } },
	{ "the second one with the configuration of the first",
	    CHECK_CONFIG_APPLIED,
	    { CONTEXTS, DO(REGION_AT, B, 0, 0), ON_AS(0x2009), OFF,
		DO(REGION_AT, RIG_OTHER, 0, 0), ON_AS(0x2009) } },
	{ "the first one with the configuration of the second",
	    CHECK_CONFIG_APPLIED,
	    { CONTEXTS, DO(REGION_AT, B, 0, 0), ON_AS(0x1009) } },
	{ "a context that nobody configured", GOOD,
	    { DO(CONTEXT, 1, 0, 0), DO(EXPECT, 0x570, 0x3000, 0x2000),
		DO(CONTEXT, 0, 0, 0), DO(EXPECT, 0x570, 0x3000, 0x2000),
		DO(CONTEXT, 2, 0, 0), DO(NAMED, 0, 0, 0),
		DO(REGION_AT, B, 0, 0), ON_AS(0x1009) } },
	{ "a buffer that nobody named, as all are configured",
	    CHECK_CONFIG_APPLIED,
	    { CONTEXTS, DO(CONTEXT, 0, 0, 0), DO(EXPECT, 0x570, 0x400, 0x400),
		DO(REGION_AT, 0, 0, 0), ON_AS(0x2009) } },
	{ "a context is configured anew", GOOD,
	    { CONTEXTS, DO(CONTEXT, 1, 0, 0), DO(EXPECT, 0x570, 0x3000, 0),
		DO(REGION_AT, B, 0, 0), ON_AS(9) } },
	{ "work, and no trace", CHECK_EMPTY_TRACE,
	    { START, STARTED, BEGIN(SCRIPT_WORK), DONE(0), FINISH } },
	{ "an invalid value is accepted", CHECK_INVALID_ACCEPTED,
	    { BEGIN(2), DONE(0), DO(ANSWERED, 1, 0, 0) } },
	{ "a right answer", GOOD,
	    { BEGIN(2), DONE(0), DO(FILLED_IN, 3, 3, 0) } },
	{ "a wrong answer", CHECK_WRONG_ANSWER,
	    { BEGIN(2), DONE(0), DO(FILLED_IN, 3, 2, 0) } },
	{ "the right error", GOOD,
	    { BEGIN(2), DONE(-22), DO(ERROR, 22, 22, 0) } },
	{ "a wrong error", CHECK_WRONG_ANSWER,
	    { BEGIN(2), DONE(-22), DO(ERROR, 22, 16, 0) } },
	{ "a valid one is refused", CHECK_VALID_REFUSED,
	    { BEGIN(2), DONE(-22), DO(ANSWERED, 0, 0, 0) } },
	{ "work, and neither OS nor User", GOOD,
	    { START, ON_AS(0x2001), STARTED, PSB, BEGIN(SCRIPT_WORK), DONE(0),
		OUT(0, 32), OFF, FINISH } },
	{ "work, and no BranchEn", GOOD,
	    { START, ON_AS(0x9), STARTED, PSB, BEGIN(SCRIPT_WORK), DONE(0),
		OUT(0, 32), OFF, FINISH } },
	{ "work in ring 3, and a filter for the kernel", GOOD,
	    { START, DO(STATUS, 0, ABI_KERNBASE, 0), ON_AS(0x10000200d),
		STARTED, PSB, BEGIN(SCRIPT_WORK), DONE(0), OUT(0, 32), OFF,
		FINISH } },
	{ "work in ring 3, and a filter for it", CHECK_EMPTY_TRACE,
	    { START, DO(STATUS, 0, 0x400000, 0), ON_AS(0x10000200d), STARTED,
		PSB, BEGIN(SCRIPT_WORK), DONE(0), OUT(0, 32), OFF, FINISH } },
	{ "one of two traced programs works, and no trace", GOOD,
	    { BEGIN(SCRIPT_TARGET_SPAWN), DONE(7), BEGIN(SCRIPT_TARGET_SPAWN),
		DONE(8), START, STARTED_THREAD, BEGIN(SCRIPT_TARGET_WORK),
		DONE(0), FINISH } },
	{ "work, which CR3Filter may leave out, and no trace", GOOD,
	    { START, ON_AS(0x89), STARTED, PSB, BEGIN(SCRIPT_WORK), DONE(0),
		OUT(0, 32), OFF, FINISH } },
	{ "work, and only a PSB+", CHECK_EMPTY_TRACE,
	    { START, ON, STARTED, PSB, BEGIN(SCRIPT_WORK), DONE(0), OUT(0, 32),
		OFF, FINISH } },
	{ "work and trace", GOOD,
	    { START, ON, STARTED, PSB, BEGIN(SCRIPT_WORK), DONE(0), OUT(0, 320),
		OFF, FINISH } },
	{ "work, another start, which fails, and trace", GOOD,
	    { START, ON, STARTED, PSB, BEGIN(SCRIPT_WORK), DONE(0), START,
		DONE(-16), OUT(0, 320), OFF, FINISH } },
	{ "work, another start, which fails, and no trace", CHECK_EMPTY_TRACE,
	    { START, ON, STARTED, PSB, BEGIN(SCRIPT_WORK), DONE(0), START,
		DONE(-16), OUT(0, 32), OFF, FINISH } },
	{ "work after the session", GOOD,
	    { START, ON, STARTED, BEGIN(2), DONE(0), BEGIN(SCRIPT_WORK),
		DONE(0), OFF, FINISH } },
	{ "a traced program works, and no trace", CHECK_EMPTY_TRACE,
	    { START, STARTED_THREAD, BEGIN(SCRIPT_TARGET_WORK), DONE(0),
		FINISH } },
	{ "a program works of which no thread is traced yet", GOOD,
	    { START, STARTED_THREAD, BEGIN(SCRIPT_TARGET_WORK),
		DO(UNTRACED, 0, 0, 0), DONE(0), FINISH } },
	{ "another works than the traced program", GOOD,
	    { START, STARTED_THREAD, BEGIN(SCRIPT_WORK), DONE(0), FINISH } },
	{ "no PSB at first", CHECK_FIRST_PSB, { ON, OUT(0, 64) } },
	{ "a PSB for an earlier enable only", CHECK_FIRST_PSB,
	    { ON, PSB, OFF, ON, OUT(0, 64) } },
	{ "no PSB where tracing goes on", GOOD,
	    { DO(CTL, 0, 0, TZ_BIT(38) + 0x7f), ON, OUT(0, 64) } },
	{ "work, and the unit stopped", GOOD,
	    { START, ON, STARTED, EV(STOPPED, 0, 0, 0), BEGIN(SCRIPT_WORK),
		DONE(0), OFF, FINISH } },
	{ "no PSB in the middle", GOOD,
	    { ON, PSB, OUT(0, 64), OFF, DO(CTL, 0, 0, TZ_BIT(38) + 0x7f), ON,
		OUT(64, 64) } },
	{ "a handler turns tracing off, and work goes on", CHECK_TRACE_LEFT_OFF,
	    { START, ON, STARTED, PSB, BEGIN(SCRIPT_WORK), OUT(0, 320),
		EV(INTERRUPT, 0xf0, RIG_TEXT, 0), OFF, EV(IRET, 0, RIG_TEXT, 0),
		DONE(0), FINISH } },
	{ "an NMI handler turns tracing off, and work goes on",
	    CHECK_TRACE_LEFT_OFF,
	    { START, ON, STARTED, PSB, BEGIN(SCRIPT_WORK), OUT(0, 320),
		EV(NMI, 0, RIG_TEXT, 0), OFF, EV(IRET, 0, RIG_TEXT, 0), DONE(0),
		FINISH } },
	{ "a handler turns tracing off and on", GOOD,
	    { START, ON, STARTED, PSB, BEGIN(SCRIPT_WORK), OUT(0, 320),
		EV(INTERRUPT, 0xf0, RIG_TEXT, 0), OFF, ON, PSB,
		EV(IRET, 0, RIG_TEXT, 0), DONE(0), OFF, FINISH } },
	{ "a system call turns tracing off during work", GOOD,
	    { START, ON, STARTED, PSB, BEGIN(SCRIPT_WORK), OUT(0, 320),
		EV(INTERRUPT, 0xf0, RIG_TEXT, 0), EV(IRET, 0, RIG_TEXT, 0), OFF,
		DONE(0), FINISH } },
	{ "a handler turns tracing off where the buffer is full", GOOD,
	    { START, ON, STARTED, PSB, BEGIN(SCRIPT_WORK), OUT(0, 4 * RIG_PAGE),
		EV(INTERRUPT, 0xf0, RIG_TEXT, 0), OFF, EV(IRET, 0, RIG_TEXT, 0),
		DONE(0), FINISH } },
	{ "a thread's trace", GOOD,
	    { THREADS, EV(TRACED_THREAD, 0, 7, 0), DO(RUNS, 7, 7, 0), ON, PSB,
		OUT(0, 64), DO(RUNS, 7, 8, 0), OUT(64, 64), OFF,
		DO(RUNS, 8, 8, 0) } },
	{ "a thread that gets the CPU", GOOD,
	    { THREADS, EV(TRACED_THREAD, 0, 7, 0), DO(RUNS, 8, 7, 0), ON, PSB,
		OUT(0, 64), DO(RUNS, 7, 7, 0), OUT(64, 64), OFF } },
	{ "another thread's trace", CHECK_FOREIGN_THREAD,
	    { THREADS, EV(TRACED_THREAD, 0, 7, 0), DO(RUNS, 7, 7, 0), ON, PSB,
		OUT(0, 64), DO(RUNS, 8, 8, 0), OUT(64, 64), OFF } },
	{ "a thread's trace after it was released", CHECK_FOREIGN_THREAD,
	    { THREADS, EV(TRACED_THREAD, 0, 7, 0), DO(RUNS, 7, 7, 0), ON, PSB,
		OUT(0, 64), EV(TRACED_THREAD, 0, 0, 0), OUT(64, 64), OFF } },
	{ "the thread of a buffer before it is mapped", CHECK_FOREIGN_THREAD,
	    { THREADS, EV(OBJECT_PAGE, RIG_OTHER >> 12, RIG_OTHER, 0),
		EV(TRACED_THREAD, RIG_OTHER >> 12, 7, 1),
		EV(BUFFER, 1, RIG_OTHER, RIG_PAGE), DO(RUNS, 8, 8, 0), ON, PSB,
		EV(OUTPUT, RIG_OTHER, 64, 0), OFF } },
	{ "the same, of which the kernel says no more", GOOD,
	    { THREADS, EV(OBJECT_PAGE, RIG_OTHER >> 12, RIG_OTHER, 0),
		EV(TRACED_THREAD, RIG_OTHER >> 12, 7, 1),
		EV(BUFFER, 1, RIG_OTHER, RIG_PAGE),
		EV(TRACED_THREAD, RIG_OTHER >> 12, ABI_THREAD_ANY, 1),
		DO(RUNS, 8, 8, 0), ON, PSB, EV(OUTPUT, RIG_OTHER, 64, 0),
		OFF } },
	{ "a buffer that was never said to be a thread's", GOOD,
	    { THREADS, DO(RUNS, 7, 7, 0), ON, PSB, OUT(0, 64),
		DO(RUNS, 8, 8, 0), OUT(64, 64), OFF } },
	{ "a thread that is not known", GOOD,
	    { EV(TRACED_THREAD, 0, 7, 0), DO(RUNS, 8, 8, 0), ON, PSB,
		OUT(0, 64), OFF } },
	{ "a thread with a buffer works traced", GOOD,
	    { WORKS(7), START, STARTED_THREAD, ON, PSB, TICK, OFF } },
	{ "a thread with a buffer works untraced", CHECK_THREAD_UNTRACED,
	    { WORKS(7), START, STARTED_THREAD, TICK } },
	{ "the same where it returns from an interrupt", CHECK_THREAD_UNTRACED,
	    { WORKS(7), START, STARTED_THREAD, EV(IRET, 0, PROGRAM, 0) } },
	{ "the same where an NMI comes", CHECK_THREAD_UNTRACED,
	    { WORKS(7), START, STARTED_THREAD, EV(NMI, 0, PROGRAM, 0) } },
	{ "the same where another CPU runs", CHECK_THREAD_UNTRACED,
	    { WORKS(7), START, STARTED_THREAD, EVENT_ON(1, SWITCH, 0, 0, 0) } },
	{ "the same where that CPU runs again", CHECK_THREAD_UNTRACED,
	    { WORKS(7), START, STARTED_THREAD, EV(SWITCH, 1, 0, 0) } },
	{ "a thread whose trace was turned off", CHECK_THREAD_UNTRACED,
	    { WORKS(7), START, ON, PSB, STARTED_THREAD, OFF, TICK } },
	{ "it is in the kernel", GOOD,
	    { WORKS(7), START, STARTED_THREAD,
		EV(INTERRUPT, 0xf0, RIG_TEXT, 0) } },
	{ "another thread works", GOOD,
	    { WORKS(8), START, STARTED_THREAD, TICK } },
	{ "a thread works before the start", GOOD, { WORKS(7), TICK } },
	{ "a thread that was released works", GOOD,
	    { WORKS(7), START, STARTED_THREAD, EV(TRACED_THREAD, 0, 0, 0),
		TICK } },
	{ "a thread works while its trace may end", GOOD,
	    { WORKS(7), START, STARTED_THREAD, BEGIN(2), TICK } },
	{ "and after that", GOOD,
	    { WORKS(7), START, STARTED_THREAD, BEGIN(2), DONE(0), TICK } },
	{ "a thread gets a buffer after the start", CHECK_THREAD_UNTRACED,
	    { THREADS, DO(RUNS, 7, 7, 0), START, STARTED_THREAD, BEGIN(2),
		EV(TRACED_THREAD, 0, 7, 0), DONE(0), DO(FOLLOWED, 0, 0, 0),
		TICK } },
	{ "two operations at the same time", GOOD,
	    { WORKS(7), START, STARTED_THREAD, BEGIN(2),
		EVENT_ON(1, CALL_BEGIN, 1, 1, 2), DONE(0),
		DO(FOLLOWED, 0, 0, 0), TICK, EVENT_ON(1, CALL_END, 1, 1, 0),
		DO(FOLLOWED, 0, 0, 0), TICK } },
	{ "a thread works while the program sleeps", CHECK_THREAD_UNTRACED,
	    { WORKS(7), START, STARTED_THREAD, BEGIN(SYS_SLEEP), TICK } },
	{ "a thread works, and the unit has stopped", GOOD,
	    { WORKS(7), START, ON, PSB, STARTED_THREAD, EV(STOPPED, 0, 0, 0),
		OFF, TICK } },
	{ "a thread works, and its owner has gone", GOOD,
	    { WORKS(7), START, STARTED_THREAD, EV(OWNER_GONE, 0, 0, 0),
		TICK } },
	{ "on after the stop", CHECK_ON_AFTER_STOP,
	    { ON, BEGIN(2), DONE(0), DO(STOPPED, 1, 0, 0) } },
	{ "on again after the stop", CHECK_ON_AFTER_STOP,
	    { ON, OFF, BEGIN(2), DONE(0), DO(STOPPED, 1, 0, 0), ON } },
	{ "a stop that ends while a start is under way", GOOD,
	    { START, EVENT_ON(1, CALL_BEGIN, 1, 1, 2),
		EVENT_ON(1, CALL_END, 1, 1, 0), DO(STOPPED, 1, 0, 0), ON,
		STARTED } },
	{ "a start, and a stop after it", CHECK_ON_AFTER_STOP,
	    { START, ON, STARTED, EVENT_ON(1, CALL_BEGIN, 1, 1, 2),
		EVENT_ON(1, CALL_END, 1, 1, 0), DO(STOPPED, 1, 0, 0) } },
	{ "started again after the stop", GOOD,
	    { ON, OFF, BEGIN(2), DONE(0), DO(STOPPED, 1, 0, 0), START, ON,
		STARTED } },
	{ "on at the end", CHECK_TRACE_LEFT_ON,
	    { EV(FREE, ABI_DMAP + RIG_TABLE, 0, 0), ON, EV(EXIT, 0, 0, 0) } },
	{ "on when unloaded", CHECK_TRACE_LEFT_ON,
	    { EV(FREE, ABI_DMAP + RIG_TABLE, 0, 0), ON,
		DO(UNLOADED, 0, 0, 0) } },
	{ "off at the end", GOOD,
	    { ON, OFF, EV(FREE, ABI_DMAP + RIG_TABLE, 0, 0),
		EV(EXIT, 0, 0, 0) } },
};

#define NEW 0x90000

static const struct run failure_runs[] = {
	{ "it fails and keeps what it has allocated", CHECK_FAILED_CHANGED,
	    { BEGIN(2), EV(ALLOC, ABI_DMAP + NEW, 64, RIG_TEXT + 8), DONE(-12),
		DO(FAILED, 0, 0, 0) } },
	{ "it fails and frees what it has allocated", GOOD,
	    { BEGIN(2), EV(ALLOC, ABI_DMAP + NEW, 64, RIG_TEXT + 8),
		EV(FREE, ABI_DMAP + NEW, 0, RIG_TEXT + 8), DONE(-12),
		DO(FAILED, 0, 0, 0) } },
	{ "it fails, another module has allocated", GOOD,
	    { BEGIN(2), EV(ALLOC, ABI_DMAP + NEW, 64, RIG_SITE), DONE(-12),
		DO(FAILED, 0, 0, 0) } },
	{ "it succeeds, the next one fails", GOOD,
	    { BEGIN(2), EV(ALLOC, ABI_DMAP + NEW, 64, RIG_TEXT + 8), DONE(0),
		BEGIN(2), DONE(-12), DO(FAILED, 0, 0, 0) } },
	{ "it fails and frees what was there", CHECK_FAILED_CHANGED,
	    { BEGIN(2), EV(FREE, ABI_DMAP + RIG_TABLE, 0, RIG_TEXT + 8),
		DONE(-12), DO(FAILED, 0, 0, 0) } },
	{ "a program that ends frees what was there", GOOD,
	    { BEGIN(SCRIPT_TARGET_SPAWN), DONE(7), BEGIN(2),
		EV(FREE, ABI_DMAP + RIG_TABLE, 0, RIG_TEXT + 8), DONE(-12),
		DO(FAILED, 0, 0, 0) } },
	{ "the one before has freed it", GOOD,
	    { BEGIN(2), EV(FREE, ABI_DMAP + RIG_TABLE, 0, RIG_TEXT + 8),
		DONE(0), BEGIN(2), DONE(-12), DO(FAILED, 0, 0, 0) } },
	{ "another one may have done it", GOOD,
	    { BEGIN(2), EVENT_ON(1, CALL_BEGIN, 1, 1, 2),
		EV(ALLOC, ABI_DMAP + NEW, 64, RIG_TEXT + 8), DONE(-12),
		DO(FAILED, 0, 0, 0) } },
	{ "it is more than one system call", GOOD,
	    { BEGIN(SCRIPT_HWT_MAP),
		EV(ALLOC, ABI_DMAP + NEW, 64, RIG_TEXT + 8), DONE(-12),
		DO(FAILED, 0, 0, 0) } },
	{ "a module that fails to load", GOOD,
	    { BEGIN(SYS_MODULE_LOAD),
		EV(ALLOC, ABI_DMAP + NEW, 64, RIG_TEXT + 8), DONE(-12),
		DO(FAILED, 0, 0, 0) } },
	{ "a function that the driver calls was made to fail",
	    CHECK_FAILED_CHANGED,
	    { BEGIN(2), EV(ALLOC, ABI_DMAP + NEW, 64, RIG_TEXT + 8),
		EV(POINT, 0, RIG_TEXT + 8, 1), DONE(-12),
		DO(FAILED, 0, 0, 0) } },
	{ "a function that another module calls was made to fail", GOOD,
	    { BEGIN(2), EV(ALLOC, ABI_DMAP + NEW, 64, RIG_TEXT + 8),
		EV(POINT, 0, RIG_SITE, 1), DONE(-12), DO(FAILED, 0, 0, 0) } },
	{ "it fails and has answered", CHECK_FAILED_CHANGED,
	    { BEGIN(2), DO(HANDED, 5, 0, 0), DONE(-12), DO(FAILED, 6, 0, 0) } },
	{ "it fails without an answer", GOOD,
	    { BEGIN(2), DO(HANDED, 5, 0, 0), DONE(-12), DO(FAILED, 5, 0, 0) } },
};

#define GONE EV(FREE, ABI_DMAP + RIG_TABLE, 0, 0)

static const struct run register_runs[] = {
	{ "the LVT entry is open when unloaded", CHECK_LEFT_BEHIND,
	    { GONE, DO(COUNTS, 0, 0, 0), DO(UNLOADED, 0, 0, 0) } },
	{ "bit 55 is set when unloaded, and no CPU has traced", GOOD,
	    { GONE, DO(COUNTS, BIT55, MASKED, 0), DO(UNLOADED, 0, 0, 0) } },
	{ "bit 55 is set when unloaded", CHECK_LEFT_BEHIND,
	    { GONE, ON, OFF, DO(COUNTS, BIT55, MASKED, 0),
		DO(UNLOADED, 0, 0, 0) } },
	{ "bit 55 is set at the end", CHECK_LEFT_BEHIND,
	    { GONE, ON, OFF, DO(COUNTS, BIT55, MASKED, 0),
		EV(EXIT, 0, 0, 0) } },
	{ "nothing is left when unloaded", GOOD,
	    { GONE, DO(COUNTS, 0, MASKED, 0), DO(UNLOADED, 0, 0, 0) } },
	{ "bit 55 was set from outside", GOOD,
	    { GONE, ON, OFF, EV(DEVIATION, DEVIATION_BIT55, 0, 0),
		EVENT_ON(1, DEVIATION, DEVIATION_BIT55, 0, 0),
		DO(COUNTS, BIT55, MASKED, 0), DO(UNLOADED, 0, 0, 0) } },
	{ "the LVT entry is open when stopped", GOOD,
	    { ON, OFF, BEGIN(2), DONE(0), DO(COUNTS, 0, 0, 0),
		DO(STOPPED, 1, 0, 0) } },
	{ "a register is left when stopped", CHECK_LEFT_BEHIND,
	    { ON, OFF, BEGIN(2), DONE(0), DO(STATUS, 0x4000, 0, 0),
		DO(STOPPED, 1, 0, 0) } },
	{ "XSS is left, also if no CPU has traced", CHECK_LEFT_BEHIND,
	    { GONE, DO(XSS, 0x100, 0, 0), DO(UNLOADED, 0, 0, 0) } },
	{ "XSS has bits of others", GOOD,
	    { GONE, DO(XSS, 0x200, 0, 0), DO(UNLOADED, 0, 0, 0) } },
};

/* A counter's NMI, whose handler writes MSR. */
#define RELOAD(msr, value)                        \
 EV(COUNTER_OVERFLOW, 0, 1, 0), EV(NMI, 0, 0, 0), \
     EV(MSR_WRITE, msr, value, 0), EV(NMI_DONE, 1, 0, 0)

static const struct run counter_runs[] = {
	{ "a counter is on when its owner has gone", CHECK_COUNTER_LEFT_ON,
	    { DO(COUNTS, 0, MASKED, 2), EV(OWNER_GONE, 0, 0, 0) } },
	{ "a counter is on when unloaded", CHECK_COUNTER_LEFT_ON,
	    { GONE, DO(COUNTS, 0, MASKED, 2), DO(UNLOADED, 0, 0, 0) } },
	{ "a counter is on at the end", CHECK_COUNTER_LEFT_ON,
	    { GONE, DO(COUNTS, 0, MASKED, 2), EV(EXIT, 0, 0, 0) } },
	{ "no counter is on, and one has overflowed", GOOD,
	    { GONE, DO(COUNTS, 2, MASKED, 0), EV(OWNER_GONE, 0, 0, 0),
		EV(EXIT, 0, 0, 0) } },
	{ "a counter is on, and an NMI's handler may turn it off", GOOD,
	    { DO(IN_NMI, 2, 0, 0), EV(OWNER_GONE, 0, 0, 0) } },
	{ "a counter goes on with the period", GOOD,
	    { DO(PERIOD, 500, 0, 0), RELOAD(0xc1, UINT32_MAX - 499) } },
	{ "it goes on with the period, all bits written", GOOD,
	    { DO(PERIOD, 500, 0, 0),
		RELOAD(0x4c2, (UINT64_C(1) << 48) - 500) } },
	{ "a fixed counter of 40 bits goes on with the period", GOOD,
	    { DO(PERIOD, 500, 0, 0),
		RELOAD(0x309, (UINT64_C(1) << 40) - 500) } },
	{ "it goes on with another", CHECK_COUNTER_PERIOD,
	    { DO(PERIOD, 500, 0, 0), RELOAD(0xc1, UINT32_MAX - 498) } },
	{ "a fixed one goes on with another", CHECK_COUNTER_PERIOD,
	    { DO(PERIOD, 500, 0, 0),
		RELOAD(0x30a, (UINT64_C(1) << 48) - 400) } },
	{ "it goes on with one of two", GOOD,
	    { DO(PERIOD, 500, 0, 0), DO(PERIOD, 600, 0, 0),
		RELOAD(0xc1, UINT32_MAX - 599),
		RELOAD(0xc1, UINT32_MAX - 499) } },
	{ "another counter has a period", GOOD,
	    { DO(PERIOD, 500, 0, 0), RELOAD(0xc1, UINT32_MAX) } },
	{ "nobody has asked for a period", GOOD,
	    { RELOAD(0xc1, UINT32_MAX - 7) } },
	{ "what is left of a period, at a switch", GOOD,
	    { DO(PERIOD, 500, 0, 0), EV(MSR_WRITE, 0xc1, UINT32_MAX - 7, 0) } },
	{ "another register is written in the NMI", GOOD,
	    { DO(PERIOD, 500, 0, 0), RELOAD(0x390, 7) } },
};

#define PANIC(words, row)                     \
 {                                            \
  words, row,                                 \
  {                                           \
   {                                          \
    RIG_PANICS, EVENT_NOTE, 0, 0, 0, 0, words \
   }                                          \
  }                                           \
 }

#define FLIP EV(DEVIATION, DEVIATION_FLIP_TOPA, 12, 0)
#define FAULTS                                                    \
 {                                                                \
  RIG_PANICS, EVENT_NOTE, 0, 0, 0, 0, "page fault in the kernel:" \
 }

static const struct run end_runs[] = {
	{ "a good end", GOOD, { FINISH } },
	{ "a stop from outside", GOOD, { DO(ENDS, MACHINE_STOP, 0, 0) } },
	PANIC("page fault in the kernel: read from 0x8", CHECK_PAGE_FAULT),
	{ "a page fault of a kernel that a fault let the unit write into", GOOD,
	    { FLIP, ON, PSB, EV(OUTPUT, 0x70000, 64, 0), FAULTS } },
	{ "the same, on another CPU", GOOD,
	    { EVENT_ON(1, DEVIATION, DEVIATION_FLIP_TOPA, 0, 0),
		EVENT_ON(1, TRACE_ON, 0x2109, 0, 0),
		EVENT_ON(1, OUTPUT, 0x70000, 64, 0), FAULTS } },
	{ "a page fault where it wrote to its buffer all the same",
	    CHECK_PAGE_FAULT, { FLIP, ON, PSB, OUT(0, 64), FAULTS } },
	PANIC("general protection fault in the kernel: error 0, CPU 0",
	    CHECK_GP_FAULT),
	PANIC("invalid opcode in the kernel: error 0, CPU 0",
	    CHECK_INVALID_OPCODE),
	PANIC("divide error in the kernel: error 0, CPU 0", CHECK_EXCEPTION),
	PANIC("double fault in the kernel: error 0", CHECK_DOUBLE_FAULT),
	PANIC("use after free: 0x10", CHECK_USE_AFTER_FREE),
	PANIC("free of 0x10, which is not allocated", CHECK_BAD_FREE),
	PANIC("free of frame 0x1000, which a process maps", CHECK_MAPPED_FREED),
	PANIC("lock order: \"a\" after \"b\"", CHECK_LOCK_ORDER),
	PANIC("memory allocation: sleep with a spin lock held", CHECK_SLEEP),
	PANIC("spin lock \"a\": recursion", CHECK_LOCK),
	PANIC("free in an NMI handler", CHECK_NMI_CONTEXT),
	PANIC("panic: pt_cpu_stop: PT is disabled", CHECK_PANIC),
	{ "triple fault", CHECK_TRIPLE_FAULT,
	    { DO(ENDS, MACHINE_TRIPLE_FAULT, 0, 0) } },
	{ "deadlock", CHECK_DEADLOCK, { DO(ENDS, MACHINE_DEADLOCK, 0, 0) } },
	PANIC("panic: out of memory: 4096 bytes", CHECK_MEMORY),
	{ "livelock", CHECK_PROGRESS, { DO(ENDS, MACHINE_LIMIT, 0, 1) } },
	{ "a long run", CHECK_LIMIT, { DO(ENDS, MACHINE_LIMIT, 0, 0) } },
	{ "a broken emulator", CHECK_ENGINE,
	    { DO(ENDS, MACHINE_ENGINE, 0, 0) } },
	{ "unmodelled", CHECK_UNMODELLED,
	    { DO(ENDS, MACHINE_UNMODELLED, 0, 0) } },
	{ "an exit code", CHECK_EXIT_CODE, { DO(ENDS, MACHINE_EXIT, 3, 0) } },
	{ "the exit code of the driver's signal", GOOD,
	    { DO(ENDS, MACHINE_EXIT, RIG_EXIT_CODE, 0) } },
};

static bool row_seen[CHECK_COUNT];

/* Pages of an object that user space may map: of the table at M, then stream 5. */
#define M 0x90000
#define OBJECT(pa)                                   \
 EV(ALLOC, ABI_DMAP + (pa), 2 * RIG_PAGE, RIG_SITE), \
     EV(OBJECT_PAGE, (pa) >> 12, pa, 0),             \
     EV(OBJECT_PAGE, (pa) >> 12, (pa) + RIG_PAGE, 1)
#define MAP(pa) \
 EV(BUFFER, 5, pa, RIG_PAGE), EV(BUFFER, 5, (pa) + RIG_PAGE, RIG_PAGE)
#define TAKE(pa, bytes) EV(DRAIN, 5, pa, bytes)

static const struct run object_runs[] = {
	{ "written before it was mapped", GOOD,
	    { OBJECT(M), ON, PSB, EV(OUTPUT, M, 64, 0), MAP(M), BEGIN(2),
		TAKE(M, 64), DONE(0) } },
	/* What is not known to be a buffer before it is mapped. */
	{ "mapped late, of unknown content", GOOD,
	    { EV(ALLOC, ABI_DMAP + M, 2 * RIG_PAGE, RIG_SITE), ON, PSB,
		EV(OUTPUT, M, 64, 0), OFF, MAP(M), BEGIN(2), TAKE(M, 96),
		DONE(0) } },
	{ "mapped in time", CHECK_REPORTED_UNWRITTEN,
	    { EV(ALLOC, ABI_DMAP + M, 2 * RIG_PAGE, RIG_SITE), MAP(M), ON, PSB,
		EV(OUTPUT, M, 64, 0), OFF, BEGIN(2), TAKE(M, 96), DONE(0) } },
	{ "more is reported than was written before it was mapped",
	    CHECK_REPORTED_UNWRITTEN,
	    { OBJECT(M), ON, PSB, EV(OUTPUT, M, 64, 0), MAP(M), BEGIN(2),
		TAKE(M, 96), DONE(0) } },
	{ "what was written before it was mapped is missed",
	    CHECK_UNREPORTED_TAIL,
	    { OBJECT(M), ON, PSB, EV(OUTPUT, M, 64, 0), OFF, MAP(M), BEGIN(2),
		DONE(0), DO(COLLECTED, 5, 0, 0), FINISH } },
	{ "nobody ever mapped it", GOOD,
	    { OBJECT(M), ON, PSB, EV(OUTPUT, M, 64, 0), OFF, BEGIN(2), COLLECT,
		FINISH } },
	{ "it is freed without having been mapped", GOOD,
	    { OBJECT(M), ON, PSB, EV(OUTPUT, M, 64, 0), OFF, BEGIN(2), COLLECT,
		EV(FREE, ABI_DMAP + M, 0, 0), FINISH } },
	{ "mapped again it goes on", GOOD,
	    { OBJECT(M), ON, PSB, EV(OUTPUT, M, 64, 0), MAP(M), BEGIN(2),
		TAKE(M, 64), DONE(0), MAP(M), EV(OUTPUT, M + 64, 64, 0),
		BEGIN(2), TAKE(M + 64, 64), DONE(0) } },
	{ "mapped by another name it goes on", GOOD,
	    { OBJECT(M), ON, PSB, MAP(M), EV(OUTPUT, M, 64, 0),
		EV(BUFFER, 6, M, RIG_PAGE),
		EV(BUFFER, 6, M + RIG_PAGE, RIG_PAGE), BEGIN(2),
		EV(DRAIN, 6, M, 64), DONE(0) } },
	{ "mapped by another name it was taken already", CHECK_REPORTED_TWICE,
	    { OBJECT(M), ON, PSB, MAP(M), EV(OUTPUT, M, 64, 0), BEGIN(2),
		TAKE(M, 64), DONE(0), EV(BUFFER, 6, M, RIG_PAGE),
		EV(BUFFER, 6, M + RIG_PAGE, RIG_PAGE), BEGIN(2),
		EV(DRAIN, 6, M, 64), DONE(0) } },
	{ "two buffers of the same number", GOOD,
	    { OBJECT(M), MAP(M), OBJECT(M + 0x8000), MAP(M + 0x8000), ON, PSB,
		EV(OUTPUT, M, 64, 0), OFF, ON, PSB,
		EV(OUTPUT, M + 0x8000, 32, 0), BEGIN(2), TAKE(M, 64),
		TAKE(M + 0x8000, 32), DONE(0) } },
	{ "one of the first with the number of the second", GOOD,
	    { OBJECT(M), ON, PSB, EV(OUTPUT, M, 64, 0), MAP(M), BEGIN(2),
		TAKE(M, 64), DONE(0), OFF, EV(FREE, ABI_DMAP + M, 0, 0),
		OBJECT(M + 0x8000), MAP(M + 0x8000), ON, PSB,
		EV(OUTPUT, M + 0x8000, 32, 0), BEGIN(2), TAKE(M + 0x8000, 32),
		DONE(0), FINISH } },
	{ "the refused configuration of a CPU", GOOD,
	    { START, EV(DROPPED, ABI_DROPPED_CONFIGURE, 22, 0), STARTED,
		BEGIN(SCRIPT_WORK), DONE(0), FINISH } },
	{ "another CPU's was refused", CHECK_EMPTY_TRACE,
	    { START, EV(DROPPED, ABI_DROPPED_CONFIGURE, 22, 1), STARTED,
		BEGIN(SCRIPT_WORK), DONE(0), FINISH } },
	{ "a refused thread", GOOD,
	    { START, STARTED_THREAD, BEGIN(SCRIPT_TARGET_WORK),
		EV(DROPPED, ABI_DROPPED_CONFIGURE, 22, 1), DONE(0), FINISH } },
	{ "another start fails while the refused one is under way", GOOD,
	    { START, EV(DROPPED, ABI_DROPPED_CONFIGURE, 22, 0),
		EVENT_ON(1, CALL_BEGIN, 1, 1, 1), DO(STARTING, 0, 0, 0),
		EVENT_ON(1, CALL_END, 1, 1, UINT64_MAX), STARTED,
		BEGIN(SCRIPT_WORK), DONE(0), FINISH } },
	{ "the refusal was the session's before", CHECK_EMPTY_TRACE,
	    { START, EV(DROPPED, ABI_DROPPED_CONFIGURE, 22, 0), STARTED, START,
		STARTED, BEGIN(SCRIPT_WORK), DONE(0), FINISH } },
};

#define POSITION(bytes) EV(POSITION, 0, bytes, 0)

/* User space can also ask for the position. */
static const struct run position_runs[] = {
	{ "nobody asked for the position", GOOD,
	    { ON, PSB, OUT(0, 64), OFF, BEGIN(2), COLLECT, FINISH } },
	{ "the position is that of all", GOOD,
	    { ON, PSB, OUT(0, 64), OFF, BEGIN(2), COLLECT, BEGIN(3),
		READ(0, 64), POSITION(64), DONE(0), FINISH } },
	{ "the position is too low", CHECK_UNREPORTED_TAIL,
	    { ON, PSB, OUT(0, 64), OFF, BEGIN(3), READ(0, 32), POSITION(32),
		DONE(0), FINISH } },
	{ "the position is too high", CHECK_REPORTED_UNWRITTEN,
	    { ON, PSB, OUT(0, 64), OFF, BEGIN(3), READ(0, 96), POSITION(96),
		DONE(0), FINISH } },
	{ "it was asked for while tracing went on", GOOD,
	    { ON, PSB, OUT(0, 64), BEGIN(3), READ(0, 32), POSITION(32), DONE(0),
		OFF, FINISH } },
	{ "a stop, and only records are taken", GOOD,
	    { ON, PSB, OUT(0, 64), EV(STOPPED, 0, 0, 0), OFF, BEGIN(2),
		READ(0, 64), COLLECT, FINISH } },
	{ "a stop, and the position does not tell of it", CHECK_STOPPED_SILENT,
	    { ON, PSB, OUT(0, 64), EV(STOPPED, 0, 0, 0), OFF, BEGIN(2),
		READ(0, 64), COLLECT, BEGIN(3), POSITION(64), DONE(0),
		FINISH } },
	{ "a stop while the position is read", GOOD,
	    { ON, PSB, OUT(0, 64), BEGIN(3), EV(STOPPED, 0, 0, 0), READ(0, 64),
		POSITION(64), DONE(0), OFF, FINISH } },
	{ "the rest comes with the second question", GOOD,
	    { ON, PSB, OUT(0, 64), OFF, BEGIN(3), READ(0, 32), POSITION(32),
		DONE(0), BEGIN(3), READ(32, 32), POSITION(64), DONE(0),
		FINISH } },
};

#define FILLING DO(FILLING, 0, 0, 0)
#define WHOLE   READ(0, 4 * RIG_PAGE)

/* What is said of a booted kernel, where perf's reader follows the driver. */
static const struct run ring_runs[] = {
	{ "work goes on traced", GOOD,
	    { ON, PSB, FILLING, OUT(0, 320), FILLING, OFF, READ(0, 320),
		COLLECT, FINISH } },
	{ "a buffer is open, and tracing was never turned on",
	    CHECK_TRACE_LEFT_OFF, { FILLING } },
	{ "a buffer is open, and tracing is off again", CHECK_TRACE_LEFT_OFF,
	    { ON, PSB, FILLING, OUT(0, 320), OFF, FILLING } },
	{ "nothing but a PSB came of the work", CHECK_EMPTY_TRACE,
	    { ON, PSB, OUT(0, 16), FILLING, OFF, READ(0, 16), COLLECT,
		FINISH } },
	{ "the same, with a range that leaves it out", GOOD,
	    { DO(RANGE, 0, 0, 0), ON, PSB, OUT(0, 16), FILLING, OFF,
		READ(0, 16), COLLECT, FINISH } },
	{ "no work went on with a buffer open", CHECK_EMPTY_TRACE,
	    { DO(NEVER_FILLED, 0, 0, 0), FINISH } },
	{ "a PMI's handler leaves the buffer as it is", CHECK_PMI_LOST,
	    { DO(UNSERVED, 0, 0, 0) } },
	{ "a buffer outlives its owner", CHECK_LEAK, { DO(KEPT, 1, 0, 0) } },
	{ "a stop at the end of the ring, not reported", CHECK_STOPPED_SILENT,
	    { ON, PSB, OUT(0, 4 * RIG_PAGE), EV(STOPPED, 0, 0, 0), OFF,
		BEGIN(2), WHOLE, COLLECT } },
	{ "a stop at the end of the ring, reported", GOOD,
	    { ON, PSB, OUT(0, 4 * RIG_PAGE), EV(STOPPED, 0, 0, 0), OFF,
		BEGIN(2), LOST(0), WHOLE, COLLECT } },
};

static void
play_runs(const struct run *runs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct check *check = runs == ring_runs
		    ? rig_create_rings()
		    : rig_create(runs == position_runs);

		rig_play(check, runs[i].steps);
		for (size_t j = 0; j < check_count(check); j++) {
			const struct check_violation *found = check_at(
			    check, j);

			if (found->id != runs[i].row)
				fail_msg("%s: %s: %s", runs[i].name,
				    check_info(found->id)->name, found->text);
		}
		if (check_count(check) != (runs[i].row != GOOD))
			fail_msg("%s: %zu violations", runs[i].name,
			    check_count(check));
		if (runs[i].row != GOOD)
			row_seen[runs[i].row] = true;
		check_destroy(check);
	}
}

static void
memory_is_somebodys(void **state)
{
	(void)state;
	play_runs(memory_runs, TZ_ARRAY_LEN(memory_runs));
}

static void
records_are_somebodys(void **state)
{
	(void)state;
	play_runs(record_runs, TZ_ARRAY_LEN(record_runs));
}

static void
tables_are_well_formed(void **state)
{
	(void)state;
	play_runs(table_runs, TZ_ARRAY_LEN(table_runs));
}

static void
each_byte_is_accounted_for(void **state)
{
	(void)state;
	play_runs(ledger_runs, TZ_ARRAY_LEN(ledger_runs));
}

static void
each_nmi_finds_its_handler(void **state)
{
	(void)state;
	play_runs(nmi_runs, TZ_ARRAY_LEN(nmi_runs));
}

static void
tracing_does_what_was_asked_for(void **state)
{
	(void)state;
	play_runs(session_runs, TZ_ARRAY_LEN(session_runs));
}

static void
a_buffer_counts_from_its_making_on(void **state)
{
	(void)state;
	play_runs(object_runs, TZ_ARRAY_LEN(object_runs));
}

static void
rings_are_filled_and_followed(void **state)
{
	(void)state;
	play_runs(ring_runs, TZ_ARRAY_LEN(ring_runs));
}

static void
positions_that_are_read_are_reports(void **state)
{
	(void)state;
	play_runs(position_runs, TZ_ARRAY_LEN(position_runs));
}

static void
what_fails_has_changed_nothing(void **state)
{
	(void)state;
	play_runs(failure_runs, TZ_ARRAY_LEN(failure_runs));
}

static void
registers_are_left_as_they_must_be(void **state)
{
	(void)state;
	play_runs(register_runs, TZ_ARRAY_LEN(register_runs));
}

static void
counters_are_off_and_keep_their_period(void **state)
{
	(void)state;
	play_runs(counter_runs, TZ_ARRAY_LEN(counter_runs));
}

static void
ends_are_told_apart(void **state)
{
	(void)state;
	play_runs(end_runs, TZ_ARRAY_LEN(end_runs));
}

static void
every_row_has_a_bad_run(void **state)
{
	(void)state;
	for (unsigned i = 0; i < CHECK_COUNT; i++) {
		const struct check_info *info = check_info((enum check_id)i);

		/* Judged elsewhere, by comparing runs. */
		if (!row_seen[i] && i != CHECK_FAULT_SILENT &&
		    i != CHECK_DECODED && i != CHECK_NOT_RUN)
			fail_msg("row %s has no bad run", info->name);
		assert_int_equal(check_find(info->name), i);
	}
	assert_int_equal(check_find("none"), CHECK_COUNT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_somebodys),
		cmocka_unit_test(records_are_somebodys),
		cmocka_unit_test(tables_are_well_formed),
		cmocka_unit_test(each_byte_is_accounted_for),
		cmocka_unit_test(each_nmi_finds_its_handler),
		cmocka_unit_test(tracing_does_what_was_asked_for),
		cmocka_unit_test(a_buffer_counts_from_its_making_on),
		cmocka_unit_test(rings_are_filled_and_followed),
		cmocka_unit_test(positions_that_are_read_are_reports),
		cmocka_unit_test(what_fails_has_changed_nothing),
		cmocka_unit_test(registers_are_left_as_they_must_be),
		cmocka_unit_test(counters_are_off_and_keep_their_period),
		cmocka_unit_test(ends_are_told_apart),
		cmocka_unit_test(every_row_has_a_bad_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
