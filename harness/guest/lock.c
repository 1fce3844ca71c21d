/*
 * Spin locks, mutexes, critical sections (lock.h).
 */
#include "harness/guest/internal.h"

#include "harness/guest/order.h"

static struct order order;
static uint32_t order_busy;

/* With interrupts off: no lock of this file can be used for it. */
static void
order_lock(void)
{
	while (__atomic_exchange_n(&order_busy, 1, __ATOMIC_ACQUIRE) != 0)
		cpu_pause();
}

static void
order_unlock(void)
{
	__atomic_store_n(&order_busy, 0, __ATOMIC_RELEASE);
}

static unsigned
class_of(const char *name)
{
	bool enabled = intr_enabled();
	unsigned class;

	intr_disable();
	order_lock();
	class = order_class(&order, name, !is_kernel_image(name));
	order_unlock();
	if (enabled)
		intr_enable();
	if (class == 0)
		kpanic("lock: \"%s\" is one name too many", name);
	return class;
}

/* A lock of NAME and class NEXT is about to be taken with one of class HELD held. */
static void
check_order(
    unsigned held, const char *held_name, unsigned next, const char *name)
{
	bool enabled = intr_enabled();
	bool fine;

	if (held == next || order_is_after(&order, held, next))
		return;
	intr_disable();
	order_lock();
	fine = order_take(&order, held, next);
	order_unlock();
	if (enabled)
		intr_enable();
	if (!fine)
		kpanic("lock order: \"%s\" taken with \"%s\" held, before "
		       "it was the other way round",
		    name, held_name);
}

/* A handler's locks have nothing to do with the task that it interrupts. */
static void
check_order_of_mutexes(unsigned next, const char *name)
{
	const struct task *task = task_self();

	for (unsigned i = 0; i < task->held_count; i++)
		check_order(
		    task->held[i]->class, task->held[i]->name, next, name);
}

static void
spin_note(struct cpu *cpu, const struct spin *lock)
{
	if (cpu->held_count == CPU_SPINS_MAX)
		kpanic("lock: %u spin locks at once", cpu->held_count);
	cpu->held[cpu->held_count++] = lock;
}

static void
spin_check_order(struct cpu *cpu, struct spin *lock)
{
	if (cpu->nmi_depth != 0)
		kpanic("lock: spin lock \"%s\" in an NMI handler", lock->name);
	if (lock->class == 0)
		lock->class = class_of(lock->name);
	for (unsigned i = 0; i < cpu->held_count; i++)
		check_order(cpu->held[i]->class, cpu->held[i]->name,
		    lock->class, lock->name);
	if (cpu->intr_depth == 0)
		check_order_of_mutexes(lock->class, lock->name);
}

static void
spin_forget(struct cpu *cpu, const struct spin *lock)
{
	unsigned i = cpu->held_count;

	while (i != 0 && cpu->held[i - 1] != lock)
		i--;
	KERN_ASSERT(i != 0);
	for (cpu->held_count--; i <= cpu->held_count; i++)
		cpu->held[i - 1] = cpu->held[i];
	cpu->held[cpu->held_count] = NULL;
}

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

	if (cpu->spin_count == 0)
		kpanic("lock: spin_exit without spin_enter");
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
		kpanic("lock: spin lock \"%s\": recursion", lock->name);
	spin_check_order(cpu, lock);
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
	spin_note(cpu, lock);
}

void
spin_release_raw(struct spin *lock)
{
	if (lock->holder != cpu_number() + 1)
		kpanic("lock: spin lock \"%s\": unlock by CPU %u, holder is %d",
		    lock->name, cpu_number(), (int)lock->holder - 1);
	spin_forget(cpu_self(), lock);
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
		cpu_number() + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (lock->class == 0)
			lock->class = class_of(lock->name);
		spin_note(cpu_self(), lock);
		return true;
	}
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
		kpanic("sleep: %s in an NMI handler", what);
	if (cpu->intr_depth != 0)
		kpanic("sleep: %s in an interrupt handler", what);
	if (cpu->spin_count != 0)
		kpanic("sleep: %s with spin lock \"%s\" held", what,
		    cpu->held_count != 0 ? cpu->held[0]->name : "?");
	if (cpu->current->critical != 0)
		kpanic("sleep: %s in a critical section", what);
	kpanic("sleep: %s with interrupts disabled", what);
}

void
assert_no_wait_lock(const char *what, const struct mutex *except)
{
	const struct task *task = task_self();

	for (unsigned i = 0; i < task->held_count; i++) {
		if (task->held[i]->no_sleep && task->held[i] != except)
			kpanic("sleep: %s with mutex \"%s\" held", what,
			    task->held[i]->name);
	}
}

void
assert_can_wait(const char *what, const struct mutex *except)
{
	assert_can_sleep(what);
	assert_no_wait_lock(what, except);
}

void
lock_assert_none(const char *where)
{
	const struct task *task = task_self();

	/* Interrupts are off while there is any: no other CPU's are meant. */
	if (cpu_in_spin()) {
		const struct cpu *cpu = cpu_self();

		kpanic("lock: spin lock \"%s\" held %s",
		    cpu->held_count != 0 ? cpu->held[0]->name : "?", where);
	}
	if (task->critical != 0)
		kpanic("lock: critical section %s", where);
	if (task->held_count != 0)
		kpanic(
		    "lock: mutex \"%s\" held %s", task->held[0]->name, where);
}

void
mutex_init(struct mutex *lock, const char *name)
{
	*lock = (struct mutex){ .name = name };
}

static bool
mutex_take(struct mutex *lock)
{
	struct task *self = task_self();
	struct task *expected = NULL;

	if (!__atomic_compare_exchange_n(&lock->owner, &expected, self, false,
		__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return false;
	if (self->held_count == TASK_MUTEXES_MAX)
		kpanic("lock: %u mutexes at once", self->held_count);
	self->held[self->held_count++] = lock;
	return true;
}

void
mutex_forget(const struct mutex *lock)
{
	struct task *self = task_self();
	unsigned i = self->held_count;

	while (i != 0 && self->held[i - 1] != lock)
		i--;
	KERN_ASSERT(i != 0);
	for (self->held_count--; i <= self->held_count; i++)
		self->held[i - 1] = self->held[i];
	self->held[self->held_count] = NULL;
}

static void
mutex_prepare(struct mutex *lock)
{
	if (cpu_in_nmi() || cpu_in_interrupt())
		kpanic("lock: mutex \"%s\" in an %s handler", lock->name,
		    cpu_in_nmi() ? "NMI" : "interrupt");
	if (lock->class == 0)
		lock->class = (uint16_t)class_of(lock->name);
}

bool
mutex_try(struct mutex *lock)
{
	mutex_prepare(lock);
	return mutex_take(lock);
}

void
mutex_lock(struct mutex *lock)
{
	mutex_prepare(lock);
	assert_can_sleep("mutex");
	if (mutex_held(lock))
		kpanic("lock: mutex \"%s\": recursion", lock->name);
	check_order_of_mutexes(lock->class, lock->name);
	if (mutex_take(lock))
		return;
	__atomic_add_fetch(&lock->waiters, 1, __ATOMIC_SEQ_CST);
	while (!mutex_take(lock))
		sleep_for_mutex(lock);
	__atomic_sub_fetch(&lock->waiters, 1, __ATOMIC_SEQ_CST);
}

/* The waiters' count is read after the owner is cleared; a waiter counts itself
 * first and looks at the owner afterwards: one of the two sees the other. */
void
mutex_unlock(struct mutex *lock)
{
	mutex_prepare(lock);
	if (!mutex_held(lock))
		kpanic(
		    "lock: mutex \"%s\": unlock by a task that does not own it",
		    lock->name);
	mutex_forget(lock);
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
	if (task->critical == 0)
		kpanic("lock: critical_exit without critical_enter");
	if (--task->critical == 0 && intr_enabled()) {
		intr_disable();
		sched_preempt();
		intr_enable();
	}
}
