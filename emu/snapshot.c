/* Snapshots of a whole machine.  The engines keep their translations. */
#include "emu/machine_state.h"

#include <stdlib.h>
#include <string.h>

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

static struct machine_plain
plain_of(const struct machine *machine)
{
	struct machine_plain plain = {
		.entry = machine->entry,
		.boot_info = machine->boot_info,
		.boot_cr3 = machine->boot_cr3,
		.turn = machine->turn,
		.stacks = machine->stacks,
	};

	memcpy(plain.slot, machine->slot, sizeof(plain.slot));
	return plain;
}

void
machine_apply_plain(struct machine *machine, const struct machine_plain *plain)
{
	machine->entry = plain->entry;
	machine->boot_info = plain->boot_info;
	machine->boot_cr3 = plain->boot_cr3;
	machine->turn = plain->turn;
	machine->stacks = plain->stacks;
	for (unsigned i = 0; i < machine->config.cpu_count; i++) {
		struct cpu *cpu = machine->slot[i].cpu;

		machine->slot[i] = plain->slot[i];
		machine->slot[i].cpu = cpu;
	}
}

struct machine_snapshot *
machine_snapshot_take(struct machine *machine, struct tz_error *err)
{
	struct machine_snapshot *snapshot = calloc(1, sizeof(*snapshot));

	TZ_ASSERT(machine->result == NULL);
	if (snapshot == NULL)
		goto fail;
	snapshot->plain = plain_of(machine);
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
	machine_apply_plain(machine, &snapshot->plain);
	if (snapshot->board != NULL)
		machine->board = *snapshot->board;
	for (unsigned i = 0; i < machine->config.cpu_count; i++)
		cpu_snapshot_apply(
		    machine->slot[i].cpu, snapshot->cpu[i], changed);
}
