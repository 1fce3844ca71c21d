/* Mutexes and sleeping, on the guest kernel's locks. */
#include <sys/mutex.h>
#include <sys/systm.h>

#include "harness/guest/task/lock.h"
#include "harness/guest/task/task.h"
#include "harness/kpi/freebsd/kpi.h"

_Static_assert(sizeof(struct mutex) <= sizeof(((struct mtx *)0)->mtx_guest) &&
	sizeof(struct spin) <= sizeof(((struct mtx *)0)->mtx_guest),
    "a mutex has room for the guest kernel's");
/* The guest kernel's; <sys/systm.h> gives the functions of FreeBSD other symbols. */
void guest_critical_enter(void) __asm__("critical_enter");
void guest_critical_exit(void) __asm__("critical_exit");

static struct mutex *
guest_mutex(struct mtx *m)
{
	if ((m->lock_object.lo_flags & KPI_LOCK_READY) == 0)
		panic("lock: mutex %p is not initialised", m);
	if ((m->lock_object.lo_flags & MTX_SPIN) != 0)
		panic(
		    "lock: mtx_lock of spin mutex %s", m->lock_object.lo_name);
	return ((struct mutex *)(void *)m->mtx_guest);
}

static struct spin *
guest_spin(struct mtx *m)
{
	if ((m->lock_object.lo_flags & KPI_LOCK_READY) == 0)
		panic("lock: mutex %p is not initialised", m);
	if ((m->lock_object.lo_flags & MTX_SPIN) == 0)
		panic("lock: mtx_lock_spin of sleep mutex %s",
		    m->lock_object.lo_name);
	return ((struct spin *)(void *)m->mtx_guest);
}

void
mtx_init(struct mtx *m, const char *name, const char *type, int opts)
{
	struct mutex *mutex = (struct mutex *)(void *)m->mtx_guest;

	m->lock_object.lo_name = name;
	m->lock_object.lo_flags = (u_int)opts | KPI_LOCK_READY;
	if (type != NULL)
		name = type; /* its name in the lock order */
	if ((opts & MTX_SPIN) != 0) {
		spin_init((struct spin *)(void *)m->mtx_guest, name);
	} else {
		mutex_init(mutex, name);
		mutex->no_sleep = true;
	}
}

void
mtx_destroy(struct mtx *m)
{
	if (!mtx_initialized(m))
		panic("lock: mtx_destroy: mutex %p is not initialised", m);
	m->lock_object.lo_flags = 0;
}

int
mtx_initialized(const struct mtx *m)
{
	return ((m->lock_object.lo_flags & KPI_LOCK_READY) != 0);
}

void
mtx_lock(struct mtx *m)
{
	mutex_lock(guest_mutex(m));
}

int
mtx_trylock(struct mtx *m)
{
	return (mutex_try(guest_mutex(m)));
}

void
mtx_unlock(struct mtx *m)
{
	mutex_unlock(guest_mutex(m));
}

void
mtx_lock_spin(struct mtx *m)
{
	spin_lock(guest_spin(m));
	kpi_critnest_add(1);
}

void
mtx_unlock_spin(struct mtx *m)
{
	kpi_critnest_add(-1u);
	spin_unlock(guest_spin(m));
}

int
mtx_owned(const struct mtx *m)
{
	const void *guest = m->mtx_guest;

	if ((m->lock_object.lo_flags & MTX_SPIN) != 0)
		return (spin_held(guest));
	return (mutex_held(guest));
}

void kpi_mtx_assert(const struct mtx *m, int what);

void
kpi_mtx_assert(const struct mtx *m, int what)
{
	if (mtx_owned(m) != ((what & MA_OWNED) != 0))
		panic("lock: mutex %s %sowned", m->lock_object.lo_name,
		    (what & MA_OWNED) != 0 ? "not " : "");
}

int
_sleep(const void *chan, struct lock_object *lock, int priority,
    const char *wmesg, long timo)
{
	struct mtx *m = (struct mtx *)(void *)lock;
	bool catch = (priority & PCATCH) != 0;
	int error;

	if (timo != 0)
		panic("%s: sleep with a time limit", wmesg);
	if (m == NULL)
		return (task_sleep(chan, NULL, catch, 0));
	if ((lock->lo_flags & MTX_SPIN) != 0)
		error = task_sleep_spin(chan, guest_spin(m), catch, 0);
	else
		error = task_sleep(chan, guest_mutex(m), catch, 0);
	if ((priority & PDROP) != 0) {
		if ((lock->lo_flags & MTX_SPIN) != 0)
			mtx_unlock_spin(m);
		else
			mtx_unlock(m);
	}
	return (error);
}

void
wakeup(const void *chan)
{
	task_wakeup(chan);
}

void
wakeup_one(const void *chan)
{
	task_wakeup_one(chan);
}

void
spinlock_enter(void)
{
	spin_enter();
	kpi_critnest_add(1);
}

void
spinlock_exit(void)
{
	kpi_critnest_add(-1u);
	spin_exit();
}

void
critical_enter(void)
{
	guest_critical_enter();
	kpi_critnest_add(1);
}

void
critical_exit(void)
{
	kpi_critnest_add(-1u);
	guest_critical_exit();
}
