/*
 * Mutexes.  MTX_SPIN keeps interrupts off and busy-waits; MTX_DEF sleeps.  The
 * guest panics where FreeBSD's assertions would: recursion, wrong owner, sleep
 * with a spin mutex held.
 */
#ifndef _SYS_MUTEX_H_
#define _SYS_MUTEX_H_

#include <sys/_mutex.h>
#include <sys/lock.h>
#include <sys/pcpu.h>

#define MTX_DEF       0x0
#define MTX_SPIN      0x1
#define MTX_RECURSE   0x4
#define MTX_NOWITNESS 0x8
#define MTX_DUPOK     0x20
#define MTX_NEW       0x40

#define MA_OWNED      0x1
#define MA_NOTOWNED   0x2

void mtx_init(struct mtx *m, const char *name, const char *type, int opts);
void mtx_destroy(struct mtx *m);
void mtx_lock(struct mtx *m);
void mtx_unlock(struct mtx *m);
int mtx_trylock(struct mtx *m);
void mtx_lock_spin(struct mtx *m);
void mtx_unlock_spin(struct mtx *m);
int mtx_owned(const struct mtx *m);
int mtx_initialized(const struct mtx *m);

#ifdef INVARIANTS
void kpi_mtx_assert(const struct mtx *m, int what);
# define mtx_assert(m, what) kpi_mtx_assert((m), (what))
#else
# define mtx_assert(m, what) ((void)0)
#endif

#endif
