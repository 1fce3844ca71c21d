/*
 * The state of a CPU, read: registers, memory and what others ask.  Nothing here
 * changes it.
 */
#include "emu/cpu/state.h"

/* An indirect near CALL with a memory operand has at least 2 bytes. */
#define CALL_BYTES_MIN 2

struct pt_context
cpu_context(const struct cpu *cpu, uint64_t ip)
{
	return (struct pt_context){
		.ip = ip,
		.cr3 = cpu->space.cr3,
		.cpl = cpu->mode.cpl,
		.cs_l = true,
		.cs_d = false,
		/* Only Event Trace uses it, and reading it is slow. */
		.if_flag = cpu_has_event_trace(cpu) &&
		    (engine_get(cpu->active, ENGINE_RFLAGS) & RFLAGS_IF) != 0,
	};
}

void
cpu_read_regs(struct cpu *cpu, struct insn_regs *regs)
{
	engine_get_general(cpu->active, regs->gpr, &regs->fs_base,
	    &regs->gs_base, &regs->rflags);
}

uint64_t
cpu_access_insns(const struct cpu *cpu)
{
	return cpu_count_insns(cpu) + cpu->sites.last_access.index;
}

uint64_t
cpu_insns(const struct cpu *cpu)
{
	return cpu_count_insns(cpu);
}

uint64_t
cpu_rip(struct cpu *cpu)
{
	/* In the middle of a block the engine's RIP is out of date. */
	return cpu->sites.access_va != 0 ? cpu->sites.access_va
					 : engine_get(cpu->active, ENGINE_RIP);
}

bool
cpu_read(struct cpu *cpu, struct gva va, void *bytes, size_t count)
{
	return walk_read(&cpu->space, va, bytes, count, NULL);
}

uint64_t
cpu_rsp(struct cpu *cpu)
{
	return engine_get(cpu->active, ENGINE_RSP);
}

uint64_t
cpu_rbp(struct cpu *cpu)
{
	return engine_get(cpu->active, ENGINE_RBP);
}

bool
cpu_translate(struct cpu *cpu, struct gva va, uint64_t *pa)
{
	struct walk walk;

	if (!walk_page(&cpu->space, va, &walk))
		return false;
	*pa = walk.pa.u;
	return true;
}

uint64_t
cpu_kernel_insns(const struct cpu *cpu)
{
	if (cpu->mode.cpl != 0 || cpu->mode.halted)
		return 0;
	TZ_ASSERT(cpu_insns(cpu) >= cpu->mode.kernel_since);
	return cpu_insns(cpu) - cpu->mode.kernel_since;
}

bool
cpu_trace_on(const struct cpu *cpu)
{
	uint64_t ctl = 0;

	/* On a CPU without PT the MSR does not exist. */
	return pt_unit_rdmsr(cpu->unit, MSR_RTIT_CTL, &ctl) == FAULT_NONE &&
	    (ctl & CTL_TRACE_EN);
}

uint64_t
cpu_trace_bytes(const struct cpu *cpu)
{
	return cpu->trace.bytes;
}

struct pmu
cpu_counters_now(const struct cpu *cpu)
{
	struct pmu_slice slice = cpu_unreported(cpu);
	struct pmu pmu = cpu->pmu;

	pmu_count(&pmu, cpu->counters.user, &slice, false);
	return pmu;
}

uint64_t
cpu_peek_msr(const struct cpu *cpu, uint32_t msr)
{
	uint64_t value = 0;

	struct pmu pmu = cpu_counters_now(cpu);

	if (pmu_owns_msr(msr))
		return pmu_rdmsr(&pmu, msr, &value) == FAULT_NONE ? value : 0;
	if (pt_unit_rdmsr(cpu->unit, msr, &value) != FAULT_NONE)
		return 0;
	return value;
}

uint32_t
cpu_lvt_pc(const struct cpu *cpu)
{
	return cpu->apic.lvt[APIC_LVT_PC];
}

uint64_t
cpu_ds_area(const struct cpu *cpu)
{
	return cpu->ds.area;
}

uint64_t
cpu_xss(const struct cpu *cpu)
{
	return cpu->msrs.xss;
}

bool
cpu_trigger_en(const struct cpu *cpu)
{
	return pt_unit_trigger_en(cpu->unit);
}

bool
cpu_is_timed(const struct cpu *cpu)
{
	return pt_unit_fast(cpu->unit)->timed;
}

uint64_t
cpu_counting(const struct cpu *cpu)
{
	return pmu_counting(&cpu->pmu);
}

uint64_t
cpu_interrupting(const struct cpu *cpu)
{
	return pmu_interrupting(&cpu->pmu) |
	    (cpu->pmu.pebs_enable != 0 ? PMU_STATUS_OVF_DS : 0);
}

bool
cpu_branches_interrupt(const struct cpu *cpu)
{
	const uint64_t bits = DS_DEBUGCTL_TR | DS_DEBUGCTL_BTS |
	    DS_DEBUGCTL_BTINT;

	return (cpu->ds.debugctl & bits) == bits;
}

bool
cpu_in_nmi(const struct cpu *cpu)
{
	return cpu->interrupts.nmi_blocked;
}

bool
cpu_nmi_pending(const struct cpu *cpu)
{
	return cpu->interrupts.nmis > 0;
}

uint64_t
cpu_pmi_count(const struct cpu *cpu)
{
	return cpu->trace.pmi_count;
}

uint64_t
cpu_nmi_count(const struct cpu *cpu)
{
	return cpu->interrupts.nmi_count;
}

const char *
cpu_pt_error(const struct cpu *cpu)
{
	return cpu->trace.error;
}

bool
cpu_call_slot(struct cpu *cpu, uint64_t *va)
{
	uint8_t bytes[INSN_BYTES_MAX];
	struct insn_memory memory;
	struct insn_regs regs;
	struct insn insn;
	uint64_t next;

	if (!cpu_read(cpu, (struct gva){ cpu_rsp(cpu) }, &next, sizeof(next)))
		return false;
	cpu_read_regs(cpu, &regs);
	for (size_t count = CALL_BYTES_MIN; count <= 8; count++) {
		uint64_t begin = next - count;

		if (!cpu_read(cpu, (struct gva){ begin }, bytes, count) ||
		    !insn_decode(bytes, count, begin, &insn) ||
		    insn.length != count || insn.class != INSN_CALL_INDIRECT ||
		    !insn_memory_operand(bytes, count, begin, &regs, &memory))
			continue;
		*va = memory.va;
		return true;
	}
	return false;
}
