/*
 * Spin locks, sleep mutexes and critical sections, with FreeBSD's semantics:
 * while a spin lock is held, interrupts are off and sleeping is a panic; the
 * owner of a mutex may sleep unless .no_sleep is set.  Wrong use panics:
 * recursion, unlock by another task, sleep where it is not allowed, locks of
 * two names taken in both orders, a lock that is held at the return to ring 3
 * or at the end of a thread.  No reader-writer locks, no priority inheritance.
 */
#ifndef TOPAZ_HARNESS_GUEST_TASK_LOCK_H
#define TOPAZ_HARNESS_GUEST_TASK_LOCK_H

#include <stdbool.h>
#include <stdint.h>

struct task;

struct spin {
	const char *name;
	uint32_t holder; /* CPU number + 1; 0: free */
	uint32_t class;  /* of the lock order; 0: not known yet */
};

struct mutex {
	const char *name;
	struct task *owner;
	uint32_t waiters;
	uint16_t class;
	bool no_sleep; /* its owner may wait for mutexes only */
};

#define SPIN_INIT(text) \
 {                      \
  .name = (text)        \
 }
#define MUTEX_INIT(text) \
 {                       \
  .name = (text)         \
 }

/* Turns interrupts off, nested; the outermost exit restores them and
 * reschedules if requested meanwhile.  Tasks and interrupt handlers. */
void spin_enter(void);
void spin_exit(void);

/*
 * Spin locks: tasks and interrupt handlers; an NMI handler panics.  NAME is the
 * class in the lock order, kept as a pointer.  spin_lock() includes
 * spin_enter(); a wait without another spin lock takes interrupts.  At most 16.
 */
void spin_init(struct spin *lock, const char *name);
void spin_lock(struct spin *lock);
/* False: another CPU has it.  The lock order is not checked. */
bool spin_try(struct spin *lock);
void spin_unlock(struct spin *lock);
bool spin_held(const struct spin *lock); /* by this CPU */

/*
 * Mutexes: for tasks with interrupts on (a wait for one sleeps); at most 16 at
 * once.  NAME as above.  A mutex needs no function that destroys it.
 */
void mutex_init(struct mutex *lock, const char *name);
void mutex_lock(struct mutex *lock);
/* False: another task has it.  Does not sleep. */
bool mutex_try(struct mutex *lock);
void mutex_unlock(struct mutex *lock);
bool mutex_held(const struct mutex *lock); /* by the current task */

/* Disables preemption and migration, nested; interrupts are unchanged.
 * Sleeping inside is a panic.  Tasks only. */
void critical_enter(void);
void critical_exit(void);

/* Panics unless the current context may sleep: a task with interrupts on, without spin
 * lock and critical section.  WHAT names the caller in the message. */
void assert_can_sleep(const char *what);
bool can_sleep(void); /* false instead of a panic */
/* For any wait except for a mutex: panics if a mutex with .no_sleep other than
 * EXCEPT (may be NULL) is held. */
void assert_can_wait(const char *what, const struct mutex *except);

#endif
