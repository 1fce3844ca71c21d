/*
 * The execution log: which instructions each CPU retired, at which CPL and CR3, and
 * what it wrote to the trace MSRs.  This is the recording side.  It records what
 * the engine reports, without interpretation, and shares no code with the packet
 * generator.  traces/ reads the log and computes from it alone what a trace must
 * decode to.
 *
 * A CPU's record is a sequence of little-endian 32-bit words:
 *
 *   n << 2 | 0                  RUN: the engine entered code of dictionary entry n
 *   n << 2 | 1, va lo, va hi, size
 *                               DEFINE entry n as [va, va + size), then RUN it
 *   2, rip lo, rip hi           CUT: the last RUN was left at rip: the instruction
 *                               at rip has not retired, those before it in the
 *                               run have
 *   k << 2 | 3, arguments       EXTRA of kind k, enum exec_log_extra
 *
 * A RUN's instructions, from va up to va + size, retire in order, unless a CUT
 * is the next word.  A string instruction with a REP prefix at the end of a run retires
 * only when something other than a RUN at its own address (or a CUT at it)
 * follows; however often it is entered, it retires once.
 */
#ifndef TOPAZ_EMU_BASE_EXEC_LOG_H
#define TOPAZ_EMU_BASE_EXEC_LOG_H

#include "emu/base/base.h"

enum exec_log_word {
	EXEC_LOG_RUN = 0,
	EXEC_LOG_DEFINE = 1,
	EXEC_LOG_CUT = 2,
	EXEC_LOG_EXTRA = 3,
};

enum exec_log_extra {
	EXEC_LOG_CONTEXT = 1, /* cpl, cr3 lo, cr3 hi: valid from here on */
	EXEC_LOG_MSR = 2, /* msr, value lo, value hi: written by the instruction
			     that retires next, before its STEP */
	EXEC_LOG_STEP =
	    3, /* rip lo, rip hi: this one instruction has retired (the machine
		  executed it, not the engine) */
	EXEC_LOG_EVENT =
	    4, /* vector, rip lo, rip hi: interrupt or exception taken with rip
		  as the return address */
	EXEC_LOG_STOPPED =
	    5, /* the trace unit stopped by itself (ToPA STOP or error) after the
		  last retired instruction */
	EXEC_LOG_TIME =
	    6, /* cycles lo, hi: the core clock here; without the cost
		  model each instruction that retires afterwards adds one */
	EXEC_LOG_CODE =
	    7, /* n, then (n + 3) / 4 words: the n bytes of code of the
			      DEFINE or the STEP that is the next record.  A part of
			      that record: what precedes both precedes it */
	EXEC_LOG_RETIRED =
	    8, /* insns lo, hi: the CPU has retired so many; where that
				 is not what precedes, the log has a gap here */
};

struct exec_log;

/*
 * The first member of struct exec_log, which the inline path of a RUN uses.  There
 * is always room for the longest record.
 */
struct exec_log_fast {
	uint32_t *at;   /* where the next record goes */
	uint32_t *full; /* at or after this address: flush */
};

/* Receives finished words.  Returns 0 or a negative error, which the log keeps. */
typedef int (*exec_log_sink)(void *arg, const uint32_t *words, size_t count);

/* NULL: out of memory. */
struct exec_log *exec_log_create(exec_log_sink sink, void *arg);

/*
 * From here on the log holds the code, too: for guests that have more than one address
 * space or change their code, so that an address does not name an instruction.
 */
void exec_log_keep_code(struct exec_log *exec_log);
bool exec_log_keeps_code(const struct exec_log *exec_log);

/*
 * From here on the log may have gaps where nothing traces, records or counts:
 * TraceEn is 0, so is IA32_DEBUGCTL.BTS, no performance counter counts, and no PMI
 * or NMI is on its way.  For guests that run much longer than they are observed:
 * when a machine begins such a log, it reports the MSRs of counters and Debug Store
 * as if the CPU had just written them.
 */
void exec_log_allow_gaps(struct exec_log *exec_log);
bool exec_log_allows_gaps(const struct exec_log *exec_log);

/* Passes the remaining words to the sink.  Returns the sink's first error, or 0. */
int exec_log_flush(struct exec_log *exec_log);
void exec_log_destroy(struct exec_log *exec_log);

/*
 * Records that the code [VA, VA + SIZE) is entered.  Returns the word that records
 * each later entry of the same code; never 0, valid as long as EXEC_LOG exists.
 */
uint32_t exec_log_run(struct exec_log *exec_log, uint64_t va, uint32_t size);

/*
 * The same for code whose SIZE bytes are at CODE, which is read only by a log that keeps
 * code; NULL: they are unknown.
 */
uint32_t exec_log_run_code(
    struct exec_log *exec_log, uint64_t va, uint32_t size, const uint8_t *code);

/* exec_log_flush() during recording; an error is kept. */
void exec_log_make_room(struct exec_log *exec_log);

/*
 * Records that code is entered again; WORD is what exec_log_run() returned for it.
 */
static inline void
exec_log_again(struct exec_log *exec_log, uint32_t word)
{
	struct exec_log_fast *fast = (struct exec_log_fast *)exec_log;
	uint32_t *at = fast->at;

	*at = word;
	fast->at = at + 1;
	if (at + 1 >= fast->full)
		exec_log_make_room(exec_log);
}

void exec_log_cut(struct exec_log *exec_log, uint64_t rip);
void exec_log_context(struct exec_log *exec_log, uint8_t cpl, uint64_t cr3);
void exec_log_msr(struct exec_log *exec_log, uint32_t msr, uint64_t value);
/* The next record is a STEP; the COUNT bytes of CODE begin with its instruction. */
void exec_log_code(
    struct exec_log *exec_log, const uint8_t *code, uint32_t count);
void exec_log_step(struct exec_log *exec_log, uint64_t rip);
void exec_log_event(struct exec_log *exec_log, uint32_t vector, uint64_t rip);
void exec_log_stopped(struct exec_log *exec_log);
void exec_log_time(struct exec_log *exec_log, uint64_t cycles);
void exec_log_retired(struct exec_log *exec_log, uint64_t insns);

#endif
