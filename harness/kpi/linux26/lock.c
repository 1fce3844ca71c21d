/* Spin locks and semaphores: <linux/spinlock.h>, <linux/rwsem.h>. */
#include "harness/kpi/linux26/kpi.h"

void
linux_spin_lock(spinlock_t *lock)
{
	struct task_struct *self = current;
	struct task_struct *owner;

	if (cpu_in_nmi())
		kpanic("nmi: spin_lock(%s) in an NMI handler", lock->name);
	critical_enter();
	for (;;) {
		owner = NULL;
		if (__atomic_compare_exchange_n(&lock->owner, &owner, self,
			false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			break;
		if (owner == self && lock->owner_cpu == cpu_number())
			kpanic("BUG: spinlock recursion: %s", lock->name);
		cpu_pause();
	}
	lock->owner_cpu = cpu_number();
}

void
linux_spin_unlock(spinlock_t *lock)
{
	if (lock->owner == NULL)
		kpanic("BUG: spinlock already unlocked: %s", lock->name);
	if (lock->owner != current || lock->owner_cpu != cpu_number())
		kpanic("BUG: spinlock wrong owner: %s", lock->name);
	__atomic_store_n(&lock->owner, NULL, __ATOMIC_RELEASE);
	critical_exit();
}

static struct mutex *
mutex_of(struct rw_semaphore *sem)
{
	_Static_assert(sizeof(struct mutex) <= sizeof(sem->mutex),
	    "a semaphore holds a mutex");
	return (struct mutex *)(void *)sem->mutex;
}

void
init_rwsem(struct rw_semaphore *sem)
{
	mutex_init(mutex_of(sem), "mmap_sem");
}

void
down_write(struct rw_semaphore *sem)
{
	mutex_lock(mutex_of(sem));
}

void
up_write(struct rw_semaphore *sem)
{
	mutex_unlock(mutex_of(sem));
}
