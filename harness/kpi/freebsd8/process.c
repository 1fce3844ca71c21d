/*
 * Fields of processes and threads of January 2008, the tree of processes, and the
 * places where FreeBSD's fork, exec, exit, mapping code and scheduler call hwpmc(4).
 *
 * SYS_SPAWN is a fork and an exec: the child has its parent's program until its first
 * thread runs.  The tree is FreeBSD's: a child is in it before process_fork is invoked,
 * a zombie stays until its parent has waited for it, children of an exiting process
 * become those of init.
 */
#include <sys/eventhandler.h>
#include <sys/malloc.h>
#include <sys/pmckern.h>
#include <sys/priv.h>
#include <sys/proc.h>
#include <sys/resourcevar.h>
#include <sys/signalvar.h>
#include <sys/systm.h>
#include <sys/vnode.h>

#include "harness/guest/lib.h"
#include "harness/guest/process/process.h"
#include "harness/guest/task/task.h"
#include "harness/kpi/freebsd8/kpi8.h"

#define INIT_PID 1

struct sx proctree_lock;

static struct proc *init_proc;

/* A process that no hook has made is the kernel's, or init. */
void
kpi_proc_first_use(struct proc *p)
{
	p->p_state = PRS_NORMAL;
	strlcpy(p->p_comm, kpi_process_of(p)->name, sizeof(p->p_comm));
	LIST_INIT(&p->p_children);
	sx_init(&p->p_map_lock, "user map");
}

void
kpi_thread_first_use(struct thread *td)
{
	const struct task *task = __containerof(td, struct task, kpi);

	td->td_oncpu = task->on_cpu ? (u_char)task->last_cpu : NOCPU;
}

bool
kpi_proc_is_visible(const struct proc *p)
{
	return (p->p_state == PRS_NORMAL);
}

int
priv_check(struct thread *td, int priv __unused)
{
	return (td->td_ucred->cr_uid == 0 ? 0 : EPERM);
}

int
p_candebug(struct thread *td __unused, struct proc *p)
{
	kpi_proc_assert_locked(p);
	return (0);
}

void
psignal(struct proc *p, int sig)
{
	kpi_proc_assert_locked(p);
	p->p_siglist |= 1u << sig;
	if (sig == SIGBUS)
		process_kill_locked(kpi_process_of(p), 128 + SIGBUS);
	else if (sig != SIGIO)
		panic("psignal: signal %d has no model", sig);
}

/* The thread's process has asked for no profile. */
void
addupc_intr(struct thread *td, uintfptr_t pc __unused, u_int ticks __unused)
{
	struct proc *volatile p = td->td_proc;

	(void)p;
}

/* As in fork1(): the child is in the tree, and can neither be found nor run. */
static void
hook_process_made(struct process *process)
{
	struct proc *parent = kpi_proc_of(process->parent);
	struct proc *p = kpi_proc_of(process);

	p->p_pid = (pid_t)process->pid;
	p->p_state = PRS_NEW;
	p->p_exec_due = true;
	p->p_textvp = parent->p_textvp;
	strlcpy(p->p_comm, parent->p_comm, sizeof(p->p_comm));
	if (p->p_pid == INIT_PID)
		init_proc = p;
	sx_xlock(&proctree_lock);
	p->p_pptr = parent;
	LIST_INSERT_HEAD(&parent->p_children, p, p_sibling);
	sx_xunlock(&proctree_lock);
	host_space(process->pid, process->space.cr3);
	kpi_eventhandler_process_fork(parent, p, 0);
	kpi_proc_lock(p);
	p->p_state = PRS_NORMAL;
	kpi_proc_unlock(p);
}

static void
hook_exec(struct process *process, const char *path, uint64_t base __unused)
{
	struct proc *p = kpi_proc_of(process);
	struct pmckern_procexec exec = { .pm_entryaddr = process->entry };

	host_space(process->pid, process->space.cr3);
	kpi_proc_lock(p);
	p->p_textvp = kpi_vnode_of(path);
	strlcpy(p->p_comm, path, sizeof(p->p_comm));
	kpi_proc_unlock(p);
	if (PMC_SYSTEM_SAMPLING_ACTIVE() || PMC_PROC_IS_USING_PMCS(p))
		PMC_CALL_HOOK_X(curthread, PMC_FN_PROCESS_EXEC, &exec);
}

static void
hook_task_entered(struct task *task)
{
	struct proc *p = kpi_proc_of(task->process);

	if (!p->p_exec_due)
		return;
	p->p_exec_due = false;
	hook_exec(task->process, task->process->name, 0);
}

/* As in exit1(): the event comes early, and the program's file goes after it. */
static void
hook_process_exiting(struct process *process)
{
	struct proc *p = kpi_proc_of(process);

	kpi_proc_lock(p);
	p->p_flag |= P_WEXIT;
	kpi_proc_unlock(p);
	kpi_eventhandler_process_exit(p);
	kpi_kqueue_forget(p);
	p->p_textvp = NULL;
}

static void
hook_process_ended(struct process *process)
{
	struct proc *p = kpi_proc_of(process);
	struct proc *heir = p != init_proc ? init_proc
					   : kpi_proc_of(&process_kernel);
	struct proc *child;

	sx_xlock(&proctree_lock);
	while ((child = LIST_FIRST(&p->p_children)) != NULL) {
		LIST_REMOVE(child, p_sibling);
		child->p_pptr = heir;
		LIST_INSERT_HEAD(&heir->p_children, child, p_sibling);
	}
	kpi_proc_lock(p);
	p->p_state = PRS_ZOMBIE;
	kpi_proc_unlock(p);
	sx_xunlock(&proctree_lock);
}

static void
hook_process_freed(struct process *process)
{
	struct proc *p = kpi_proc_of(process);

	sx_xlock(&proctree_lock);
	LIST_REMOVE(p, p_sibling);
	sx_xunlock(&proctree_lock);
	sx_destroy(&p->p_map_lock);
}

static void
hook_mmap(struct process *process __unused, const char *path, uint64_t addr)
{
	struct pmckern_map_in map = { .pm_file = kpi_vnode_of(path),
		.pm_address = addr };

	PMC_CALL_HOOK(curthread, PMC_FN_MMAP, &map);
}

/* munmap(2) tells of code that goes, with the map locked. */
static void
hook_munmap_begin(struct process *process, uint64_t addr, uint64_t bytes)
{
	struct pmckern_map_out map = { .pm_address = addr, .pm_size = bytes };

	sx_xlock(&kpi_proc_of(process)->p_map_lock);
	if (process_executes_at(addr))
		PMC_CALL_HOOK(curthread, PMC_FN_MUNMAP, &map);
}

static void
hook_munmap_end(struct process *process)
{
	sx_xunlock(&kpi_proc_of(process)->p_map_lock);
}

/* The guest kernel's; the names are those of the versions below. */
int guest_copyin(const void *uaddr, void *kaddr, size_t bytes) __asm__(
    "copyin");
int guest_copyout(const void *kaddr, void *uaddr, size_t bytes) __asm__(
    "copyout");

int
kpi_copyin(const void *uaddr, void *kaddr, size_t bytes)
{
	struct sx *map = &curproc->p_map_lock;
	int error;

	if (fault_point(__func__, __builtin_return_address(0)))
		return (EFAULT);
	sx_slock(map);
	error = guest_copyin(uaddr, kaddr, bytes);
	sx_sunlock(map);
	return (error);
}

int
kpi_copyout(const void *kaddr, void *uaddr, size_t bytes)
{
	struct sx *map = &curproc->p_map_lock;
	int error;

	if (fault_point(__func__, __builtin_return_address(0)))
		return (EFAULT);
	sx_slock(map);
	error = guest_copyout(kaddr, uaddr, bytes);
	sx_sunlock(map);
	return (error);
}

static void
hook_task_made(struct task *task)
{
	(void)kpi_thread_of(task);
}

static void
hook_switch_out(struct task *task)
{
	struct thread *td = kpi_thread_of(task);

	kpi_critnest_add(1);
	kpi_pmc_switched_out(td);
	kpi_critnest_add(-1u);
	td->td_oncpu = NOCPU;
}

/* Of a task that runs for the first time this is all that there is. */
static void
hook_switch_in(struct task *task)
{
	kpi_thread_of(task)->td_oncpu = (u_char)PCPU_GET(cpuid);
}

static void
hook_resumed(struct task *task)
{
	kpi_critnest_add(1);
	kpi_pmc_resumed(kpi_thread_of(task));
	kpi_critnest_add(-1u);
}

/* thread_exit(): what the counters have is saved, as at a switch. */
static void
hook_thread_exit(struct task *task)
{
	kpi_critnest_add(1);
	kpi_pmc_switched_out(kpi_thread_of(task));
	kpi_critnest_add(-1u);
}

void
kpi_process_init(void)
{
	sx_init(&proctree_lock, "proctree");
	kpi_log_init();
	kpi_pmc_init();
	task_hooks.task_made = hook_task_made;
	task_hooks.switch_out = hook_switch_out;
	task_hooks.switch_in = hook_switch_in;
	task_hooks.resumed = hook_resumed;
	task_hooks.task_exiting = hook_thread_exit;
	task_hooks.notified = kpi_pmc_ast;
	process_hooks.process_made = hook_process_made;
	process_hooks.process_freed = hook_process_freed;
	process_hooks.process_exiting = hook_process_exiting;
	process_hooks.process_ended = hook_process_ended;
	process_hooks.exec = hook_exec;
	process_hooks.task_entered = hook_task_entered;
	process_hooks.mmap = hook_mmap;
	process_hooks.munmap_begin = hook_munmap_begin;
	process_hooks.munmap_end = hook_munmap_end;
	kpi_clock_init();
}

/* The first program has ended; its zombie and orphans stay. */
void
kpi_process_fini(void)
{
	task_hooks.notified = NULL;
	task_hooks.task_exiting = NULL;
	task_hooks.resumed = NULL;
	task_hooks.switch_in = NULL;
	task_hooks.switch_out = NULL;
	process_hooks = (struct process_hooks){ .process_freed = NULL };
	kpi_log_fini();
}
