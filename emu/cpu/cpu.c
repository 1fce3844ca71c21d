/*
 * The loop of a CPU: deliver what is pending, choose an engine, run it, and handle
 * what stopped it.
 */
#include "emu/cpu/engine/startup.h"
#include "emu/cpu/state.h"

#include <stdlib.h>
#include <string.h>

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

	cpu->engines.main = engine_create(config->ram, config->ram_bytes,
	    APIC_PA, &ops, config->single_step, err);
	if (cpu->engines.main == NULL)
		return -TZ_EIO;
	cpu->active = cpu->engines.main;
	if (config->single_step)
		return 0;
	ops.code = cpu_step;
	cpu->engines.stepper = engine_create(
	    config->ram, config->ram_bytes, APIC_PA, &ops, true, err);
	return cpu->engines.stepper == NULL ? -TZ_EIO : 0;
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
	cpu->stop.insns = cpu->stop.pause_insns = UINT64_MAX;
	cpu->code.blocks = block_cache_create();
	cpu->unit = pt_unit_create(config->profile, &port);
	if (cpu->unit != NULL)
		pt_unit_frequency(cpu->unit, cpu->config.core_cbr);
	cpu->hooks.site = calloc(HOOKED_MAX, sizeof(*cpu->hooks.site));
	cpu->trap.float_code = cpu_float_create();
	if (config->profile->cost)
		cpu->clock.known = cost_cache_create(
		    config->profile->uarch->cost);
	if ((config->profile->cost && cpu->clock.known == NULL) ||
	    cpu->code.blocks == NULL || cpu->unit == NULL ||
	    cpu->hooks.site == NULL || cpu->trap.float_code == NULL ||
	    pt_unit_set_cycles(cpu->unit, &config->pt_cycles) != 0)
		goto no_memory;
	cpu->code.far = block_cache_far(cpu->code.blocks);
	cost_run_begin(&cpu->clock.run, config->profile->uarch->cost);
	ds_reset(&cpu->ds, config->profile);
	cpu_counters_reset(cpu);
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
	engine_destroy(cpu->engines.stepper);
	engine_destroy(cpu->engines.main);
	if (cpu->unit != NULL)
		pt_unit_destroy(cpu->unit);
	cost_cache_destroy(cpu->clock.known);
	block_cache_destroy(cpu->code.blocks);
	cpu_float_destroy(cpu->trap.float_code);
	free(cpu->hooks.site);
	free(cpu);
}

void
cpu_start(
    struct cpu *cpu, uint64_t rip, uint64_t rdi, uint64_t rsi, uint64_t cr3)
{
	cpu->active = cpu->engines.main;
	cpu->engines.step_left = 0;
	cpu->engines.tlb_unsure = true;
	engine_reset(cpu->engines.main, cr3);
	engine_set(cpu->engines.main, ENGINE_RDI, rdi);
	engine_set(cpu->engines.main, ENGINE_RSI, rsi);
	engine_set(cpu->engines.main, ENGINE_RIP, rip);
	apic_reset(&cpu->apic, cpu->config.id);
	if (cpu->config.board)
		cpu_set_apic_clock(cpu);
	cpu_reset_msrs(cpu);
	cpu_reset_debug_regs(cpu);
	ds_reset(&cpu->ds, cpu->config.profile);
	cpu_counters_reset(cpu);
	cpu->mode.cpl = 0;
	cpu->mode.place = PLACE_BOUNDARY;
	cpu->clock.run.count = 0;
	cpu->space.cr3 = cr3;
	cpu_select_code(cpu);
	if (cpu->exec_log != NULL)
		exec_log_context(cpu->exec_log, 0, cr3);
}

void
cpu_set_segments(
    struct cpu *cpu, uint64_t gdt, uint32_t limit, uint16_t cs, uint16_t ds)
{
	engine_set_segments(cpu->active, gdt, limit, cs, ds);
}

bool
cpu_init(struct cpu *cpu)
{
	if (cpu->exec_log != NULL || pt_unit_trigger_en(cpu->unit) ||
	    cpu_counting(cpu) != 0 || cpu->debug_store.branches)
		return false;
	cpu->mode.halted = false;
	cpu->interrupts =
	    (struct cpu_interrupts){ .nmi_count = cpu->interrupts.nmi_count };
	cpu->resumed = 0;
	return true;
}

static void
startup_cpuid(void *arg, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	const struct cpu *cpu = arg;
	const struct profile_cpu about = {
		.apic_id = cpu->config.id,
		.cpu_count = cpu->config.cpu_count,
		.xcr0 = 1,
		.board = cpu->config.board,
	};

	profile_cpuid(cpu->config.profile, &about, leaf, subleaf, out);
}

int
cpu_start_up(
    struct cpu *cpu, uint8_t vector, uint64_t *insns, struct tz_error *err)
{
	struct startup_state state;
	int error = startup_run(cpu->space.ram, cpu->space.ram_bytes, vector,
	    startup_cpuid, cpu, &state, err);

	if (error != 0)
		return error;
	cpu_start(cpu, state.rip, 0, 0, state.cr3);
	engine_set_startup(cpu->engines.main, &state);
	cpu_select_code(cpu);
	*insns = state.insns;
	return 0;
}

static void
set_limit(struct cpu *cpu, uint64_t limit_cycles)
{
	uint64_t now = cpu_cycles(cpu);
	uint64_t due = apic_pending(&cpu->apic) < 0 ? cpu->apic.timer_due
						    : APIC_NEVER;
	uint64_t end = due < limit_cycles ? due : limit_cycles;

	if (cpu->interrupts.hold_until > now &&
	    cpu->interrupts.hold_until < end)
		end = cpu->interrupts.hold_until;
	if (cpu_cycle_of_look(cpu) < end)
		end = cpu_cycle_of_look(cpu);
	cpu_set_limit(cpu, cpu_until_look(cpu), end > now ? end : now);
}

/* The engine cannot go on. */
static void
end_by_engine(struct cpu *cpu)
{
	cpu_end_run(cpu, CPU_OVER_ENGINE, "%s at 0x%llx",
	    engine_text(cpu->active), (unsigned long long)cpu_rip(cpu));
}

static void
run_engine(struct cpu *cpu)
{
	enum engine_end end;

	cpu_choose_engine(cpu);
	cpu_shed_hooks(cpu);
	cpu->block = &cpu->nowhere;
	cpu_check_code(cpu);
	cpu_log_stop(cpu);
	cpu_drop_translations(cpu);
	end = engine_run(cpu->active);
	cpu_drop_translations(cpu);
	switch (end) {
	case ENGINE_STOPPED:
		if (cpu->trap.pending)
			cpu_trap(cpu);
		break;
	case ENGINE_EXCEPTION:
		cpu_exception(cpu, engine_vector(cpu->active));
		break;
	case ENGINE_ERROR:
		end_by_engine(cpu);
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
		cpu->engines.tlb_unsure = true;
		cpu_take_nmi(cpu);
		if (cpu->counters.branches)
			cpu_counters_interrupt(cpu);
		cpu_emit(cpu, EVENT_NMI, 0, cpu_rip(cpu), 0);
		cpu_deliver(
		    cpu, VECTOR_NMI, DELIVER_INTERRUPT, 0, cpu_rip(cpu));
		return true;
	}
	if (cpu->mode.place != PLACE_BOUNDARY && !cpu->mode.halted)
		return false;
	vector = cpu_takeable_vector(cpu);
	if (vector < 0)
		return false;
	cpu->engines.tlb_unsure = true;
	cpu_take_vector(cpu, (uint8_t)vector);
	if (cpu->counters.branches)
		cpu_counters_interrupt(cpu);
	cpu_emit(cpu, EVENT_INTERRUPT, (uint64_t)vector, cpu_rip(cpu), 0);
	cpu_deliver(cpu, (uint8_t)vector, DELIVER_INTERRUPT, 0, cpu_rip(cpu));
	return true;
}

enum cpu_end
cpu_run(struct cpu *cpu, uint64_t limit_cycles)
{
	if (cpu->config.cpu_count > 1)
		cpu_see_others(cpu);
	for (;;) {
		if (cpu->stop.over)
			return CPU_OVER;
		if (cpu_counters_due(cpu)) {
			cpu->engines.step_left = 0;
			cpu_counters_sync(cpu);
		}
		if (cpu_reached_stop(cpu))
			return CPU_STOPPED;
		if (cpu->debug_store.faulted) {
			cpu_debug_store_fault(cpu);
			continue;
		}
		if (cpu->debug_regs.hits != 0) {
			cpu_debug_trap(cpu, false);
			continue;
		}
		cpu_fire_timer(cpu, cpu_cycles(cpu));
		set_limit(cpu, limit_cycles);
		if (take_interrupt(cpu))
			continue;
		if (cpu->mode.halted)
			return CPU_HALTED;
		if (cpu->mode.place == PLACE_BOUNDARY && cpu->stop.yield) {
			cpu->stop.yield = false;
			return CPU_YIELD;
		}
		if (cpu->mode.place == PLACE_BOUNDARY &&
		    cpu_cycles(cpu) >= limit_cycles)
			return CPU_LIMIT;
		if (cpu->faults.split.bytes != 0)
			cpu_join(cpu);
		if (cpu_debug_store_looks_ahead(cpu))
			cpu_debug_store_note(cpu);
		run_engine(cpu);
	}
}
