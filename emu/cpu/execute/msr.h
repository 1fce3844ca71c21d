/* A row of msr.def or board_msr.def, and its functions.  Private to this folder. */
#ifndef TOPAZ_EMU_CPU_EXECUTE_MSR_H
#define TOPAZ_EMU_CPU_EXECUTE_MSR_H

#include "emu/base/base.h"

#include <string.h>

struct cpu;

/* IA32_MISC_ENABLE */
#define MISC_FAST_STRINGS TZ_BIT(0)
#define MISC_PERFMON      TZ_BIT(7)
#define MISC_NO_BTS       TZ_BIT(11)
#define MISC_NO_PEBS      TZ_BIT(12)

/* IA32_MTRR_DEF_TYPE */
#define MTRR_WRITE_BACK 6
#define MTRR_ENABLED    TZ_BIT(11)

struct msr_row {
	uint32_t index;
	enum fault (*read)(
	    struct cpu *cpu, const struct msr_row *row, uint64_t *value);
	enum fault (*write)(
	    struct cpu *cpu, const struct msr_row *row, uint64_t value);
	size_t field; /* offset in struct cpu */
	bool (*valid)(const struct cpu *cpu, uint64_t value);
};

/* Functions of rows in both tables. */

static inline bool
is_address(const struct cpu *cpu, uint64_t value)
{
	(void)cpu;
	return tz_is_canonical(value);
}

static inline bool
is_low_half(const struct cpu *cpu, uint64_t value)
{
	(void)cpu;
	return value <= UINT32_MAX;
}

static inline enum fault
read_field(struct cpu *cpu, const struct msr_row *row, uint64_t *value)
{
	memcpy(value, (const char *)cpu + row->field, sizeof(*value));
	return FAULT_NONE;
}

static inline enum fault
write_field(struct cpu *cpu, const struct msr_row *row, uint64_t value)
{
	if (!row->valid(cpu, value))
		return FAULT_GP;
	memcpy((char *)cpu + row->field, &value, sizeof(value));
	return FAULT_NONE;
}

/* Read-only, or writable only in SMM. */
static inline enum fault
write_never(struct cpu *cpu, const struct msr_row *row, uint64_t value)
{
	(void)cpu;
	(void)row;
	(void)value;
	return FAULT_GP;
}

/* board_msr.c: the read-only bits of IA32_MISC_ENABLE. */
uint64_t cpu_misc_fixed(const struct cpu *cpu);

/* board_msr.c: the row of an MSR that only a CPU of a board has; NULL: none. */
const struct msr_row *cpu_find_board_msr(uint32_t index);

#endif
