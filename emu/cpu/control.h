/* Where a CPU's run stops, and what is reported on the way.  Private to emu/cpu. */
#ifndef TOPAZ_EMU_CPU_CONTROL_H
#define TOPAZ_EMU_CPU_CONTROL_H

#include "emu/cpu/cpu.h"
#include "emu/cpu/engine/engine.h"

/* What makes cpu_run() return.  Owner: control.c. */
struct cpu_stop {
	bool over;  /* the run has ended */
	bool yield; /* PAUSE, or an IPI was sent: at the next boundary */
	bool pause; /* cpu_pause(): at the next boundary */
	uint64_t pause_insns; /* cpu_pause() from the step observer; UINT64_MAX:
				 none */
	uint64_t insns;       /* cpu_set_stop(); UINT64_MAX: none */
};

/*
 * The instructions that port.step is called for.  Owner: control.c sets it, step.c
 * calls.
 */
struct cpu_observer {
	enum cpu_stepping stepping;
	uint64_t begin, end; /* of the watched code */
	bool called;         /* port.step runs now */
};

/* control.c */
/* Instructions until the next stop; without a stop, more than can ever run. */
uint64_t cpu_until_stop(const struct cpu *cpu);
/* The same until the next stop or until a performance counter may overflow. */
uint64_t cpu_until_look(const struct cpu *cpu);
bool cpu_is_at_stop(const struct cpu *cpu);
/* True if a stop or pause was reached; clears it. */
bool cpu_reached_stop(struct cpu *cpu);

/* step.c: the callback of the engine that runs single instructions. */
void cpu_step(struct uc_struct *uc, uint64_t va, uint32_t size, void *arg);

#endif
