/*
 * The scheduler: one queue for all CPUs in two priorities, first in, first out.
 *
 * A task is in the queue exactly when it is runnable and not on a CPU. A task
 * made runnable while its CPU still switches away from it is queued at the end
 * of that switch (.on_cpu), so that no CPU runs on a stack in use. .chosen of a
 * CPU is the task that it will run; it changes with sched_lock held.
 */
#include "harness/guest/internal.h"

#define SLICE_CYCLES 200000

struct spin sched_lock = SPIN_INIT("scheduler");
struct task_hooks task_hooks;

static uint64_t slice_cycles;
static uint64_t tick_cycles; /* 0: no clock */
static void (*tick_hook)(void);
static struct task *queue[TASK_PRIORITIES];

void
sched_init(void)
{
	slice_cycles = boot_option("slice", SLICE_CYCLES);
}

bool
sched_without_slices(void)
{
	return slice_cycles == 0;
}

static bool
may_run(const struct task *task, const struct cpu *cpu)
{
	return (task->cpu_mask >> cpu->number & 1) != 0 && !cpu->offline;
}

static bool
is_idle(const struct cpu *cpu)
{
	return cpu->online && cpu->chosen == cpu->idle && !cpu->need_resched;
}

static void
ask_reschedule(struct cpu *cpu)
{
	cpu->need_resched = true;
	if (cpu != cpu_self())
		ipi_send(cpu->number, VECTOR_RESCHED);
}

/* Notifies a CPU that TASK is queued: an idle one, TASK's last if that is idle;
 * else, for a task of high priority, a CPU that runs a normal one. */
void
sched_kick(const struct task *task)
{
	struct cpu *target = cpu_at(task->last_cpu);

	if (may_run(task, target) && is_idle(target)) {
		ask_reschedule(target);
		return;
	}
	for (uint32_t i = 0; i < cpu_count; i++) {
		target = cpu_at(i);
		if (may_run(task, target) && is_idle(target)) {
			ask_reschedule(target);
			return;
		}
	}
	if (task->priority != TASK_HIGH)
		return;
	for (uint32_t i = 0; i < cpu_count; i++) {
		target = cpu_at(i);
		if (may_run(task, target) && target->online &&
		    target->chosen->priority != TASK_HIGH) {
			ask_reschedule(target);
			return;
		}
	}
}

void
sched_enqueue(struct task *task)
{
	struct task **link = &queue[task->priority];

	KERN_ASSERT(task->state == TASK_RUNNABLE && !task->on_cpu);
	while (*link != NULL)
		link = &(*link)->next;
	task->next = NULL;
	*link = task;
	sched_kick(task);
}

/* The link to the first task that CPU may run, of priority LOWEST or higher. */
static struct task **
find_next(const struct cpu *cpu, enum task_priority lowest)
{
	for (unsigned i = TASK_HIGH; i <= (unsigned)lowest; i++) {
		for (struct task **link = &queue[i]; *link != NULL;
		     link = &(*link)->next) {
			if (may_run(*link, cpu))
				return link;
		}
	}
	return NULL;
}

/* The task that CPU runs next; OLD is the current task. */
static struct task *
choose(struct cpu *cpu, struct task *old)
{
	bool stays = !old->idle && old->state == TASK_RUNNABLE &&
	    may_run(old, cpu);
	struct task **link = find_next(
	    cpu, stays ? old->priority : TASK_NORMAL);
	struct task *next;

	if (link == NULL)
		return stays ? old : cpu->idle;
	next = *link;
	*link = next->next;
	next->next = NULL;
	return next;
}

void
sched_arm_timer(struct cpu *cpu)
{
	uint64_t when = cpu->chosen == cpu->idle ? 0 : cpu->slice_end;

	/* Without slices .slice_end stays 0. */
	if (cpu->timeouts != NULL &&
	    (when == 0 || cpu->timeouts->deadline < when))
		when = cpu->timeouts->deadline;
	if (tick_cycles != 0 && (when == 0 || cpu->tick_at < when))
		when = cpu->tick_at;
	if (when != 0 || cpu->timer_armed)
		lapic_timer_set(when);
	cpu->timer_armed = when != 0;
}

static void
begin_slice(struct cpu *cpu)
{
	if (slice_cycles != 0)
		cpu->slice_end = rdtsc64() + slice_cycles;
}

static void
switch_registers(struct cpu *cpu, struct task *old, struct task *next)
{
	if (old->user)
		__asm__ volatile("fxsave64 (%0)" : : "r"(old->fpu) : "memory");
	if (next->process->space.cr3 != cpu->cr3)
		cpu_load_space(next->process->space.cr3);
	if (next->user)
		__asm__ volatile("fxrstor64 (%0)"
				 :
				 : "r"(next->fpu)
				 : "memory");
	cpu->previous = old;
	cpu->current = next;
	cpu_set_kernel_stack(cpu, next->stack_top);
	task_switch_stack(&old->rsp, next->rsp);
}

void
sched_switch_locked(void)
{
	struct cpu *cpu = cpu_self();
	struct task *old = cpu->current;
	struct task *next;
	void (*hook)(struct task *);

	if (cpu->spin_count != 1)
		kpanic("lock: switch of tasks with a spin lock held");
	cpu->need_resched = false;
	next = choose(cpu, old);
	cpu->chosen = next;
	begin_slice(cpu);
	sched_arm_timer(cpu);
	if (next == old) {
		spin_release_raw(&sched_lock);
		return;
	}
	next->on_cpu = true;
	next->last_cpu = cpu->number;
	spin_release_raw(&sched_lock);
	hook = __atomic_load_n(&task_hooks.switch_out, __ATOMIC_RELAXED);
	if (hook != NULL && old->state != TASK_DEAD)
		hook(old);
	hook = __atomic_load_n(&task_hooks.switch_in, __ATOMIC_RELAXED);
	if (hook != NULL)
		hook(next);
	switch_registers(cpu, old, next);
	sched_finish_switch();
	if (task_hooks.resumed != NULL)
		task_hooks.resumed(old);
}

/* Runs on the new task's stack, possibly on another CPU than before. */
void
sched_finish_switch(void)
{
	struct cpu *cpu = cpu_self();
	struct task *previous = cpu->previous;

	spin_acquire_raw(&sched_lock);
	cpu->previous = NULL;
	task_mark_stack(previous, previous->rsp);
	task_mark_stack(cpu->current, 0);
	cpu->current->rsp = 0;
	previous->on_cpu = false;
	if (previous->state == TASK_DEAD)
		task_recycle_locked(previous);
	else if (previous->state == TASK_RUNNABLE && !previous->idle)
		sched_enqueue(previous);
	spin_release_raw(&sched_lock);
}

void
sched_preempt(void)
{
	struct cpu *cpu = cpu_self();

	if (!cpu->need_resched || cpu->spin_count != 0 ||
	    cpu->intr_depth != 0 || cpu->nmi_depth != 0 ||
	    cpu->current->critical != 0)
		return;
	spin_lock(&sched_lock);
	sched_switch_locked();
	spin_exit();
}

/* Ticks that were missed count as one. */
static bool
take_tick(struct cpu *cpu)
{
	uint64_t now;

	if (tick_cycles == 0)
		return false;
	now = rdtsc64();
	if (now < cpu->tick_at)
		return slice_cycles == 0;
	cpu->tick_at = now + tick_cycles;
	return true;
}

static void
start_clock(void *arg)
{
	struct cpu *cpu = cpu_self();

	(void)arg;
	spin_lock(&sched_lock);
	cpu->tick_at = rdtsc64() + tick_cycles;
	sched_arm_timer(cpu);
	spin_unlock(&sched_lock);
}

void
task_set_clock(uint64_t cycles, void (*tick)(void))
{
	KERN_ASSERT(cycles != 0 && tick_cycles == 0);
	for (uint32_t i = 0; i < cpu_count; i++)
		cpu_at(i)->tick_at = rdtsc64() + cycles;
	tick_hook = tick;
	__atomic_store_n(&tick_cycles, cycles, __ATOMIC_SEQ_CST);
	rendezvous(CPU_MASK_ALL, NULL, start_clock, NULL, NULL);
}

/* Without slices a timer interrupt always ends the share of the task. */
void
sched_timer_interrupt(void)
{
	struct cpu *cpu = cpu_self();
	bool tick;

	spin_lock(&sched_lock);
	tick = take_tick(cpu);
	sleep_expire_locked(cpu);
	if (cpu->chosen != cpu->idle &&
	    (slice_cycles == 0 || rdtsc64() >= cpu->slice_end)) {
		begin_slice(cpu);
		if (find_next(cpu, cpu->chosen->priority) != NULL)
			cpu->need_resched = true;
	}
	sched_arm_timer(cpu);
	spin_unlock(&sched_lock);
	if (tick)
		tick_hook();
}

/* The mask of the started CPUs that run tasks. */
uint64_t
sched_online_mask(void)
{
	uint64_t mask = 0;

	for (uint32_t i = 0; i < cpu_count; i++)
		mask |= (uint64_t)!cpu_at(i)->offline << i;
	return mask;
}

/* With sched_lock held. A task that may run on no online CPU may now run on
 * all; a waiting task whose CPU went offline is offered to the others. */
static void
find_other_cpu(struct task *task, void *arg)
{
	uint64_t online = *(const uint64_t *)arg;

	if (task->idle)
		return;
	if ((task->cpu_mask & online) == 0)
		task->cpu_mask = online;
	if (task->state == TASK_RUNNABLE && !task->on_cpu)
		sched_kick(task);
}

int
sched_offline(uint64_t number)
{
	uint64_t online;
	struct cpu *cpu;
	bool done = false;

	if (number >= cpu_count)
		return KE_INVAL;
	cpu = cpu_at((uint32_t)number);
	spin_lock(&sched_lock);
	if (cpu != cpu_self() && !cpu->offline) {
		cpu->offline = true;
		done = true;
	}
	spin_unlock(&sched_lock);
	if (!done)
		return KE_INVAL;
	online = sched_online_mask();
	task_for_each(find_other_cpu, &online);
	spin_lock(&sched_lock);
	ask_reschedule(cpu);
	spin_unlock(&sched_lock);
	while (__atomic_load_n(&cpu->current, __ATOMIC_SEQ_CST) != cpu->idle)
		task_yield();
	return 0;
}

_Noreturn void
sched_idle(void)
{
	for (;;) {
		intr_disable();
		/* A task woken during a switch requests another switch. */
		while (cpu_self()->need_resched)
			sched_preempt();
		intr_wait();
	}
}
