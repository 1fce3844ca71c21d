/*
 * Spin locks, mutexes, critical sections (lock.h).
 */
#include "harness/guest/internal.h"

void
spin_enter(void)
{
	bool enabled = intr_enabled();
	struct cpu *cpu;

	intr_disable();
	cpu = cpu_self();
	if (cpu->spin_count == 0)
		cpu->current->spin_if = enabled;
	cpu->spin_count++;
}

void
spin_exit(void)
{
	struct cpu *cpu = cpu_self();
	bool enable = cpu->current->spin_if;

	KERN_ASSERT(cpu->spin_count != 0);
	if (--cpu->spin_count != 0 || !enable)
		return;
	sched_preempt();
	intr_enable();
}

void
spin_init(struct spin *lock, const char *name)
{
	*lock = (struct spin){ .name = name };
}

/*
 * With interrupts off.  Who waits without another spin lock lets interrupts in
 * meanwhile: the holder may wait for this CPU in a rendezvous.
 */
void
spin_acquire_raw(struct spin *lock)
{
	struct cpu *cpu = cpu_self();
	uint32_t expected = 0;

	if (__atomic_load_n(&lock->holder, __ATOMIC_RELAXED) == cpu->number + 1)
		kpanic("spin lock \"%s\": recursion", lock->name);
	while (!__atomic_compare_exchange_n(&lock->holder, &expected,
	    cpu->number + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		bool let_in = cpu->spin_count == 1 && cpu->current->spin_if &&
		    cpu->nmi_depth == 0 && cpu->intr_depth == 0;

		expected = 0;
		if (let_in)
			intr_window();
		else
			cpu_pause();
	}
}

void
spin_release_raw(struct spin *lock)
{
	if (lock->holder != cpu_number() + 1)
		kpanic("spin lock \"%s\": unlock by CPU %u, holder is %d",
		    lock->name, cpu_number(), (int)lock->holder - 1);
	__atomic_store_n(&lock->holder, 0, __ATOMIC_RELEASE);
}

void
spin_lock(struct spin *lock)
{
	spin_enter();
	spin_acquire_raw(lock);
}

bool
spin_try(struct spin *lock)
{
	uint32_t expected = 0;

	spin_enter();
	if (__atomic_compare_exchange_n(&lock->holder, &expected,
		cpu_number() + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return true;
	spin_exit();
	return false;
}

void
spin_unlock(struct spin *lock)
{
	spin_release_raw(lock);
	spin_exit();
}

bool
spin_held(const struct spin *lock)
{
	bool held;

	spin_enter();
	held = __atomic_load_n(&lock->holder, __ATOMIC_RELAXED) ==
	    cpu_number() + 1;
	spin_exit();
	return held;
}

bool
can_sleep(void)
{
	bool enabled = intr_enabled();
	struct cpu *cpu;
	bool yes;

	intr_disable();
	cpu = cpu_self();
	yes = enabled && cpu->spin_count == 0 && cpu->nmi_depth == 0 &&
	    cpu->intr_depth == 0 && cpu->current->critical == 0 &&
	    !cpu->current->idle;
	if (enabled)
		intr_enable();
	return yes;
}

void
assert_can_sleep(const char *what)
{
	struct cpu *cpu = cpu_self();

	if (can_sleep())
		return;
	if (cpu->nmi_depth != 0)
		kpanic("%s: sleep in an NMI handler", what);
	if (cpu->spin_count != 0)
		kpanic("%s: sleep with a spin lock held", what);
	if (cpu->intr_depth != 0)
		kpanic("%s: sleep in an interrupt handler", what);
	if (cpu->current->critical != 0)
		kpanic("%s: sleep in a critical section", what);
	kpanic("%s: sleep with interrupts disabled", what);
}

void
mutex_init(struct mutex *lock, const char *name)
{
	*lock = (struct mutex){ .name = name };
}

bool
mutex_try(struct mutex *lock)
{
	struct task *expected = NULL;

	return __atomic_compare_exchange_n(&lock->owner, &expected, task_self(),
	    false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void
mutex_lock(struct mutex *lock)
{
	assert_can_sleep(lock->name);
	if (mutex_held(lock))
		kpanic("mutex \"%s\": recursion", lock->name);
	if (mutex_try(lock))
		return;
	__atomic_add_fetch(&lock->waiters, 1, __ATOMIC_SEQ_CST);
	while (!mutex_try(lock))
		sleep_for_mutex(lock);
	__atomic_sub_fetch(&lock->waiters, 1, __ATOMIC_SEQ_CST);
}

/* The waiters' count is read after the owner is cleared; a waiter counts itself
 * first and looks at the owner afterwards: one of the two sees the other. */
void
mutex_unlock(struct mutex *lock)
{
	if (!mutex_held(lock))
		kpanic("mutex \"%s\": unlock by a task that does not own it",
		    lock->name);
	__atomic_store_n(&lock->owner, NULL, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&lock->waiters, __ATOMIC_SEQ_CST) != 0)
		task_wakeup_one(lock);
}

bool
mutex_held(const struct mutex *lock)
{
	return __atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == task_self();
}

void
critical_enter(void)
{
	task_self()->critical++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void
critical_exit(void)
{
	struct task *task = task_self();

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	KERN_ASSERT(task->critical != 0);
	if (--task->critical == 0 && intr_enabled()) {
		intr_disable();
		sched_preempt();
		intr_enable();
	}
}
