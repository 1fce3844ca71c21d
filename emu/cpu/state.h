/*
 * The private state of a CPU, shared only by the files of emu/cpu, and what all of
 * them may call.
 */
#ifndef TOPAZ_EMU_CPU_STATE_H
#define TOPAZ_EMU_CPU_STATE_H

#include "emu/apic/apic.h"
#include "emu/base/exec_log.h"
#include "emu/base/rtit.h"
#include "emu/cpu/access/audit_state.h"
#include "emu/cpu/access/check.h"
#include "emu/cpu/access/walk.h"
#include "emu/cpu/control.h"
#include "emu/cpu/cpu.h"
#include "emu/cpu/engine/block.h"
#include "emu/cpu/engine/code.h"
#include "emu/cpu/engine/engine.h"
#include "emu/cpu/execute/execute.h"
#include "emu/cpu/insn/insn.h"
#include "emu/cpu/interrupt.h"
#include "emu/cpu/monitor/counters.h"
#include "emu/cpu/monitor/debug_store.h"
#include "emu/cpu/pending_faults.h"
#include "emu/cpu/pt_glue.h"
#include "emu/cpu/retire.h"
#include "emu/pmu/pmu.h"
#include "emu/profile/profile.h"
#include "emu/pt/inject.h"
#include "emu/pt/unit.h"

#define RFLAGS_IF TZ_BIT(9)

/* Bytes of component 8 that cannot cross a page: areas are 64-aligned. */
#define AREA_PART 64

/*
 * The engine holds the registers; all other state of a CPU is here.  Each group is
 * described where it is declared, in the header of the file that owns it.
 */
struct cpu {
	/* What the fast path of cpu_enter() uses: one cache line. */
	struct block *block; /* announced last by the engine; may have run in
				part */
	struct pt_unit *unit;
	struct pt_fast *route; /* how near transfers may be reported: the unit's,
				  or none, while each one is counted */
	struct cpu_time time;  /* clock.c */
	struct exec_log *exec_log; /* NULL: none is recorded */
	bool attention; /* something happened: handle it at this boundary */

	struct block nowhere;   /* stands for no block, after a start */
	struct block carried;   /* a copy, without successors, of a block that
				  continues a run of the cost model */
	struct cpu_clock clock; /* clock.c */
	struct engine *active;  /* the one that holds the registers */
	struct cpu_config config;
	struct walk_space space; /* RAM and CR3 */
	struct apic apic;
	struct pmu pmu;
	struct ds ds;

	struct cpu_mode mode;             /* leave.c: CPL, HLT, STI */
	struct cpu_interrupts interrupts; /* interrupt.c: NMI */
	struct cpu_delivery delivery;     /* except.c */
	struct cpu_trace trace;           /* pt_glue.c: from the PT unit */
	struct cpu_stop stop;             /* control.c: why a run ends */
	struct cpu_observer observer;     /* step.c: who sees each step */
	struct cpu_engines engines;       /* engine/choice.c */
	struct cpu_code code;             /* engine/code.c: translated code */
	struct cpu_hooks hooks;       /* engine/hook.c: of the main engine */
	struct cpu_sites sites;       /* engine/hook.c: within a block */
	struct exec_log *resting_log; /* log.c: in a gap, or NULL */
	struct cpu_trap trap; /* execute/trap.c: the CPU's own instruction */
	struct cpu_msrs msrs; /* execute/msr.c */
	struct cpu_board_msrs board_msrs; /* execute/board_msr.c */
	struct cpu_debug_regs debug_regs; /* execute/special_reg.c */
	/*
	 * execute/breakpoint.c: instructions that had retired when RFLAGS.RF was
	 * first seen, and 1; 0: it is 0.
	 */
	uint64_t resumed;
	struct cpu_counters counters;       /* counters.c: what pmu was told */
	struct cpu_debug_store debug_store; /* debug_store.c */
	struct cpu_audit audit;       /* access/audit.c: loads and stores */
	struct pending_faults faults; /* inject.c: deviations */
};

/* Instructions retired so far. */
static inline uint64_t
cpu_count_insns(const struct cpu *cpu)
{
	return cpu->clock.limit_insns - (uint64_t)cpu->time.left;
}

/* Their cost, in units. */
static inline uint64_t
cpu_count_units(const struct cpu *cpu)
{
	return cpu->clock.limit_units - (uint64_t)cpu->time.units_left;
}

/* Leave the fast path, so that the next boundary checks interrupts and yield. */
static inline void
cpu_request_attention(struct cpu *cpu)
{
	cpu->clock.limit_insns -= (uint64_t)cpu->time.left;
	cpu->time.left = 0;
}

/* True if the active engine announces single instructions. */
static inline bool
cpu_is_stepping(const struct cpu *cpu)
{
	return cpu->config.single_step || cpu->active == cpu->engines.stepper;
}

/* True if each branch is to be reported by cpu_branch(). */
static inline bool
cpu_sees_branches(const struct cpu *cpu)
{
	return cpu->counters.branches || cpu->debug_store.branches;
}

/*
 * True if the log has each time that passes: for packets,
 * with the cost model for counters.
 */
static inline bool
cpu_logs_time(const struct cpu *cpu)
{
	return cpu->exec_log != NULL &&
	    (pt_unit_fast(cpu->unit)->timed ||
		(cpu->config.profile->cost && cpu->pmu.wanted != 0));
}

static inline void
cpu_choose_route(struct cpu *cpu)
{
	cpu->route = cpu_sees_branches(cpu) ? &cpu->counters.slow
					    : pt_unit_fast(cpu->unit);
}

/* True if the guest can set EventEn at all. */
static inline bool
cpu_has_event_trace(const struct cpu *cpu)
{
	return (cpu->config.profile->pt_ebx & PROFILE_PT_EBX_EVENT) != 0;
}

/* True if the machine executes instructions of CLASS. */
static inline bool
cpu_is_trapped(const struct cpu *cpu, enum insn_class class)
{
	if (class == INSN_CLI)
		return cpu_has_event_trace(cpu);
	return class >= INSN_TRAP_FIRST;
}

/* report.c */
void cpu_emit(
    struct cpu *cpu, enum event_kind kind, uint64_t a, uint64_t b, uint64_t c);
void cpu_emit_deviation(struct cpu *cpu);
void cpu_end_run(struct cpu *cpu, enum cpu_over why, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/*
 * RDMSR or WRMSR of an MSR or a value that is not modelled: ends the run, or is #GP on a
 * board.
 */
enum fault cpu_unknown_msr(
    struct cpu *cpu, bool write, uint32_t index, uint64_t value);

/* log.c */
/* Records that the CPU enters BLOCK; AGAIN: that it repeats a string instruction. */
void cpu_log_entry(struct cpu *cpu, struct block *block, bool again);
/* Records the time, if it does not follow from the instructions recorded so far. */
void cpu_log_time(struct cpu *cpu);
/* Records that the CPU has executed the instruction at RIP itself. */
void cpu_log_step(struct cpu *cpu, uint64_t rip);
/* The same where memory may have other bytes by now than the COUNT of CODE. */
void cpu_log_step_of(
    struct cpu *cpu, uint64_t rip, const uint8_t *code, uint32_t count);
/* A log that may have gaps goes on; or it rests, if nothing observes the CPU. */
void cpu_log_wake(struct cpu *cpu);
void cpu_log_rest(struct cpu *cpu);

/* query.c */
struct pt_context cpu_context(const struct cpu *cpu, uint64_t ip);
void cpu_read_regs(struct cpu *cpu, struct insn_regs *regs);

/* access/mmio.c */
uint64_t cpu_mmio_read(void *arg, uint64_t offset, unsigned bytes);
void cpu_mmio_write(void *arg, uint64_t offset, unsigned bytes, uint64_t value);

#endif
