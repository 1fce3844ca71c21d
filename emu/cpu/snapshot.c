/*
 * Saves and restores a CPU's state.  The engine's translations and the block cache
 * are kept, except where the code has changed.
 */
#include "emu/cpu/state.h"

#include <stdlib.h>
#include <string.h>

struct cpu_snapshot {
	struct cpu cpu;
	struct engine_snapshot *engine;
	void *unit;
};

struct cpu_snapshot *
cpu_snapshot_take(struct cpu *cpu)
{
	struct cpu_snapshot *snapshot;
	void *memory = NULL;

	TZ_ASSERT(cpu->block == &cpu->nowhere);
	TZ_ASSERT(cpu->audit.block == NULL && !cpu->trap.pending);
	if (posix_memalign(
		&memory, _Alignof(struct cpu_snapshot), sizeof(*snapshot)) != 0)
		return NULL;
	snapshot = memset(memory, 0, sizeof(*snapshot));
	if (cpu->active != cpu->engines.main)
		cpu_use_engine(cpu, cpu->engines.main);
	cpu->engines.tlb_unsure = true;
	snapshot->cpu = *cpu;
	snapshot->engine = engine_snapshot_take(cpu->engines.main);
	snapshot->unit = malloc(pt_unit_size(cpu->unit));
	if (snapshot->engine == NULL || snapshot->unit == NULL) {
		cpu_snapshot_free(snapshot);
		return NULL;
	}
	pt_unit_save(cpu->unit, snapshot->unit);
	return snapshot;
}

void
cpu_snapshot_free(struct cpu_snapshot *snapshot)
{
	if (snapshot == NULL)
		return;
	engine_snapshot_free(snapshot->engine);
	free(snapshot->unit);
	free(snapshot);
}

static void
forget_frame(void *arg, uint64_t pa)
{
	struct cpu *cpu = arg;

	engine_forget_frame(cpu->engines.main, pa);
	if (cpu->engines.stepper != NULL)
		engine_forget_frame(cpu->engines.stepper, pa);
}

/*
 * What depends on the engine's translations or on the caller is not part of the state
 * and stays as it is: the hooks, the observer, the audited code, the log.
 */
void
cpu_snapshot_apply(struct cpu *cpu, const struct cpu_snapshot *snapshot,
    const uint64_t *changed)
{
	struct cpu old = *cpu;

	TZ_ASSERT(old.code.forget_count == 0);
	*cpu = snapshot->cpu;
	cpu->hooks = old.hooks;
	cpu->observer = old.observer;
	cpu->audit.code = old.audit.code;
	cpu->engines.step_left = 0;
	pt_unit_restore(cpu->unit, snapshot->unit);
	engine_snapshot_apply(cpu->engines.main, snapshot->engine);
	if (!block_cache_compare(
		cpu->code.blocks, &cpu->space, changed, forget_frame, cpu)) {
		block_cache_forget_code(cpu->code.blocks);
		engine_forget_all(cpu->engines.main);
		if (cpu->engines.stepper != NULL)
			engine_forget_all(cpu->engines.stepper);
	}
	block_cache_reselect(cpu->code.blocks, &cpu->space);
	/* The same log as before: the next line forgets no successors. */
	cpu->exec_log = old.exec_log;
	cpu_set_exec_log(
	    cpu, old.exec_log != NULL ? old.exec_log : old.resting_log);
}

/*
 * What of a CPU belongs to this process: addresses, the caller's settings, and what is
 * known of translated code.  All else is its state.
 */
#define MEMBER(member)                                                     \
 {                                                                         \
  offsetof(struct cpu, member), sizeof(((const struct cpu *)NULL)->member) \
 }
static const struct {
	size_t at, bytes;
} host_part[] = {
	MEMBER(block),
	MEMBER(unit),
	MEMBER(route),
	MEMBER(exec_log),
	MEMBER(resting_log),
	MEMBER(nowhere),
	MEMBER(carried),
	MEMBER(clock.known),
	MEMBER(clock.run.sum.model),
	MEMBER(active),
	MEMBER(config),
	MEMBER(space.ram),
	MEMBER(pmu.profile),
	MEMBER(ds.profile),
	MEMBER(trace.error),
	MEMBER(observer),
	MEMBER(engines.main),
	MEMBER(engines.stepper),
	MEMBER(code),
	MEMBER(hooks),
	MEMBER(trap.float_code),
	MEMBER(audit),
};

size_t
cpu_packed_bytes(const struct cpu *cpu)
{
	return sizeof(*cpu) + engine_packed_bytes(cpu->engines.main) +
	    pt_unit_size(cpu->unit);
}

bool
cpu_snapshot_pack(
    struct cpu *cpu, const struct cpu_snapshot *snapshot, uint8_t *bytes)
{
	uint8_t *engine = bytes + sizeof(*cpu);
	uint8_t *unit = engine + engine_packed_bytes(cpu->engines.main);

	TZ_ASSERT(snapshot->cpu.trace.error == NULL);
	memcpy(bytes, &snapshot->cpu, sizeof(snapshot->cpu));
	for (size_t i = 0; i < TZ_ARRAY_LEN(host_part); i++)
		memset(bytes + host_part[i].at, 0, host_part[i].bytes);
	memcpy(unit, snapshot->unit, pt_unit_size(cpu->unit));
	cpu->engines.tlb_unsure = true;
	return engine_snapshot_pack(
	    cpu->engines.main, snapshot->engine, engine);
}

struct cpu_snapshot *
cpu_snapshot_unpack(struct cpu *cpu, const uint8_t *bytes)
{
	struct cpu_snapshot *snapshot = cpu_snapshot_take(cpu);
	const uint8_t *engine = bytes + sizeof(*cpu);
	const uint8_t *unit = engine + engine_packed_bytes(cpu->engines.main);
	struct cpu *to;

	if (snapshot == NULL)
		return NULL;
	to = &snapshot->cpu;
	memcpy(to, bytes, sizeof(*to));
	for (size_t i = 0; i < TZ_ARRAY_LEN(host_part); i++)
		memcpy((uint8_t *)to + host_part[i].at,
		    (const uint8_t *)cpu + host_part[i].at, host_part[i].bytes);
	to->route = cpu_sees_branches(to) ? &cpu->counters.slow
					  : pt_unit_fast(cpu->unit);
	memcpy(snapshot->unit, unit, pt_unit_size(cpu->unit));
	engine_snapshot_free(snapshot->engine);
	snapshot->engine = engine_snapshot_unpack(cpu->engines.main, engine);
	if (snapshot->engine == NULL) {
		cpu_snapshot_free(snapshot);
		return NULL;
	}
	return snapshot;
}

uint32_t
cpu_engine_version(void)
{
	return engine_version();
}
