/*
 * Processes and their threads: spawn, exec, exit, wait, kill.  Children of a
 * process that has ended belong to the kernel, which never waits for them.
 */
#include "harness/guest/internal.h"

struct process_hooks process_hooks;

struct mutex process_list_lock = MUTEX_INIT("processes");
struct process *process_list;

static uint32_t last_pid;

struct process *
process_self(void)
{
	return task_self()->process;
}

struct process *
process_find_locked(uint32_t pid)
{
	struct process *process;

	mutex_lock(&process_list_lock);
	process = process_list;
	while (process != NULL && (process->pid != pid || process->zombie))
		process = process->next;
	if (process != NULL)
		mutex_lock(&process->lock);
	mutex_unlock(&process_list_lock);
	return process;
}

struct trap_frame *
user_frame(const struct task *task)
{
	return (struct trap_frame *)(uintptr_t)(task->stack_top -
	    sizeof(struct trap_frame));
}

void
user_task_entry(void *arg)
{
	struct trap_frame *frame = user_frame(task_self());

	(void)arg;
	if (process_hooks.task_entered != NULL)
		process_hooks.task_entered(task_self());
	intr_disable();
	trap_leave_to_user(frame);
	return_to_user(frame);
}

static void
add_to_list(struct process *process)
{
	struct process **link = &process_list;

	mutex_lock(&process_list_lock);
	process->pid = ++last_pid;
	while (*link != NULL)
		link = &(*link)->next;
	*link = process;
	mutex_unlock(&process_list_lock);
}

int64_t
process_spawn(const char *program, const char *args, uint64_t end_semaphore)
{
	struct process *process = bucket_alloc(sizeof(*process));
	struct trap_frame frame;
	struct task *task;
	uint64_t base;
	int error;

	if (process == NULL)
		return -KE_NOMEM;
	memset(process, 0, sizeof(*process));
	error = program_load(&process->space, program, args, &frame, &base);
	if (error != 0) {
		bucket_free(process);
		return -error;
	}
	process->parent = process_self();
	process->entry = frame.rip;
	process->end_semaphore = end_semaphore;
	strlcpy(process->name, program, sizeof(process->name));
	mutex_init(&process->lock, "process");
	spin_init(&process->spin, "process slock");
	task = task_new(process, program, user_task_entry, NULL);
	if (task == NULL) {
		space_release(&process->space);
		bucket_free(process);
		return -KE_NOMEM;
	}
	*user_frame(task) = frame;
	add_to_list(process);
	if (process_hooks.process_made != NULL)
		process_hooks.process_made(process);
	task_link(task);
	task_queue(task);
	return process->pid;
}

/* Tasks that have left the process may still be in their last switch. */
static void
wait_for_others(const struct process *process)
{
	while (__atomic_load_n(&process->live_count, __ATOMIC_ACQUIRE) != 1)
		cpu_pause();
}

/* Replaces the address space of the current process and returns the old one. */
static struct space
exchange_space(struct process *process, struct space space)
{
	struct space old;

	mutex_lock(&process->lock);
	old = process->space;
	process->space = space;
	cpu_load_space(space.cr3);
	mutex_unlock(&process->lock);
	return old;
}

int
process_exec(const char *program, const char *args, struct trap_frame *frame)
{
	struct process *process = process_self();
	struct space space;
	uint64_t base;
	int error;

	if (process->task_count != 1)
		return KE_INVAL;
	error = program_load(&space, program, args, frame, &base);
	if (error != 0)
		return error;
	space = exchange_space(process, space);
	task_self()->fault_handler = 0;
	strlcpy(process->name, program, sizeof(process->name));
	process->entry = frame->rip;
	if (process_hooks.exec != NULL)
		process_hooks.exec(process, process->name, base);
	wait_for_others(process);
	space_release(&space);
	return 0;
}

int64_t
process_thread_create(uint64_t entry, uint64_t stack, uint64_t arg)
{
	struct task *self = task_self();
	struct task *task;

	if (entry >= SYS_USER_TOP || stack >= SYS_USER_TOP)
		return -KE_FAULT;
	task = task_new(self->process, self->name, user_task_entry, NULL);
	if (task == NULL)
		return -KE_NOMEM;
	task->cpu_mask = self->cpu_mask;
	*user_frame(task) = (struct trap_frame){ .rdi = arg,
		.rip = entry,
		.rsp = (stack & ~UINT64_C(15)) - 8,
		.cs = SEL_USER_CS,
		.ss = SEL_USER_SS,
		.rflags = RFLAGS_FIXED | RFLAGS_IF };
	task_link(task);
	if (task_hooks.task_created != NULL)
		task_hooks.task_created(task);
	task_queue(task);
	return task->tid;
}

/* The last call for a task of a user process before task_exit(). */
static void
tell_leaving(void)
{
	if (task_hooks.task_leaving != NULL)
		task_hooks.task_leaving(task_self());
}

_Noreturn void
process_thread_exit(void)
{
	struct task *self = task_self();
	struct process *process = self->process;
	bool last;

	mutex_lock(&process->lock);
	last = process->task_count - process->leaving_count == 1;
	if (!last) {
		self->leaving = true;
		process->leaving_count++;
	}
	mutex_unlock(&process->lock);
	if (last)
		process_exit(0);
	tell_leaving();
	task_exit();
}

/* Returns with the process marked as exiting and the caller as its only task;
 * false: another task does that already. */
static bool
become_single(struct process *process, int code)
{
	struct task *self = task_self();

	mutex_lock(&process->lock);
	if (process->exiting) {
		mutex_unlock(&process->lock);
		return false;
	}
	process->exiting = true;
	process->exit_code = code;
	for (struct task *task = process->tasks; task != NULL;
	     task = task->sibling) {
		if (task != self)
			task_interrupt(task);
	}
	while (process->task_count != 1)
		task_sleep(&process->task_count, &process->lock, false, 0);
	mutex_unlock(&process->lock);
	return true;
}

/* Makes the kernel the parent of the children, and wakes the old parent. */
static void
become_zombie(struct process *process)
{
	mutex_lock(&process_list_lock);
	for (struct process *p = process_list; p != NULL; p = p->next) {
		if (p->parent == process)
			p->parent = &process_kernel;
	}
	process->zombie = true;
	task_wakeup(process->parent);
	mutex_unlock(&process_list_lock);
}

_Noreturn void
process_exit(int code)
{
	struct process *process = process_self();
	struct space space = { .cr3 = kernel_cr3 };

	if (!become_single(process, code)) {
		tell_leaving();
		task_exit();
	}
	if (process_hooks.process_exiting != NULL)
		process_hooks.process_exiting(process);
	device_process_exiting(process);
	for (unsigned fd = 0; fd < PROCESS_FILES_MAX; fd++) {
		if (process->files[fd] != NULL)
			(void)device_close_file(fd);
	}
	space = exchange_space(process, space);
	wait_for_others(process);
	space_release(&space);
	tell_leaving();
	if (process_hooks.process_ended != NULL)
		process_hooks.process_ended(process);
	if (process->end_semaphore != 0)
		(void)semaphore_post(process->end_semaphore);
	become_zombie(process);
	task_exit();
}

_Noreturn void
process_leave(void)
{
	process_exit(process_self()->exit_code);
}

void
process_kill_locked(struct process *process, int code)
{
	if (process->exiting)
		return;
	process->exit_code = code;
	for (struct task *task = process->tasks; task != NULL;
	     task = task->sibling)
		task_interrupt(task);
}

int
process_kill(uint32_t pid, int code)
{
	struct process *process = process_find_locked(pid);

	if (process == NULL)
		return KE_SRCH;
	process_kill_locked(process, code);
	mutex_unlock(&process->lock);
	return 0;
}

static bool
is_child(const struct process *process, uint32_t pid)
{
	return process->parent == process_self() &&
	    (pid == 0 || process->pid == pid);
}

/* The last task may still be in its last switch. */
static void
free_process(struct process *process)
{
	while (__atomic_load_n(&process->live_count, __ATOMIC_ACQUIRE) != 0)
		task_yield();
	if (process_hooks.process_freed != NULL)
		process_hooks.process_freed(process);
	bucket_free(process);
}

int64_t
process_wait(uint32_t pid, int *exit_code)
{
	struct process **link;
	struct process *child = NULL;
	bool any;

	mutex_lock(&process_list_lock);
	for (;;) {
		any = false;
		for (link = &process_list; *link != NULL;
		     link = &(*link)->next) {
			any |= is_child(*link, pid);
			if (is_child(*link, pid) && (*link)->zombie)
				break;
		}
		child = *link;
		if (child != NULL || !any)
			break;
		if (task_sleep(process_self(), &process_list_lock, true, 0) !=
		    0) {
			mutex_unlock(&process_list_lock);
			return -KE_INTR;
		}
	}
	if (child != NULL)
		*link = child->next;
	mutex_unlock(&process_list_lock);
	if (child == NULL)
		return -KE_CHILD;
	pid = child->pid;
	*exit_code = child->exit_code;
	free_process(child);
	return pid;
}
