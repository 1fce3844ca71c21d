/*
 * atomic(9) for amd64.  Beware of the names: atomic_set_* is an OR,
 * atomic_clear_* an AND with the complement; neither stores its argument.
 */
#ifndef _MACHINE_ATOMIC_H_
#define _MACHINE_ATOMIC_H_

#include <sys/types.h>

#define atomic_load_int(p)      (*(volatile u_int *)(p))
#define atomic_load_long(p)     (*(volatile u_long *)(p))
#define atomic_load_64(p)       (*(volatile uint64_t *)(p))
#define atomic_load_ptr(p)      (*(volatile __typeof(*(p)) *)(p))

#define atomic_store_int(p, v)  (*(volatile u_int *)(p) = (u_int)(v))
#define atomic_store_long(p, v) (*(volatile u_long *)(p) = (u_long)(v))
#define atomic_store_64(p, v)   (*(volatile uint64_t *)(p) = (uint64_t)(v))
#define atomic_store_ptr(p, v)  (*(volatile __typeof(*(p)) *)(p) = (v))

static __inline void
atomic_set_int(volatile u_int *p, u_int v)
{
	__asm volatile("lock; orl %1,%0" : "+m"(*p) : "ir"(v) : "cc", "memory");
}

static __inline void
atomic_clear_int(volatile u_int *p, u_int v)
{
	__asm volatile("lock; andl %1,%0"
		       : "+m"(*p)
		       : "ir"(~v)
		       : "cc", "memory");
}

static __inline void
atomic_add_int(volatile u_int *p, u_int v)
{
	__asm volatile("lock; addl %1,%0"
		       : "+m"(*p)
		       : "ir"(v)
		       : "cc", "memory");
}

static __inline void
atomic_subtract_int(volatile u_int *p, u_int v)
{
	atomic_add_int(p, 0u - v);
}

/* Nonzero if *p had the expected value and was replaced. */
static __inline int
atomic_cmpset_int(volatile u_int *p, u_int expect, u_int value)
{
	u_char done;

	__asm volatile("lock; cmpxchgl %3,%1"
		       : "=@ccz"(done), "+m"(*p), "+a"(expect)
		       : "r"(value)
		       : "memory");
	return (done);
}

static __inline int
atomic_cmpset_long(volatile u_long *p, u_long expect, u_long value)
{
	u_char done;

	__asm volatile("lock; cmpxchgq %3,%1"
		       : "=@ccz"(done), "+m"(*p), "+a"(expect)
		       : "r"(value)
		       : "memory");
	return (done);
}

static __inline u_int
atomic_fetchadd_int(volatile u_int *p, u_int v)
{
	__asm volatile("lock; xaddl %0,%1" : "+r"(v), "+m"(*p) : : "memory");
	return (v);
}

static __inline u_int
atomic_swap_int(volatile u_int *p, u_int v)
{
	__asm volatile("xchgl %0,%1" : "+r"(v), "+m"(*p) : : "memory");
	return (v);
}

static __inline u_long
atomic_swap_long(volatile u_long *p, u_long v)
{
	__asm volatile("xchgq %0,%1" : "+r"(v), "+m"(*p) : : "memory");
	return (v);
}

static __inline int
kpi_testandset_int(volatile u_int *p, u_int bit)
{
	u_int mask = 1u << (bit & 31);

	return ((__atomic_fetch_or(p, mask, __ATOMIC_SEQ_CST) & mask) != 0);
}

static __inline uint64_t
atomic_load_acq_64(volatile uint64_t *p)
{
	return (__atomic_load_n(p, __ATOMIC_ACQUIRE));
}

static __inline void
atomic_store_rel_64(volatile uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

static __inline u_int
atomic_load_acq_int(volatile u_int *p)
{
	return (__atomic_load_n(p, __ATOMIC_ACQUIRE));
}

static __inline void
atomic_store_rel_int(volatile u_int *p, u_int v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

#define atomic_readandclear_int(p)    atomic_swap_int((p), 0)
#define atomic_testandset_int(p, bit) kpi_testandset_int((p), (bit))

#define atomic_set_32                 atomic_set_int
#define atomic_clear_32               atomic_clear_int
#define atomic_add_32                 atomic_add_int
#define atomic_cmpset_32              atomic_cmpset_int
#define atomic_swap_32                atomic_swap_int
#define atomic_load_32                atomic_load_int
#define atomic_store_32               atomic_store_int

#define mb()                          __asm volatile("mfence" : : : "memory")
#define rmb()                         __asm volatile("lfence" : : : "memory")
#define wmb()                         __asm volatile("sfence" : : : "memory")

#define atomic_thread_fence_acq()     __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define atomic_thread_fence_rel()     __atomic_thread_fence(__ATOMIC_RELEASE)
#define atomic_thread_fence_seq_cst() __atomic_thread_fence(__ATOMIC_SEQ_CST)

#endif
