/*
 * Shared and exclusive locks.  A wait sleeps; readers come after a writer that waits.
 * Recursion, an unlock by another thread and a call where sleeping is not allowed
 * panic.  The lock order of sx locks is not checked: two threads that take two of them
 * in both orders deadlock.
 */
#ifndef _SYS_SX_H_
#define _SYS_SX_H_

#include <sys/_lock.h>
#include <sys/types.h>

struct thread;

struct sx {
	struct lock_object lock_object;
	uintptr_t sx_guest[3];    /* the spin lock around the rest */
	struct thread *sx_xowner; /* exclusive holder */
	u_int sx_shared;          /* shared holders */
	u_int sx_xwaiters;
};

#define SA_UNLOCKED 0x00
#define SA_LOCKED   0x01
#define SA_SLOCKED  0x02
#define SA_XLOCKED  0x04
#define SX_UNLOCKED SA_UNLOCKED
#define SX_LOCKED   SA_LOCKED
#define SX_SLOCKED  SA_SLOCKED
#define SX_XLOCKED  SA_XLOCKED

void sx_init(struct sx *sx, const char *name);
void sx_destroy(struct sx *sx);
void sx_slock(struct sx *sx);
void sx_xlock(struct sx *sx);
void sx_sunlock(struct sx *sx);
void sx_xunlock(struct sx *sx);
/* Exclusive becomes shared; waiting readers enter. */
void sx_downgrade(struct sx *sx);
int sx_xlocked(struct sx *sx); /* by the current thread */

void kpi_sx_assert(struct sx *sx, int what);
#ifdef INVARIANTS
# define sx_assert(sx, what) kpi_sx_assert((sx), (what))
#else
# define sx_assert(sx, what) ((void)0)
#endif

#endif
