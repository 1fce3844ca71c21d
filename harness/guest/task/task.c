/*
 * Creation and end of tasks.  Structures and stacks are never freed but reused,
 * the last one first, so a stale pointer to a task soon names another task.
 */
#include "harness/guest/internal.h"

#define FPU_BYTES   512
#define FPU_CONTROL 0x37f
#define FPU_MXCSR   0x1f80

struct process process_kernel = {
	.name = "kernel",
	.lock = MUTEX_INIT("process"),
	.spin = SPIN_INIT("process slock"),
};

static struct task idle_tasks[CPUS_MAX];
static struct task *spare; /* with sched_lock held */
static struct spin join_lock = SPIN_INIT("joins");
static uint32_t last_tid = 99999;

struct task *
task_self(void)
{
	return current_task();
}

void
task_init_idle(struct cpu *cpu, uint64_t stack_top)
{
	struct task *task = &idle_tasks[cpu->number];

	task->process = &process_kernel;
	task->stack_va = stack_top & ~(BOOT_STACK_BYTES - 1);
	task->stack_top = stack_top & ~UINT64_C(15);
	task->cpu_mask = UINT64_C(1) << cpu->number;
	task->last_cpu = cpu->number;
	task->tid = cpu->number + 1;
	task->idle = true;
	task->on_cpu = true;
	task->priority = TASK_PRIORITIES; /* below all */
	ksnprintf(task->name, sizeof(task->name), "idle %u", cpu->number);
	cpu->idle = cpu->current = cpu->chosen = task;
}

static bool
map_stack(struct task *task)
{
	uint64_t va = kva_alloc(TASK_STACK_PAGES + 1);
	uint64_t pa = frame_alloc_run(TASK_STACK_PAGES);

	if (va == 0 || pa == FRAME_NONE)
		return false;
	task->stack_va = va + PAGE_BYTES; /* the page below is not mapped */
	task->stack_top = task->stack_va + TASK_STACK_PAGES * PAGE_BYTES;
	for (unsigned i = 0; i < TASK_STACK_PAGES; i++) {
		if (kva_map(task->stack_va + i * PAGE_BYTES,
			pa + i * PAGE_BYTES, MAP_WRITE) != 0)
			return false;
	}
	host_stack(pa, TASK_STACK_PAGES * PAGE_BYTES, ABI_STACK_TASK);
	return true;
}

/* Leaks on failure: without memory for a stack the machine cannot go on. */
static struct task *
take_structure(void)
{
	struct task *task;

	spin_lock(&sched_lock);
	task = spare;
	if (task != NULL)
		spare = task->next;
	spin_unlock(&sched_lock);
	if (task != NULL)
		return task;
	task = bucket_alloc(sizeof(*task));
	if (task == NULL)
		return NULL;
	task->fpu = bucket_alloc(FPU_BYTES);
	if (task->fpu == NULL || !map_stack(task))
		return NULL;
	return task;
}

/* The first 8 bytes of a task's stack are for the host: how many bytes from the
 * beginning of the stack are dead while no CPU runs on it; 0 while one does. */
void
task_mark_stack(const struct task *task, uint64_t rsp)
{
	uint64_t *mark = (uint64_t *)(uintptr_t)task->stack_va;

	*mark = rsp != 0 ? rsp - task->stack_va : 0;
}

static void
prepare_stack(struct task *task)
{
	uint64_t *sp = (uint64_t *)(uintptr_t)(task->stack_top -
	    sizeof(struct trap_frame));

	/* task_switch_stack pops six registers and returns. */
	*--sp = (uintptr_t)task_trampoline;
	for (unsigned i = 0; i < 6; i++)
		*--sp = 0;
	task->rsp = (uintptr_t)sp;
	task_mark_stack(task, task->rsp);
}

static void
prepare_fpu(struct task *task)
{
	uint16_t control = FPU_CONTROL;
	uint32_t mxcsr = FPU_MXCSR;

	memset(task->fpu, 0, FPU_BYTES);
	memcpy(task->fpu, &control, sizeof(control));
	memcpy(task->fpu + 24, &mxcsr, sizeof(mxcsr));
}

struct task *
task_new(
    struct process *process, const char *name, void (*entry)(void *), void *arg)
{
	struct task *task = take_structure();
	struct task kept;

	if (task == NULL)
		return NULL;
	kept = (struct task){ .stack_va = task->stack_va,
		.stack_top = task->stack_top,
		.fpu = task->fpu };
	*task = kept;
	task->process = process;
	task->user = process != &process_kernel;
	task->cpu_mask = CPU_MASK_ALL;
	task->priority = TASK_NORMAL;
	task->spin_if = true;
	task->last_cpu = cpu_number();
	task->tid = __atomic_add_fetch(&last_tid, 1, __ATOMIC_RELAXED);
	task->entry = entry;
	task->arg = arg;
	strlcpy(task->name, name, sizeof(task->name));
	prepare_stack(task);
	prepare_fpu(task);
	if (task_hooks.task_made != NULL)
		task_hooks.task_made(task);
	return task;
}

/* At boot the caller is an idle task, which may not sleep for the mutex. */
void
task_link(struct task *task)
{
	struct process *process = task->process;
	struct task **link = &process->tasks;
	bool boot = task_self()->idle;

	if (!boot)
		mutex_lock(&process->lock);
	spin_lock(&process->spin);
	while (*link != NULL)
		link = &(*link)->sibling;
	*link = task;
	process->task_count++;
	__atomic_add_fetch(&process->live_count, 1, __ATOMIC_RELAXED);
	task->due = process->exiting ? TASK_KILLED : 0;
	spin_unlock(&process->spin);
	if (!boot)
		mutex_unlock(&process->lock);
}

void
task_queue(struct task *task)
{
	spin_lock(&sched_lock);
	sched_enqueue(task);
	spin_unlock(&sched_lock);
}

struct task *
task_create(const char *name, void (*entry)(void *arg), void *arg,
    enum task_priority priority, uint64_t cpu_mask)
{
	struct task *task;

	if (fault_point(__func__, __builtin_return_address(0)))
		return NULL;
	task = task_new(&process_kernel, name, entry, arg);
	if (task == NULL)
		return NULL;
	task->priority = priority;
	task->cpu_mask = cpu_mask;
	task_link(task);
	task_queue(task);
	return task;
}

/* The first code of a new task; entry.S calls it at the end of the switch. */
_Noreturn void
task_main(void)
{
	struct task *task = task_self();

	sched_finish_switch();
	spin_exit();
	task->entry(task->arg);
	task_exit();
}

static void
unlink_from_process(struct process *process, struct task *task)
{
	struct task **link = &process->tasks;

	while (*link != task)
		link = &(*link)->sibling;
	*link = task->sibling;
	process->task_count--;
	process->leaving_count -= task->leaving;
}

_Noreturn void
task_exit(void)
{
	struct task *task = task_self();
	struct process *process = task->process;
	void (*hook)(struct task *);

	mutex_lock(&process->lock);
	spin_lock(&process->spin);
	unlink_from_process(process, task);
	task_wakeup(&process->task_count);
	hook = __atomic_load_n(&task_hooks.task_exiting, __ATOMIC_RELAXED);
	if (hook != NULL)
		hook(task);
	mutex_unlock(&process->lock);
	if (task->held_count != 0)
		kpanic("lock: mutex \"%s\" held at thread exit",
		    task->held[0]->name);
	if (task->critical != 0)
		kpanic("lock: critical section at thread exit");
	spin_lock(&sched_lock);
	task->state = TASK_DEAD;
	spin_unlock(&process->spin);
	sched_switch_locked();
	kpanic("a dead task runs");
}

/* All three hooks run with interrupts off, so a rendezvous waits for them. */
void
task_set_switch_hooks(const struct task_hooks *hooks)
{
	static const struct task_hooks none;

	if (hooks == NULL)
		hooks = &none;
	__atomic_store_n(
	    &task_hooks.switch_out, hooks->switch_out, __ATOMIC_SEQ_CST);
	__atomic_store_n(
	    &task_hooks.switch_in, hooks->switch_in, __ATOMIC_SEQ_CST);
	__atomic_store_n(
	    &task_hooks.task_exiting, hooks->task_exiting, __ATOMIC_SEQ_CST);
	rendezvous(CPU_MASK_ALL, NULL, NULL, NULL, NULL);
}

_Noreturn void
task_exit_done(uint32_t *done)
{
	spin_lock(&join_lock);
	*done = 1;
	task_wakeup(done);
	spin_unlock(&join_lock);
	task_exit();
}

void
task_join(const uint32_t *done)
{
	spin_lock(&join_lock);
	while (*done == 0)
		(void)task_sleep_spin(done, &join_lock, false, 0);
	spin_unlock(&join_lock);
}

/* The last switch from TASK has ended: its stack and CR3 are unused. */
void
task_recycle_locked(struct task *task)
{
	__atomic_sub_fetch(&task->process->live_count, 1, __ATOMIC_RELEASE);
	task_mark_stack(task, task->stack_top);
	task->next = spare;
	spare = task;
}

void
task_yield(void)
{
	assert_can_sleep("yield");
	spin_lock(&sched_lock);
	sched_switch_locked();
	spin_exit();
}

int
task_set_mask(struct task *task, uint64_t cpu_mask)
{
	struct cpu *cpu;

	cpu_mask &= sched_online_mask();
	if (cpu_mask == 0)
		return KE_INVAL;
	spin_lock(&sched_lock);
	task->cpu_mask = cpu_mask;
	cpu = cpu_at(task->last_cpu);
	if (task->on_cpu && (cpu_mask >> task->last_cpu & 1) == 0) {
		cpu->need_resched = true;
		if (cpu != cpu_self())
			ipi_send(cpu->number, VECTOR_RESCHED);
	} else if (!task->on_cpu && task->state == TASK_RUNNABLE) {
		sched_kick(task);
	}
	spin_unlock(&sched_lock);
	return 0;
}

void
task_interrupt(struct task *task)
{
	spin_lock(&sched_lock);
	__atomic_or_fetch(&task->due, TASK_KILLED, __ATOMIC_SEQ_CST);
	if (task->state == TASK_SLEEPING && task->interruptible)
		sleep_wake_locked(task, KE_INTR);
	else if (task->on_cpu && task->last_cpu != cpu_number())
		ipi_send(task->last_cpu, VECTOR_RESCHED);
	spin_unlock(&sched_lock);
}

void
task_notify(struct task *task)
{
	__atomic_or_fetch(&task->due, TASK_NOTIFY, __ATOMIC_SEQ_CST);
	if (task == task_self())
		return;
	spin_lock(&sched_lock);
	if (task->on_cpu && task->last_cpu != cpu_number())
		ipi_send(task->last_cpu, VECTOR_RESCHED);
	spin_unlock(&sched_lock);
}

static void
visit_process(struct process *process,
    void (*visit)(struct task *task, void *arg), void *arg)
{
	for (struct task *task = process->tasks; task != NULL;
	     task = task->sibling)
		visit(task, arg);
}

void
task_for_each(void (*visit)(struct task *task, void *arg), void *arg)
{
	spin_lock(&sched_lock);
	for (uint32_t i = 0; i < cpu_count; i++)
		visit(cpu_at(i)->idle, arg);
	visit_process(&process_kernel, visit, arg);
	for (struct process *p = process_list; p != NULL; p = p->next)
		visit_process(p, visit, arg);
	spin_unlock(&sched_lock);
}
