/*
 * Sleep and wakeup.  All sleepers are in one list, in the order in which they
 * went to sleep.  Those with a deadline are also in a list of the CPU on which
 * they went to sleep; its timer ends their sleep.
 */
#include "harness/guest/internal.h"

static struct task *sleepers;

static void
add_timeout(struct cpu *cpu, struct task *task, uint64_t cycles)
{
	struct task **link = &cpu->timeouts;

	task->deadline = rdtsc64() + cycles;
	task->timeout_cpu = cpu->number;
	while (*link != NULL && (*link)->deadline <= task->deadline)
		link = &(*link)->timeout_next;
	task->timeout_next = *link;
	*link = task;
}

static void
remove_timeout(struct task *task)
{
	struct task **link = &cpu_at(task->timeout_cpu)->timeouts;

	while (*link != task)
		link = &(*link)->timeout_next;
	*link = task->timeout_next;
	task->deadline = 0;
}

/* With sched_lock held; it is released on return, interrupts still off. */
static int
sleep_locked(const void *channel, bool catch, uint64_t cycles)
{
	struct task *task = task_self();
	struct task **link = &sleepers;

	if (catch && (task->due & TASK_KILLED) != 0) {
		spin_release_raw(&sched_lock);
		return KE_INTR;
	}
	while (*link != NULL)
		link = &(*link)->next;
	task->next = NULL;
	*link = task;
	task->state = TASK_SLEEPING;
	task->channel = channel;
	task->interruptible = catch;
	if (cycles != 0)
		add_timeout(cpu_self(), task, cycles);
	sched_switch_locked();
	return task->sleep_result;
}

void
sleep_wake_locked(struct task *task, int result)
{
	struct task **link = &sleepers;

	KERN_ASSERT(task->state == TASK_SLEEPING);
	while (*link != task)
		link = &(*link)->next;
	*link = task->next;
	if (task->deadline != 0)
		remove_timeout(task);
	task->next = NULL;
	task->channel = NULL;
	task->sleep_result = result;
	task->state = TASK_RUNNABLE;
	if (!task->on_cpu)
		sched_enqueue(task);
}

void
sleep_expire_locked(struct cpu *cpu)
{
	while (cpu->timeouts != NULL && cpu->timeouts->deadline <= rdtsc64())
		sleep_wake_locked(cpu->timeouts, KE_AGAIN);
}

void
sleep_wake_channel_locked(const void *channel, bool one)
{
	struct task *next;

	for (struct task *task = sleepers; task != NULL; task = next) {
		next = task->next;
		if (task->channel != channel)
			continue;
		sleep_wake_locked(task, 0);
		if (one)
			return;
	}
}

static void
wakeup(const void *channel, bool one)
{
	if (cpu_in_nmi())
		kpanic("nmi: wakeup in an NMI handler");
	spin_lock(&sched_lock);
	sleep_wake_channel_locked(channel, one);
	spin_unlock(&sched_lock);
}

void
task_wakeup(const void *channel)
{
	wakeup(channel, false);
}

void
task_wakeup_one(const void *channel)
{
	wakeup(channel, true);
}

void
sleep_for_mutex(const struct mutex *lock)
{
	spin_lock(&sched_lock);
	if (__atomic_load_n(&lock->owner, __ATOMIC_SEQ_CST) == NULL)
		spin_release_raw(&sched_lock);
	else
		sleep_locked(lock, false, 0);
	spin_exit();
}

int
task_sleep(const void *channel, struct mutex *lock, bool catch, uint64_t cycles)
{
	int result;

	assert_can_wait("sleep", lock);
	if (lock != NULL && !mutex_held(lock))
		kpanic("sleep: mutex \"%s\" is not held", lock->name);
	spin_lock(&sched_lock);
	if (lock != NULL) {
		mutex_forget(lock);
		__atomic_store_n(&lock->owner, NULL, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&lock->waiters, __ATOMIC_SEQ_CST) != 0)
			sleep_wake_channel_locked(lock, true);
	}
	result = sleep_locked(channel, catch, cycles);
	spin_exit();
	if (lock != NULL)
		mutex_lock(lock);
	return result;
}

int
task_sleep_spin(
    const void *channel, struct spin *lock, bool catch, uint64_t cycles)
{
	struct cpu *cpu = cpu_self();
	int result;

	assert_no_wait_lock("sleep", NULL);
	if (cpu->spin_count != 1 || !spin_held(lock) ||
	    !cpu->current->spin_if || cpu->nmi_depth != 0 ||
	    cpu->intr_depth != 0 || cpu->current->critical != 0)
		kpanic("sleep: not with exactly the spin lock \"%s\" held",
		    lock->name);
	spin_lock(&sched_lock);
	spin_unlock(lock);
	result = sleep_locked(channel, catch, cycles);
	spin_exit();
	spin_lock(lock);
	return result;
}

int
task_pause(uint64_t cycles)
{
	int result = task_sleep(
	    task_self(), NULL, true, cycles == 0 ? 1 : cycles);

	return result == KE_AGAIN ? 0 : result;
}
