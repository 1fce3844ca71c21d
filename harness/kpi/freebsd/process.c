/*
 * Processes and threads in FreeBSD's form, and the hook sites: where FreeBSD's
 * scheduler, exit, exec and mapping code call the tracing framework.
 */
#include <dev/hwt/hwt_hook.h>
#include <sys/eventhandler.h>
#include <sys/hwt_record.h>
#include <sys/malloc.h>
#include <sys/proc.h>
#include <sys/systm.h>

#include "harness/guest/process/process.h"
#include "harness/guest/task/task.h"
#include "harness/kpi/freebsd/kpi.h"

_Static_assert(sizeof(struct proc) <= PROCESS_KPI_BYTES &&
	sizeof(struct thread) <= TASK_KPI_BYTES,
    "the guest kernel leaves room for these");

void (*hwt_hook)(struct thread *td, int func, void *arg);

static struct ucred root_cred = { .cr_ref = 1, .cr_ngroups = 0 };

struct proc *
kpi_proc_of(struct process *process)
{
	struct proc *p = (struct proc *)(void *)process->kpi;

	if (p->p_ucred == NULL) {
		p->p_pid = (pid_t)process->pid;
		p->p_ucred = &root_cred;
		process->lock.no_sleep = true; /* FreeBSD's is a mutex(9) */
	}
	return (p);
}

static struct process *
process_of(struct proc *p)
{
	return (__containerof(p, struct process, kpi));
}

struct thread *
kpi_thread_of(struct task *task)
{
	struct thread *td = (struct thread *)(void *)task->kpi;

	if (td->td_proc == NULL) {
		td->td_tid = (lwpid_t)task->tid;
		td->td_ucred = &root_cred;
		td->td_proc = kpi_proc_of(task->process);
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
	struct task *task = process_of(p)->tasks;

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

	if (pid < 0)
		return (NULL);
	process = process_find_locked((uint32_t)pid);
	return (process != NULL ? kpi_proc_of(process) : NULL);
}

void
kpi_proc_lock(struct proc *p)
{
	mutex_lock(&process_of(p)->lock);
}

void
kpi_proc_unlock(struct proc *p)
{
	mutex_unlock(&process_of(p)->lock);
}

void
kpi_proc_assert_locked(struct proc *p)
{
	if (!mutex_held(&process_of(p)->lock))
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

/* Switch and exit hooks run with a spin lock held: td_critnest counts it. */
static void
hook_switch_out(struct task *task)
{
	kpi_critnest_add(1);
	HWT_CALL_HOOK(kpi_thread_of(task), HWT_SWITCH_OUT, NULL);
	kpi_critnest_add(-1u);
}

static void
hook_switch_in(struct task *task)
{
	kpi_critnest_add(1);
	HWT_CALL_HOOK(kpi_thread_of(task), HWT_SWITCH_IN, NULL);
	kpi_critnest_add(-1u);
}

static void
hook_thread_create(struct task *task)
{
	HWT_CALL_HOOK(kpi_thread_of(task), HWT_THREAD_CREATE, NULL);
}

static void
hook_thread_exit(struct task *task)
{
	kpi_critnest_add(1);
	HWT_CALL_HOOK(kpi_thread_of(task), HWT_THREAD_EXIT, NULL);
	kpi_critnest_add(-1u);
}

/* A record is built only for a traced process. */
static bool
hook_wanted(struct process *process)
{
	return (HWT_HOOK_INSTALLED &&
	    (kpi_proc_of(process)->p_flag2 & P2_HWT) != 0);
}

/* A static executable is not relocated: both of its offsets are 0. */
static void
hook_exec(struct process *process, const char *path, uint64_t base __unused)
{
	struct hwt_record_entry entry = { 0 };

	if (!hook_wanted(process))
		return;
	entry.record_type = HWT_RECORD_EXECUTABLE;
	entry.fullpath = __DECONST(char *, path);
	HWT_CALL_HOOK(curthread, HWT_EXEC, &entry);
}

static void
hook_mmap(struct process *process, const char *path, uint64_t addr)
{
	struct hwt_record_entry entry = { 0 };

	if (!hook_wanted(process))
		return;
	entry.record_type = HWT_RECORD_MMAP;
	entry.fullpath = __DECONST(char *, path);
	entry.addr = addr;
	HWT_CALL_HOOK(curthread, HWT_MMAP, &entry);
}

static void
hook_munmap(
    struct process *process, uint64_t addr __unused, uint64_t bytes __unused)
{
	struct hwt_record_entry entry = { 0 };

	if (!hook_wanted(process))
		return;
	entry.record_type = HWT_RECORD_MUNMAP;
	HWT_CALL_HOOK(curthread, HWT_RECORD, &entry);
}

static void
hook_process_exit(struct process *process)
{
	kpi_eventhandler_process_exit(kpi_proc_of(process));
	kpi_kqueue_forget(kpi_proc_of(process));
}

void
kpi_process_init(void)
{
	task_hooks.switch_out = hook_switch_out;
	task_hooks.switch_in = hook_switch_in;
	task_hooks.task_created = hook_thread_create;
	task_hooks.task_exiting = hook_thread_exit;
	process_hooks.process_exiting = hook_process_exit;
	process_hooks.exec = hook_exec;
	process_hooks.mmap = hook_mmap;
	process_hooks.munmap = hook_munmap;
}

void
kpi_process_fini(void)
{
	task_hooks.switch_out = NULL;
	task_hooks.switch_in = NULL;
	task_hooks.task_created = NULL;
	task_hooks.task_exiting = NULL;
	process_hooks.process_exiting = NULL;
	process_hooks.exec = NULL;
	process_hooks.mmap = NULL;
	process_hooks.munmap = NULL;
}
