/* Instructions that the CPU executes itself.  Private to emu/cpu. */
#ifndef TOPAZ_EMU_CPU_EXECUTE_EXECUTE_H
#define TOPAZ_EMU_CPU_EXECUTE_EXECUTE_H

#include "emu/base/rtit.h"
#include "emu/cpu/insn/insn.h"

struct cpu;

/*
 * The instruction that the CPU executes itself, at which the engine was stopped.
 * Owner: trap.c; hook.c sets it.
 */
struct cpu_trap {
	bool pending;
	uint64_t rip;
	struct insn insn;    /* its class and length only */
	uint8_t *float_code; /* see cpu_float_create() */
};

/*
 * MSRs that neither the engine, the APIC, the PMU nor the PT unit holds; XCR0.
 * Owner: msr.c; XCR0: xsave.c.
 */
struct cpu_msrs {
	uint64_t none; /* for rows of msr.def without a member here */
	uint64_t xcr0, xss, apic_base, pat, tsc_aux;
	uint64_t star, lstar, cstar, fmask;
};

#define LBR_DEPTH 32

/* MSRs that only a CPU of a board has.  Owner: board_msr.c. */
struct cpu_board_msrs {
	uint64_t none; /* for rows of board_msr.def without a member here */
	uint64_t bios_sign_id, sysenter_cs, sysenter_esp, sysenter_eip;
	uint64_t misc_enable; /* its writable bits */
	uint64_t mtrr_def_type, spec_ctrl;
	/* Only software writes it: IA32_DEBUGCTL.LBR cannot be set. */
	uint64_t lbr_from[LBR_DEPTH], lbr_to[LBR_DEPTH];
};

/* Of a CPU of a board; others execute no MOV to a debug register.  Owner: special_reg.c. */
struct cpu_debug_regs {
	uint64_t dr[4], dr6, dr7;
	/* breakpoint.c: those on data that the instruction before has hit, as in DR6. */
	uint64_t hits;
};

#define MSR_EFER 0xc0000080u

/* trap.c: executes the instruction at which the engine was stopped. */
void cpu_trap(struct cpu *cpu);

/* msr.c */
void cpu_reset_msrs(struct cpu *cpu);
/* True for the MSRs of the PT unit, the PMU and the Debug Store. */
bool cpu_is_unit_msr(uint32_t index);
enum fault cpu_rdmsr(struct cpu *cpu, uint32_t index, uint64_t *value);
enum fault cpu_wrmsr(
    struct cpu *cpu, uint32_t index, uint64_t value, uint64_t nlip);

/* board_msr.c */
void cpu_reset_board_msrs(struct cpu *cpu);

/* trace_insn.c */
enum fault cpu_do_ptwrite(struct cpu *cpu, uint64_t *fault_va);
enum fault cpu_do_cli(struct cpu *cpu);

/* special_reg.c */
void cpu_reset_debug_regs(struct cpu *cpu);
/* The debug exception is a trap: of breakpoints on data, and, if STEPPED, of RFLAGS.TF. */
void cpu_note_debug_trap(struct cpu *cpu, bool stepped);
enum fault cpu_do_mov_dr(struct cpu *cpu);
enum fault cpu_do_mov_cr8(struct cpu *cpu);
enum fault cpu_do_mov_cr(struct cpu *cpu);

/*
 * string.c: BLOCK is entered next, a string instruction alone that repeats; its .string is
 * known.  Does many of the iterations that are left, but not the last one.  UNITS: the cost
 * of what has retired and is not counted yet.
 */
void cpu_repeat(struct cpu *cpu, struct block *block, uint64_t units);

/* breakpoint.c: one is enabled; one of I/O, which is not modelled. */
bool cpu_has_breakpoints(const struct cpu *cpu);
bool cpu_has_port_breakpoints(const struct cpu *cpu);
/*
 * Before the instruction of SIZE bytes at VA, or its next iteration, runs: true if it is
 * #DB instead.  Otherwise .hits is what it will hit.
 */
bool cpu_meets_breakpoint(struct cpu *cpu, uint64_t va, uint32_t size);

/* xsave.c */
enum fault cpu_do_xgetbv(struct cpu *cpu);
enum fault cpu_do_xsetbv(struct cpu *cpu);
enum fault cpu_do_xsave(struct cpu *cpu, uint64_t *fault_va);
enum fault cpu_do_xrstor(struct cpu *cpu, uint64_t *fault_va);

/* cmpxchg.c */
enum fault cpu_do_cmpxchg32(struct cpu *cpu, uint64_t *fault_va);
enum fault cpu_do_cmpxchg_pair(struct cpu *cpu, uint64_t *fault_va);

/* float.c: executable memory of the host; NULL: the host refuses. */
uint8_t *cpu_float_create(void);
void cpu_float_destroy(uint8_t *code);
enum fault cpu_do_float(struct cpu *cpu, uint64_t *fault_va);

#endif
