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
#include "emu/cpu/access/walk.h"
#include "emu/cpu/control.h"
#include "emu/cpu/cpu.h"
#include "emu/cpu/engine/block.h"
#include "emu/cpu/engine/code.h"
#include "emu/cpu/engine/engine.h"
#include "emu/cpu/execute/execute.h"
#include "emu/cpu/insn/insn.h"
#include "emu/cpu/insn/operand.h"
#include "emu/cpu/interrupt.h"
#include "emu/cpu/pending_faults.h"
#include "emu/cpu/pt_glue.h"
#include "emu/cpu/retire.h"
#include "emu/pmu/pmu.h"
#include "emu/profile/profile.h"
#include "emu/pt/inject.h"
#include "emu/pt/unit.h"

#define RFLAGS_IF  TZ_BIT(9)
#define FORGET_MAX 8
#define HOOKED_MAX 4096

/* Bytes of component 8 that cannot cross a page: areas are 64-aligned. */
#define AREA_PART 64

/* Instructions [va, last_va]. */
struct hooked {
	uint64_t va, last_va;
};

struct cpu {
	/* The members that the fast path uses, together. */
	struct block *block; /* announced last by the engine; may have run in
				part */
	struct pt_unit *unit;
	int64_t left; /* instructions until the limit */
	struct exec_log *exec_log;
	bool attention; /* something happened: handle it at this boundary */

	uint64_t limit_insns; /* retired so far = limit_insns - left */
	uint64_t idle_cycles; /* time that passed without an instruction */
	uint64_t limit_cycles;

	struct block nowhere; /* stands for no block, after a start */
	struct block_cache *blocks;
	struct engine *engine;  /* runs blocks; in single-step, instructions */
	struct engine *stepper; /* runs instructions; NULL in single-step */
	struct engine *active;  /* the one that holds the state */
	struct walk_space space;
	struct cpu_config config;
	struct apic apic;
	struct pmu pmu;

	uint64_t kernel_since; /* instructions retired when the CPU last left
				  ring 3 or halted */
	uint8_t cpl;
	bool at_boundary; /* the last retired instruction was a transfer, or ran
			     outside the engine: the CPU may be left here */
	bool shadow;      /* STI has just run */
	bool halted, yield, over;
	bool unit_stopped; /* the PT unit stopped itself; not in the execution
			      log yet */
	bool nmi_pending, nmi_blocked;
	uint32_t nmi_wait; /* instructions until a pending NMI may be taken */
	bool cond_known, cond_taken; /* ambiguous branch, seen before it ran */
	bool trapped;
	uint64_t trap_rip;
	struct insn trap_insn;

	bool nmi_again; /* DOUBLE: one more NMI follows the next one */
	struct pending_faults pending_faults;
	struct split split;
	uint64_t hold_until;   /* cycles before which no interrupt is taken */
	uint64_t xsaves_pa[2]; /* the last area's component 8: its first 64 bytes
				  and the others; 0: there was none */

	uint64_t stop_insns;  /* UINT64_MAX: none */
	uint64_t pause_insns; /* the same, for cpu_pause() */
	uint64_t step_left;   /* instructions for the step engine, at least */
	bool pause;           /* at the next boundary */
	bool in_step;         /* the step observer is being called */
	bool in_interrupt;    /* no IRET since the last interrupt, except an
				 NMI's */
	struct deviation_note deviation;
	enum cpu_stepping stepping;
	uint64_t watched_begin, watched_end;
	struct audit audited;
	struct cpu_audit audit;

	uint64_t none; /* for MSRs without a member here */
	uint64_t xcr0, xss, apic_base, pat, tsc_aux, misc_enable;
	uint64_t star, lstar, cstar, fmask;
	uint64_t pmi_count, nmi_count;
	uint64_t access_va;      /* of the current access to the APIC; else 0 */
	uint64_t delivery_insns; /* retired at the last delivery */
	unsigned delivery_repeats; /* deliveries since then without a retired
				      instruction */
	uint64_t trace_bytes;      /* reported as EVENT_OUTPUT */
	const char *pt_error;

	uint8_t *float_code;   /* see cpu_float_create() */
	struct hooked *hooked; /* given to engine_hook() */
	size_t hooked_count;
	/* Code that the active engine must translate anew when it is stopped. */
	struct {
		uint64_t va, bytes;
	} forget[FORGET_MAX];
	unsigned forget_count;
	/*
	 * The code that the step engine runs was translated when it entered VA, or
	 * before.  BLOCK has the bytes (NULL: just entered); AGE is the cache's age
	 * at that time.
	 */
	struct {
		uint64_t va;
		const struct block *block;
		uint32_t size, age;
	} entered;
	bool code_unsure; /* see cpu_see_writes() */
	bool others_ran;  /* other CPUs have run since code was last checked */
	bool tlb_unsure;  /* the engine's TLB must be empty when it runs next */
};

/* Instructions retired so far. */
static inline uint64_t
cpu_count_insns(const struct cpu *cpu)
{
	return cpu->limit_insns - (uint64_t)cpu->left;
}

static inline void
cpu_retire(struct cpu *cpu, unsigned insns)
{
	cpu->left -= (int64_t)insns;
}

/* Leave the fast path, so that the next boundary checks interrupts and yield. */
static inline void
cpu_request_attention(struct cpu *cpu)
{
	cpu->limit_insns -= (uint64_t)cpu->left;
	cpu->left = 0;
}

/* True if the active engine announces single instructions. */
static inline bool
cpu_is_stepping(const struct cpu *cpu)
{
	return cpu->config.single_step || cpu->active == cpu->stepper;
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

/* query.c */
struct pt_context cpu_context(const struct cpu *cpu, uint64_t ip);
void cpu_read_regs(struct cpu *cpu, struct insn_regs *regs);

/* access/mmio.c */
uint64_t cpu_mmio_read(void *arg, uint64_t offset, unsigned bytes);
void cpu_mmio_write(void *arg, uint64_t offset, unsigned bytes, uint64_t value);

#endif
