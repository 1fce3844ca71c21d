/*
 * The instructions, registers and constants of the CPU that the guest kernel
 * uses, with one inline function for each instruction.  No policy, no state.
 */
#ifndef TOPAZ_HARNESS_GUEST_X86_H
#define TOPAZ_HARNESS_GUEST_X86_H

#include <stdbool.h>
#include <stdint.h>

#define CR0_MP       (UINT64_C(1) << 1)
#define CR0_TS       (UINT64_C(1) << 3)
#define CR4_OSXSAVE  (UINT64_C(1) << 18)

#define CPUID_XSAVE  (UINT32_C(1) << 26) /* leaf 1, ECX */

#define RFLAGS_FIXED (UINT64_C(1) << 1)
#define RFLAGS_TF    (UINT64_C(1) << 8)
#define RFLAGS_IF    (UINT64_C(1) << 9)
#define RFLAGS_DF    (UINT64_C(1) << 10)
#define RFLAGS_NT    (UINT64_C(1) << 14)
#define RFLAGS_AC    (UINT64_C(1) << 18)
/* Flags that ring 3 may set: CF PF AF ZF SF TF OF DF AC ID. */
#define RFLAGS_USER        UINT64_C(0x240dd5)

#define MSR_EFER           0xc0000080u
#define MSR_STAR           0xc0000081u
#define MSR_LSTAR          0xc0000082u
#define MSR_FMASK          0xc0000084u
#define MSR_FS_BASE        0xc0000100u
#define MSR_GS_BASE        0xc0000101u
#define MSR_KERNEL_GS_BASE 0xc0000102u

/* SDM vol. 3, 6.3.1 "External Interrupts", table 6-1: vectors that have names. */
enum vector {
	VECTOR_DE = 0,
	VECTOR_DB = 1,
	VECTOR_NMI = 2,
	VECTOR_BP = 3,
	VECTOR_UD = 6,
	VECTOR_NM = 7,
	VECTOR_DF = 8,
	VECTOR_GP = 13,
	VECTOR_PF = 14,
	VECTOR_MC = 18,
	VECTOR_EXCEPTIONS = 32,
};

/* CPUID of the caller's CPU: SDM vol. 2A, "CPUID".  CPUs of a hybrid machine differ. */
struct cpuid_regs {
	uint32_t eax, ebx, ecx, edx;
};

static inline struct cpuid_regs
cpuid_read(uint32_t leaf, uint32_t subleaf)
{
	struct cpuid_regs regs;

	__asm__ volatile(
	    "cpuid"
	    : "=a"(regs.eax), "=b"(regs.ebx), "=c"(regs.ecx), "=d"(regs.edx)
	    : "a"(leaf), "c"(subleaf));
	return regs;
}

/* RDMSR and WRMSR.  A bit or register that the CPU model does not have is #GP,
 * check gp-fault; an MSR that topaz does not model ends the run by name. */
static inline uint64_t
rdmsr64(uint32_t msr)
{
	uint32_t low, high;

	__asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr));
	return (uint64_t)high << 32 | low;
}

static inline void
wrmsr64(uint32_t msr, uint64_t value)
{
	__asm__ volatile(
	    "wrmsr"
	    :
	    : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32))
	    : "memory");
}

static inline uint64_t
rdtsc64(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

static inline uint64_t
read_rflags(void)
{
	uint64_t flags;

	__asm__ volatile("pushfq; popq %0" : "=r"(flags) : : "memory");
	return flags;
}

/* On the caller's CPU.  Does not nest; spin_enter() does. */
static inline void
intr_disable(void)
{
	__asm__ volatile("cli" : : : "memory");
}

static inline void
intr_enable(void)
{
	__asm__ volatile("sti" : : : "memory");
}

static inline bool
intr_enabled(void)
{
	return (read_rflags() & RFLAGS_IF) != 0;
}

/* For wait loops: lets the machine run another CPU. */
static inline void
cpu_pause(void)
{
	__asm__ volatile("pause" : : : "memory");
}

/* Called with interrupts off: takes pending interrupts.  STI enables them only
 * after the instruction that follows it (SDM vol. 2B, "STI"), here the NOP. */
static inline void
intr_window(void)
{
	__asm__ volatile("sti; nop; pause; cli" : : : "memory");
}

static inline uint64_t
read_cr2(void)
{
	uint64_t value;

	__asm__ volatile("movq %%cr2, %0" : "=r"(value));
	return value;
}

static inline uint64_t
read_cr3(void)
{
	uint64_t value;

	__asm__ volatile("movq %%cr3, %0" : "=r"(value) : : "memory");
	return value;
}

static inline void
write_cr3(uint64_t value)
{
	__asm__ volatile("movq %0, %%cr3" : : "r"(value) : "memory");
}

static inline void
invlpg(uint64_t va)
{
	__asm__ volatile("invlpg (%0)" : : "r"(va) : "memory");
}

#endif
