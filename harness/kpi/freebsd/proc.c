/*
 * Processes and threads in FreeBSD's form, of any version: found, locked, and their
 * credentials.  process.c of a version has its own fields, and calls its framework.
 */
#include <sys/proc.h>
#include <sys/systm.h>

#include "harness/guest/process/process.h"
#include "harness/guest/task/task.h"
#include "harness/kpi/freebsd/kpi.h"

_Static_assert(sizeof(struct proc) <= PROCESS_KPI_BYTES &&
	sizeof(struct thread) <= TASK_KPI_BYTES,
    "the guest kernel leaves room for these");

static struct ucred root_cred = { .cr_ref = 1, .cr_ngroups = 0 };

struct process *
kpi_process_of(struct proc *p)
{
	return (__containerof(p, struct process, kpi));
}

struct proc *
kpi_proc_of(struct process *process)
{
	struct proc *p = (struct proc *)(void *)process->kpi;

	if (p->p_ucred == NULL) {
		p->p_pid = (pid_t)process->pid;
		p->p_ucred = &root_cred;
		process->lock.no_sleep = true; /* FreeBSD's is a mutex(9) */
		kpi_proc_first_use(p);
	}
	return (p);
}

struct thread *
kpi_thread_of(struct task *task)
{
	struct thread *td = (struct thread *)(void *)task->kpi;

	if (td->td_proc == NULL) {
		td->td_tid = (lwpid_t)task->tid;
		td->td_ucred = &root_cred;
		td->td_proc = kpi_proc_of(task->process);
		kpi_thread_first_use(td);
	}
	return (td);
}

struct thread *
kpi_curthread(void)
{
	return (kpi_thread_of(task_self()));
}

void
kpi_critnest_add(u_int by)
{
	curthread->td_critnest += by;
}

bool
kpi_thread_start(const char *name, void (*main)(void *arg), void *arg)
{
	return (task_create(name, main, arg, TASK_HIGH, CPU_MASK_ALL) != NULL);
}

void
kpi_thread_end(void)
{
	task_exit();
}

struct thread *
kpi_thread_first(struct proc *p)
{
	struct task *task = kpi_process_of(p)->tasks;

	return (task != NULL ? kpi_thread_of(task) : NULL);
}

struct thread *
kpi_thread_next(struct thread *td)
{
	struct task *task = __containerof(td, struct task, kpi)->sibling;

	return (task != NULL ? kpi_thread_of(task) : NULL);
}

struct proc *
pfind(pid_t pid)
{
	struct process *process;
	struct proc *p;

	if (pid < 0)
		return (NULL);
	process = process_find_locked((uint32_t)pid);
	if (process == NULL)
		return (NULL);
	p = kpi_proc_of(process);
	if (kpi_proc_is_visible(p))
		return (p);
	kpi_proc_unlock(p);
	return (NULL);
}

void
kpi_proc_lock(struct proc *p)
{
	mutex_lock(&kpi_process_of(p)->lock);
}

void
kpi_proc_unlock(struct proc *p)
{
	mutex_unlock(&kpi_process_of(p)->lock);
}

void
kpi_proc_assert_locked(struct proc *p)
{
	if (!mutex_held(&kpi_process_of(p)->lock))
		panic("process %d is not locked", p->p_pid);
}

struct ucred *
crhold(struct ucred *cr)
{
	__atomic_fetch_add(&cr->cr_ref, 1, __ATOMIC_RELAXED);
	return (cr);
}

void
crfree(struct ucred *cr)
{
	__atomic_fetch_sub(&cr->cr_ref, 1, __ATOMIC_RELAXED);
}

int
groupmember(gid_t gid, const struct ucred *cr)
{
	int i;

	if (cr->cr_gid == gid)
		return (1);
	for (i = 0; i < cr->cr_ngroups; i++)
		if (cr->cr_groups[i] == gid)
			return (1);
	return (0);
}
