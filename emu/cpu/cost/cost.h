/*
 * A static cost model: the cycles of a piece of straight-line code on one processor,
 * from its bytes alone.  Loads hit the first-level cache and branches are predicted; no
 * queue and no scheduler is simulated.  README.md has the rules.
 *
 * Two modes.  Unrolled: the code repeated without end, copy after copy, not in the cache of
 * micro-operations, as the published measurements of basic blocks have it.  Run: the
 * code executed once from that cache, as the first COUNT instructions of a block:
 * that cost never falls with COUNT and does not depend on what follows.
 *
 * Costs are integers in units of 1/64 cycle, rounded up.
 */
#ifndef TOPAZ_EMU_CPU_COST_COST_H
#define TOPAZ_EMU_CPU_COST_COST_H

#include "emu/cpu/insn/insn_facts.h"
#include "emu/profile/uop.h"

#define COST_UNITS 64 /* of one cycle */
/* Cycles of INT n, and of the delivery of an interrupt or exception (model choice). */
#define COST_DELIVERY  100
#define COST_KINDS_MAX 48
#define COST_BYTES_MAX 4096 /* of one block */

/* An instruction, with its micro-operations on one micro-architecture. */
struct cost_insn {
	struct insn_facts facts;
	const struct uop_class *uops; /* NULL: not known: see .facts.form */
	unsigned fused;               /* slots at issue */
	unsigned serial; /* cycles in which nothing else executes */
	/* Units of an iteration of a string instruction with REP. */
	unsigned iteration;
};

/*
 * Fills INSN from the instruction at BYTES, which is at VA, an address or an offset.
 * False: the bytes are not an instruction, or too few.
 */
bool cost_insn(const struct profile_cost *model, const uint8_t *bytes,
    size_t count, uint64_t va, struct cost_insn *insn);

/* What can limit a block. */
enum cost_component {
	COST_ISSUE,   /* slots of the front end's issue */
	COST_PORTS,   /* execution ports */
	COST_FRONT,   /* predecoding; unrolled only */
	COST_CHAIN,   /* dependencies carried from copy to copy */
	COST_DIVIDER, /* the divider */
	COST_LOCKS,   /* LOCK prefixes */
	COST_SERIAL,  /* instructions that execute alone: added to the others */
	COST_COMPONENTS
};

/* "issue", "ports" ... */
const char *cost_component_name(enum cost_component component);

/* The instructions of a block so far: all terms of the run mode. */
struct cost_sum {
	const struct profile_cost *model;
	uint64_t slots, divider_halves, locks, serial;
	struct uop_kind_sum {
		uint16_t ports;
		uint32_t count;
	} kind[COST_KINDS_MAX];
	unsigned kinds;
	bool stack;         /* RSP's value is in the stack engine */
	uint32_t fuses;     /* traits of the last instruction that fuse it */
	bool fuses_general; /* its one micro-operation runs on p0156 */
};

void cost_sum_begin(struct cost_sum *sum, const struct profile_cost *model);
void cost_sum_add(struct cost_sum *sum, const struct cost_insn *insn);

/* True if A and B are in one state. */
bool cost_sum_same(const struct cost_sum *a, const struct cost_sum *b);

/*
 * P(n): the cost of the instructions that were added, in units.  It never falls when
 * one more is added.
 */
uint64_t cost_sum_units(const struct cost_sum *sum);

/*
 * The latency of the longest dependency that the COUNT instructions carry from one
 * copy of them to the next, in units a copy.
 */
uint64_t cost_chain(const struct profile_cost *model,
    const struct cost_insn *insn, size_t count);

struct cost_result {
	uint64_t component[COST_COMPONENTS]; /* units */
	uint64_t units;                      /* at least a quarter of a cycle */
	enum cost_component binding;
	uint16_t ports; /* those that COST_PORTS is of */
};

/* The unrolled mode, for each copy of the COUNT > 0 instructions. */
void cost_unrolled(const struct profile_cost *model,
    const struct cost_insn *insn, size_t count, struct cost_result *result);

/*
 * The run mode: P(COUNT) as .units and all components but COST_FRONT; COST_CHAIN is
 * what is added where the block follows itself: R, the chain beyond P(COUNT).
 */
void cost_run(const struct profile_cost *model, const struct cost_insn *insn,
    size_t count, struct cost_result *result);

#endif
