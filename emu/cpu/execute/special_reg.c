/*
 * MOV to and from the debug registers and CR8, and to CR0 and CR4.
 */
#include "emu/cpu/state.h"

/* SDM vol. 3, 2.5 "Control Registers". */
#define CR0_PE       TZ_BIT(0)
#define CR0_ET       TZ_BIT(4)
#define CR0_NW       TZ_BIT(29)
#define CR0_CD       TZ_BIT(30)
#define CR0_WRITABLE UINT64_C(0xe005002f)
#define CR4_DE       TZ_BIT(3)
#define CR4_PAE      TZ_BIT(5)
#define CR8_PRIORITY UINT64_C(0xf)

/* SDM vol. 3, 18.2.3 "Debug Status Register (DR6)", 18.2.4 "Debug Control Register". */
#define DR6_FIXED    UINT64_C(0xffff0ff0)
#define DR6_WRITABLE UINT64_C(0x0000e00f)
#define DR6_BD       TZ_BIT(13)
#define DR6_BS       TZ_BIT(14)
#define DR7_FIXED    UINT64_C(0x00000400)
#define DR7_WRITABLE UINT64_C(0xffff23ff)
#define DR7_GD       TZ_BIT(13)

void
cpu_reset_debug_regs(struct cpu *cpu)
{
	cpu->debug_regs = (struct cpu_debug_regs){ .dr6 = DR6_FIXED,
		.dr7 = DR7_FIXED };
}

void
cpu_note_debug_trap(struct cpu *cpu, bool stepped)
{
	struct cpu_debug_regs *regs = &cpu->debug_regs;

	regs->dr6 |= regs->hits | (stepped ? DR6_BS : 0);
	regs->hits = 0;
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
	if (!cpu_has_port_breakpoints(cpu))
		return FAULT_NONE;
	if (cpu->config.board)
		cpu->config.port.breakpoint(
		    cpu->config.port.arg, cpu->config.id, value);
	else
		cpu_end_run(cpu, CPU_OVER_UNMODELLED,
		    "a breakpoint of I/O: DR7 is 0x%llx",
		    (unsigned long long)value);
	return FAULT_NONE;
}

/* SDM vol. 2, "MOV - Move to/from Debug Registers". */
enum fault
cpu_do_mov_dr(struct cpu *cpu)
{
	struct cpu_debug_regs *regs = &cpu->debug_regs;
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
	if (regs->dr7 & DR7_GD) {
		regs->dr7 &= ~DR7_GD;
		regs->dr6 |= DR6_BD;
		return FAULT_DB;
	}
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

/*
 * The bits of CR4, each with the bit of CPUID that announces what it enables: any other is
 * reserved on a processor of the machine.  SDM vol. 3, 2.5 "Control Registers".
 */
static const struct {
	uint8_t bit, leaf, reg, feature;
} cr4_bits[] = {
	{ 2, 1, PROFILE_EDX, 4 },   /* TSD */
	{ 3, 1, PROFILE_EDX, 2 },   /* DE */
	{ 4, 1, PROFILE_EDX, 3 },   /* PSE */
	{ 5, 1, PROFILE_EDX, 6 },   /* PAE */
	{ 7, 1, PROFILE_EDX, 13 },  /* PGE */
	{ 8, 1, PROFILE_EDX, 5 },   /* PCE: a processor with MSRs has RDPMC */
	{ 9, 1, PROFILE_EDX, 24 },  /* OSFXSR */
	{ 10, 1, PROFILE_EDX, 25 }, /* OSXMMEXCPT */
	{ 16, 7, PROFILE_EBX, 0 },  /* FSGSBASE */
	{ 18, 1, PROFILE_ECX, 26 }, /* OSXSAVE */
};

static uint64_t
cr4_writable(struct cpu *cpu)
{
	const struct profile_cpu about = {
		.apic_id = cpu->config.id,
		.cpu_count = cpu->config.cpu_count,
		.board = cpu->config.board,
	};
	uint64_t writable = 0;

	for (size_t i = 0; i < TZ_ARRAY_LEN(cr4_bits); i++) {
		uint32_t out[4];

		profile_cpuid(
		    cpu->config.profile, &about, cr4_bits[i].leaf, 0, out);
		if (out[cr4_bits[i].reg] >> cr4_bits[i].feature & 1)
			writable |= TZ_BIT(cr4_bits[i].bit);
	}
	return writable;
}

/* Neither paging nor PAE can be left in 64-bit mode. */
static bool
is_control_valid(struct cpu *cpu, unsigned number, uint64_t value)
{
	if (number == 4)
		return (value & ~cr4_writable(cpu)) == 0 && (value & CR4_PAE);
	return value <= UINT32_MAX && (value & CR0_PE) && (value & CR0_PG) &&
	    ((value & CR0_CD) || !(value & CR0_NW));
}

/* SDM vol. 2, "MOV - Move to/from Control Registers". */
enum fault
cpu_do_mov_cr(struct cpu *cpu)
{
	struct insn_special insn = operands(cpu);
	uint64_t value;

	TZ_ASSERT(insn.store && (insn.number == 0 || insn.number == 4));
	if (cpu->mode.cpl != 0)
		return FAULT_GP;
	value = engine_get(cpu->active, (enum engine_reg)insn.gpr);
	if (!is_control_valid(cpu, insn.number, value))
		return FAULT_GP;
	if (insn.number == 0)
		engine_set(
		    cpu->active, ENGINE_CR0, (value & CR0_WRITABLE) | CR0_ET);
	else
		engine_set(cpu->active, ENGINE_CR4, value);
	cpu_select_code(cpu);
	engine_keep_ring0(cpu->active);
	return FAULT_NONE;
}
