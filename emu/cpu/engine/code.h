/*
 * Translated code, the two engines that run it, and the places where an engine
 * calls back.  Private to emu/cpu.
 */
#ifndef TOPAZ_EMU_CPU_ENGINE_CODE_H
#define TOPAZ_EMU_CPU_ENGINE_CODE_H

#include "emu/cpu/engine/block.h"
#include "emu/cpu/engine/engine.h"

struct cpu;

#define FORGET_MAX 8
#define HOOKED_MAX 2048

/*
 * Two engines over the same RAM.  .main runs blocks, .stepper single instructions;
 * cpu->active is the one of them that holds the registers.  With
 * cpu_config.single_step, .main runs single instructions and .stepper is NULL.
 * Owner: choice.c.
 */
struct cpu_engines {
	struct engine *main, *stepper;
	uint64_t step_left; /* instructions for .stepper, at least */
	bool tlb_unsure;    /* the TLB must be empty when an engine runs next */
};

/* What is known of the code that was decoded and translated.  Owner: code.c. */
struct cpu_code {
	struct block_cache *blocks;
	struct far_successors *far; /* of .blocks */
	/* Code that the active engine must translate anew when it is stopped. */
	struct code_forget {
		uint64_t va, bytes;
		bool is_page; /* all code of a page, in the frame .pa */
		uint64_t pa;
	} forget[FORGET_MAX];
	unsigned forget_count;
	/*
	 * The code that the step engine runs was translated when it entered VA, or
	 * before.  BLOCK has the bytes (NULL: just entered); AGE is the cache's age
	 * at that time.
	 */
	struct {
		uint64_t va;
		const struct block *block;
		uint32_t size, age;
	} entered;
	/*
	 * unsure others_ran
	 *    0       0      code is as it was checked last
	 *    0       1      other CPUs have run since: check at the next
	 *                   serializing instruction
	 *    1      any     check before an engine runs next
	 */
	bool unsure, others_ran;
};

/* What was seen of an ambiguous branch before it ran. */
enum cond_outcome { COND_UNKNOWN, COND_NOT_TAKEN, COND_TAKEN };

/* The places where the main engine calls back in the middle of a block.  Owner: hook.c. */
struct cpu_hooks {
	struct engine_site *site; /* HOOKED_MAX of them; given to engine_hook() */
	size_t count;
	size_t settled; /* .count when SETTLE_CALLS were reached; 0: not yet */
	uint32_t calls; /* of cpu_site() since there were no hooks */
};

/* What was seen at such a place.  Owner: hook.c; .access_va: access/mmio.c. */
struct cpu_sites {
	enum cond_outcome outcome;
	uint64_t access_va; /* of the current access to the APIC; else 0 */
	struct {
		uint64_t begin; /* of its block: cycles + 1; 0: none yet */
		unsigned index; /* of its instruction in the block */
		bool write;
	} last_access; /* the one before */
};

/* code.c */
/* Makes the active engine drop its translation of [VA, VA + BYTES) when it is stopped. */
void cpu_forget_code(struct cpu *cpu, uint64_t va, uint64_t bytes);
/* The active engine is stopped, and drops them. */
void cpu_drop_translations(struct cpu *cpu);
/* The engines drop what block_cache_take_change() reports.  True: there was a change. */
bool cpu_forget_changes(struct cpu *cpu);
/* An engine runs next: code is verified if cpu_see_writes() was called. */
void cpu_check_code(struct cpu *cpu);
/* Other CPUs have run. */
void cpu_see_others(struct cpu *cpu);
/* A serializing instruction: code that other CPUs have written takes effect now. */
void cpu_serialize(struct cpu *cpu);
/* Updates the block cache to the current page tables. */
void cpu_select_code(struct cpu *cpu);
/* The current descriptor of announced code; finding it may flush others. */
struct block *cpu_find_block(struct cpu *cpu, uint64_t va, uint32_t size);
/* The step engine enters code that it has translated as one unit. */
void cpu_step_enter(
    struct uc_struct *uc, uint64_t va, uint32_t size, void *arg);
/* True if the instruction of SIZE bytes at VA was written since it was translated. */
bool cpu_is_translation_old(struct cpu *cpu, uint64_t va, uint32_t size);

/* choice.c */
/* True if code of [BEGIN, END) is to be reported to the step observer. */
bool cpu_is_observed(const struct cpu *cpu, uint64_t begin, uint64_t end);
/* Continues in ENGINE, with the state of the active engine. */
void cpu_use_engine(struct cpu *cpu, struct engine *engine);
/* Makes the engine that runs next the active one, and flushes its TLB if needed. */
void cpu_choose_engine(struct cpu *cpu);
/* True if BLOCK must run in the other engine. */
bool cpu_is_wrong_engine(struct cpu *cpu, struct block *block);
/*
 * The iterations of the string instruction that is BLOCK until a counter is looked at.
 * UNITS: the cost of what has retired and is not counted yet.
 */
uint64_t cpu_iterations_left(
    struct cpu *cpu, struct block *block, uint64_t units);

/* hook.c */
/* The engine's callback before an instruction that it must not run by itself. */
void cpu_site(struct uc_struct *uc, uint64_t va, uint32_t size, void *arg);
/* Stops the engine before the instruction of LENGTH bytes at VA; cpu_trap() goes on. */
void cpu_stop_before(
    struct cpu *cpu, uint64_t va, enum insn_class class, uint8_t length);
/* True if an operand in block.wide is not where the engine runs BLOCK right. */
bool cpu_has_misplaced(struct cpu *cpu, const struct block *block);
/*
 * Makes the engine report the instructions in BLOCK that it must not run, unless it may
 * run all of BLOCK with the current registers.  True: the engine must be stopped, because
 * it has to translate the block anew.
 */
bool cpu_hook_sites(struct cpu *cpu, struct block *block);
/* Takes back hooks, so that only places that still run get one again, if that pays now. */
void cpu_shed_hooks(struct cpu *cpu);

#endif
