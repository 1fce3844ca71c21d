/*
 * One logical CPU: an execution engine, a PT unit, a local APIC, and the code that
 * connects them.  That code determines which instructions retired, reports control
 * transfers to PT, delivers interrupts and exceptions through the guest's IDT, and
 * executes the instructions that the engine must not.
 *
 * All results are a function of the retired instructions, never of where the engine
 * cuts blocks.  Time is one cycle an instruction (model choice) or, with profile.cost,
 * the cost model's (emu/cpu/cost/run.h), plus the time of HLT and PAUSE.
 */
#ifndef TOPAZ_EMU_CPU_CPU_H
#define TOPAZ_EMU_CPU_CPU_H

#include "emu/base/base.h"
#include "emu/base/deviation.h"
#include "emu/base/event.h"
#include "emu/cpu/access/audit.h"
#include "emu/pt/packet/cycles.h"

struct cpu;
struct profile;
struct exec_log;

/* Why cpu_run() returned. */
enum cpu_end {
	CPU_LIMIT,   /* its time reached the limit */
	CPU_YIELD,   /* it spins (PAUSE), or touched its local APIC */
	CPU_HALTED,  /* HLT, with nothing to wake it now */
	CPU_STOPPED, /* cpu_set_stop() or cpu_pause(), between any two
			instructions */
	CPU_OVER,    /* the run has ended: port.over was called */
};

enum cpu_over {
	CPU_OVER_UNMODELLED,
	CPU_OVER_TRIPLE_FAULT,
	CPU_OVER_ENGINE,
};

/* An instruction that is about to run; machine.h's struct machine_step. */
struct cpu_step {
	uint64_t rip;
	bool trigger_en, in_nmi, interrupts, local, split, counts;
	uint8_t cpl;
};

/* The instructions that are reported to port.step. */
enum cpu_stepping {
	CPU_STEPPING_NONE,
	CPU_STEPPING_WATCHED, /* the watched ones, NMI and interrupt handlers */
	CPU_STEPPING_ALL,
};

/* A CPU's interface to its machine. */
struct cpu_port {
	void *arg;
	void (*event)(void *arg, const struct event *event);
	/* ICR as written; the machine delivers the IPI. */
	void (*ipi)(void *arg, unsigned cpu, uint32_t icr_low,
	    uint32_t icr_high, uint64_t cycles);
	/* OUT; false: no such port or size. */
	bool (*out)(
	    void *arg, unsigned cpu, int port, unsigned bytes, uint32_t value);
	/* IN; false: no such port or size. */
	bool (*in)(
	    void *arg, unsigned cpu, int port, unsigned bytes, uint32_t *value);
	/* RDMSR or WRMSR of an MSR, or WRMSR of a value, that is not modelled.
	 * True: it is #GP; false: it ends the run. */
	bool (*unknown_msr)(
	    void *arg, unsigned cpu, bool write, uint32_t msr, uint64_t value);
	/* MOV of VALUE to DR7 enables a breakpoint of I/O, which is not modelled. */
	void (*breakpoint)(void *arg, unsigned cpu, uint64_t value);
	void (*over)(
	    void *arg, unsigned cpu, enum cpu_over why, const char *text);
	/* Before each instruction that cpu_set_stepping() asks for. */
	void (*step)(void *arg, unsigned cpu, const struct cpu_step *step);
	/* cpu_set_audit() */
	void (*access)(void *arg, const struct audit_access *access);
	void (*call)(void *arg, const struct audit_call *call);
	/* The pages of RAM, one bit each, that may have been written since
	 * EPOCH began; NULL: any may have been.  May be NULL itself. */
	const uint64_t *(*written)(void *arg, uint32_t *epoch);
};

struct cpu_config {
	unsigned id, cpu_count;
	const struct profile *profile;
	uint8_t *ram;
	uint64_t ram_bytes;
	bool single_step;
	bool board; /* has the MSRs and the APIC that a stock kernel uses */
	uint32_t core_cbr; /* core:bus ratio, 1..255; 0: the profile's */
	struct pt_cycles pt_cycles; /* accepted by pt_cycles_check() */
	/* Memory that trace output and ToPA tables must not touch (SDM vol. 3,
	 * 33.2.7.4 "Restricted Memory Access"); 0 bytes: there is none. */
	struct gpa restricted;
	uint64_t restricted_bytes;
	struct cpu_port port;
};

/* Returns NULL, with a description in ERR, if there is no memory or no usable engine. */
struct cpu *cpu_create(const struct cpu_config *config, struct tz_error *err);
void cpu_destroy(struct cpu *cpu);

/* Starts the CPU at RIP in the state of emu/guest_abi.h. */
void cpu_start(
    struct cpu *cpu, uint64_t rip, uint64_t rdi, uint64_t rsi, uint64_t cr3);

/*
 * After cpu_start(): the GDT, and the selectors of CS and of the other segment
 * registers, whose segments do not change.
 */
void cpu_set_segments(
    struct cpu *cpu, uint64_t gdt, uint32_t limit, uint16_t cs, uint16_t ds);

/*
 * INIT: the CPU runs no more until cpu_start_up().  False: it traces, counts or is
 * recorded, which goes on after INIT and is not modelled; nothing has changed.
 */
bool cpu_init(struct cpu *cpu);

/*
 * A start-up IPI with VECTOR: runs its code up to 64-bit mode, and starts the CPU there.
 * INSNS were executed; they are in no count and in no log, as after INIT nothing counts or
 * traces.  Errors as of startup_run(), and the CPU has not started.
 */
int cpu_start_up(
    struct cpu *cpu, uint8_t vector, uint64_t *insns, struct tz_error *err);

/*
 * Runs until the CPU's time reaches LIMIT_CYCLES, or until the CPU has nothing to
 * do.  It stops at the end of the first control transfer at or after LIMIT_CYCLES.
 */
enum cpu_end cpu_run(struct cpu *cpu, uint64_t limit_cycles);

/*
 * To be called when another CPU has run since this one did.  The TLB is emptied
 * when a CPU's turn begins, when an interrupt or an NMI is delivered, and at a load
 * of CR3 (global pages, too); INVLPG drops its page.  A CPU therefore sees the
 * current page tables, except an entry that the same CPU has changed and uses
 * before any of these, which no correct program does.  Hardware may do all of that
 * (SDM vol. 3, 4.10.2.3 "Details of TLB Use"), and it reveals every use of an
 * unmapped page.
 */
void cpu_see_tables(struct cpu *cpu);

/*
 * To be called when the host has written code.  The content of code pages that the
 * guest may not write is checked then, at CPUID, and when CR0, CR3, CR4 or a TLB
 * entry changes: SDM vol. 3, 9.1.3 "Handling Self- and Cross-Modifying Code"
 * requires a CPU to synchronize before it runs such code.  Pages that the guest may
 * write are checked at each entry.
 */
void cpu_see_writes(struct cpu *cpu);

uint64_t cpu_insns(const struct cpu *cpu);
uint64_t cpu_cycles(const struct cpu *cpu); /* of the core clock */
/* Within port.ipi: instructions that had retired before the access. */
uint64_t cpu_access_insns(const struct cpu *cpu);
/*
 * The first instruction that the cost model does not know,
 * as its form; NULL: none was met.
 */
const char *cpu_unknown_cost(const struct cpu *cpu);
uint64_t cpu_tsc(const struct cpu *cpu);

/*
 * Lets time pass up to CYCLES without executing, for a CPU that is halted or late;
 * ends early if the CPU's own trace wakes it.
 */
void cpu_idle_until(struct cpu *cpu, uint64_t cycles);

/* True if the CPU is halted with neither an NMI nor an interrupt to take. */
bool cpu_is_asleep(struct cpu *cpu);

/* The cycle in which a sleeping CPU wakes by itself; UINT64_MAX: never. */
uint64_t cpu_wake_due(const struct cpu *cpu);

/*
 * The earliest cycle in which the CPU's own trace can wake it: a lower bound, from
 * what is known now.  UINT64_MAX: the trace never wakes it.
 */
uint64_t cpu_trace_wake_due(struct cpu *cpu);

/*
 * An interrupt (IPI, PMI) arrives: it is latched, and delivered when the CPU can
 * take it.
 */
void cpu_interrupt(struct cpu *cpu, uint8_t vector);
void cpu_nmi(struct cpu *cpu);

/* True if an IPI with the logical destination MDA is for the CPU. */
bool cpu_is_selected(const struct cpu *cpu, uint8_t mda);

void cpu_set_exec_log(struct cpu *cpu, struct exec_log *exec_log);
/* Events MSR_WRITE with the values that the MSRs of counters and Debug Store have now. */
void cpu_tell_monitors(struct cpu *cpu);
void cpu_stop_run(struct cpu *cpu); /* cpu_run() returns CPU_OVER soon */

/*
 * cpu_run() returns CPU_STOPPED, once, right after INSNS instructions have retired;
 * UINT64_MAX: never.
 */
void cpu_set_stop(struct cpu *cpu, uint64_t insns);

/*
 * From an observer: cpu_run() returns CPU_STOPPED after the current instruction, if
 * it was reported to port.step or the machine executes it; else at the end of the
 * current or next control transfer.
 */
void cpu_pause(struct cpu *cpu);
void cpu_cancel_pause(struct cpu *cpu);

/* Watched code is linear [BEGIN, END).  Changes only the speed. */
void cpu_set_stepping(
    struct cpu *cpu, enum cpu_stepping stepping, uint64_t begin, uint64_t end);

/*
 * Sets the code whose accesses and calls are reported; the array of functions is
 * not copied.  To be called between two calls of cpu_run().  Changes only the
 * speed.
 */
void cpu_set_audit(struct cpu *cpu, const struct audit *audit);
/* From port.access and .call: RBP before the instruction. */
uint64_t cpu_audit_frame(struct cpu *cpu);

/*
 * Applies a deviation, between two calls of cpu_run().  False: it is impossible
 * here, and nothing has changed.  If the deviation's parameter is another CPU, this
 * is the part of this CPU; machine_inject() does the rest.
 */
bool cpu_inject(struct cpu *cpu, enum deviation_kind kind, uint64_t param);

/* True if DEVIATION_FAIL is pending; clears it. */
bool cpu_take_fail(struct cpu *cpu);

/*
 * The whole state of a CPU that is not running, without its execution log; NULL: no
 * memory.  It can be restored any number of times, after RAM.  The execution log
 * being recorded then continues from there.
 */
struct cpu_snapshot;
struct cpu_snapshot *cpu_snapshot_take(struct cpu *cpu);
/* CHANGED: one bit for each page of RAM that may have changed; NULL: any may have. */
void cpu_snapshot_apply(struct cpu *cpu, const struct cpu_snapshot *snapshot,
    const uint64_t *changed);
void cpu_snapshot_free(struct cpu_snapshot *snapshot);

/*
 * A snapshot as cpu_packed_bytes() bytes without an address of this process, for a CPU of
 * the same configuration in another one (emu/saved.h).  False, NULL: no memory.  After an
 * operational error of its trace a CPU cannot be packed: cpu_pt_error().
 */
size_t cpu_packed_bytes(const struct cpu *cpu);
bool cpu_snapshot_pack(
    struct cpu *cpu, const struct cpu_snapshot *snapshot, uint8_t *bytes);
struct cpu_snapshot *cpu_snapshot_unpack(struct cpu *cpu, const uint8_t *bytes);
uint32_t cpu_engine_version(void);

/*
 * A hash of everything that decides what the CPU does next.  Times are relative to
 * BASE cycles, a time at which it runs or after which it may wake.  Its turn lasts
 * until LIMIT cycles; 0: its turn is over.
 */
uint64_t cpu_hash(struct cpu *cpu, uint64_t base, uint64_t limit);

/* True if its trace contains time, so that absolute time affects what it does. */
bool cpu_is_timed(const struct cpu *cpu);

/* Reads a trace MSR, GLOBAL_STATUS or the LVT performance entry without side effects. */
uint64_t cpu_peek_msr(const struct cpu *cpu, uint32_t msr);
uint32_t cpu_lvt_pc(const struct cpu *cpu);
uint64_t cpu_ds_area(const struct cpu *cpu); /* IA32_DS_AREA */
uint64_t cpu_xss(const struct cpu *cpu);     /* IA32_XSS */
bool cpu_trigger_en(const struct cpu *cpu);
bool cpu_in_nmi(const struct cpu *cpu);
uint64_t cpu_counting(const struct cpu *cpu); /* pmu_counting() */
/* pmu_interrupting(), and PMU_STATUS_OVF_DS while a counter has PEBS */
uint64_t cpu_interrupting(const struct cpu *cpu);
bool cpu_branches_interrupt(const struct cpu *cpu); /* BTS, with BTINT */
bool cpu_nmi_pending(const struct cpu *cpu);

uint64_t cpu_rip(struct cpu *cpu);
uint64_t cpu_rsp(struct cpu *cpu);
bool cpu_translate(struct cpu *cpu, struct gva va, uint64_t *pa);
uint64_t cpu_rbp(struct cpu *cpu);
bool cpu_call_slot(struct cpu *cpu, uint64_t *va); /* machine_call_slot() */
bool cpu_read(struct cpu *cpu, struct gva va, void *bytes, size_t count);
void cpu_sync_output(struct cpu *cpu);
bool cpu_trace_on(const struct cpu *cpu);
/* Instructions retired since it last left ring 3 or halted; 0 in ring 3. */
uint64_t cpu_kernel_insns(const struct cpu *cpu);
uint64_t cpu_trace_bytes(const struct cpu *cpu); /* as of the last sync */
uint64_t cpu_pmi_count(const struct cpu *cpu);
uint64_t cpu_nmi_count(const struct cpu *cpu);
const char *cpu_pt_error(const struct cpu *cpu); /* last reason, or NULL */

#endif
