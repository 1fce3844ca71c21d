/*
 * The machine: N logical CPUs with their local APICs and PT units over one RAM, run in
 * turns on one host thread, in an order that depends only on the guest.  Time is virtual:
 * every CPU counts its own cycles.
 *
 * Not modelled: devices other than the local APIC and the host channel of
 * emu/guest_abi.h or a board; real mode; VMX, SMM, SGX, TSX.  Any guest access that is
 * not modelled ends the run with MACHINE_UNMODELLED and a text; with a board, unknown
 * MSRs and ports do not (emu/board/unknown.h).
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
struct unknowns;

#define MACHINE_CPUS_MAX       8
#define MACHINE_QUANTUM_CYCLES 10000
#define MACHINE_LOOK_CYCLES    200000

/*
 * SMRAM, which firmware reserves for SMM above all RAM.  The guest can read its range in
 * IA32_SMRR_PHYSBASE and IA32_SMRR_PHYSMASK.  A guest access to it ends the run, as at any
 * address without memory; for a PT unit it is restricted memory (SDM vol. 3, 33.2.7.4
 * "Restricted Memory Access").  Trace output to the local APIC's page, which software must
 * not use either, raises no error: the page is not memory, so the output is lost.
 */
#define MACHINE_SMRAM_PA    (UINT64_C(3) << 30)
#define MACHINE_SMRAM_BYTES (UINT64_C(8) << 20)

struct machine_config {
	const struct cpu_set *cpu_set; /* which CPU is which model; copied */
	unsigned cpu_count;            /* 1..MACHINE_CPUS_MAX */
	uint64_t ram_bytes;            /* multiple of 2 MiB, at most 3 GiB */
	uint64_t quantum_cycles;       /* 0: MACHINE_QUANTUM_CYCLES */
	uint64_t look_cycles;          /* 0: MACHINE_LOOK_CYCLES */
	uint32_t core_cbr; /* core:bus ratio, 1..255; the TSC runs at the
			      profile's ratio; 0: the profile's */
	struct pt_cycles pt_cycles; /* all 0: bytes are in memory at once */
	bool single_step; /* run one instruction at a time: slower, same
			     results */
	bool board; /* emu/board instead of the host channel: boots stock kernels */
};

/* An instruction that is about to run; see machine_set_stepping(). */
struct machine_step {
	unsigned cpu;
	uint64_t insns; /* retired by the CPU */
	uint64_t rip;
	uint8_t cpl;
	bool trigger_en; /* STATUS.TriggerEn: a DEVIATION_PMI is possible */
	bool in_nmi;     /* NMIs are blocked */
	bool interrupts; /* RFLAGS.IF */
	bool local; /* accesses no device, and no memory except its stack */
	bool split; /* loads and stores without LOCK: a DEVIATION_SPLIT is possible */
	bool counts; /* an enabled counter interrupts: so may a DEVIATION_COUNTER be */
};

/*
 * Any function may be NULL.  Of the machine's functions, one may call those that read
 * (machine_ram, _read, _rip, _rbp, _rsp, _pt, _translate) and machine_pause().
 */
struct machine_observer {
	void *arg;
	void (*event)(void *arg, const struct event *event);
	void (*console)(void *arg, char c); /* with a board: sent by its UART */
	void (*step)(void *arg, const struct machine_step *step);
	/* Accesses of audited code: see machine_set_audit(). */
	void (*access)(void *arg, const struct audit_access *access);
	void (*call)(void *arg, const struct audit_call *call);
	/* A kernel function that can fail asks whether to fail (EVENT_POINT).  NULL
	 * or false: no, unless DEVIATION_FAIL is pending. */
	bool (*point)(void *arg, unsigned cpu, uint64_t id, uint64_t caller);
	/* Called at the first control transfer after look_cycles of a CPU, and
	 * whenever another CPU's turn begins.  True ends machine_run() with
	 * MACHINE_STOP.  The call itself changes nothing. */
	bool (*stop)(void *arg);
};

enum machine_end {
	MACHINE_EXIT,         /* the guest shut down; .code is its exit code */
	MACHINE_PANIC,        /* the guest panicked; .text is its message */
	MACHINE_UNMODELLED,   /* the guest used something that is not modelled:
				 .text */
	MACHINE_TRIPLE_FAULT, /* exception while delivering a double fault */
	MACHINE_DEADLOCK,     /* every CPU halts and nothing can wake one */
	MACHINE_LIMIT,  /* insns_max reached; machine_run() can continue */
	MACHINE_STOP,   /* a stop, or machine_pause(); machine_run() can
			   continue */
	MACHINE_ENGINE, /* the engine failed: .text */
	MACHINE_OFF,    /* the board's guest powered off */
	MACHINE_RESET,  /* the board's guest reset the machine */
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
 * RAM as the host sees it; physical address 0 is its first byte.  After writing
 * code that the guest may have run from a read-only page, call
 * machine_wrote_code().
 */
uint8_t *machine_ram(struct machine *machine);
void machine_wrote_code(struct machine *machine);

/* Records what CPU executes from here on; NULL ends the recording. */
void machine_set_exec_log(
    struct machine *machine, unsigned cpu, struct exec_log *exec_log);
/* Events MSR_WRITE with what the MSRs of CPU's counters and Debug Store are now. */
void machine_tell_monitors(struct machine *machine, unsigned cpu);

/*
 * Puts CPU 0 at ENTRY in the state that emu/guest_abi.h promises, and the
 * others into wait-for-SIPI.  CR3 is the physical address of the boot tables.
 *
 * With a board, the arguments are those of struct kernel_entry (emu/board/kernel.h): CPU 0
 * starts by Linux's 64-bit boot protocol, with RSI = BOOT_INFO and the loader's GDT,
 * and the code of a start-up IPI begins in real mode.
 */
void machine_boot(struct machine *machine, uint64_t entry, uint64_t boot_info,
    struct gpa cr3);

/*
 * Runs until the guest ends or INSNS_MAX instructions in all have retired (0: no
 * limit).  An end by the limit or by a stop does not change what the machine does
 * afterwards.  Trace bytes that were not reported are reported later
 * (machine_sync_output()).
 */
void machine_run(
    struct machine *machine, uint64_t insns_max, struct machine_result *result);

/*
 * Ends machine_run() with MACHINE_STOP exactly when CPU has retired INSNS
 * instructions and before it does anything more; UINT64_MAX: never.  A stop in the
 * past has no effect.  The CPU may stop between any two instructions; trace bytes
 * are not reported (machine_sync_output()).
 */
void machine_set_stop(struct machine *machine, unsigned cpu, uint64_t insns);

/*
 * From an observer: machine_run() ends with MACHINE_STOP at the next boundary after
 * the current instruction.
 */
void machine_pause(struct machine *machine);

/*
 * Does DEVIATION on CPU, between two calls of machine_run().  False: the deviation
 * is not possible here (DEVIATION_PMI with TriggerEn = 0, DEVIATION_SWITCH to a CPU
 * that cannot run, ...), and nothing has changed.  PARAM is the parameter of
 * base/deviation.def, or 0 for a kind without one.
 */
bool machine_inject(struct machine *machine, unsigned cpu,
    enum deviation_kind kind, uint64_t param);

/*
 * The instructions that are reported to the step observer, one by one, before they
 * run.  Stepping changes only the speed.
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
 * Reports each load and store of code, and its calls of the functions in AUDIT,
 * whose array the machine does not copy (emu/cpu/access/audit.h).  With all members
 * of AUDIT 0, nothing is reported.  An audit changes only the speed.
 */
void machine_set_audit(struct machine *machine, const struct audit *audit);
/* From observer.access and .call, for CPU: RBP before the instruction. */
uint64_t machine_audit_frame(struct machine *machine, unsigned cpu);

/*
 * The state of the whole machine between two calls of machine_run().  It can be
 * restored any number of times, in any order.  Later snapshots are stored as
 * differences to the first, which must be freed last.  NULL: no memory.  A restored
 * machine repeats exactly what it did after the snapshot, whatever ran in between.
 * Settings of machine_set_*() are not part of a snapshot, except stops.
 */
struct machine_snapshot *machine_snapshot_take(
    struct machine *machine, struct tz_error *err);
void machine_snapshot_apply(
    struct machine *machine, const struct machine_snapshot *snapshot);
void machine_snapshot_free(
    struct machine *machine, struct machine_snapshot *snapshot);

/*
 * A hash of everything that decides what the machine does next: registers, devices,
 * PT state, pending events with times relative to now, and RAM except dead stack
 * and the frames in HIDDEN (one bit a page of RAM, or NULL).  Absolute time, counts
 * and trace bytes are not part of it.  Equal machines have equal hashes.  A
 * snapshot must have been taken before.
 */
uint64_t machine_hash(struct machine *machine, const uint64_t *hidden);

/*
 * True if some CPU's trace depends on time.  machine_hash() then includes absolute
 * time, so that no two moments have the same hash.
 */
bool machine_is_timed(const struct machine *machine);

/*
 * With a board: BYTES are sent to its UART, between two calls of machine_run().
 * Returns how many it takes: as many as it has room for, none while RTS is off.
 */
size_t machine_receive(
    struct machine *machine, const uint8_t *bytes, size_t count);

/* With a board: the accesses that nothing models, since machine_boot(). */
const struct unknowns *machine_unknowns(const struct machine *machine);

/* Counters of one CPU. */
struct machine_counters {
	uint64_t insns;       /* retired */
	uint64_t cycles;      /* virtual time */
	uint64_t trace_bytes; /* written by its PT unit */
	uint64_t pmis;        /* ToPA PMIs raised */
	uint64_t nmis;        /* NMIs delivered */
	bool trace_on;        /* TraceEn now */
	/* Retired since it last left ring 3 or halted; 0: it is in ring 3. */
	uint64_t kernel_insns;
	/* The first instruction that the cost model does not know, as its form; NULL:
	 * none was met. */
	const char *unknown_cost;
};
void machine_counters(const struct machine *machine, unsigned cpu,
    struct machine_counters *counters);

/*
 * Reads guest linear memory through CPU's page tables with supervisor rights; false
 * where a page is not present or not RAM.
 */
bool machine_read(struct machine *machine, unsigned cpu, struct gva va,
    void *bytes, size_t count);

/* Translates VA to a physical address, with supervisor rights; false: not present. */
bool machine_translate(
    struct machine *machine, unsigned cpu, struct gva va, uint64_t *pa);

/* The 8 bytes at physical address PA; false: PA is not RAM. */
bool machine_ram_word(struct machine *machine, uint64_t pa, uint64_t *value);

/* RIP of the current or next instruction of CPU, its RBP and its RSP. */
uint64_t machine_rip(struct machine *machine, unsigned cpu);
uint64_t machine_rbp(struct machine *machine, unsigned cpu);
uint64_t machine_rsp(struct machine *machine, unsigned cpu);

/*
 * After an exception at the target of an indirect CALL (EVENT_EXCEPTION), the
 * linear address of the CALL's memory operand.  False: the instruction before the
 * return address at RSP is not an indirect CALL with a memory operand.
 */
bool machine_call_slot(struct machine *machine, unsigned cpu, uint64_t *va);

/* The tracing state of a CPU as an observer sees it. */
struct machine_pt {
	uint64_t ctl, status, output_base, mask_ptrs, cr3_match;
	uint64_t addr_a[4], addr_b[4];
	uint64_t global_status, ds_area, xss; /* of the MSRs */
	uint64_t counting; /* its bits of counters that count */
	/* Those of counters that count and interrupt, and bit 62 while one has PEBS. */
	uint64_t interrupting;
	bool branches_interrupt; /* IA32_DEBUGCTL: TR, BTS and BTINT are 1 */
	uint32_t lvt_pc;         /* the LVT performance entry */
	bool trigger_en, in_nmi, nmi_pending;
};
void machine_pt(struct machine *machine, unsigned cpu, struct machine_pt *pt);

/* Reports trace bytes not yet reported as EVENT_OUTPUT, on all CPUs. */
void machine_sync_output(struct machine *machine);

/* Why CPU's last ToPA operational error was raised; NULL: there was none. */
const char *machine_pt_error_text(const struct machine *machine, unsigned cpu);

#endif
