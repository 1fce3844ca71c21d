/*
 * Tasks: their structures, reference counts, and what fork, exec and the current task mean.
 * The structures are not the driver's allocations, so they are not reported to the host.
 */
#include "harness/kpi/linux26/kpi.h"

/* In struct task's and struct process's room for a kernel interface. */
struct task_room {
	struct task_struct *task;
};
struct process_room {
	struct mm_struct *mm;
	struct signal_struct *signal;
};

/* A task_struct for what is not a task of a process: the idle tasks. */
static struct task_struct init_task = { .usage = 1 };

static struct task_room *
room_of(const struct task *task)
{
	return (struct task_room *)(uintptr_t)task->kpi;
}

static struct process_room *
process_room(const struct process *process)
{
	return (struct process_room *)(uintptr_t)process->kpi;
}

struct task_struct *
linux_task(const struct task *task)
{
	struct task_struct *found = room_of(task)->task;

	return found != NULL ? found : &init_task;
}

struct task_struct *
linux_current(void)
{
	return linux_task(current_task());
}

static void *
take(size_t bytes)
{
	void *at = bucket_alloc(bytes);

	if (at == NULL)
		kpanic("no memory for a task's structures");
	return memset(at, 0, bytes);
}

static struct mm_struct *
new_mm(void)
{
	struct mm_struct *mm = take(sizeof(*mm));

	init_rwsem(&mm->mmap_sem);
	mm->users = 1;
	return mm;
}

static void
put_mm(struct mm_struct *mm)
{
	if (mm != NULL &&
	    __atomic_sub_fetch(&mm->users, 1, __ATOMIC_SEQ_CST) == 0)
		bucket_free(mm);
}

static struct signal_struct *
new_signal(void)
{
	struct signal_struct *signal = take(sizeof(*signal));

	for (unsigned i = 0; i < RLIM_NLIMITS; i++)
		signal->rlim[i] = (struct rlimit){ RLIM_INFINITY,
			RLIM_INFINITY };
	signal->rlim[RLIMIT_MEMLOCK].rlim_cur = boot_option("memlock", 8 << 20);
	return signal;
}

/* The first task of a process brings its address space and its limits. */
static void
join_process(struct task_struct *self, struct process *process)
{
	struct process_room *room = process_room(process);

	if (room->mm == NULL) {
		room->mm = new_mm();
		room->signal = new_signal();
	}
	self->mm = room->mm;
	self->signal = room->signal;
	self->mm->users++;
}

void
linux_copy_task(struct task *task)
{
	struct task_struct *self = take(sizeof(*self));

	*self = *current;
	self->usage = 1;
	self->task = task;
	self->pid = (int)task->tid;
	self->mm = NULL;
	self->signal = NULL;
	self->tracer = NULL;
	self->stop = self->stopped = self->leaving = false;
	if (task->user)
		join_process(self, task->process);
	room_of(task)->task = self;
}

void
linux_exec_mm(void)
{
	struct task_struct *self = current;
	struct process_room *room = process_room(self->task->process);

	put_mm(self->mm);
	put_mm(room->mm);
	room->mm = self->mm = new_mm();
	self->mm->users++;
}

/* A zombie's process has no address space any more. */
void
linux_forget_task(struct task *task)
{
	struct task_struct *self = room_of(task)->task;

	put_mm(self->mm);
	self->mm = NULL;
	put_task_struct(self);
}

void
linux_free_process(struct process *process)
{
	struct process_room *room = process_room(process);

	put_mm(room->mm);
	if (room->signal != NULL)
		bucket_free(room->signal);
}

void
get_task_struct(struct task_struct *task)
{
	__atomic_add_fetch(&task->usage, 1, __ATOMIC_SEQ_CST);
}

void
put_task_struct(struct task_struct *task)
{
	if (__atomic_sub_fetch(&task->usage, 1, __ATOMIC_SEQ_CST) == 0)
		bucket_free(task);
}

struct task_struct *
linux_find_task(uint32_t pid)
{
	struct process *process = process_find_locked(pid);
	struct task_struct *found = NULL;

	if (process == NULL)
		return NULL;
	if (process->tasks != NULL) {
		found = linux_task(process->tasks);
		get_task_struct(found);
	}
	mutex_unlock(&process->lock);
	return found;
}

int
smp_processor_id(void)
{
	return (int)cpu_number();
}

void
native_write_msr(unsigned msr, unsigned low, unsigned high)
{
	wrmsr64(msr, (u64)high << 32 | low);
}

void
wrmsrl(unsigned msr, u64 value)
{
	wrmsr64(msr, value);
}
