/* Reference counts; a release returns whether it was the last. */
#ifndef _SYS_REFCOUNT_H_
#define _SYS_REFCOUNT_H_

#include <sys/systm.h>
#include <sys/types.h>

static __inline void
refcount_init(volatile u_int *count, u_int value)
{
	*count = value;
}

static __inline u_int
refcount_load(volatile u_int *count)
{
	return (__atomic_load_n(count, __ATOMIC_RELAXED));
}

static __inline u_int
refcount_acquire(volatile u_int *count)
{
	return (__atomic_fetch_add(count, 1, __ATOMIC_RELAXED));
}

static __inline bool
refcount_release(volatile u_int *count)
{
	return (__atomic_fetch_sub(count, 1, __ATOMIC_ACQ_REL) == 1);
}

#endif
