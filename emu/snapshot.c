/* Snapshots of a whole machine.  The engines keep their translations. */
#include "emu/machine_state.h"

#include <stdlib.h>
#include <string.h>

struct machine_snapshot {
	struct machine_turn turn;
	struct stacks stacks;
	struct board *board;                /* NULL: the machine has none */
	struct slot slot[MACHINE_CPUS_MAX]; /* .cpu unused */
	struct cpu_snapshot *cpu[MACHINE_CPUS_MAX];
	struct memory_copy *memory;
};

void
machine_snapshot_free(
    struct machine *machine, struct machine_snapshot *snapshot)
{
	if (snapshot == NULL)
		return;
	for (unsigned i = 0; i < machine->config.cpu_count; i++)
		cpu_snapshot_free(snapshot->cpu[i]);
	memory_free(&machine->memory, snapshot->memory);
	free(snapshot->board);
	free(snapshot);
}

struct machine_snapshot *
machine_snapshot_take(struct machine *machine, struct tz_error *err)
{
	struct machine_snapshot *snapshot = calloc(1, sizeof(*snapshot));

	TZ_ASSERT(machine->result == NULL);
	if (snapshot == NULL)
		goto fail;
	snapshot->turn = machine->turn;
	snapshot->stacks = machine->stacks;
	memcpy(snapshot->slot, machine->slot, sizeof(snapshot->slot));
	if (machine->config.board) {
		snapshot->board = malloc(sizeof(*snapshot->board));
		if (snapshot->board == NULL)
			goto fail;
		*snapshot->board = machine->board;
	}
	for (unsigned i = 0; i < machine->config.cpu_count; i++) {
		snapshot->cpu[i] = cpu_snapshot_take(machine->slot[i].cpu);
		if (snapshot->cpu[i] == NULL)
			goto fail;
	}
	snapshot->memory = memory_take(&machine->memory);
	if (snapshot->memory == NULL)
		goto fail;
	return snapshot;
fail:
	machine_snapshot_free(machine, snapshot);
	tz_error(err, TZ_EIO, "the host has no memory for a snapshot");
	return NULL;
}

void
machine_snapshot_apply(
    struct machine *machine, const struct machine_snapshot *snapshot)
{
	const uint64_t *changed;

	TZ_ASSERT(machine->result == NULL);
	changed = memory_apply(&machine->memory, snapshot->memory);
	machine->turn = snapshot->turn;
	machine->stacks = snapshot->stacks;
	if (snapshot->board != NULL)
		machine->board = *snapshot->board;
	memcpy(machine->slot, snapshot->slot, sizeof(machine->slot));
	for (unsigned i = 0; i < machine->config.cpu_count; i++)
		cpu_snapshot_apply(
		    machine->slot[i].cpu, snapshot->cpu[i], changed);
}
