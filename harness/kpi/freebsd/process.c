/*
 * The hook sites: where FreeBSD's scheduler, exit, exec and mapping code call the
 * tracing framework.
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

void (*hwt_hook)(struct thread *td, int func, void *arg);

/* No field of these versions needs more than kpi_proc_of() and kpi_thread_of() set. */
void
kpi_proc_first_use(struct proc *p __unused)
{
}

void
kpi_thread_first_use(struct thread *td __unused)
{
}

bool
kpi_proc_is_visible(const struct proc *p __unused)
{
	return (true);
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
