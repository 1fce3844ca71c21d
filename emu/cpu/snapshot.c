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
	cpu->sites.hooked_count = old.sites.hooked_count;
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
	cpu_set_exec_log(cpu, old.exec_log);
}
