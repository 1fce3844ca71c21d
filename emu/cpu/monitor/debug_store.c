/*
 * The Debug Store of a CPU: its memory, and page faults of its records.
 *
 * Model choices, where the SDM is silent: a record is a supervisor access; a record
 * that faults is skipped, and #PF is delivered before the next instruction, with the
 * result of the branch kept; that #PF has no record.  If records fault in the handler of
 * that #PF, too, which would not end, the run ends by name.
 */
#include "emu/cpu/state.h"

#include <string.h>

#define CR0_WP TZ_BIT(16)
#define PF_P   TZ_BIT(0)
#define PF_W   TZ_BIT(1)

/* Ends the run: a record or the save area is in memory that is not RAM. */
static void
no_ram(struct cpu *cpu, struct gva va)
{
	cpu_end_run(cpu, CPU_OVER_UNMODELLED,
	    "the Debug Store uses 0x%llx, which is not RAM",
	    (unsigned long long)va.u);
}

/* Finds COUNT bytes at VA: the longest record is as long as walk_access() takes. */
static bool
find(struct cpu *cpu, struct gva va, size_t count, bool write,
    struct walk_bytes *bytes, struct gva *fault)
{
	struct walk_access access = {
		.write = write,
		.protect = (engine_get(cpu->active, ENGINE_CR0) & CR0_WP) != 0,
	};

	switch (walk_access(&cpu->space, va, count, &access, bytes, fault)) {
	case WALK_DONE:
		return true;
	case WALK_NO_RAM:
		no_ram(cpu, va);
		*fault = va;
		return false;
	case WALK_FAULT:
	default:
		return false;
	}
}

static bool
ds_read(void *arg, struct gva va, void *to, size_t count, struct gva *fault)
{
	struct walk_bytes bytes;

	if (!find(arg, va, count, false, &bytes, fault))
		return false;
	memcpy(to, bytes.part[0], bytes.split);
	memcpy((char *)to + bytes.split, bytes.part[1], count - bytes.split);
	return true;
}

static bool
ds_write(
    void *arg, struct gva va, const void *from, size_t count, struct gva *fault)
{
	struct walk_bytes bytes;

	if (!find(arg, va, count, true, &bytes, fault))
		return false;
	memcpy(bytes.part[0], from, bytes.split);
	memcpy(bytes.part[1], (const char *)from + bytes.split,
	    count - bytes.split);
	return true;
}

/*
 * SDM vol. 3, 33.3.1.2 "Model Specific Capability Restrictions": some processors store no
 * branch records while TraceEn is 1.
 */
static bool
is_excluded(const struct cpu *cpu)
{
	return profile_trace_excludes_branch_records(cpu->config.profile) &&
	    cpu_trace_on(cpu);
}

void
cpu_debug_store_changed(struct cpu *cpu)
{
	cpu->debug_store.branches = ds_records_branches(
					&cpu->ds, cpu->mode.cpl != 0) &&
	    !is_excluded(cpu);
	cpu_choose_route(cpu);
}

/* Makes the page fault of a record pending; the first one of an instruction counts. */
static void
fault(struct cpu *cpu, const struct ds_result *result)
{
	struct walk walk;

	if (cpu->debug_store.faulted || cpu->stop.over)
		return;
	if (cpu->debug_store.handling) {
		cpu_end_run(cpu, CPU_OVER_UNMODELLED,
		    "a record of the Debug Store faults at 0x%llx in the "
		    "handler of the page fault of another record",
		    (unsigned long long)result->fault.u);
		return;
	}
	cpu->debug_store.faulted = true;
	cpu->debug_store.fault_va = result->fault.u;
	cpu->debug_store.fault_code = result->end == DS_WRITE_FAULT ? PF_W : 0;
	if (walk_page(&cpu->space, result->fault, &walk))
		cpu->debug_store.fault_code |= PF_P;
}

static struct ds_port
port_of(struct cpu *cpu)
{
	return (
	    struct ds_port){ .arg = cpu, .read = ds_read, .write = ds_write };
}

bool
cpu_debug_store_branch(struct cpu *cpu, uint64_t from, uint64_t to)
{
	const struct ds_port port = port_of(cpu);
	const struct ds_branch branch = { .from = from, .to = to };
	struct ds_result result;

	ds_store_branch(&cpu->ds, &port, &branch, &result);
	if (result.end == DS_STORED) {
		cpu_emit(cpu, EVENT_BTS_RECORD, from, to, result.record.u);
		return result.pmi;
	}
	cpu_emit(cpu, EVENT_BTS_LOST, from, to, result.record.u);
	if (result.end != DS_FULL)
		fault(cpu, &result);
	return false;
}

/* Register values, by number of the encoding. */
static const enum ds_value registers[] = { DS_RAX, DS_RCX, DS_RDX, DS_RBX,
	DS_RSP, DS_RBP, DS_RSI, DS_RDI, DS_R8, DS_R9, DS_R10, DS_R11, DS_R12,
	DS_R13, DS_R14, DS_R15 };

static bool
read_resets(struct cpu *cpu, const struct ds_port *port, uint64_t counters,
    uint64_t *reset, struct gva *fault)
{
	for (unsigned i = 0; i < PMU_GP_MAX; i++)
		if ((counters >> i & 1) != 0 &&
		    !ds_reset_value(&cpu->ds, port, i, false, &reset[i], fault))
			return false;
	for (unsigned i = 0; i < PMU_FIXED_MAX; i++)
		if ((counters >> (32 + i) & 1) != 0 &&
		    !ds_reset_value(
			&cpu->ds, port, i, true, &reset[PMU_GP_MAX + i], fault))
			return false;
	return true;
}

static void
tell_resets(struct cpu *cpu, uint64_t counters, const uint64_t *reset)
{
	for (unsigned i = 0; i < PMU_GP_MAX + PMU_FIXED_MAX; i++) {
		unsigned bit = i < PMU_GP_MAX ? i : 32 + i - PMU_GP_MAX;

		if ((counters >> bit & 1) != 0)
			cpu_emit(cpu, EVENT_PEBS_RESET, bit, reset[i], 0);
	}
}

static void
fill_registers(struct cpu *cpu, struct ds_sample *sample, uint64_t rip)
{
	struct insn_regs regs;

	cpu_read_regs(cpu, &regs);
	for (size_t i = 0; i < TZ_ARRAY_LEN(registers); i++)
		sample->value[registers[i]] = regs.gpr[i];
	sample->value[DS_RFLAGS] = regs.rflags;
	sample->value[DS_IP] = rip;
}

bool
cpu_debug_store_looks_ahead(const struct cpu *cpu)
{
	return cpu->pmu.pebs_armed != 0 &&
	    !profile_pebs_is_trap(cpu->config.profile);
}

void
cpu_debug_store_note(struct cpu *cpu)
{
	fill_registers(cpu, &cpu->debug_store.before, cpu_rip(cpu));
}

enum cpu_sample
cpu_debug_store_sample(struct cpu *cpu, uint64_t counters, uint64_t from,
    uint64_t to, uint64_t *reset)
{
	const struct ds_port port = port_of(cpu);
	struct ds_result result = { .end = DS_READ_FAULT };
	struct ds_sample sample = { { 0 } };

	if (cpu_debug_store_looks_ahead(cpu))
		sample = cpu->debug_store.before;
	else
		fill_registers(cpu, &sample, to);
	sample.value[DS_EVENTING_IP] = from;
	sample.value[DS_STATUS] = cpu->pmu.global_status;
	sample.value[DS_COUNTERS] = counters;
	sample.value[DS_TSC] = cpu_tsc(cpu);
	if (read_resets(cpu, &port, counters, reset, &result.fault))
		ds_store_sample(&cpu->ds, &port, &sample,
		    pmu_pebs_groups(&cpu->pmu, counters), &result);
	if (result.end == DS_STORED)
		tell_resets(cpu, counters, reset);
	cpu_emit(cpu,
	    result.end == DS_STORED ? EVENT_PEBS_RECORD : EVENT_PEBS_LOST, from,
	    counters, result.record.u);
	if (result.end != DS_STORED && result.end != DS_FULL)
		fault(cpu, &result);
	if (result.end != DS_STORED)
		return CPU_SAMPLE_LOST;
	return result.pmi ? CPU_SAMPLE_THRESHOLD : CPU_SAMPLE_STORED;
}
