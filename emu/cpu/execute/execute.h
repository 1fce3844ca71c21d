/* Instructions that the CPU executes itself.  Private to emu/cpu. */
#ifndef TOPAZ_EMU_CPU_EXECUTE_EXECUTE_H
#define TOPAZ_EMU_CPU_EXECUTE_EXECUTE_H

#include "emu/base/rtit.h"
#include "emu/cpu/insn/insn.h"
#include "emu/cpu/insn/operand.h"

struct cpu;

#define MSR_EFER 0xc0000080u

/* trap.c: executes the instruction at which the engine was stopped. */
void cpu_trap(struct cpu *cpu);

/* msr.c */
enum fault cpu_rdmsr(struct cpu *cpu, uint32_t index, uint64_t *value);
enum fault cpu_wrmsr(
    struct cpu *cpu, uint32_t index, uint64_t value, uint64_t nlip);

/* trace_insn.c */
enum fault cpu_do_ptwrite(struct cpu *cpu, uint64_t *fault_va);
enum fault cpu_do_cli(struct cpu *cpu);

/* cmpxchg.c */
enum fault cpu_do_cmpxchg32(struct cpu *cpu, uint64_t *fault_va);
enum fault cpu_do_cmpxchg_pair(struct cpu *cpu, uint64_t *fault_va);

/* float.c: executable memory of the host; NULL: the host refuses. */
uint8_t *cpu_float_create(void);
void cpu_float_destroy(uint8_t *code);
enum fault cpu_do_float(struct cpu *cpu, uint64_t *fault_va);

#endif
