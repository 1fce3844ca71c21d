#include "emu/cpu/state.h"
#include "emu/pt/packet/nonbranch.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APIC_BASE_ENABLED TZ_BIT(11)
#define APIC_BASE_BSP     TZ_BIT(8)
#define PAT_RESET         UINT64_C(0x0007040600070406)
#define SELECTOR_BYTES    8
#define DESCRIPTOR_L      TZ_BIT(53)

static int
make_engines(struct cpu *cpu, struct tz_error *err)
{
	const struct cpu_config *config = &cpu->config;
	struct engine_ops ops = {
		.arg = cpu,
		.code = config->single_step ? cpu_step : cpu_enter,
		.enter = cpu_step_enter,
		.site = cpu_site,
		.mmio_read = cpu_mmio_read,
		.mmio_write = cpu_mmio_write,
	};

	cpu->engine = engine_create(config->ram, config->ram_bytes, APIC_PA,
	    &ops, config->single_step, err);
	if (cpu->engine == NULL)
		return -TZ_EIO;
	cpu->active = cpu->engine;
	if (config->single_step)
		return 0;
	ops.code = cpu_step;
	cpu->stepper = engine_create(
	    config->ram, config->ram_bytes, APIC_PA, &ops, true, err);
	return cpu->stepper == NULL ? -TZ_EIO : 0;
}

struct cpu *
cpu_create(const struct cpu_config *config, struct tz_error *err)
{
	void *memory = NULL;
	struct cpu *cpu;
	struct pt_port port;

	TZ_ASSERT(config->id < config->cpu_count);
	if (posix_memalign(&memory, _Alignof(struct cpu), sizeof(*cpu)) != 0) {
		tz_error(err, TZ_EIO, "out of memory for a CPU");
		return NULL;
	}
	cpu = memset(memory, 0, sizeof(*cpu));
	port = cpu_pt_port(cpu);
	cpu->config = *config;
	if (cpu->config.core_cbr == 0)
		cpu->config.core_cbr = config->profile->cbr;
	cpu->space.ram = config->ram;
	cpu->space.ram_bytes = config->ram_bytes;
	cpu->nowhere.successor[0].key = cpu->nowhere.successor[1].key =
	    EDGE_UNUSED;
	cpu->block = &cpu->nowhere;
	cpu->stop_insns = cpu->pause_insns = UINT64_MAX;
	cpu->blocks = block_cache_create();
	cpu->unit = pt_unit_create(config->profile, &port);
	if (cpu->unit != NULL)
		pt_unit_frequency(cpu->unit, cpu->config.core_cbr);
	cpu->hooked = calloc(HOOKED_MAX, sizeof(*cpu->hooked));
	cpu->float_code = cpu_float_create();
	if (cpu->blocks == NULL || cpu->unit == NULL || cpu->hooked == NULL ||
	    cpu->float_code == NULL ||
	    pt_unit_set_cycles(cpu->unit, &config->pt_cycles) != 0)
		goto no_memory;
	if (make_engines(cpu, err) != 0) {
		cpu_destroy(cpu);
		return NULL;
	}
	return cpu;
no_memory:
	tz_error(err, TZ_EIO, "out of memory for a CPU");
	cpu_destroy(cpu);
	return NULL;
}

void
cpu_destroy(struct cpu *cpu)
{
	if (cpu == NULL)
		return;
	engine_destroy(cpu->stepper);
	engine_destroy(cpu->engine);
	if (cpu->unit != NULL)
		pt_unit_destroy(cpu->unit);
	block_cache_destroy(cpu->blocks);
	cpu_float_destroy(cpu->float_code);
	free(cpu->hooked);
	free(cpu);
}

/* Drops pending translations of the active engine, which must not be running. */
static void
forget_code(struct cpu *cpu)
{
	for (unsigned i = 0; i < cpu->forget_count; i++)
		engine_forget(
		    cpu->active, cpu->forget[i].va, cpu->forget[i].bytes);
	cpu->forget_count = 0;
}

void
cpu_forget_code(struct cpu *cpu, uint64_t va, uint64_t bytes)
{
	TZ_ASSERT(cpu->forget_count < FORGET_MAX);
	cpu->forget[cpu->forget_count].va = va;
	cpu->forget[cpu->forget_count++].bytes = bytes;
}

bool
cpu_forget_changes(struct cpu *cpu)
{
	struct engine *other = cpu->active == cpu->stepper ? cpu->engine
							   : cpu->stepper;
	struct code_change change;
	bool any = false;

	while (block_cache_take_change(cpu->blocks, &change)) {
		cpu_forget_code(cpu, change.va, CODE_PAGE_BYTES);
		if (other != NULL)
			engine_forget_frame(other, change.pa);
		any = true;
	}
	return any;
}

static struct code_written
what_was_written(struct cpu *cpu)
{
	struct code_written written = { .pages = NULL };

	if (cpu->config.port.written != NULL)
		written.pages = cpu->config.port.written(
		    cpu->config.port.arg, &written.epoch);
	return written;
}

void
cpu_verify_code(struct cpu *cpu)
{
	struct code_written written = what_was_written(cpu);

	cpu->code_unsure = cpu->others_ran = false;
	block_cache_verify(cpu->blocks, &cpu->space, &written);
	cpu_forget_changes(cpu);
}

/* Updates the block cache to the current page tables. */
static void
select_code(struct cpu *cpu)
{
	struct code_written written = what_was_written(cpu);

	block_cache_select(cpu->blocks, &cpu->space, &written);
	cpu_forget_changes(cpu);
}

void
cpu_start(
    struct cpu *cpu, uint64_t rip, uint64_t rdi, uint64_t rsi, uint64_t cr3)
{
	engine_reset(cpu->engine, cr3);
	engine_set(cpu->engine, ENGINE_RDI, rdi);
	engine_set(cpu->engine, ENGINE_RSI, rsi);
	engine_set(cpu->engine, ENGINE_RIP, rip);
	apic_reset(&cpu->apic, cpu->config.id);
	cpu->apic_base = APIC_PA | APIC_BASE_ENABLED |
	    (cpu->config.id == 0 ? APIC_BASE_BSP : 0);
	cpu->pat = PAT_RESET;
	cpu->xcr0 = 1;
	cpu->cpl = 0;
	cpu->at_boundary = true;
	cpu->space.cr3 = cr3;
	select_code(cpu);
	if (cpu->exec_log != NULL)
		exec_log_context(cpu->exec_log, 0, cr3);
}

void
cpu_emit(
    struct cpu *cpu, enum event_kind kind, uint64_t a, uint64_t b, uint64_t c)
{
	struct event event = {
		.kind = (uint16_t)kind,
		.cpu = (uint16_t)cpu->config.id,
		.insns = cpu_count_insns(cpu),
		.cycles = cpu_cycles(cpu),
		.a = a,
		.b = b,
		.c = c,
	};

	if (cpu->deviation.pending)
		cpu_emit_deviation(cpu);
	cpu->config.port.event(cpu->config.port.arg, &event);
}

void
cpu_emit_deviation(struct cpu *cpu)
{
	if (!cpu->deviation.pending)
		return;
	cpu->deviation.pending = false;
	cpu_emit(cpu, EVENT_DEVIATION, (uint64_t)cpu->deviation.kind,
	    cpu->deviation.param, cpu_rip(cpu));
}

void
cpu_end_run(struct cpu *cpu, enum cpu_over why, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	cpu->attention = true;
	if (cpu->over)
		return;
	cpu->over = true;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	cpu->config.port.over(cpu->config.port.arg, cpu->config.id, why, text);
}

void
cpu_stop_run(struct cpu *cpu)
{
	cpu->over = true;
	cpu->attention = true;
}

struct pt_context
cpu_context(const struct cpu *cpu, uint64_t ip)
{
	return (struct pt_context){
		.ip = ip,
		.cr3 = cpu->space.cr3,
		.cpl = cpu->cpl,
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

/* Only 64-bit code segments are modelled. */
static void
check_code_segment(struct cpu *cpu, uint64_t selector)
{
	uint64_t base, descriptor;
	uint32_t limit;

	engine_get_table(cpu->active, ENGINE_GDTR, &base, &limit);
	if (!walk_read(&cpu->space,
		(struct gva){ base + (selector & ~UINT64_C(7)) }, &descriptor,
		SELECTOR_BYTES, NULL))
		return;
	if (!(descriptor & DESCRIPTOR_L))
		cpu_end_run(cpu, CPU_OVER_UNMODELLED,
		    "code segment 0x%llx is not a 64-bit one",
		    (unsigned long long)selector);
}

void
cpu_sync_context(struct cpu *cpu, bool space_changed)
{
	uint64_t cs = engine_get(cpu->active, ENGINE_CS);
	uint64_t cr3 = engine_get(cpu->active, ENGINE_CR3);
	bool changed = (cs & 3) != cpu->cpl || cr3 != cpu->space.cr3;

	if ((cs & 3) != cpu->cpl)
		check_code_segment(cpu, cs);
	cpu->cpl = cs & 3;
	cpu->space.cr3 = cr3;
	if (space_changed)
		select_code(cpu);
	if (changed && cpu->exec_log != NULL)
		exec_log_context(cpu->exec_log, cpu->cpl, cr3);
}

bool
cpu_can_take_nmi(const struct cpu *cpu)
{
	return cpu->nmi_pending && !cpu->nmi_blocked && cpu->nmi_wait == 0;
}

int
cpu_takeable_vector(struct cpu *cpu)
{
	int vector = apic_pending(&cpu->apic);

	if (vector < 0 || cpu->shadow || cpu_cycles(cpu) < cpu->hold_until ||
	    !(engine_get(cpu->active, ENGINE_RFLAGS) & RFLAGS_IF))
		return -1;
	return vector;
}

void
cpu_retire(struct cpu *cpu, unsigned insns)
{
	cpu->left -= (int64_t)insns;
}

void
cpu_request_attention(struct cpu *cpu)
{
	cpu->limit_insns -= (uint64_t)cpu->left;
	cpu->left = 0;
}

/* The limit is in cycles; the fast path counts down instructions. */
static void
set_limit(struct cpu *cpu, uint64_t limit_cycles)
{
	uint64_t insns = cpu_count_insns(cpu);
	uint64_t now = cpu_cycles(cpu);
	uint64_t due = apic_pending(&cpu->apic) < 0 ? cpu->apic.timer_due
						    : APIC_NEVER;
	uint64_t end = due < limit_cycles ? due : limit_cycles;
	uint64_t left;

	if (cpu->hold_until > now && cpu->hold_until < end)
		end = cpu->hold_until;
	left = end > now ? end - now : 0;
	if (cpu_until_stop(cpu) < left)
		left = cpu_until_stop(cpu);
	cpu->left = (int64_t)left;
	cpu->limit_insns = insns + (uint64_t)cpu->left;
	cpu->limit_cycles = limit_cycles;
}

void
cpu_fire_timer(struct cpu *cpu, uint64_t now)
{
	while (cpu->apic.timer_due <= now)
		apic_timer_fire(&cpu->apic);
}

static void
run_engine(struct cpu *cpu)
{
	enum engine_end end;

	cpu_choose_engine(cpu);
	cpu->block = &cpu->nowhere;
	if (cpu->code_unsure)
		cpu_verify_code(cpu);
	if (cpu->unit_stopped && cpu->exec_log != NULL)
		exec_log_stopped(cpu->exec_log);
	cpu->unit_stopped = false;
	forget_code(cpu);
	end = engine_run(cpu->active);
	forget_code(cpu);
	switch (end) {
	case ENGINE_STOPPED:
		if (cpu->trapped)
			cpu_trap(cpu);
		break;
	case ENGINE_EXCEPTION:
		cpu_exception(cpu, engine_vector(cpu->active));
		break;
	case ENGINE_ERROR:
		cpu_end_run(cpu, CPU_OVER_ENGINE, "%s at 0x%llx",
		    engine_text(cpu->active), (unsigned long long)cpu_rip(cpu));
		break;
	}
	cpu->block = &cpu->nowhere;
}

/* Delivers an event that can be delivered now; true if there was one. */
static bool
take_interrupt(struct cpu *cpu)
{
	int vector;

	if (cpu_can_take_nmi(cpu)) {
		cpu->tlb_unsure = true;
		cpu->nmi_pending = cpu->nmi_again;
		cpu->nmi_again = false;
		cpu->nmi_blocked = true;
		cpu->nmi_count++;
		/* SDM vol. 3, 33.4.2.25: an NMI is not an "external interrupt". */
		cpu_wake(cpu, 0);
		cpu_emit(cpu, EVENT_NMI, 0, cpu_rip(cpu), 0);
		cpu_deliver(
		    cpu, VECTOR_NMI, DELIVER_INTERRUPT, 0, cpu_rip(cpu));
		return true;
	}
	if (!cpu->at_boundary && !cpu->halted)
		return false;
	vector = cpu_takeable_vector(cpu);
	if (vector < 0)
		return false;
	cpu->tlb_unsure = true;
	apic_take(&cpu->apic, (uint8_t)vector);
	cpu_wake(cpu, PT_WAKE_INTERRUPT);
	cpu->in_interrupt = true;
	cpu_emit(cpu, EVENT_INTERRUPT, (uint64_t)vector, cpu_rip(cpu), 0);
	cpu_deliver(cpu, (uint8_t)vector, DELIVER_INTERRUPT, 0, cpu_rip(cpu));
	return true;
}

enum cpu_end
cpu_run(struct cpu *cpu, uint64_t limit_cycles)
{
	cpu->others_ran |= cpu->config.cpu_count > 1;
	for (;;) {
		if (cpu->over)
			return CPU_OVER;
		if (cpu_reached_stop(cpu))
			return CPU_STOPPED;
		cpu_fire_timer(cpu, cpu_cycles(cpu));
		set_limit(cpu, limit_cycles);
		if (take_interrupt(cpu))
			continue;
		if (cpu->halted)
			return CPU_HALTED;
		if (cpu->at_boundary && cpu->yield) {
			cpu->yield = false;
			return CPU_YIELD;
		}
		if (cpu->at_boundary && cpu_cycles(cpu) >= limit_cycles)
			return CPU_LIMIT;
		if (cpu->split.bytes != 0)
			cpu_join(cpu);
		run_engine(cpu);
	}
}

uint64_t
cpu_insns(const struct cpu *cpu)
{
	return cpu_count_insns(cpu);
}

bool
cpu_is_asleep(struct cpu *cpu)
{
	return cpu->halted && !cpu_can_take_nmi(cpu) &&
	    cpu_takeable_vector(cpu) < 0;
}

uint64_t
cpu_wake_due(const struct cpu *cpu)
{
	uint64_t due = APIC_NEVER;

	if (!(engine_get(cpu->active, ENGINE_RFLAGS) & RFLAGS_IF))
		return APIC_NEVER;
	if (apic_timer_can_interrupt(&cpu->apic))
		due = cpu->apic.timer_due;
	if (apic_pending(&cpu->apic) >= 0)
		due = 0;
	return due < cpu->hold_until ? cpu->hold_until : due;
}

void
cpu_interrupt(struct cpu *cpu, uint8_t vector)
{
	apic_accept(&cpu->apic, vector);
}

void
cpu_see_writes(struct cpu *cpu)
{
	cpu->code_unsure = true;
}

void
cpu_nmi(struct cpu *cpu)
{
	cpu->nmi_pending = true;
	cpu->nmi_wait = 0;
}

void
cpu_set_exec_log(struct cpu *cpu, struct exec_log *exec_log)
{
	/* The words of successors belong to the previous log. */
	if (exec_log != cpu->exec_log)
		block_cache_forget_edges(cpu->blocks);
	cpu->exec_log = exec_log;
	if (exec_log == NULL)
		return;
	exec_log_context(exec_log, cpu->cpl, cpu->space.cr3);
	if (pt_unit_fast(cpu->unit)->timed)
		exec_log_time(exec_log, cpu_cycles(cpu));
}

uint64_t
cpu_rip(struct cpu *cpu)
{
	/* In the middle of a block the engine's RIP is out of date. */
	return cpu->access_va != 0 ? cpu->access_va
				   : engine_get(cpu->active, ENGINE_RIP);
}

bool
cpu_read(struct cpu *cpu, struct gva va, void *bytes, size_t count)
{
	return walk_read(&cpu->space, va, bytes, count, NULL);
}

void
cpu_sync_output(struct cpu *cpu)
{
	pt_unit_sync_output(cpu->unit);
}

uint64_t
cpu_kernel_insns(const struct cpu *cpu)
{
	if (cpu->cpl != 0 || cpu->halted)
		return 0;
	TZ_ASSERT(cpu_insns(cpu) >= cpu->kernel_since);
	return cpu_insns(cpu) - cpu->kernel_since;
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
	return cpu->trace_bytes;
}
