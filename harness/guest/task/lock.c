/*
 * Spin locks, mutexes, critical sections (lock.h).
 */
#include "harness/guest/internal.h"

#include "harness/guest/task/lock_order.h"

static struct order order;
static uint32_t order_busy;

/* Called with interrupts off. The locks of this file depend on it. */
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
	class = lock_order_class(&order, name, !is_kernel_image(name));
	order_unlock();
	if (enabled)
		intr_enable();
	if (class == 0)
		kpanic("lock: \"%s\" is one name too many", name);
	return class;
}

static __attribute__((noinline)) void
learn_order(
    unsigned held, const char *held_name, unsigned next, const char *name)
{
	bool enabled = intr_enabled();
	bool fine;

	intr_disable();
	order_lock();
	fine = lock_order_take(&order, held, next);
	order_unlock();
	if (enabled)
		intr_enable();
	if (!fine)
		kpanic("lock order: \"%s\" taken with \"%s\" held, before "
		       "it was the other way round",
		    name, held_name);
}

/* A lock of NAME and class NEXT is about to be taken with one of class HELD held. */
static inline void
check_order(
    unsigned held, const char *held_name, unsigned next, const char *name)
{
	if (held != next && !order_is_after(&order, held, next))
		learn_order(held, held_name, next, name);
}

static __attribute__((noinline)) void
check_held_mutexes(const struct task *task, unsigned next, const char *name)
{
	for (unsigned i = 0; i < task->held_count; i++)
		check_order(
		    task->held[i]->class, task->held[i]->name, next, name);
}

static __attribute__((noinline)) void
check_held_spins(const struct cpu *cpu, unsigned next, const char *name)
{
	for (unsigned i = 0; i < cpu->held_count; i++)
		check_order(
		    cpu->held[i]->class, cpu->held[i]->name, next, name);
}

static inline void
spin_note(struct cpu *cpu, const struct spin *lock)
{
	if (cpu->held_count == CPU_SPINS_MAX)
		kpanic("lock: %u spin locks at once", cpu->held_count);
	cpu->held[cpu->held_count++] = lock;
}

static inline void
spin_check_order(struct cpu *cpu, struct spin *lock)
{
	if (cpu->nmi_depth != 0)
		kpanic("lock: spin lock \"%s\" in an NMI handler", lock->name);
	if (__builtin_expect(lock->class == 0, 0))
		lock->class = class_of(lock->name);
	if (cpu->held_count != 0)
		check_held_spins(cpu, lock->class, lock->name);
	/* A handler's locks are unordered with the interrupted task's. */
	if (cpu->intr_depth == 0 && cpu->current->held_count != 0)
		check_held_mutexes(cpu->current, lock->class, lock->name);
}

static inline void
spin_forget(struct cpu *cpu, const struct spin *lock)
{
	unsigned i = cpu->held_count;

	while (i != 0 && cpu->held[i - 1] != lock)
		i--;
	KERN_ASSERT(i != 0);
	cpu->held_count--;
	for (; i <= cpu->held_count; i++)
		cpu->held[i - 1] = cpu->held[i];
	cpu->held[cpu->held_count] = NULL;
}

static inline struct cpu *
enter(void)
{
	bool enabled = intr_enabled();
	struct cpu *cpu;

	intr_disable();
	cpu = cpu_self();
	if (cpu->spin_count++ == 0)
		cpu->current->spin_if = enabled;
	return cpu;
}

void
spin_enter(void)
{
	(void)enter();
}

static inline void
leave(struct cpu *cpu)
{
	bool enable = cpu->current->spin_if;

	if (cpu->spin_count == 0)
		kpanic("lock: spin_exit without spin_enter");
	if (--cpu->spin_count != 0 || !enable)
		return;
	if (cpu->need_resched)
		sched_preempt();
	intr_enable();
}

void
spin_exit(void)
{
	leave(cpu_self());
}

void
spin_init(struct spin *lock, const char *name)
{
	*lock = (struct spin){ .name = name };
}

static inline bool
spin_take(struct cpu *cpu, struct spin *lock)
{
	uint32_t expected = 0;

	return __atomic_compare_exchange_n(&lock->holder, &expected,
	    cpu->number + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* A waiter that holds no other spin lock takes interrupts meanwhile: the holder
 * may wait for this CPU in a rendezvous. */
static __attribute__((noinline)) void
spin_wait(struct cpu *cpu, struct spin *lock)
{
	do {
		bool let_in = cpu->spin_count == 1 && cpu->current->spin_if &&
		    cpu->nmi_depth == 0 && cpu->intr_depth == 0;

		if (let_in)
			intr_window();
		else
			cpu_pause();
	} while (!spin_take(cpu, lock));
}

static inline void
acquire(struct cpu *cpu, struct spin *lock)
{
	if (__atomic_load_n(&lock->holder, __ATOMIC_RELAXED) == cpu->number + 1)
		kpanic("lock: spin lock \"%s\": recursion", lock->name);
	spin_check_order(cpu, lock);
	if (!spin_take(cpu, lock))
		spin_wait(cpu, lock);
	spin_note(cpu, lock);
}

static inline void
release(struct cpu *cpu, struct spin *lock)
{
	if (lock->holder != cpu->number + 1)
		kpanic("lock: spin lock \"%s\": unlock by CPU %u, holder is %d",
		    lock->name, cpu->number, (int)lock->holder - 1);
	spin_forget(cpu, lock);
	__atomic_store_n(&lock->holder, 0, __ATOMIC_RELEASE);
}

/* Called with interrupts off. */
void
spin_acquire_raw(struct spin *lock)
{
	acquire(cpu_self(), lock);
}

void
spin_release_raw(struct spin *lock)
{
	release(cpu_self(), lock);
}

void
spin_lock(struct spin *lock)
{
	acquire(enter(), lock);
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
	/* With a lock the task does not migrate; without, release() panics. */
	release(cpu_self(), lock);
	leave(cpu_self());
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

/* A context that may not sleep does not migrate. A task that may sleep can
 * migrate between the reads, but the depths it reads are 0 on every CPU. */
static inline bool
is_sleepable(const struct task *task)
{
	return !cpu_in_special() && task->critical == 0 && !task->idle &&
	    intr_enabled();
}

bool
can_sleep(void)
{
	return is_sleepable(current_task());
}

static _Noreturn void
panic_sleep(const char *what)
{
	const struct cpu *cpu = cpu_self();

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
assert_can_sleep(const char *what)
{
	if (!can_sleep())
		panic_sleep(what);
}

void
assert_no_wait_lock(const char *what, const struct mutex *except)
{
	const struct task *task = current_task();

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
	const struct task *task = current_task();

	/* Interrupts are off while a spin lock is held: the CPU is this one. */
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

static inline bool
mutex_take(struct task *self, struct mutex *lock)
{
	struct task *expected = NULL;

	if (!__atomic_compare_exchange_n(&lock->owner, &expected, self, false,
		__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return false;
	if (self->held_count == TASK_MUTEXES_MAX)
		kpanic("lock: %u mutexes at once", self->held_count);
	/* Preemption reads all counted entries: store the lock first. */
	self->held[self->held_count] = lock;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	self->held_count++;
	return true;
}

static inline void
forget(struct task *self, const struct mutex *lock)
{
	unsigned i = self->held_count;

	while (i != 0 && self->held[i - 1] != lock)
		i--;
	KERN_ASSERT(i != 0);
	self->held_count--; /* first: mutex_take() does it last */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	for (; i <= self->held_count; i++)
		self->held[i - 1] = self->held[i];
	self->held[self->held_count] = NULL;
}

void
mutex_forget(const struct mutex *lock)
{
	forget(current_task(), lock);
}

static __attribute__((noinline)) void
mutex_prepare(struct mutex *lock)
{
	if (cpu_in_special() && (cpu_in_nmi() || cpu_in_interrupt()))
		kpanic("lock: mutex \"%s\" in an %s handler", lock->name,
		    cpu_in_nmi() ? "NMI" : "interrupt");
	if (lock->class == 0)
		lock->class = (uint16_t)class_of(lock->name);
}

bool
mutex_try(struct mutex *lock)
{
	mutex_prepare(lock);
	return mutex_take(current_task(), lock);
}

static __attribute__((noinline)) void
mutex_wait(struct task *self, struct mutex *lock)
{
	__atomic_add_fetch(&lock->waiters, 1, __ATOMIC_SEQ_CST);
	while (!mutex_take(self, lock))
		sleep_for_mutex(lock);
	__atomic_sub_fetch(&lock->waiters, 1, __ATOMIC_SEQ_CST);
}

void
mutex_lock(struct mutex *lock)
{
	struct task *self = current_task();

	if (lock->class == 0 || !is_sleepable(self)) {
		mutex_prepare(lock);
		assert_can_sleep("mutex");
	}
	if (__atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == self)
		kpanic("lock: mutex \"%s\": recursion", lock->name);
	if (self->held_count != 0)
		check_held_mutexes(self, lock->class, lock->name);
	if (!mutex_take(self, lock))
		mutex_wait(self, lock);
}

/* The waiters' count is read after the owner is cleared; a waiter counts itself
 * before it reads the owner. So at least one of the two sees the other. */
void
mutex_unlock(struct mutex *lock)
{
	struct task *self = current_task();

	if (cpu_in_special())
		mutex_prepare(lock);
	if (__atomic_load_n(&lock->owner, __ATOMIC_RELAXED) != self)
		kpanic(
		    "lock: mutex \"%s\": unlock by a task that does not own it",
		    lock->name);
	forget(self, lock);
	__atomic_store_n(&lock->owner, NULL, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&lock->waiters, __ATOMIC_SEQ_CST) != 0)
		task_wakeup_one(lock);
}

bool
mutex_held(const struct mutex *lock)
{
	return __atomic_load_n(&lock->owner, __ATOMIC_RELAXED) ==
	    current_task();
}

void
critical_enter(void)
{
	current_task()->critical++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void
critical_exit(void)
{
	struct task *task = current_task();

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (task->critical == 0)
		kpanic("lock: critical_exit without critical_enter");
	if (--task->critical == 0 && intr_enabled()) {
		intr_disable();
		sched_preempt();
		intr_enable();
	}
}
