/*
 * Logical CPUs: per-CPU data (GS base), traps, the NMI handler chain, and calls
 * between CPUs.  No CPU hotplug except SYS_CPU_OFFLINE.  A module has no
 * interrupt vectors of its own: a PMI is delivered as an NMI.
 */
#ifndef TOPAZ_HARNESS_GUEST_CPU_H
#define TOPAZ_HARNESS_GUEST_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/guest_abi.h"
#include "harness/guest/x86.h"

#define CPUS_MAX      8
#define CPU_SPINS_MAX 16 /* spin locks that a CPU holds at once */

struct spin;
struct task;

/* Pushed by entry.S; the CPU defines the layout of the last five fields (SDM
 * vol. 3, 6.14.2 "64-Bit Mode Stack Frame"). */
struct trap_frame {
	uint64_t r15, r14, r13, r12, r11, r10, r9, r8;
	uint64_t rdi, rsi, rbp, rbx, rdx, rcx, rax;
	uint64_t vector, error;
	uint64_t rip, cs, rflags, rsp, ss;
};

static inline bool
trap_from_user(const struct trap_frame *frame)
{
	return (frame->cs & 3) != 0;
}

/* Per-CPU data.  Modules may read it and must not write it. */
struct cpu {
	struct cpu *self;     /* entry.S: offset 0 */
	struct task *current; /* 8 */
	uint64_t kernel_rsp;  /* 16: stack top for SYSCALL */
	uint64_t user_rsp;    /* 24: scratch of the SYSCALL entry */
	uint32_t number;      /* 32 */
	uint32_t apic_id;
	uint32_t spin_count; /* depth of spin_enter */
	uint32_t nmi_depth;  /* nonzero: in an NMI handler */
	uint32_t intr_depth; /* nonzero: in an interrupt handler */
	bool need_resched;
	bool online;
	bool offline; /* runs no more tasks, but takes interrupts */
	bool timer_armed;
	struct task *idle, *previous;
	struct task *chosen; /* current, or the task that it is switching to */
	struct task *timeouts; /* sleepers with a deadline, earliest first */
	uint64_t slice_end;    /* TSC */
	uint64_t tick_at; /* TSC: the next tick of the clock, if there is one */
	uint64_t cr3;     /* set before the register is: cpu_load_space */
	const struct spin *held[CPU_SPINS_MAX]; /* in the order taken */
	unsigned held_count;
	struct abi_call call, nmi_call __attribute__((aligned(64)));
};

/* CPUs are numbered 0 to cpu_count - 1 (at most CPUS_MAX); constant after boot. */
extern uint32_t cpu_count;

/* The caller's CPU.  Any context.  A task outside spin_enter() and
 * critical_enter() can migrate at any time; the result is then out of date. */
static inline struct cpu *
cpu_self(void)
{
	struct cpu *cpu;

	__asm__ volatile("movq %%gs:0, %0" : "=r"(cpu));
	return cpu;
}

/* The number of the caller's CPU, with the same restriction. */
static inline uint32_t
cpu_number(void)
{
	uint32_t number;

	__asm__ volatile("movl %%gs:32, %0" : "=r"(number));
	return number;
}

/* The CPU of that number; panics if it is not below CPUS_MAX.  Any context. */
struct cpu *cpu_at(uint32_t number);

/* Whether the caller's CPU is in an NMI handler, in an interrupt handler, or
 * within spin_enter.  One instruction reads the state, so a caller that can
 * migrate at any time never sees that of another CPU. */
static inline bool
cpu_in_nmi(void)
{
	uint32_t depth;

	__asm__ volatile("movl %%gs:%c1, %0"
			 : "=r"(depth)
			 : "i"(offsetof(struct cpu, nmi_depth)));
	return depth != 0;
}

static inline bool
cpu_in_interrupt(void)
{
	uint32_t depth;

	__asm__ volatile("movl %%gs:%c1, %0"
			 : "=r"(depth)
			 : "i"(offsetof(struct cpu, intr_depth)));
	return depth != 0;
}

static inline bool
cpu_in_spin(void)
{
	uint32_t depth;

	__asm__ volatile("movl %%gs:%c1, %0"
			 : "=r"(depth)
			 : "i"(offsetof(struct cpu, spin_count)));
	return depth != 0;
}

/* True if one of the three functions above returns true. */
static inline bool
cpu_in_special(void)
{
	uint32_t depths;

	__asm__ volatile("movl %%gs:%c1, %0; orl %%gs:%c2, %0; orl %%gs:%c3, %0"
			 : "=&r"(depths)
			 : "i"(offsetof(struct cpu, spin_count)),
			 "i"(offsetof(struct cpu, nmi_depth)),
			 "i"(offsetof(struct cpu, intr_depth))
			 : "cc");
	return depths != 0;
}

/* task_self(), inlined. */
static inline struct task *
current_task(void)
{
	struct task *task;

	__asm__ volatile("movq %%gs:8, %0" : "=r"(task));
	return task;
}

/*
 * Local APIC registers by offset: SDM vol. 3, table 11-1 "Local APIC Register
 * Address Map".  At boot LAPIC_LVT_PC is masked, delivery mode NMI; delivery of
 * a PMI sets its mask bit, software clears it (11.5.1 "Local Vector Table").
 */
#define LAPIC_ID            0x20u
#define LAPIC_VERSION       0x30u
#define LAPIC_TPR           0x80u
#define LAPIC_EOI           0xb0u
#define LAPIC_SVR           0xf0u
#define LAPIC_ESR           0x280u
#define LAPIC_ICR_LOW       0x300u
#define LAPIC_ICR_HIGH      0x310u
#define LAPIC_LVT_TIMER     0x320u
#define LAPIC_LVT_PC        0x340u
#define LAPIC_LVT_LINT0     0x350u
#define LAPIC_LVT_LINT1     0x360u
#define LAPIC_LVT_ERROR     0x370u
#define LAPIC_TIMER_INITIAL 0x380u
#define LAPIC_TIMER_CURRENT 0x390u
#define LAPIC_TIMER_DIVIDE  0x3e0u
#define LAPIC_LVT_MASKED    (1u << 16)
#define LAPIC_MODE_NMI      (4u << 8)
/* Register REG of the caller's CPU, in one 32-bit MOV.  Any context, also NMI.
 * A register that is not modelled ends the run with its name. */
uint32_t lapic_read32(uint32_t reg);
void lapic_write32(uint32_t reg, uint32_t value);

/* Sends an NMI to CPU (a number, also the caller's).  Any context, also NMI. */
void ipi_send_nmi(uint32_t cpu);

/*
 * Runs SETUP, then ACTION, then TEARDOWN (each may be NULL) with ARG and
 * interrupts off on every CPU of MASK (bit N: CPU N; CPU_MASK_ALL: all).  A
 * phase starts when all CPUs have ended the phase before it; the caller returns
 * when all have ended the last one.  NMIs are delivered meanwhile.  The caller
 * has interrupts on and holds no spin lock (else panic "sleep: "); it may hold
 * mutexes.  The functions may neither sleep nor take a spin lock that the
 * caller's CPU could hold.  Same semantics as FreeBSD's smp_rendezvous_cpus(9).
 */
void rendezvous(uint64_t mask, void (*setup)(void *), void (*action)(void *),
    void (*teardown)(void *), void *arg);

/*
 * NMI handlers.  The CPU that takes an NMI calls all of them on its NMI stack
 * and reports to the host how many claimed it (returned nonzero): checks
 * nmi-unclaimed and nmi-stolen.  FRAME is the interrupted state, at any
 * instruction, also with interrupts off.  A handler takes no lock, allocates,
 * frees and wakes nothing; it uses soft_event_raise() instead.
 */
/* KE_NOMEM: 16 handlers are already registered.  Any context but NMI. */
int nmi_register(int (*handler)(struct trap_frame *frame));
/* Removes HANDLER; on return no CPU executes it.  Panics if HANDLER is not
 * registered.  Called by a task with interrupts on. */
void nmi_remove(int (*handler)(struct trap_frame *frame));

/*
 * Work that an NMI handler cannot do.  soft_event_raise() marks the event and
 * sends this CPU an interrupt that calls .fire (interrupts off; it may wake
 * tasks and take spin locks, not sleep).  Raises before .fire runs count as
 * one.  The caller sets .fire and .arg, and keeps the struct until its removal.
 */
struct soft_event {
	void (*fire)(struct soft_event *event);
	void *arg;
	uint32_t pending;
	struct soft_event *next;
};
/* Call once for each event.  Any context but NMI. */
void soft_event_register(struct soft_event *event);
/* Any context, also NMI. */
void soft_event_raise(struct soft_event *event);
/* On return .fire does not run and is not called any more; EVENT must not be
 * raised meanwhile.  Panics if not registered.  Context as for rendezvous(). */
void soft_event_remove(struct soft_event *event);

#endif
