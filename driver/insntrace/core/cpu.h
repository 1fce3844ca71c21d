/*
 * Instructions that C has no words for.  A reserved bit of an MSR is #GP.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_CORE_CPU_H
#define TOPAZ_DRIVER_INSNTRACE_CORE_CPU_H

#include <stdint.h>

struct cpu_leaf {
	uint32_t eax, ebx, ecx, edx;
};

static inline struct cpu_leaf
cpu_cpuid(uint32_t leaf, uint32_t subleaf)
{
	struct cpu_leaf words;

	__asm__ volatile(
	    "cpuid"
	    : "=a"(words.eax), "=b"(words.ebx), "=c"(words.ecx), "=d"(words.edx)
	    : "a"(leaf), "c"(subleaf));
	return words;
}

static inline uint64_t
cpu_rdmsr(uint32_t msr)
{
	uint32_t low, high;

	__asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr));
	return (uint64_t)high << 32 | low;
}

static inline void
cpu_wrmsr(uint32_t msr, uint64_t value)
{
	__asm__ volatile(
	    "wrmsr"
	    :
	    : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32))
	    : "memory");
}

/*
 * The state components COMPONENTS to AREA, or from it.  IA32_XSS must have them; #GP if
 * AREA is not 64-byte aligned.
 */
static inline void
cpu_xsaves(void *area, uint64_t components)
{
	__asm__ volatile("xsaves64 (%0)"
			 :
			 : "r"(area), "a"((uint32_t)components),
			 "d"((uint32_t)(components >> 32))
			 : "memory");
}

static inline void
cpu_xrstors(const void *area, uint64_t components)
{
	__asm__ volatile("xrstors64 (%0)"
			 :
			 : "r"(area), "a"((uint32_t)components),
			 "d"((uint32_t)(components >> 32))
			 : "memory");
}

/* In a loop that waits. */
static inline void
cpu_relax(void)
{
	__asm__ volatile("pause" : : : "memory");
}

#endif
