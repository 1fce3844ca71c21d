/* Shared and exclusive locks, and pools of mutexes. */
#include <sys/malloc.h>
#include <sys/mutex.h>
#include <sys/proc.h>
#include <sys/sx.h>
#include <sys/systm.h>

#include "harness/guest/task/lock.h"
#include "harness/guest/task/task.h"
#include "harness/kpi/freebsd8/kpi8.h"

_Static_assert(sizeof(struct spin) <= sizeof(((struct sx *)0)->sx_guest),
    "a lock has room for the guest kernel's");

static struct spin *
guard(struct sx *sx)
{
	return ((struct spin *)(void *)sx->sx_guest);
}

void
sx_init(struct sx *sx, const char *name)
{
	*sx = (struct sx){ .lock_object = { name, KPI_LOCK_READY } };
	spin_init(guard(sx), "sx interlock");
}

void
sx_destroy(struct sx *sx)
{
	if (sx->sx_xowner != NULL || sx->sx_shared != 0)
		panic("lock: sx_destroy: %s is held", sx->lock_object.lo_name);
	sx->lock_object.lo_flags = 0;
}

/* Whether or not the lock is free, its taker may sleep. */
static void
enter(struct sx *sx)
{
	if ((sx->lock_object.lo_flags & KPI_LOCK_READY) == 0)
		panic("lock: sx %p is not initialised", sx);
	assert_can_wait(sx->lock_object.lo_name, NULL);
	if (sx->sx_xowner == curthread)
		panic("lock: sx %s: recursion", sx->lock_object.lo_name);
	spin_lock(guard(sx));
}

static void
leave(struct sx *sx, bool wake)
{
	spin_unlock(guard(sx));
	if (wake)
		task_wakeup(sx);
}

void
sx_slock(struct sx *sx)
{
	enter(sx);
	while (sx->sx_xowner != NULL || sx->sx_xwaiters != 0)
		(void)task_sleep_spin(sx, guard(sx), false, 0);
	sx->sx_shared++;
	leave(sx, false);
}

void
sx_xlock(struct sx *sx)
{
	enter(sx);
	sx->sx_xwaiters++;
	while (sx->sx_xowner != NULL || sx->sx_shared != 0)
		(void)task_sleep_spin(sx, guard(sx), false, 0);
	sx->sx_xwaiters--;
	sx->sx_xowner = curthread;
	leave(sx, false);
}

void
sx_sunlock(struct sx *sx)
{
	spin_lock(guard(sx));
	if (sx->sx_shared == 0)
		panic("lock: sx %s is not shared", sx->lock_object.lo_name);
	sx->sx_shared--;
	leave(sx, sx->sx_shared == 0);
}

static void
give_up(struct sx *sx)
{
	if (sx->sx_xowner != curthread)
		panic("lock: sx %s: unlock by a thread that does not own it",
		    sx->lock_object.lo_name);
	sx->sx_xowner = NULL;
}

void
sx_xunlock(struct sx *sx)
{
	spin_lock(guard(sx));
	give_up(sx);
	leave(sx, true);
}

void
sx_downgrade(struct sx *sx)
{
	spin_lock(guard(sx));
	give_up(sx);
	sx->sx_shared++;
	leave(sx, true);
}

int
sx_xlocked(struct sx *sx)
{
	return (sx->sx_xowner == curthread);
}

void
kpi_sx_assert(struct sx *sx, int what)
{
	bool exclusive = sx->sx_xowner == curthread;
	bool right = exclusive;

	if (what == SX_LOCKED)
		right = exclusive || sx->sx_shared != 0;
	else if (what == SX_SLOCKED)
		right = sx->sx_shared != 0;
	else if (what == SX_UNLOCKED)
		right = !exclusive;
	if (!right)
		panic("lock: sx %s is not held as it must be (%#x)",
		    sx->lock_object.lo_name, (u_int)what);
}

static MALLOC_DEFINE(M_MTXPOOL, "mtx_pool", "mutex pools");

struct mtx_pool {
	u_int size; /* a power of two */
	struct mtx mutex[];
};

struct mtx_pool *
mtx_pool_create(const char *name, int size, int opts)
{
	struct mtx_pool *pool;
	u_int i, count = 1;

	if (size <= 0)
		panic("mtx_pool_create: %s: %d mutexes", name, size);
	while (count < (u_int)size)
		count *= 2;
	pool = malloc(sizeof(*pool) + count * sizeof(pool->mutex[0]), M_MTXPOOL,
	    M_WAITOK | M_ZERO);
	pool->size = count;
	for (i = 0; i < count; i++)
		mtx_init(&pool->mutex[i], name, NULL, opts);
	return (pool);
}

void
mtx_pool_destroy(struct mtx_pool **pool)
{
	u_int i;

	for (i = 0; i < (*pool)->size; i++)
		mtx_destroy(&(*pool)->mutex[i]);
	free(*pool, M_MTXPOOL);
	*pool = NULL;
}

struct mtx *
mtx_pool_find(struct mtx_pool *pool, void *ptr)
{
	uint64_t hash = (uint64_t)(uintptr_t)ptr * UINT64_C(0x9e3779b97f4a7c15);

	return (&pool->mutex[hash >> 32 & (pool->size - 1)]);
}
