/*
 * MOV to and from the debug registers and CR8.  Breakpoints are not modelled: DR7 that
 * enables one is reported.
 */
#include "emu/cpu/state.h"

#define CR4_DE       TZ_BIT(3)
#define CR8_PRIORITY UINT64_C(0xf)

/* SDM vol. 3, 18.2.3 "Debug Status Register (DR6)", 18.2.4 "Debug Control Register". */
#define DR6_FIXED    UINT64_C(0xffff0ff0)
#define DR6_WRITABLE UINT64_C(0x0000e00f)
#define DR6_BS       TZ_BIT(14)
#define DR7_FIXED    UINT64_C(0x00000400)
#define DR7_WRITABLE UINT64_C(0xffff23ff)
#define DR7_ENABLES  UINT64_C(0x000020ff) /* L, G and GD */

void
cpu_reset_debug_regs(struct cpu *cpu)
{
	cpu->debug_regs = (struct cpu_debug_regs){ .dr6 = DR6_FIXED,
		.dr7 = DR7_FIXED };
}

void
cpu_note_single_step(struct cpu *cpu)
{
	cpu->debug_regs.dr6 |= DR6_BS;
}

static struct insn_special
operands(struct cpu *cpu)
{
	uint8_t bytes[INSN_BYTES_MAX];

	TZ_ASSERT(walk_read(&cpu->space, (struct gva){ cpu->trap.rip }, bytes,
	    cpu->trap.insn.length, NULL));
	return insn_special_operands(bytes, cpu->trap.insn.length);
}

static enum fault
write_debug_reg(struct cpu *cpu, unsigned number, uint64_t value)
{
	struct cpu_debug_regs *regs = &cpu->debug_regs;

	if (number < TZ_ARRAY_LEN(regs->dr)) {
		regs->dr[number] = value;
		return FAULT_NONE;
	}
	if (value > UINT32_MAX)
		return FAULT_GP;
	if (number == 6) {
		regs->dr6 = (value & DR6_WRITABLE) | DR6_FIXED;
		return FAULT_NONE;
	}
	regs->dr7 = (value & DR7_WRITABLE) | DR7_FIXED;
	if (value & DR7_ENABLES)
		cpu->config.port.breakpoint(
		    cpu->config.port.arg, cpu->config.id, value);
	return FAULT_NONE;
}

/* SDM vol. 2, "MOV - Move to/from Debug Registers". */
enum fault
cpu_do_mov_dr(struct cpu *cpu)
{
	const struct cpu_debug_regs *regs = &cpu->debug_regs;
	struct insn_special insn = operands(cpu);
	enum engine_reg gpr = (enum engine_reg)insn.gpr;

	/* DR4 and DR5 are DR6 and DR7. */
	if (insn.number == 4 || insn.number == 5) {
		if (engine_get(cpu->active, ENGINE_CR4) & CR4_DE)
			return FAULT_UD;
		insn.number += 2;
	}
	if (cpu->mode.cpl != 0)
		return FAULT_GP;
	if (insn.store)
		return write_debug_reg(
		    cpu, insn.number, engine_get(cpu->active, gpr));
	engine_set(cpu->active, gpr,
	    insn.number == 7       ? regs->dr7
		: insn.number == 6 ? regs->dr6
				   : regs->dr[insn.number]);
	return FAULT_NONE;
}

/* SDM vol. 3, 11.8.6.1 "Interaction of Task Priorities between CR8 and APIC". */
enum fault
cpu_do_mov_cr8(struct cpu *cpu)
{
	struct insn_special insn = operands(cpu);
	enum engine_reg gpr = (enum engine_reg)insn.gpr;
	uint64_t value;

	if (cpu->mode.cpl != 0)
		return FAULT_GP;
	if (!insn.store) {
		engine_set(cpu->active, gpr, cpu->apic.tpr >> 4);
		return FAULT_NONE;
	}
	value = engine_get(cpu->active, gpr);
	if (value & ~CR8_PRIORITY)
		return FAULT_GP;
	cpu->apic.tpr = (uint32_t)value << 4;
	cpu_request_attention(cpu);
	return FAULT_NONE;
}
