/*
 * One logical CPU: an engine that executes, a PT unit, a local APIC, and what
 * joins them: which instructions retired, what each control transfer means to PT,
 * delivery of interrupts and exceptions through the guest's IDT, and the
 * instructions that the engine must not execute itself.
 *
 * Everything is a function of the instructions that retire: never of where the
 * engine cuts blocks.  Time is one cycle an instruction (model choice), and what
 * HLT and PAUSE add.
 */
#ifndef TOPAZ_EMU_CPU_CPU_H
#define TOPAZ_EMU_CPU_CPU_H

#include "emu/base.h"
#include "emu/event.h"

struct cpu;
struct profile;
struct truth;

/* Why cpu_run() came back. */
enum cpu_end {
	CPU_LIMIT,  /* its time reached the limit */
	CPU_YIELD,  /* it spins (PAUSE), or touched its local APIC */
	CPU_HALTED, /* HLT, with nothing to wake it now */
	CPU_OVER,   /* the run is over: port.over has been called */
};

enum cpu_over {
	CPU_OVER_UNMODELLED,
	CPU_OVER_TRIPLE_FAULT,
	CPU_OVER_ENGINE,
};

/* What a CPU needs of its machine. */
struct cpu_port {
	void *arg;
	void (*event)(void *arg, const struct event *event);
	/* ICR as written; delivery is the machine's business. */
	void (*ipi)(void *arg, unsigned cpu, uint32_t icr_low,
	    uint32_t icr_high, uint64_t cycles);
	/* OUT; false: no such port or size. */
	bool (*out)(
	    void *arg, unsigned cpu, int port, unsigned bytes, uint32_t value);
	void (*over)(
	    void *arg, unsigned cpu, enum cpu_over why, const char *text);
};

struct cpu_config {
	unsigned id, cpu_count;
	const struct profile *profile;
	uint8_t *ram;
	uint64_t ram_bytes;
	bool single_step;
	struct cpu_port port;
};

/* NULL and a description in ERR: no memory, or no usable engine. */
struct cpu *cpu_create(const struct cpu_config *config, struct tz_error *err);
void cpu_destroy(struct cpu *cpu);

/* Starts the CPU at RIP in the state of emu/abi.h. */
void cpu_start(
    struct cpu *cpu, uint64_t rip, uint64_t rdi, uint64_t rsi, uint64_t cr3);

/*
 * Runs until the CPU's time reaches LIMIT_CYCLES (it stops at the end of the
 * first control transfer at or after it), or it has nothing to do.
 */
enum cpu_end cpu_run(struct cpu *cpu, uint64_t limit_cycles);

uint64_t cpu_insns(const struct cpu *cpu);
uint64_t cpu_cycles(const struct cpu *cpu);

/* Lets time pass up to CYCLES without executing: a halted CPU, or one late. */
void cpu_idle_until(struct cpu *cpu, uint64_t cycles);

/* Is it halted with neither an NMI nor an interrupt to take? */
bool cpu_is_asleep(struct cpu *cpu);

/* When the local timer wakes this CPU, if it sleeps; UINT64_MAX never. */
uint64_t cpu_timer_due(const struct cpu *cpu);

/* Interrupts arrive (IPIs, PMIs): latched, delivered when they may be. */
void cpu_interrupt(struct cpu *cpu, uint8_t vector);
void cpu_nmi(struct cpu *cpu);

void cpu_set_truth(struct cpu *cpu, struct truth *truth);
void cpu_stop_run(struct cpu *cpu); /* cpu_run() returns CPU_OVER soon */

/*
 * The whole state of a CPU that does not run, without its truth; NULL: no memory.
 * It may be put back any number of times, RAM first; the truth that is being
 * recorded then goes on from there.
 */
struct cpu_snapshot;
struct cpu_snapshot *cpu_snapshot_take(struct cpu *cpu);
void cpu_snapshot_apply(struct cpu *cpu, const struct cpu_snapshot *snapshot);
void cpu_snapshot_free(struct cpu_snapshot *snapshot);

uint64_t cpu_rip(struct cpu *cpu);
uint64_t cpu_rbp(struct cpu *cpu);
bool cpu_read(struct cpu *cpu, struct gva va, void *bytes, size_t count);
void cpu_sync_output(struct cpu *cpu);
bool cpu_trace_on(const struct cpu *cpu);
uint64_t cpu_trace_bytes(const struct cpu *cpu); /* as of the last sync */
uint64_t cpu_pmi_count(const struct cpu *cpu);
uint64_t cpu_nmi_count(const struct cpu *cpu);
const char *cpu_pt_error(const struct cpu *cpu); /* last reason, or NULL */

#endif
