/*
 * Spin locks, sleep mutexes and critical sections, with FreeBSD's meaning: while
 * a spin lock is held interrupts are off and sleeping is a panic; a mutex's owner
 * may sleep.  Wrong use (recursion, unlock by another, sleep where that is not
 * allowed) panics.  No reader-writer locks, no priority inheritance.
 */
#ifndef TOPAZ_HARNESS_GUEST_LOCK_H
#define TOPAZ_HARNESS_GUEST_LOCK_H

#include <stdbool.h>
#include <stdint.h>

struct task;

struct spin {
	const char *name;
	uint32_t holder; /* CPU number + 1; 0: free */
};

struct mutex {
	const char *name;
	struct task *owner;
	uint32_t waiters;
};

#define SPIN_INIT(text) \
 {                      \
  .name = (text)        \
 }
#define MUTEX_INIT(text) \
 {                       \
  .name = (text)         \
 }

/* Interrupts off, nested; the outermost exit restores them and reschedules when
 * that was asked for meanwhile. */
void spin_enter(void);
void spin_exit(void);

void spin_init(struct spin *lock, const char *name);
void spin_lock(struct spin *lock);
bool spin_try(struct spin *lock);
void spin_unlock(struct spin *lock);
bool spin_held(const struct spin *lock); /* by this CPU */

void mutex_init(struct mutex *lock, const char *name);
void mutex_lock(struct mutex *lock);
bool mutex_try(struct mutex *lock);
void mutex_unlock(struct mutex *lock);
bool mutex_held(const struct mutex *lock); /* by the current task */

/* No preemption, no migration; interrupts stay as they are. */
void critical_enter(void);
void critical_exit(void);

/* Panics unless the current context may sleep; WHAT names the caller. */
void assert_can_sleep(const char *what);
bool can_sleep(void);

#endif
