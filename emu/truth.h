/*
 * The truth: which instructions each CPU retired, at which CPL and CR3, and what
 * it wrote to the trace MSRs.  This is the recording side.  It takes what the
 * engine reports, as it reports it, and shares no code with the packet generator;
 * traces/ reads it back and computes from it alone what must decode.
 *
 * A CPU's record is a sequence of little-endian 32-bit words:
 *
 *   n << 2 | 0                  RUN: the engine entered code of dictionary entry n
 *   n << 2 | 1, va lo, va hi, size
 *                               DEFINE entry n as [va, va + size), then RUN it
 *   2, rip lo, rip hi           CUT: the last RUN was left at rip: the instruction
 *                               at rip has not retired, those before it in the
 *                               run have
 *   k << 2 | 3, arguments       EXTRA of kind k, enum truth_extra
 *
 * A RUN's instructions, from va up to va + size, retire in order, unless a CUT
 * is the next word.  A string instruction with a REP prefix at the end of a run retires
 * only when something other than a RUN at its own address (or a CUT at it)
 * follows; however often it is entered, it retires once.
 */
#ifndef TOPAZ_EMU_TRUTH_H
#define TOPAZ_EMU_TRUTH_H

#include "emu/base.h"

enum truth_word {
	TRUTH_RUN = 0,
	TRUTH_DEFINE = 1,
	TRUTH_CUT = 2,
	TRUTH_EXTRA = 3,
};

enum truth_extra {
	TRUTH_CONTEXT = 1, /* cpl, cr3 lo, cr3 hi: holds from here on */
	TRUTH_MSR = 2,  /* msr, value lo, value hi: written by the instruction
			      that retires next, before its STEP */
	TRUTH_STEP = 3, /* rip lo, rip hi: this one instruction has retired (the
			      machine executed it, not the engine) */
	TRUTH_EVENT = 4, /* vector, rip lo, rip hi: interrupt or exception taken
			      with rip as the return address */
	TRUTH_STOPPED =
	    5,          /* the trace unit stopped by itself (ToPA STOP or error)
			      after the last retired instruction */
	TRUTH_TIME = 6, /* cycles lo, hi: what the core clock reads here; each
			      instruction that retires after it adds one */
};

struct truth;

/*
 * The part of struct truth, its first member, that a RUN needs: there is always room
 * for the longest record.
 */
struct truth_fast {
	uint32_t *at;   /* where the next record goes */
	uint32_t *full; /* from here on there would be none: flush */
};

/* Receives finished words; returns 0 or a negative error that is kept. */
typedef int (*truth_sink)(void *arg, const uint32_t *words, size_t count);

/* NULL: out of memory. */
struct truth *truth_create(truth_sink sink, void *arg);

/* Hands the rest to the sink; returns the first error that it gave, or 0. */
int truth_flush(struct truth *truth);
void truth_destroy(struct truth *truth);

/*
 * The stretch [VA, VA + SIZE) is entered.  The word that says so each time that it
 * is entered again, for as long as TRUTH stands; never 0.
 */
uint32_t truth_run(struct truth *truth, uint64_t va, uint32_t size);

/* truth_flush() in the middle; an error is kept. */
void truth_make_room(struct truth *truth);

/* A stretch is entered again; WORD is what truth_run() gave for it. */
static inline void
truth_again(struct truth *truth, uint32_t word)
{
	struct truth_fast *fast = (struct truth_fast *)truth;
	uint32_t *at = fast->at;

	*at = word;
	fast->at = at + 1;
	if (at + 1 >= fast->full)
		truth_make_room(truth);
}

void truth_cut(struct truth *truth, uint64_t rip);
void truth_context(struct truth *truth, uint8_t cpl, uint64_t cr3);
void truth_msr(struct truth *truth, uint32_t msr, uint64_t value);
void truth_step(struct truth *truth, uint64_t rip);
void truth_event(struct truth *truth, uint32_t vector, uint64_t rip);
void truth_stopped(struct truth *truth);
void truth_time(struct truth *truth, uint64_t cycles);

#endif
