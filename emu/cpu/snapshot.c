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
	TZ_ASSERT(cpu->audit.block == NULL && !cpu->trapped);
	if (posix_memalign(
		&memory, _Alignof(struct cpu_snapshot), sizeof(*snapshot)) != 0)
		return NULL;
	snapshot = memset(memory, 0, sizeof(*snapshot));
	if (cpu->active != cpu->engine)
		cpu_use_engine(cpu, cpu->engine);
	cpu->tlb_unsure = true;
	snapshot->cpu = *cpu;
	snapshot->engine = engine_snapshot_take(cpu->engine);
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

	engine_forget_frame(cpu->engine, pa);
	if (cpu->stepper != NULL)
		engine_forget_frame(cpu->stepper, pa);
}

void
cpu_snapshot_apply(struct cpu *cpu, const struct cpu_snapshot *snapshot,
    const uint64_t *changed)
{
	struct cpu old = *cpu;

	TZ_ASSERT(old.forget_count == 0);
	*cpu = snapshot->cpu;
	cpu->hooked_count = old.hooked_count;
	cpu->stepping = old.stepping;
	cpu->watched_begin = old.watched_begin;
	cpu->watched_end = old.watched_end;
	cpu->audited = old.audited;
	cpu->step_left = 0;
	pt_unit_restore(cpu->unit, snapshot->unit);
	engine_snapshot_apply(cpu->engine, snapshot->engine);
	if (!block_cache_compare(
		cpu->blocks, &cpu->space, changed, forget_frame, cpu)) {
		block_cache_forget_code(cpu->blocks);
		engine_forget_all(cpu->engine);
		if (cpu->stepper != NULL)
			engine_forget_all(cpu->stepper);
	}
	block_cache_reselect(cpu->blocks, &cpu->space);
	cpu->exec_log = old.exec_log;
	cpu_set_exec_log(cpu, old.exec_log);
}
