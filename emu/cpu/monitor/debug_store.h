/* The CPU's side of its Debug Store (emu/ds).  Private to emu/cpu. */
#ifndef TOPAZ_EMU_CPU_MONITOR_DEBUG_STORE_H
#define TOPAZ_EMU_CPU_MONITOR_DEBUG_STORE_H

#include "emu/ds/ds.h"

struct cpu;

/*
 * Which branches are recorded, and a page fault of a record that is still to be
 * delivered.  Owner: debug_store.c.
 */
struct cpu_debug_store {
	bool branches; /* branches from here on are recorded */
	bool faulted;  /* deliver #PF before the next instruction */
	bool handling; /* it was delivered; no IRET since */
	uint64_t fault_va, fault_code;
	struct ds_sample before; /* registers before the next instruction, if
				    it may be the event of a fault-like record */
};

/* debug_store.c */
/* IA32_DEBUGCTL, TraceEn or CPL may have changed: decides .branches. */
void cpu_debug_store_changed(struct cpu *cpu);

/* True if the next instruction may be the event of a record with the state before it. */
bool cpu_debug_store_looks_ahead(const struct cpu *cpu);

/* Notes that state: before each instruction, if it looks ahead. */
void cpu_debug_store_note(struct cpu *cpu);

/*
 * Stores the PEBS record of COUNTERS, by their bits of IA32_PERF_GLOBAL_STATUS: FROM is
 * the instruction that it is about, TO the next one.  RESET gets the new values of the
 * counters, by number of the counter.
 */
enum cpu_sample {
	CPU_SAMPLE_LOST,
	CPU_SAMPLE_STORED,
	CPU_SAMPLE_THRESHOLD, /* stored; the PMI of the buffer is due */
};
enum cpu_sample cpu_debug_store_sample(struct cpu *cpu, uint64_t counters,
    uint64_t from, uint64_t to, uint64_t *reset);

/*
 * Stores the record of a branch, interrupt or exception.  True: its PMI is due.  A page
 * fault becomes pending.
 */
bool cpu_debug_store_branch(struct cpu *cpu, uint64_t from, uint64_t to);

#endif
