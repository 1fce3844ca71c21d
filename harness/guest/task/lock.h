/*
 * Spin locks, sleep mutexes and critical sections, with FreeBSD's meaning: while
 * a spin lock is held interrupts are off and sleeping is a panic; a mutex's owner
 * may sleep unless it says otherwise.  Wrong use panics: recursion, unlock by
 * another, sleep where that is not allowed, locks of two names taken in both orders,
 * a lock that is still held at the return to ring 3 or at the end of a thread.  No
 * reader-writer locks, no priority inheritance.
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

/* Interrupts off, nested; the outermost exit restores them and reschedules when
 * that was asked for meanwhile.  Tasks and interrupt handlers. */
void spin_enter(void);
void spin_exit(void);

/*
 * Spin locks: tasks and interrupt handlers; an NMI handler panics.  NAME is the class in
 * the order of locks and is kept as a pointer.  spin_lock() includes spin_enter(), while
 * it waits it lets interrupts in if no other spin lock is held.  At most 16 at once.
 */
void spin_init(struct spin *lock, const char *name);
void spin_lock(struct spin *lock);
/* False: another has it.  Not judged by the order of locks. */
bool spin_try(struct spin *lock);
void spin_unlock(struct spin *lock);
bool spin_held(const struct spin *lock); /* by this CPU */

/*
 * Mutexes: tasks only, with interrupts on (a wait for one sleeps); at most 16 at once.
 * NAME as above.  There is nothing to be freed.
 */
void mutex_init(struct mutex *lock, const char *name);
void mutex_lock(struct mutex *lock);
/* False: another has it.  Does not sleep. */
bool mutex_try(struct mutex *lock);
void mutex_unlock(struct mutex *lock);
bool mutex_held(const struct mutex *lock); /* by the current task */

/* No preemption, no migration, nested; interrupts stay as they are.  Sleeping within is
 * a panic.  Tasks. */
void critical_enter(void);
void critical_exit(void);

/* Panics unless the current context may sleep: a task with interrupts on, without spin
 * lock and critical section.  WHAT names the caller in the message. */
void assert_can_sleep(const char *what);
bool can_sleep(void); /* the same as a question */
/* For any wait but that for a mutex: no mutex with .no_sleep is held, except EXCEPT
 * (may be NULL). */
void assert_can_wait(const char *what, const struct mutex *except);

#endif
