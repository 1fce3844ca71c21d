/*
 * A program that is really there, as bytes, and a CPU that walks through it: at CPL 0
 * and 3, with interrupts, system calls, transactions and changes of CR3. It tells two
 * PT units of all that happens and notes which instructions must be traced, by rules
 * of its own.
 */
#ifndef TOPAZ_TESTS_FUZZ_EVENTS_EVENTS_WALK_H
#define TOPAZ_TESTS_FUZZ_EVENTS_EVENTS_WALK_H

#include "tests/fuzz/events/events_decode.h"
#include "tests/fuzz/events/events_pair.h"

#define WALK_STACK_MAX 64
#define WALK_GAPS_MAX  4096
#define WALK_TRUTH_MAX 60000

struct walk {
	struct pair pair;
	struct pt_context at; /* .ip is the next instruction */
	uint64_t seed;        /* of what branches do */
	uint64_t step_cycles; /* that an instruction takes */
	uint64_t stack[2][WALK_STACK_MAX];
	unsigned depth[2];
	bool tsx;

	/* What is set up, and the enables that follow from it. */
	uint64_t ctl, cr3_match, range_a[4], range_b[4];
	bool on, filter_en;
	bool dead;       /* stopped, or in error */
	uint32_t losing; /* transfers that an overflow still loses */
	bool prompt;     /* the end of an overflow waits for no transfer */

	/* Since the last code_blocks_judge(). */
	size_t stream_from; /* in the slow side's stream */
	uint64_t *exec_log;
	size_t exec_log_count;
	size_t resume[WALK_GAPS_MAX];
	size_t gap_count;
	bool cut;
	bool broken_off; /* by SENTER, where branches may have been pending */
	bool blocks;  /* PEBS records are in it, which libipt does not know */
	bool guessed; /* an erratum shows that libipt does not always undo */
};

/* The profile must be there already. */
void code_blocks_create(struct walk *walk);
void code_blocks_destroy(struct walk *walk);

/* Runs one instruction; true if it was a transfer. */
bool code_blocks_step(struct walk *walk);

/* An interrupt, or an exception, instead of the next instruction. */
void code_blocks_interrupt(struct walk *walk, bool exception);
void code_blocks_abort_transaction(struct walk *walk);

/* TraceEn 0 -> 1 with .ctl, and 1 -> 0, by WRMSR or by XRSTORS and XSAVES. */
void code_blocks_enable(struct walk *walk);
void code_blocks_disable(struct walk *walk);
void code_blocks_xsaves(struct walk *walk, uint8_t image[PT_XSTATE_BYTES]);
void code_blocks_xrstors(
    struct walk *walk, const uint8_t image[PT_XSTATE_BYTES]);

/*
 * SENTER: TraceEn is 0, and the unit sends nothing of it.  The stream must be judged
 * before tracing goes on: it ends where the last packet was.
 */
void code_blocks_senter(struct walk *walk);

/* Judges what there is, as code_blocks_judge(), and begins a trace of its own. */
void code_blocks_restart(struct walk *walk, bool insns);

/* An authenticated code module has run: where TSCEn is 0, nothing tells of it. */
void code_blocks_acm(struct walk *walk);

/* SMI, and RSM to the same instruction with TraceEn as it was. */
void code_blocks_smi(struct walk *walk);

/* The internal buffer overflows for TRANSFERS transfers. */
void code_blocks_overflow(struct walk *walk, uint32_t transfers);

/* The enables after TraceEn 0 -> 1 and 1 -> 0, for code_blocks_enable() and the like. */
void code_blocks_switched(struct walk *walk, bool on);

/* An overflow that was asked for ends here. */
void code_blocks_resume(struct walk *walk);

/* So do those of the bounded buffer that the units say are over. */
void code_blocks_resume_told(struct walk *walk);

/* Copies code at IP: what libipt is given. */
size_t code_blocks_code(uint64_t ip, uint8_t *buffer, size_t size);

/* After anything that may end the output. */
void code_blocks_look(struct walk *walk);

/* Tracing is off: fails unless what was traced decodes, then forgets it. */
void code_blocks_judge(struct walk *walk, bool insns);

/* A place in the code: for filter ranges. */
uint64_t code_blocks_place(uint64_t random);

#endif
