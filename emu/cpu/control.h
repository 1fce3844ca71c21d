/* Where a CPU's run stops, and what is reported on the way.  Private to emu/cpu. */
#ifndef TOPAZ_EMU_CPU_CONTROL_H
#define TOPAZ_EMU_CPU_CONTROL_H

#include "emu/cpu/cpu.h"
#include "emu/cpu/engine/engine.h"

/* control.c */
/* Instructions until the next stop; without a stop, more than can ever run. */
uint64_t cpu_until_stop(const struct cpu *cpu);
bool cpu_is_at_stop(const struct cpu *cpu);
/* True if a stop or pause was reached; clears it. */
bool cpu_reached_stop(struct cpu *cpu);

/* step.c: the callback of the engine that runs single instructions. */
void cpu_step(struct uc_struct *uc, uint64_t va, uint32_t size, void *arg);

#endif
