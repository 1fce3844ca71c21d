/*
 * What a branch, an interrupt or an exception means for the performance counters and
 * the Debug Store.  Private to emu/cpu.
 */
#ifndef TOPAZ_EMU_CPU_MONITOR_BRANCH_H
#define TOPAZ_EMU_CPU_MONITOR_BRANCH_H

#include "emu/cpu/insn/insn.h"

struct cpu;

/*
 * A branch instruction of CLASS at FROM has retired; the next instruction is at TO.  To
 * be called before its other effects, if cpu_sees_branches().
 */
void cpu_branch(struct cpu *cpu, enum insn_class class, bool taken,
    uint64_t from, uint64_t to);

/*
 * An interrupt or exception is delivered: FROM is the instruction that it follows, that
 * has faulted, or INT n; TO is its handler.  Its own CPL is not in effect yet.
 */
void cpu_branch_event(struct cpu *cpu, uint64_t from, uint64_t to);

/* CPL may have changed.  The instruction that has changed it has retired. */
void cpu_cpl_changed(struct cpu *cpu);

#endif
