/* atomic(9): the operations with acquire and release, for more types. */
#ifndef _FREEBSD8_MACHINE_ATOMIC_H_
#define _FREEBSD8_MACHINE_ATOMIC_H_

#include_next <machine/atomic.h>

#define atomic_add_rel_int      atomic_add_int
#define atomic_subtract_rel_int atomic_subtract_int
#define atomic_set_rel_int      atomic_set_int
#define atomic_add_rel_32       atomic_add_int
#define atomic_subtract_rel_32  atomic_subtract_int
#define atomic_load_acq_32      atomic_load_acq_int

static __inline void
atomic_store_rel_ptr(volatile uintptr_t *p, uintptr_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

#endif
