/*
 * Translated code, the two engines that run it, and the places where an engine
 * calls back.  Private to emu/cpu.
 */
#ifndef TOPAZ_EMU_CPU_ENGINE_CODE_H
#define TOPAZ_EMU_CPU_ENGINE_CODE_H

#include "emu/cpu/engine/block.h"
#include "emu/cpu/engine/engine.h"

struct cpu;

#define CODE_PAGE_BYTES 4096

/* code.c */
/* Makes the active engine drop its translation of [VA, VA + BYTES) when it is stopped. */
void cpu_forget_code(struct cpu *cpu, uint64_t va, uint64_t bytes);
/* The active engine is stopped, and drops them. */
void cpu_drop_translations(struct cpu *cpu);
/* The engines drop what block_cache_take_change() reports.  True: there was a change. */
bool cpu_forget_changes(struct cpu *cpu);
void cpu_verify_code(struct cpu *cpu); /* see cpu_see_writes() */
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
bool cpu_is_wrong_engine(struct cpu *cpu, const struct block *block);

/* hook.c */
/* The engine's callback before an instruction that it must not run by itself. */
void cpu_site(struct uc_struct *uc, uint64_t va, uint32_t size, void *arg);
/*
 * Makes the engine report the instructions in BLOCK that it must not run.  True:
 * the engine must be stopped, because it has to translate the block anew.
 */
bool cpu_hook_sites(struct cpu *cpu, struct block *block);

#endif
