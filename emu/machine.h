/*
 * The machine: N logical CPUs with their local APICs and PT units over one RAM,
 * run one after the other on one host thread in an order that depends on nothing
 * but the guest.  Time is virtual: every CPU counts its own cycles.
 *
 * Not modelled: devices other than the local APIC and the host channel of
 * emu/abi.h; real mode; VMX, SMM, SGX, TSX.  Whatever the guest does
 * that is not modelled ends the run with MACHINE_UNMODELLED and a text.
 */
#ifndef TOPAZ_EMU_MACHINE_H
#define TOPAZ_EMU_MACHINE_H

#include "emu/base.h"
#include "emu/event.h"

struct machine;
struct profile;
struct truth;

#define MACHINE_CPUS_MAX       8
#define MACHINE_QUANTUM_CYCLES 10000

struct machine_config {
	const struct profile *profile;
	unsigned cpu_count;      /* 1..MACHINE_CPUS_MAX */
	uint64_t ram_bytes;      /* multiple of 2 MiB, at most 3 GiB */
	uint64_t quantum_cycles; /* 0: MACHINE_QUANTUM_CYCLES */
	bool single_step; /* run one instruction at a time: slow, same results */
};

/* Either function may be NULL.  Neither may call back into the machine, but for
 * reading RAM. */
struct machine_observer {
	void *arg;
	void (*event)(void *arg, const struct event *event);
	void (*console)(void *arg, char c);
};

enum machine_end {
	MACHINE_EXIT,         /* the guest shut down; .code is what it said */
	MACHINE_PANIC,        /* the guest panicked; .text is its message */
	MACHINE_UNMODELLED,   /* it did what the model lacks; .text names it */
	MACHINE_TRIPLE_FAULT, /* exception while delivering a double fault */
	MACHINE_DEADLOCK,     /* every CPU halts and nothing can wake one */
	MACHINE_LIMIT,        /* insns_max reached: machine_run() goes on */
	MACHINE_ENGINE,       /* the engine refused: .text */
};

struct machine_result {
	enum machine_end end;
	int code;
	unsigned cpu;
	uint64_t rip, rbp; /* where it ended: for a symbol and a backtrace */
	char text[256];
};

/* -TZ_EUSAGE: a bad value in CONFIG; -TZ_EIO: no memory, or no usable engine. */
int machine_create(const struct machine_config *config,
    const struct machine_observer *observer, struct machine **machine,
    struct tz_error *err);
void machine_destroy(struct machine *machine);

/* RAM as the host sees it; physical address 0 is its first byte. */
uint8_t *machine_ram(struct machine *machine);

/* Records what CPU executes from here on; NULL ends that. */
void machine_set_truth(
    struct machine *machine, unsigned cpu, struct truth *truth);

/*
 * Puts CPU 0 at ENTRY in the state that emu/abi.h promises, and the
 * others into wait-for-SIPI.  CR3 is the physical address of the boot tables.
 */
void machine_boot(struct machine *machine, uint64_t entry, uint64_t boot_info,
    struct gpa cr3);

/* Runs until the guest ends or INSNS_MAX instructions in all (0: no limit). */
void machine_run(
    struct machine *machine, uint64_t insns_max, struct machine_result *result);

/*
 * Remembers the whole machine as it stands between two calls of machine_run();
 * machine_restore() goes back there, any number of times.  There is one snapshot;
 * a new one replaces it.  -TZ_EIO: no memory.  A restored machine does what it did
 * after the snapshot, to the byte, whatever it has run in between.
 */
int machine_snapshot(struct machine *machine, struct tz_error *err);
void machine_restore(struct machine *machine);

/* Counters of one CPU. */
struct machine_counters {
	uint64_t insns;       /* retired */
	uint64_t cycles;      /* virtual time */
	uint64_t trace_bytes; /* that its PT unit wrote */
	uint64_t pmis;        /* ToPA PMIs raised */
	uint64_t nmis;        /* NMIs delivered */
	bool trace_on;        /* TraceEn now */
};
void machine_counters(const struct machine *machine, unsigned cpu,
    struct machine_counters *counters);

/*
 * Reads guest linear memory through CPU's page tables as the supervisor would;
 * false where a page is not present or not RAM.
 */
bool machine_read(struct machine *machine, unsigned cpu, struct gva va,
    void *bytes, size_t count);

/* Reports trace bytes not yet reported as EVENT_OUTPUT, on all CPUs. */
void machine_sync_output(struct machine *machine);

/* Why CPU's last ToPA operational error was raised; NULL: there was none. */
const char *machine_pt_error_text(const struct machine *machine, unsigned cpu);

#endif
