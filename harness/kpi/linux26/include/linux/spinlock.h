/*
 * Spin locks of a preemptible SMP kernel: no preemption while one is held, interrupts as
 * they were.  Wrong use panics: recursion, unlock by another CPU, sleep with one held.
 */
#ifndef TOPAZ_LINUX26_LINUX_SPINLOCK_H
#define TOPAZ_LINUX26_LINUX_SPINLOCK_H

#include <linux/types.h>

struct task_struct;

typedef struct {
	struct task_struct *owner; /* NULL: free */
	u32 owner_cpu;
	const char *name;
} spinlock_t;

#define __SPIN_LOCK_UNLOCKED(lock) \
 {                                 \
  .name = #lock                    \
 }

void linux_spin_lock(spinlock_t *lock);
void linux_spin_unlock(spinlock_t *lock);
#define spin_lock(lock)   linux_spin_lock(lock)
#define spin_unlock(lock) linux_spin_unlock(lock)

#endif
