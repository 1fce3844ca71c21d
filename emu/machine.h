/*
 * The machine: N logical CPUs with their local APICs and PT units over one RAM,
 * run one after the other on one host thread in an order that depends on nothing
 * but the guest.  Time is virtual: every CPU counts its own cycles.
 *
 * Not modelled: devices other than the local APIC and the host channel of
 * emu/guest_abi.h; real mode; VMX, SMM, SGX, TSX.  Whatever the guest does
 * that is not modelled ends the run with MACHINE_UNMODELLED and a text.
 */
#ifndef TOPAZ_EMU_MACHINE_H
#define TOPAZ_EMU_MACHINE_H

#include "emu/base/base.h"
#include "emu/base/deviation.h"
#include "emu/base/event.h"
#include "emu/cpu/access/audit.h"
#include "emu/pt/packet/cycles.h"

struct machine;
struct cpu_set;
struct exec_log;

#define MACHINE_CPUS_MAX       8
#define MACHINE_QUANTUM_CYCLES 10000
#define MACHINE_LOOK_CYCLES    200000

/*
 * What the board keeps for SMM, where SMRR says so: above all RAM, as firmware lays
 * it out.  No memory of the guest's, whose accesses end the run as those to any
 * place without memory do, and restricted for its PT units (SDM vol. 3, 33.2.7.4
 * "Restricted Memory Access").  The guest may read where, in IA32_SMRR_PHYSBASE and
 * IA32_SMRR_PHYSMASK.  The local APIC's page, the other place where software must not
 * send a trace, signals no error: it is no memory, so that output is lost.
 */
#define MACHINE_SMRAM_PA    (UINT64_C(3) << 30)
#define MACHINE_SMRAM_BYTES (UINT64_C(8) << 20)

struct machine_config {
	const struct cpu_set *cpu_set; /* which CPU is which model; copied */
	unsigned cpu_count;            /* 1..MACHINE_CPUS_MAX */
	uint64_t ram_bytes;            /* multiple of 2 MiB, at most 3 GiB */
	uint64_t quantum_cycles;       /* 0: MACHINE_QUANTUM_CYCLES */
	uint64_t look_cycles;          /* 0: MACHINE_LOOK_CYCLES */
	uint32_t core_cbr; /* core:bus ratio, 1..255: the TSC counts as fast as a
			      core at the profile's; 0: as that */
	struct pt_cycles pt_cycles; /* all 0: bytes are in memory at once */
	bool single_step; /* run one instruction at a time: slow, same results */
};

/* An instruction that is about to run; see machine_set_stepping(). */
struct machine_step {
	unsigned cpu;
	uint64_t insns; /* that the CPU has retired */
	uint64_t rip;
	uint8_t cpl;
	bool trigger_en; /* STATUS.TriggerEn: a DEVIATION_PMI is possible */
	bool in_nmi;     /* NMIs are blocked */
	bool interrupts; /* RFLAGS.IF */
	bool local;      /* touches neither memory but its stack nor a device */
	bool split; /* loads and stores without LOCK: a DEVIATION_SPLIT is possible */
};

/*
 * Any function may be NULL.  None may call back into the machine, but for what
 * reads it (machine_ram, _read, _rip, _rbp, _pt, _translate) and machine_pause().
 */
struct machine_observer {
	void *arg;
	void (*event)(void *arg, const struct event *event);
	void (*console)(void *arg, char c);
	void (*step)(void *arg, const struct machine_step *step);
	/* Of audited code: see machine_set_audit(). */
	void (*access)(void *arg, const struct audit_access *access);
	void (*call)(void *arg, const struct audit_call *call);
	/* A kernel function that can fail asks (EVENT_POINT): shall it?  NULL
	 * or false: no, unless DEVIATION_FAIL says so. */
	bool (*point)(void *arg, unsigned cpu, uint64_t id, uint64_t caller);
	/* Asked at the first control transfer after look_cycles of a CPU, and
	 * whenever another one's turn comes: true ends machine_run() with
	 * MACHINE_STOP.  To ask changes nothing. */
	bool (*stop)(void *arg);
};

enum machine_end {
	MACHINE_EXIT,         /* the guest shut down; .code is what it said */
	MACHINE_PANIC,        /* the guest panicked; .text is its message */
	MACHINE_UNMODELLED,   /* it did what the model lacks; .text names it */
	MACHINE_TRIPLE_FAULT, /* exception while delivering a double fault */
	MACHINE_DEADLOCK,     /* every CPU halts and nothing can wake one */
	MACHINE_LIMIT,        /* insns_max reached: machine_run() goes on */
	MACHINE_STOP,         /* a stop, or machine_pause(): it goes on, too */
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

/*
 * RAM as the host sees it; physical address 0 is its first byte.  Who writes code there
 * that the guest may have run from a read-only page calls machine_wrote_code().
 */
uint8_t *machine_ram(struct machine *machine);
void machine_wrote_code(struct machine *machine);

/* Records what CPU executes from here on; NULL ends that. */
void machine_set_truth(
    struct machine *machine, unsigned cpu, struct exec_log *exec_log);

/*
 * Puts CPU 0 at ENTRY in the state that emu/guest_abi.h promises, and the
 * others into wait-for-SIPI.  CR3 is the physical address of the boot tables.
 */
void machine_boot(struct machine *machine, uint64_t entry, uint64_t boot_info,
    struct gpa cr3);

/*
 * Runs until the guest ends or INSNS_MAX instructions in all (0: no limit).  An end
 * by the limit or by a stop changes nothing: what follows is the same as without it,
 * and trace bytes that were not reported are reported later (machine_sync_output()).
 */
void machine_run(
    struct machine *machine, uint64_t insns_max, struct machine_result *result);

/*
 * Ends machine_run() with MACHINE_STOP exactly when CPU has retired INSNS
 * instructions and before it does anything more; UINT64_MAX: never.  A stop in the
 * past never comes.  Where the CPU stands may be in the middle of anything; trace
 * bytes are not reported (machine_sync_output()).
 */
void machine_set_stop(struct machine *machine, unsigned cpu, uint64_t insns);

/* From an observer: machine_run() ends with MACHINE_STOP at the next boundary
 * after the instruction that goes on. */
void machine_pause(struct machine *machine);

/*
 * Does DEVIATION on CPU, between two calls of machine_run().  False: it is not possible
 * here (DEVIATION_PMI with TriggerEn = 0, DEVIATION_SWITCH to a CPU that cannot go on, ...),
 * and nothing has changed.  PARAM as base/deviation.def says; 0 where there is none.
 */
bool machine_inject(struct machine *machine, unsigned cpu,
    enum deviation_kind kind, uint64_t param);

/*
 * Which instructions the step observer is told of, one by one, before they run.
 * Stepping changes nothing but the speed.
 */
enum machine_stepping {
	STEPPING_NONE,
	STEPPING_WATCHED, /* those in the watched range, and all in NMI or
			     interrupt handlers */
	STEPPING_ALL,
};
void machine_set_stepping(
    struct machine *machine, enum machine_stepping stepping);
/* [BEGIN, END) of linear addresses: the driver's code. */
void machine_set_watched(struct machine *machine, uint64_t begin, uint64_t end);

/*
 * Reports each load and store of code, and its calls of certain functions, whose list
 * must stay (emu/cpu/access/audit.h).  All of AUDIT 0: nothing is reported.  An audit changes
 * nothing but the speed.
 */
void machine_set_audit(struct machine *machine, const struct audit *audit);
/* From observer.access and .call, for CPU: RBP before the instruction. */
uint64_t machine_audit_frame(struct machine *machine, unsigned cpu);

/*
 * The whole machine as it stands between two calls of machine_run(), to go back to
 * any number of times, in any order.  The first one taken is what the others are
 * kept as differences to; it must be freed last.  NULL: no memory.  A machine that
 * went back does what it did after the snapshot, to the byte, whatever it has run
 * in between.  What machine_set_*() set is not part of it, but for stops.
 */
struct machine_snapshot *machine_snapshot_take(
    struct machine *machine, struct tz_error *err);
void machine_snapshot_apply(
    struct machine *machine, const struct machine_snapshot *snapshot);
void machine_snapshot_free(
    struct machine *machine, struct machine_snapshot *snapshot);

/*
 * A hash of all that decides what the machine does next: registers, RAM but for
 * the frames that HIDDEN says (one bit a page of RAM, or NULL) and dead stack,
 * devices, PT state, pending events with times relative to now; without absolute
 * time, counts and trace bytes.  Equal machines have equal hashes.  A snapshot
 * must have been taken before.
 */
uint64_t machine_hash(struct machine *machine, const uint64_t *hidden);

/*
 * Does time decide what some CPU's trace holds?  Then no two moments are the same
 * for machine_hash(): it takes absolute time in.
 */
bool machine_is_timed(const struct machine *machine);

/* Counters of one CPU. */
struct machine_counters {
	uint64_t insns;       /* retired */
	uint64_t cycles;      /* virtual time */
	uint64_t trace_bytes; /* that its PT unit wrote */
	uint64_t pmis;        /* ToPA PMIs raised */
	uint64_t nmis;        /* NMIs delivered */
	bool trace_on;        /* TraceEn now */
	/* Retired since it last left ring 3 or halted; 0: it is in ring 3. */
	uint64_t kernel_insns;
};
void machine_counters(const struct machine *machine, unsigned cpu,
    struct machine_counters *counters);

/*
 * Reads guest linear memory through CPU's page tables as the supervisor would;
 * false where a page is not present or not RAM.
 */
bool machine_read(struct machine *machine, unsigned cpu, struct gva va,
    void *bytes, size_t count);

/* The physical address behind VA for CPU's supervisor; false: not present. */
bool machine_translate(
    struct machine *machine, unsigned cpu, struct gva va, uint64_t *pa);

/* The 8 bytes at physical PA; false: that is not RAM. */
bool machine_ram_word(struct machine *machine, uint64_t pa, uint64_t *value);

/* RIP of the instruction that runs, or will run next, on CPU, and its RBP. */
uint64_t machine_rip(struct machine *machine, unsigned cpu);
uint64_t machine_rbp(struct machine *machine, unsigned cpu);

/*
 * CPU has just executed an indirect CALL with a memory operand, as EVENT_EXCEPTION at
 * its target shows: the linear address of that operand.  False: the instruction before
 * the return address at RSP is no such CALL.
 */
bool machine_call_slot(struct machine *machine, unsigned cpu, uint64_t *va);

/* What a CPU's tracing looks like from outside. */
struct machine_pt {
	uint64_t ctl, status, output_base, mask_ptrs, cr3_match;
	uint64_t addr_a[4], addr_b[4];
	uint64_t global_status;
	uint32_t lvt_pc; /* the LVT performance entry */
	bool trigger_en, in_nmi, nmi_pending;
};
void machine_pt(struct machine *machine, unsigned cpu, struct machine_pt *pt);

/* Reports trace bytes not yet reported as EVENT_OUTPUT, on all CPUs. */
void machine_sync_output(struct machine *machine);

/* Why CPU's last ToPA operational error was raised; NULL: there was none. */
const char *machine_pt_error_text(const struct machine *machine, unsigned cpu);

#endif
