/*
 * The instructions that the machine executes itself: those whose result the engine
 * would take from the host, those that it does not know, and those that it cannot
 * report.
 */
#include "emu/cpu/monitor/branch.h"
#include "emu/cpu/state.h"

#include <string.h>

#define CR4_TSD     TZ_BIT(2)
#define CR4_PCE     TZ_BIT(8)
#define CR4_OSXSAVE TZ_BIT(18)
#define EFER_SCE    TZ_BIT(0)
#define RFLAGS_TF   TZ_BIT(8)
/* Skylake and later: "about 140 cycles" (Intel optimization manual, PAUSE). */
#define PAUSE_CYCLES 140

static uint64_t
get(struct cpu *cpu, enum engine_reg reg)
{
	return engine_get(cpu->active, reg);
}

static void
set(struct cpu *cpu, enum engine_reg reg, uint64_t value)
{
	engine_set(cpu->active, reg, value);
}

static uint64_t
edx_eax(struct cpu *cpu)
{
	return get(cpu, ENGINE_RDX) << 32 | (uint32_t)get(cpu, ENGINE_RAX);
}

static void
set_edx_eax(struct cpu *cpu, uint64_t value)
{
	set(cpu, ENGINE_RAX, (uint32_t)value);
	set(cpu, ENGINE_RDX, value >> 32);
}

static enum fault
do_rdmsr(struct cpu *cpu)
{
	uint64_t value = 0;
	enum fault fault;

	if (cpu->mode.cpl != 0)
		return FAULT_GP;
	fault = cpu_rdmsr(cpu, (uint32_t)get(cpu, ENGINE_RCX), &value);
	if (fault == FAULT_NONE)
		set_edx_eax(cpu, value);
	return fault;
}

static enum fault
do_wrmsr(struct cpu *cpu)
{
	if (cpu->mode.cpl != 0)
		return FAULT_GP;
	cpu_serialize(cpu);
	return cpu_wrmsr(cpu, (uint32_t)get(cpu, ENGINE_RCX), edx_eax(cpu),
	    cpu->trap.rip + cpu->trap.insn.length);
}

static enum fault
do_cpuid(struct cpu *cpu)
{
	struct profile_cpu about = {
		.apic_id = cpu->config.id,
		.cpu_count = cpu->config.cpu_count,
		.xcr0 = cpu->msrs.xcr0,
		.xss = cpu->msrs.xss,
		.osxsave = (get(cpu, ENGINE_CR4) & CR4_OSXSAVE) != 0,
		.board = cpu->config.board,
	};
	uint32_t out[4];

	cpu_see_writes(cpu); /* it serializes */
	profile_cpuid(cpu->config.profile, &about,
	    (uint32_t)get(cpu, ENGINE_RAX), (uint32_t)get(cpu, ENGINE_RCX),
	    out);
	set(cpu, ENGINE_RAX, out[0]);
	set(cpu, ENGINE_RBX, out[1]);
	set(cpu, ENGINE_RCX, out[2]);
	set(cpu, ENGINE_RDX, out[3]);
	return FAULT_NONE;
}

/* SDM vol. 2, "RDTSC". */
static bool
is_tsc_refused(struct cpu *cpu)
{
	return cpu->mode.cpl != 0 && (get(cpu, ENGINE_CR4) & CR4_TSD) != 0;
}

static enum fault
do_rdtsc(struct cpu *cpu)
{
	if (is_tsc_refused(cpu))
		return FAULT_GP;
	set_edx_eax(cpu, cpu_tsc(cpu));
	return FAULT_NONE;
}

static enum fault
do_rdtscp(struct cpu *cpu)
{
	if (is_tsc_refused(cpu))
		return FAULT_GP;
	set_edx_eax(cpu, cpu_tsc(cpu));
	set(cpu, ENGINE_RCX, (uint32_t)cpu->msrs.tsc_aux);
	return FAULT_NONE;
}

/* SDM vol. 2, "RDPMC". */
static enum fault
do_rdpmc(struct cpu *cpu)
{
	enum fault fault;
	uint64_t value;

	if (cpu->mode.cpl != 0 && (get(cpu, ENGINE_CR4) & CR4_PCE) == 0)
		return FAULT_GP;
	cpu_counters_sync(cpu);
	fault = pmu_rdpmc(&cpu->pmu, (uint32_t)get(cpu, ENGINE_RCX), &value);
	if (fault == FAULT_NONE)
		set_edx_eax(cpu, value);
	return fault;
}

static enum fault
do_hlt(struct cpu *cpu)
{
	if (cpu->mode.cpl != 0)
		return FAULT_GP;
	/* A single-step trap would wake the CPU at once. */
	if (get(cpu, ENGINE_RFLAGS) & RFLAGS_TF)
		return FAULT_NONE;
	cpu_halt(cpu);
	cpu_emit(cpu, EVENT_HALT, 0, cpu->trap.rip, 0);
	return FAULT_NONE;
}

static void
port_operands(struct cpu *cpu, int *port, unsigned *bytes)
{
	uint8_t code[INSN_BYTES_MAX];

	TZ_ASSERT(walk_read(&cpu->space, (struct gva){ cpu->trap.rip }, code,
	    cpu->trap.insn.length, NULL));
	insn_port_operands(code, cpu->trap.insn.length, port, bytes);
	if (*port < 0)
		*port = (uint16_t)get(cpu, ENGINE_RDX);
}

static void unmodelled(struct cpu *cpu);

/* SDM vol. 2, "IN - Input From Port": 32 bits clear the upper half of RAX. */
static enum fault
do_in(struct cpu *cpu)
{
	uint64_t rax = get(cpu, ENGINE_RAX), mask;
	unsigned bytes = 0;
	uint32_t value;
	int port;

	if (!cpu->config.board) {
		unmodelled(cpu);
		return FAULT_NONE;
	}
	if (cpu->mode.cpl != 0)
		return FAULT_GP;
	port_operands(cpu, &port, &bytes);
	mask = bytes == 4 ? UINT64_MAX : TZ_BIT(bytes * 8) - 1;
	TZ_ASSERT(cpu->config.port.in(
	    cpu->config.port.arg, cpu->config.id, port, bytes, &value));
	set(cpu, ENGINE_RAX, (rax & ~mask) | (value & mask));
	return FAULT_NONE;
}

static enum fault
do_out(struct cpu *cpu)
{
	unsigned bytes = 0;
	int port;

	if (cpu->mode.cpl != 0)
		return FAULT_GP;
	port_operands(cpu, &port, &bytes);
	if (!cpu->config.port.out(cpu->config.port.arg, cpu->config.id, port,
		bytes, (uint32_t)get(cpu, ENGINE_RAX)))
		cpu_end_run(cpu, CPU_OVER_UNMODELLED,
		    "OUT of %u bytes to port 0x%x", bytes, (unsigned)port);
	return FAULT_NONE;
}

/* SDM vol. 2, "SYSCALL"; the kernel's segments are those of the kept state. */
static enum fault
do_syscall(struct cpu *cpu)
{
	uint64_t next = cpu->trap.rip + cpu->trap.insn.length;
	uint64_t rflags = get(cpu, ENGINE_RFLAGS);
	uint64_t selector = tz_bits(cpu->msrs.star, 47, 32) & 0xfffc;

	if (!(engine_get_msr(cpu->active, MSR_EFER) & EFER_SCE))
		return FAULT_UD;
	set(cpu, ENGINE_RCX, next);
	set(cpu, ENGINE_R11, rflags);
	engine_enter_ring0(cpu->active);
	set(cpu, ENGINE_RFLAGS, rflags & ~cpu->msrs.fmask & ~TZ_BIT(16));
	if (get(cpu, ENGINE_CS) != selector)
		cpu_end_run(cpu, CPU_OVER_UNMODELLED,
		    "SYSCALL into code segment 0x%llx",
		    (unsigned long long)selector);
	cpu->mode.cpl = 0;
	cpu->mode.kernel_since = cpu_insns(cpu);
	return FAULT_NONE;
}

static void
unmodelled(struct cpu *cpu)
{
	uint8_t bytes[INSN_BYTES_MAX];
	char text[96];

	TZ_ASSERT(walk_read(&cpu->space, (struct gva){ cpu->trap.rip }, bytes,
	    cpu->trap.insn.length, NULL));
	insn_format(
	    bytes, cpu->trap.insn.length, cpu->trap.rip, text, sizeof(text));
	cpu_end_run(cpu, CPU_OVER_UNMODELLED, "instruction '%s' at 0x%llx",
	    text, (unsigned long long)cpu->trap.rip);
}

static enum fault
execute(struct cpu *cpu, uint64_t *fault_va)
{
	switch ((int)cpu->trap.insn.class) {
	case INSN_RDMSR:
		return do_rdmsr(cpu);
	case INSN_WRMSR:
		return do_wrmsr(cpu);
	case INSN_CPUID:
		return do_cpuid(cpu);
	case INSN_RDTSC:
		return do_rdtsc(cpu);
	case INSN_RDTSCP:
		return do_rdtscp(cpu);
	case INSN_RDPMC:
		return do_rdpmc(cpu);
	case INSN_XGETBV:
		return cpu_do_xgetbv(cpu);
	case INSN_XSETBV:
		return cpu_do_xsetbv(cpu);
	case INSN_XSAVE:
	case INSN_XSAVEOPT:
	case INSN_XSAVEC:
	case INSN_XSAVES:
		return cpu_do_xsave(cpu, fault_va);
	case INSN_XRSTOR:
	case INSN_XRSTORS:
		return cpu_do_xrstor(cpu, fault_va);
	case INSN_HLT:
		return do_hlt(cpu);
	case INSN_OUT:
		return do_out(cpu);
	case INSN_IN:
		return do_in(cpu);
	case INSN_SYSCALL:
		return do_syscall(cpu);
	case INSN_PTWRITE:
		return cpu_do_ptwrite(cpu, fault_va);
	case INSN_CMPXCHG32:
	case INSN_CMPXCHG32_REG:
		return cpu_do_cmpxchg32(cpu, fault_va);
	case INSN_CMPXCHG_PAIR:
		return cpu_do_cmpxchg_pair(cpu, fault_va);
	case INSN_CHECKED:
		return cpu_check_insn(
		    cpu, cpu->trap.rip, cpu->trap.insn.length, fault_va);
	case INSN_FLOAT:
		return cpu_do_float(cpu, fault_va);
	case INSN_MOV_CR8:
		return cpu_do_mov_cr8(cpu);
	case INSN_MOV_CR:
		return cpu_do_mov_cr(cpu);
	case INSN_MOV_DR:
		return cpu_do_mov_dr(cpu);
	case INSN_BREAKPOINT:
		return FAULT_DB;
	case INSN_ABSENT:
		return FAULT_UD;
	case INSN_CLI:
		return cpu_do_cli(cpu);
	case INSN_PAUSE:
		cpu->stop.yield = true;
		return FAULT_NONE;
	default:
		unmodelled(cpu);
		return FAULT_NONE;
	}
}

/* True if the instruction can turn tracing on. */
static bool
writes_trace_state(const struct cpu *cpu)
{
	return cpu->trap.insn.class == INSN_WRMSR ||
	    cpu->trap.insn.class == INSN_XRSTORS;
}

/* True if the instruction reads or writes MSRs that the execution log needs. */
static bool
reaches_trace_state(struct cpu *cpu)
{
	if (cpu->trap.insn.class == INSN_WRMSR)
		return cpu_is_unit_msr((uint32_t)get(cpu, ENGINE_RCX));
	return cpu->trap.insn.class == INSN_XSAVES ||
	    cpu->trap.insn.class == INSN_XRSTORS;
}

/* The instruction has retired: its step, and SYSCALL's far transfer. */
static void
finish(struct cpu *cpu, uint64_t rip)
{
	uint64_t next = rip + cpu->trap.insn.length;

	cpu_log_step(cpu, rip);
	cpu_retire_one(cpu, rip);
	cpu->counters.last_va = rip;
	if (cpu->trap.insn.class == INSN_PAUSE) {
		cpu_pass_time(cpu, PAUSE_CYCLES - 1);
		if (cpu->pmu.wanted != 0)
			cpu_counters_sync(cpu);
	} else if (writes_trace_state(cpu))
		cpu_pass_time(
		    cpu, 0); /* so that the execution log knows the time */
	cpu->mode.place = PLACE_BOUNDARY;
	if (cpu->trap.insn.class != INSN_SYSCALL) {
		set(cpu, ENGINE_RIP, next);
		cpu_tell_resume(cpu, next);
		if (cpu->trap.insn.class == INSN_CLI)
			cpu_if_changed(cpu, next);
		cpu_log_rest(cpu);
		return;
	}
	set(cpu, ENGINE_RIP, cpu->msrs.lstar);
	if (cpu_sees_branches(cpu))
		cpu_branch(cpu, INSN_FAR, true, rip, cpu->msrs.lstar);
	cpu_cpl_changed(cpu);
	if (cpu->exec_log != NULL)
		exec_log_context(cpu->exec_log, 0, cpu->space.cr3);
	cpu_transfer(cpu, PT_TRANSFER_FAR, -1, rip, cpu->msrs.lstar);
}

void
cpu_trap(struct cpu *cpu)
{
	uint64_t rip = cpu->trap.rip;
	bool reaches = reaches_trace_state(cpu);
	uint64_t fault_va = 0;
	struct insn_uses uses;
	enum fault fault;

	TZ_ASSERT(cpu->trap.pending);
	cpu->trap.pending = false;
	cpu_count_down_nmi(cpu);
	if (pt_unit_fast(cpu->unit)->timed || writes_trace_state(cpu))
		cpu_sync_clock(cpu);
	if (reaches)
		cpu_log_wake(cpu);
	if (reaches || cpu_logs_time(cpu))
		cpu_log_time(cpu);
	cpu_audit_trap(cpu, &uses);
	if (cpu->trap.insn.class == INSN_INT1) {
		cpu_deliver(cpu, VECTOR_DB, DELIVER_INT1, 0,
		    rip + cpu->trap.insn.length);
		return;
	}
	fault = execute(cpu, &fault_va);
	if (cpu->stop.over)
		return;
	if (fault != FAULT_NONE) {
		cpu_raise(cpu, fault, rip, fault_va);
		return;
	}
	cpu_audit_trapped(cpu, &uses);
	finish(cpu, rip);
	/* SYSCALL may have cleared it; no other instruction here changes it. */
	if (get(cpu, ENGINE_RFLAGS) & RFLAGS_TF)
		cpu_debug_trap(cpu, true);
}
