/*
 * Interrupts, NMIs and exceptions of a CPU: what is pending, and its delivery.
 * Private to emu/cpu.
 */
#ifndef TOPAZ_EMU_CPU_INTERRUPT_H
#define TOPAZ_EMU_CPU_INTERRUPT_H

#include "emu/base/base.h"
#include "emu/base/rtit.h"

struct cpu;

#define VECTOR_DB  1
#define VECTOR_NMI 2
#define VECTOR_BP  3
#define VECTOR_DF  8
#define VECTOR_TS  10
#define VECTOR_NP  11
#define VECTOR_SS  12
#define VECTOR_GP  13
#define VECTOR_PF  14

/*
 * The NMI and what holds interrupts back; which interrupts are pending is in the
 * APIC.  Owner: interrupt.c.
 */
struct cpu_interrupts {
	uint8_t nmis;       /* pending; 2: the deviation DOUBLE has added one */
	uint32_t nmi_wait;  /* instructions until a pending NMI may be taken */
	uint64_t nmi_count; /* taken so far */
	/*
	 * in_handler nmi_blocked
	 *     0          0       no handler runs
	 *     1          0       an interrupt's
	 *     0          1       an NMI's
	 *     1          1       an NMI's, which has interrupted an interrupt's
	 */
	bool in_handler, nmi_blocked; /* IRET ends the inner one */
	uint64_t hold_until; /* cycles before which no interrupt is taken */
};

/* Deliveries that repeat without end are recognized by this.  Owner: except.c. */
struct cpu_delivery {
	uint64_t insns;   /* retired at the last delivery */
	unsigned repeats; /* deliveries since then without a retired
				instruction */
	bool int3_gone;   /* it is of an INT3 that memory has no more */
};

/* interrupt.c */
bool cpu_can_take_nmi(const struct cpu *cpu);
int cpu_takeable_vector(struct cpu *cpu); /* or -1 */
/*
 * A performance-monitoring interrupt, by the LVT performance entry, with the effects of
 * deviations LOST and MERGE.  Its cause is in IA32_PERF_GLOBAL_STATUS.
 */
void cpu_raise_pmi(struct cpu *cpu);
/* The NMI of a PMI: after the skid, with the effects of deviations LATE and DOUBLE. */
void cpu_nmi_after_skid(struct cpu *cpu);
void cpu_fire_timer(struct cpu *cpu, uint64_t now);
/* One instruction of a pending NMI's skid has run. */
void cpu_count_down_nmi(struct cpu *cpu);
/* HLT stops the CPU. */
void cpu_halt(struct cpu *cpu);
/* What can be taken is taken: it is no longer pending, and wakes the CPU. */
void cpu_take_nmi(struct cpu *cpu);
void cpu_take_vector(struct cpu *cpu, uint8_t vector);
/* IRET. */
void cpu_end_handler(struct cpu *cpu);

/* except.c */
enum delivery {
	DELIVER_INTERRUPT, /* INTR, NMI */
	DELIVER_SOFTWARE,  /* INT n */
	DELIVER_INT1,      /* the same, whatever the gate's DPL */
	DELIVER_FAULT,
};
/* RIP is pushed; kinds DELIVER_SOFTWARE and _INT1 also retire the instruction. */
void cpu_deliver(struct cpu *cpu, uint8_t vector, enum delivery kind,
    uint64_t error, uint64_t rip);
/* The engine has stopped with an exception. */
void cpu_exception(struct cpu *cpu, unsigned vector);
/*
 * The trap after an instruction that has retired: of the breakpoints on data that it has
 * hit (.debug_regs.hits), and, if STEPPED, of RFLAGS.TF.  SDM vol. 3, 18.3.1.2 "Data Memory
 * and I/O Breakpoint Exception Conditions", 18.3.1.4 "Single-Step Exception Condition".
 */
void cpu_debug_trap(struct cpu *cpu, bool stepped);
/* Delivers the pending page fault of the Debug Store. */
void cpu_debug_store_fault(struct cpu *cpu);
/* An instruction at RIP that the CPU executes itself has raised FAULT. */
void cpu_raise(struct cpu *cpu, enum fault fault, uint64_t rip, uint64_t va);

#endif
