/* The private state of a CPU, shared only by the files of emu/cpu. */
#ifndef TOPAZ_EMU_CPU_STATE_H
#define TOPAZ_EMU_CPU_STATE_H

#include "emu/apic/apic.h"
#include "emu/base/exec_log.h"
#include "emu/base/rtit.h"
#include "emu/cpu/access/audit_state.h"
#include "emu/cpu/access/walk.h"
#include "emu/cpu/cpu.h"
#include "emu/cpu/engine/block.h"
#include "emu/cpu/engine/engine.h"
#include "emu/cpu/insn/insn.h"
#include "emu/cpu/insn/operand.h"
#include "emu/cpu/pending_faults.h"
#include "emu/pmu/pmu.h"
#include "emu/profile/profile.h"
#include "emu/pt/inject.h"
#include "emu/pt/unit.h"

#define RFLAGS_IF  TZ_BIT(9)
#define VECTOR_NMI 2
#define FORGET_MAX 8
#define VECTOR_DF  8
#define VECTOR_TS  10
#define VECTOR_NP  11
#define VECTOR_SS  12
#define VECTOR_GP  13
#define VECTOR_PF  14
#define MSR_EFER   0xc0000080u
#define MSR_STAR   0xc0000081u
#define MSR_LSTAR  0xc0000082u
#define MSR_FMASK  0xc0000084u

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

#define HOOKED_MAX      4096
#define CODE_PAGE_BYTES 4096

/* Bytes of component 8 that cannot cross a page: areas are 64-aligned. */
#define AREA_PART 64

static inline uint64_t
cpu_count_insns(const struct cpu *cpu)
{
	return cpu->limit_insns - (uint64_t)cpu->left;
}

/* True if the active engine announces single instructions. */
static inline bool
cpu_is_stepping(const struct cpu *cpu)
{
	return cpu->config.single_step || cpu->active == cpu->stepper;
}

/* pt_glue.c */
struct pt_port cpu_pt_port(struct cpu *cpu);

/* cpu.c */
void cpu_emit(
    struct cpu *cpu, enum event_kind kind, uint64_t a, uint64_t b, uint64_t c);
void cpu_emit_deviation(struct cpu *cpu);
void cpu_end_run(struct cpu *cpu, enum cpu_over why, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
struct pt_context cpu_context(const struct cpu *cpu, uint64_t ip);
void cpu_read_regs(struct cpu *cpu, struct insn_regs *regs);
/* CPL, CR3 and the mapped code may have changed. */
void cpu_sync_context(struct cpu *cpu, bool space_changed);
bool cpu_can_take_nmi(const struct cpu *cpu);
void cpu_fire_timer(struct cpu *cpu, uint64_t now);
int cpu_takeable_vector(struct cpu *cpu); /* or -1 */
void cpu_retire(struct cpu *cpu, unsigned insns);
/* Leave the fast path, so that the next boundary checks interrupts and yield. */
void cpu_request_attention(struct cpu *cpu);

/* clock.c */
/*
 * Passes the time to the PT unit: before its MSRs change and, while it is timed,
 * before each event.
 */
void cpu_sync_clock(struct cpu *cpu);
/* While the unit's buffer overflows: the next instruction is at NEXT. */
void cpu_tell_resume(struct cpu *cpu, uint64_t next);
/* CYCLES pass without an instruction. */
void cpu_pass_time(struct cpu *cpu, uint64_t cycles);

/* step.c */
void cpu_step(struct uc_struct *uc, uint64_t va, uint32_t size, void *arg);
/* The step engine enters code that it has translated as one unit. */
void cpu_step_enter(
    struct uc_struct *uc, uint64_t va, uint32_t size, void *arg);
/* True if the instruction of SIZE bytes at VA was written since it was translated. */
bool cpu_is_translation_old(struct cpu *cpu, uint64_t va, uint32_t size);
/* Continues in ENGINE, with the state of the active engine. */
void cpu_use_engine(struct cpu *cpu, struct engine *engine);
/* Makes the engine that runs next the active one, and flushes its TLB if needed. */
void cpu_choose_engine(struct cpu *cpu);
/* True if BLOCK must run in the other engine. */
bool cpu_is_wrong_engine(struct cpu *cpu, const struct block *block);
/* Instructions until the next stop; without a stop, more than can ever run. */
uint64_t cpu_until_stop(const struct cpu *cpu);
/* True if a stop or pause was reached; clears it. */
bool cpu_reached_stop(struct cpu *cpu);
/* inject.c: completes the instruction that cpu_split() began. */
void cpu_join(struct cpu *cpu);
bool cpu_is_at_stop(const struct cpu *cpu);
bool cpu_is_watched(const struct cpu *cpu, uint64_t begin, uint64_t end);

/* retire.c */
void cpu_enter(struct uc_struct *uc, uint64_t va, uint32_t size, void *arg);
/* cpu_enter() without its fast path. */
void cpu_enter_slow(struct cpu *cpu, uint64_t va, uint32_t size);
/* The current descriptor of announced code; finding it may flush others. */
struct block *cpu_find_block(struct cpu *cpu, uint64_t va, uint32_t size);
/* True if FROM ends with a string instruction at VA that repeats: it has not retired. */
bool cpu_is_rep_again(const struct block *from, uint64_t va);
/* The same, or an instruction that the engine restarted before it did anything. */
bool cpu_is_again(const struct block *from, uint64_t va, uint32_t size);
/* The code of cpu->block has run to its end and continues at VA. */
void cpu_leave_block(struct cpu *cpu, uint64_t va);
/* cpu->block was left at RIP, whose instruction has not retired. */
void cpu_cut_block(struct cpu *cpu, uint64_t rip);
/* VECTOR is the event's vector, or -1. */
void cpu_transfer(struct cpu *cpu, enum pt_transfer_kind kind, int vector,
    uint64_t from, uint64_t to);

/* Makes the active engine drop its translation of [VA, VA + BYTES) when it is stopped. */
void cpu_forget_code(struct cpu *cpu, uint64_t va, uint64_t bytes);
/* The engines drop what block_cache_take_change() reports.  True: there was a change. */
bool cpu_forget_changes(struct cpu *cpu);
void cpu_verify_code(struct cpu *cpu); /* see cpu_see_writes() */
/*
 * A serializing instruction: code that other CPUs have written takes effect from
 * now on.
 */
static inline void
cpu_serialize(struct cpu *cpu)
{
	if (cpu->others_ran)
		cpu_verify_code(cpu);
}

/* execute/trace_insn.c */
/* True if the guest can set EventEn at all. */
static inline bool
cpu_has_event_trace(const struct cpu *cpu)
{
	return (cpu->config.profile->pt_ebx & PROFILE_PT_EBX_EVENT) != 0;
}
/* True if the machine executes instructions of CLASS. */
bool cpu_is_trapped(const struct cpu *cpu, enum insn_class class);
enum fault cpu_do_ptwrite(struct cpu *cpu, uint64_t *fault_va);
enum fault cpu_do_cli(struct cpu *cpu);
/* An instruction before NEXT may have changed RFLAGS.IF. */
void cpu_if_changed(struct cpu *cpu, uint64_t next);
/* HLT has stopped the CPU; an event (PT_WAKE_*) has woken it, if it was halted. */
void cpu_tell_halt(struct cpu *cpu);
void cpu_wake(struct cpu *cpu, uint8_t reason);

/* engine/hook.c */
void cpu_site(struct uc_struct *uc, uint64_t va, uint32_t size, void *arg);
/*
 * Makes the engine report the instructions in BLOCK that it must not run.  True:
 * the engine must be stopped, because it has to translate the block anew.
 */
bool cpu_hook_sites(struct cpu *cpu, struct block *block);

/* except.c */
enum delivery {
	DELIVER_INTERRUPT, /* INTR, NMI */
	DELIVER_SOFTWARE,  /* INT n */
	DELIVER_FAULT,
};
void cpu_deliver(struct cpu *cpu, uint8_t vector, enum delivery kind,
    uint64_t error, uint64_t rip);
void cpu_exception(struct cpu *cpu, unsigned vector);
void cpu_raise(struct cpu *cpu, enum fault fault, uint64_t rip, uint64_t va);

/* execute/trap.c */
void cpu_trap(struct cpu *cpu);

/* execute/float.c: executable memory of the host; NULL: the host refuses. */
uint8_t *cpu_float_create(void);
void cpu_float_destroy(uint8_t *code);
enum fault cpu_do_float(struct cpu *cpu, uint64_t *fault_va);

/* execute/cmpxchg.c */
enum fault cpu_do_cmpxchg32(struct cpu *cpu, uint64_t *fault_va);
enum fault cpu_do_cmpxchg_pair(struct cpu *cpu, uint64_t *fault_va);

/* execute/msr.c */
enum fault cpu_rdmsr(struct cpu *cpu, uint32_t index, uint64_t *value);
enum fault cpu_wrmsr(
    struct cpu *cpu, uint32_t index, uint64_t value, uint64_t nlip);

/* access/mmio.c */
uint64_t cpu_mmio_read(void *arg, uint64_t offset, unsigned bytes);
void cpu_mmio_write(void *arg, uint64_t offset, unsigned bytes, uint64_t value);

#endif
