/*
 * Snapshots of a whole machine.  RAM is a private mapping of a file in memory; a
 * snapshot writes the pages that changed into the file, and going back drops the
 * changed pages.  The engines keep what they have translated.
 */
#define _GNU_SOURCE
#include "emu/machine_state.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_BYTES      4096u
#define PAGEMAP_PRESENT TZ_BIT(63)
#define PAGEMAP_SWAPPED TZ_BIT(62)
#define PAGEMAP_FILE    TZ_BIT(61)
#define PAGEMAP_ENTRIES 512

struct machine_snapshot {
	struct machine_turn turn;
	struct slot slot[MACHINE_CPUS_MAX]; /* .cpu unused */
	struct cpu_snapshot *cpu[MACHINE_CPUS_MAX];
};

int
snapshot_make_ram(uint64_t bytes, uint8_t **ram)
{
	int fd = memfd_create("guest", MFD_CLOEXEC);
	void *memory;

	if (fd < 0)
		return -1;
	memory = MAP_FAILED;
	if (ftruncate(fd, (off_t)bytes) == 0)
		memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_NORESERVE, fd, 0);
	if (memory == MAP_FAILED) {
		close(fd);
		return -1;
	}
	*ram = memory;
	return fd;
}

void
snapshot_drop(struct machine *machine)
{
	if (machine->snapshot == NULL)
		return;
	for (unsigned i = 0; i < machine->config.cpu_count; i++)
		cpu_snapshot_free(machine->snapshot->cpu[i]);
	free(machine->snapshot);
	machine->snapshot = NULL;
}

/* Is the page the mapping's own, written since the last snapshot? */
static bool
is_changed(uint64_t entry)
{
	return (entry & (PAGEMAP_PRESENT | PAGEMAP_SWAPPED)) != 0 &&
	    !(entry & PAGEMAP_FILE);
}

/* Writes the changed pages into the file, and lets go of them. */
static int
save_ram(struct machine *machine, struct tz_error *err)
{
	uint64_t pages = machine->config.ram_bytes / PAGE_BYTES;
	uint64_t entry[PAGEMAP_ENTRIES];
	uint64_t first = (uint64_t)(uintptr_t)machine->ram / PAGE_BYTES;
	int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	for (uint64_t at = 0; map >= 0 && at < pages; at += PAGEMAP_ENTRIES) {
		uint64_t count = pages - at;

		if (count > PAGEMAP_ENTRIES)
			count = PAGEMAP_ENTRIES;
		if (pread(map, entry, count * 8, (off_t)((first + at) * 8)) !=
		    (ssize_t)(count * 8))
			goto fail;
		for (uint64_t i = 0; i < count; i++) {
			off_t offset = (off_t)((at + i) * PAGE_BYTES);

			if (is_changed(entry[i]) &&
			    pwrite(machine->ram_fd, machine->ram + offset,
				PAGE_BYTES, offset) != PAGE_BYTES)
				goto fail;
		}
	}
	if (map >= 0 &&
	    madvise(machine->ram, machine->config.ram_bytes, MADV_DONTNEED) ==
		0) {
		close(map);
		return 0;
	}
fail:
	if (map >= 0)
		close(map);
	return tz_error(err, TZ_EIO, "the host refuses to save guest RAM");
}

int
machine_snapshot(struct machine *machine, struct tz_error *err)
{
	struct machine_snapshot *snapshot;

	TZ_ASSERT(machine->result == NULL);
	snapshot_drop(machine);
	snapshot = calloc(1, sizeof(*snapshot));
	if (snapshot == NULL)
		return tz_error(err, TZ_EIO, "out of memory for a snapshot");
	machine->snapshot = snapshot;
	snapshot->turn = machine->turn;
	memcpy(snapshot->slot, machine->slot, sizeof(snapshot->slot));
	for (unsigned i = 0; i < machine->config.cpu_count; i++) {
		snapshot->cpu[i] = cpu_snapshot_take(machine->slot[i].cpu);
		if (snapshot->cpu[i] == NULL) {
			snapshot_drop(machine);
			return tz_error(
			    err, TZ_EIO, "out of memory for a snapshot");
		}
	}
	if (save_ram(machine, err) != 0) {
		snapshot_drop(machine);
		return -TZ_EIO;
	}
	return 0;
}

void
machine_restore(struct machine *machine)
{
	const struct machine_snapshot *snapshot = machine->snapshot;

	TZ_ASSERT(snapshot != NULL);
	TZ_ASSERT(madvise(machine->ram, machine->config.ram_bytes,
		      MADV_DONTNEED) == 0);
	machine->turn = snapshot->turn;
	memcpy(machine->slot, snapshot->slot, sizeof(machine->slot));
	for (unsigned i = 0; i < machine->config.cpu_count; i++)
		cpu_snapshot_apply(machine->slot[i].cpu, snapshot->cpu[i]);
}
