/*
 * The run mode of the cost model, one instruction after the other, for a clock: what
 * each instruction adds to the time depends on the code before it alone, so it is the
 * same however that code is cut into pieces.
 *
 * Model choices.  A run begins where control was transferred to, at an instruction in
 * another page than the one before it, after COST_RUN_MAX instructions, and before and
 * after an instruction that executes alone (fixed.def) or repeats (repeated.def), which is
 * a run of its own.  A branch ends a run, taken or not.  An instruction that
 * the tables do not know takes one cycle.
 */
#ifndef TOPAZ_EMU_CPU_COST_RUN_H
#define TOPAZ_EMU_CPU_COST_RUN_H

#include "emu/cpu/cost/cost.h"

#define COST_RUN_MAX 64

struct cost_run {
	struct cost_sum sum;
	uint64_t begin;   /* the address of its first instruction */
	uint64_t next;    /* the one behind its last */
	uint64_t unknown; /* units of instructions that the tables do not know */
	uint64_t charged; /* units of P(count) that cost_run_charge() returned */
	unsigned count;   /* instructions; 0: the next one begins a run */
	bool over;        /* the next one begins a run, too */
};

/* Before the first instruction. */
void cost_run_begin(struct cost_run *run, const struct profile_cost *model);

/* True if INSN is a run of its own: it executes alone, or repeats. */
bool cost_run_is_alone(const struct cost_insn *insn);

/* True if an instruction at VA that is not alone would be one of RUN. */
bool cost_run_goes_on(const struct cost_run *run, uint64_t va);

/*
 * The instruction INSN at VA retires.  Returns the units of the run before, if it begins
 * another one; else 0.
 */
uint64_t cost_run_add(
    struct cost_run *run, const struct cost_insn *insn, uint64_t va);

/* The units of RUN that no call has returned yet. */
uint64_t cost_run_charge(struct cost_run *run);

/* True if each instruction adds the same to A as to B. */
bool cost_run_same(const struct cost_run *a, const struct cost_run *b);

/*
 * R: what is added where RUN, which is charged and whose chain is CHAIN, follows itself:
 * its last instruction is a direct branch to its first.
 */
uint64_t cost_run_repeat(const struct cost_run *run, uint64_t chain);

#endif
