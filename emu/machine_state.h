/*
 * The private state of a machine, shared only by machine.c, ipi.c, sched.c,
 * control.c, hash.c, snapshot.c and saved.c, which call the functions of machine_state.c.
 */
#ifndef TOPAZ_EMU_MACHINE_STATE_H
#define TOPAZ_EMU_MACHINE_STATE_H

#include "emu/board/board.h"
#include "emu/cpu/cpu.h"
#include "emu/hypercall.h"
#include "emu/machine.h"
#include "emu/memory.h"
#include "emu/profile/cpu_set.h"

#define IPIS_MAX      64
#define MACHINE_NEVER UINT64_MAX

/*
 * An interrupt in flight.  The target receives it at the later of its due time and
 * the target's own time.
 */
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

/*
 * The CPU whose turn it is, and until when, in cycles.  BROKEN: the turn was
 * interrupted and has not ended.
 */
struct machine_turn {
	unsigned cpu;
	bool broken;
	uint64_t limit;
	int forced; /* DEVIATION_SWITCH: 1 + the CPU whose turn comes next; else 0 */
};

struct machine {
	struct machine_config config;
	struct machine_observer observer;
	struct cpu_set cpu_set; /* config.cpu_set points here */
	struct slot slot[MACHINE_CPUS_MAX];
	struct memory memory;
	uint64_t entry, boot_info;
	struct gpa boot_cr3;
	struct machine_result *result; /* while machine_run() runs */
	struct machine_turn turn;
	struct stacks stacks;
	struct board board; /* if config.board */
	enum machine_stepping stepping;
	uint64_t watched_begin, watched_end;
};

/* What of a machine is copied as it is; .slot[].cpu is not meant. */
struct machine_plain {
	uint64_t entry, boot_info;
	struct gpa boot_cr3;
	struct machine_turn turn;
	struct stacks stacks;
	struct slot slot[MACHINE_CPUS_MAX];
};

struct machine_snapshot {
	struct machine_plain plain;
	struct board *board; /* NULL: the machine has none */
	struct cpu_snapshot *cpu[MACHINE_CPUS_MAX];
	struct memory_copy *memory;
};

/* snapshot.c */
void machine_apply_plain(
    struct machine *machine, const struct machine_plain *plain);

/* machine_state.c */
void machine_emit(struct machine *machine, const struct event *event);
void machine_describe_end(struct machine *machine, enum machine_end end,
    unsigned cpu, int code, const char *text);
/* Ends the run: no CPU executes any more. */
void machine_end_run(struct machine *machine, enum machine_end end,
    unsigned cpu, int code, const char *text);

/* ipi.c */
void machine_on_ipi(void *arg, unsigned cpu, uint32_t icr_low,
    uint32_t icr_high, uint64_t cycles);
void machine_start_cpu(struct machine *machine, unsigned id, uint64_t at);
/* Delivers the interrupts that are due to CPU ID. */
void machine_deliver_due(struct machine *machine, unsigned id);

/*
 * sched.c: when CPU ID can run again; MACHINE_NEVER if no pending event wakes it.
 */
uint64_t machine_ready_time(struct machine *machine, unsigned id);

#endif
