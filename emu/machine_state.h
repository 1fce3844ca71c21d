/*
 * The inside of a machine, shared by machine.c and snapshot.c and by nobody else.
 */
#ifndef TOPAZ_EMU_MACHINE_STATE_H
#define TOPAZ_EMU_MACHINE_STATE_H

#include "emu/cpu/cpu.h"
#include "emu/machine.h"

#define IPIS_MAX 64

/* An interrupt on its way: seen at the later of its due time and the target's. */
struct ipi {
	uint64_t due;
	uint8_t mode, vector;
};

struct slot {
	struct cpu *cpu;
	struct ipi ipi[IPIS_MAX];
	unsigned ipi_count;
	bool parked; /* in wait-for-SIPI */
};

/* Whose turn it is, and until when, in cycles; BROKEN off, not ended. */
struct machine_turn {
	unsigned cpu;
	bool broken;
	uint64_t limit;
};

struct machine {
	struct machine_config config;
	struct machine_observer observer;
	struct slot slot[MACHINE_CPUS_MAX];
	uint8_t *ram;
	uint64_t entry, boot_info;
	struct gpa boot_cr3;
	struct machine_result *result;
	int ram_fd; /* what RAM was at the snapshot; zeroes before */
	struct machine_turn turn;
	struct machine_snapshot *snapshot; /* NULL: none */
};

/*
 * RAM as a private mapping of a file in memory, all zero: the file, or -1.  Pages
 * that the guest writes are the machine's own until a snapshot takes them over.
 */
int snapshot_make_ram(uint64_t bytes, uint8_t **ram);
void snapshot_drop(struct machine *machine);

#endif
