/* Single instructions as functions; the CPU of the guest executes each. */
#ifndef _MACHINE_CPUFUNC_H_
#define _MACHINE_CPUFUNC_H_

#include <sys/types.h>

static __inline uint64_t
rdmsr(u_int msr)
{
	uint32_t low, high;

	__asm volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr));
	return (low | ((uint64_t)high << 32));
}

static __inline void
wrmsr(u_int msr, uint64_t value)
{
	__asm volatile(
	    "wrmsr"
	    :
	    : "a"((uint32_t)value), "d"((uint32_t)(value >> 32)), "c"(msr)
	    : "memory");
}

static __inline void
cpuid_count(u_int leaf, u_int sub, u_int *p)
{
	__asm volatile("cpuid"
		       : "=a"(p[0]), "=b"(p[1]), "=c"(p[2]), "=d"(p[3])
		       : "0"(leaf), "2"(sub));
}

static __inline void
do_cpuid(u_int leaf, u_int *p)
{
	cpuid_count(leaf, 0, p);
}

static __inline u_long
rcr0(void)
{
	u_long value;

	__asm volatile("movq %%cr0,%0" : "=r"(value));
	return (value);
}

static __inline void
load_cr0(u_long value)
{
	__asm volatile("movq %0,%%cr0" : : "r"(value) : "memory");
}

static __inline void
clts(void)
{
	__asm volatile("clts");
}

static __inline u_long
rcr3(void)
{
	u_long value;

	__asm volatile("movq %%cr3,%0" : "=r"(value));
	return (value);
}

static __inline u_long
rcr4(void)
{
	u_long value;

	__asm volatile("movq %%cr4,%0" : "=r"(value));
	return (value);
}

static __inline void
load_cr4(u_long value)
{
	__asm volatile("movq %0,%%cr4" : : "r"(value) : "memory");
}

static __inline uint64_t
rxcr(u_int reg)
{
	uint32_t low, high;

	__asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(reg));
	return (low | ((uint64_t)high << 32));
}

static __inline void
load_xcr(u_int reg, uint64_t value)
{
	__asm volatile(
	    "xsetbv"
	    :
	    : "c"(reg), "a"((uint32_t)value), "d"((uint32_t)(value >> 32)));
}

static __inline uint64_t
rdtsc(void)
{
	uint32_t low, high;

	__asm volatile("rdtsc" : "=a"(low), "=d"(high));
	return (low | ((uint64_t)high << 32));
}

static __inline void
ia32_pause(void)
{
	__asm volatile("pause");
}
#define cpu_spinwait() ia32_pause()

#endif
