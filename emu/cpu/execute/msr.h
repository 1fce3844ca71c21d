/* A row of msr.def or board_msr.def, and its functions.  Private to this folder. */
#ifndef TOPAZ_EMU_CPU_EXECUTE_MSR_H
#define TOPAZ_EMU_CPU_EXECUTE_MSR_H

#include "emu/base/base.h"

struct cpu;

struct msr_row {
	uint32_t index;
	enum fault (*read)(
	    struct cpu *cpu, const struct msr_row *row, uint64_t *value);
	enum fault (*write)(
	    struct cpu *cpu, const struct msr_row *row, uint64_t value);
	size_t field; /* offset in struct cpu_msrs or struct cpu_board_msrs */
	bool (*valid)(const struct cpu *cpu, uint64_t value);
};

/* board_msr.c: the row of an MSR that only a CPU of a board has; NULL: none. */
const struct msr_row *cpu_find_board_msr(uint32_t index);

#endif
