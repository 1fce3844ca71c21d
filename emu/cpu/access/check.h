/*
 * Memory operands of instructions that the machine executes itself.  Private to
 * emu/cpu.
 */
#ifndef TOPAZ_EMU_CPU_ACCESS_CHECK_H
#define TOPAZ_EMU_CPU_ACCESS_CHECK_H

#include "emu/cpu/access/walk.h"
#include "emu/cpu/insn/insn.h"

struct cpu;

/*
 * Makes an access to MEMORY as the guest's code would.  BYTES is its place in RAM;
 * .part[0] NULL: it is not RAM, which makes cpu_access_ram() end the run.
 */
enum fault cpu_access_memory(struct cpu *cpu, const struct insn_memory *memory,
    struct walk_bytes *bytes, uint64_t *fault_va);
enum fault cpu_access_ram(struct cpu *cpu, const struct insn_memory *memory,
    struct walk_bytes *bytes, uint64_t *fault_va);
/* Copies COUNT bytes of an operand from RAM, or to RAM. */
void cpu_load_operand(
    const struct walk_bytes *bytes, void *operand, size_t count);
void cpu_store_operand(
    const struct walk_bytes *bytes, const void *operand, size_t count);
/* The fault that the memory operand of the instruction at VA raises. */
enum fault cpu_check_insn(
    struct cpu *cpu, uint64_t va, size_t length, uint64_t *fault_va);

#endif
