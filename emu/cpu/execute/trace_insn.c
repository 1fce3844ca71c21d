/*
 * Instructions that need special handling only because of the PT unit: PTWRITE,
 * which the engine does not know, and CLI, whose flag Event Trace reports.
 */
#include "emu/cpu/state.h"
#include "emu/pt/packet/nonbranch.h"

#define RFLAGS_IOPL (UINT64_C(3) << 12)

/* Reads COUNT bytes at VA with the CPU's privilege. */
static bool
read_operand(struct cpu *cpu, uint64_t va, uint64_t *value, unsigned count,
    uint64_t *fault_va)
{
	struct gva bad = { va };
	struct walk walk;

	if (cpu->mode.cpl == 3) {
		for (unsigned i = 0; i < count; i++) {
			if (walk_page(
				&cpu->space, (struct gva){ va + i }, &walk) &&
			    walk.user)
				continue;
			*fault_va = va + i;
			return false;
		}
	}
	if (walk_read(&cpu->space, (struct gva){ va }, value, count, &bad))
		return true;
	*fault_va = bad.u;
	return false;
}

/* SDM vol. 2, "PTWRITE": #UD without the feature, or with 66H. */
enum fault
cpu_do_ptwrite(struct cpu *cpu, uint64_t *fault_va)
{
	struct pt_context at = cpu_context(cpu, cpu->trap.rip);
	uint8_t code[INSN_BYTES_MAX];
	unsigned length = cpu->trap.insn.length, bytes;
	struct insn_memory memory;
	struct insn_regs regs;
	uint64_t value = 0;
	int source;

	TZ_ASSERT(walk_read(
	    &cpu->space, (struct gva){ cpu->trap.rip }, code, length, NULL));
	if (!(cpu->config.profile->pt_ebx & PROFILE_PT_EBX_PTWRITE) ||
	    !insn_ptwrite_source(code, length, &source, &bytes))
		return FAULT_UD;
	cpu_read_regs(cpu, &regs);
	if (source >= 0) {
		value = regs.gpr[source];
	} else {
		TZ_ASSERT(insn_memory_operand(
		    code, length, cpu->trap.rip, &regs, &memory));
		if (!tz_is_canonical(memory.va))
			return FAULT_GP;
		if (!read_operand(cpu, memory.va, &value, bytes, fault_va))
			return FAULT_PF;
	}
	if (bytes == 4)
		value &= UINT32_MAX;
	pt_unit_ptwrite(cpu->unit, &at, value, bytes);
	return FAULT_NONE;
}

/* SDM vol. 2, "CLI": #GP where CPL is above IOPL. */
enum fault
cpu_do_cli(struct cpu *cpu)
{
	uint64_t rflags = engine_get(cpu->active, ENGINE_RFLAGS);

	TZ_ASSERT(cpu_has_event_trace(cpu));
	if (cpu->mode.cpl > (rflags & RFLAGS_IOPL) >> 12)
		return FAULT_GP;
	engine_set(cpu->active, ENGINE_RFLAGS, rflags & ~RFLAGS_IF);
	return FAULT_NONE;
}
