/* The start of the framework: the processor, hooks, the device. */
#include <asm/ds.h>

#include "harness/kpi/linux26/bts.h"
#include "harness/kpi/linux26/kpi.h"
#include "harness/kpi/native/module.h"

/* CPUID.1:EAX: SDM vol. 2A, "CPUID", figure 3-6. */
static struct cpuinfo_x86
identify(void)
{
	uint32_t eax = cpuid_read(1, 0).eax;
	unsigned family = eax >> 8 & 0xf;
	unsigned model = eax >> 4 & 0xf;

	if (family == 0x6 || family == 0xf)
		model += (eax >> 16 & 0xf) << 4;
	if (family == 0xf)
		family += eax >> 20 & 0xff;
	return (
	    struct cpuinfo_x86){ .x86 = (u8)family, .x86_model = (u8)model };
}

/* init_intel(): MISC_ENABLE says which parts of the Debug Store there are. */
#define MSR_MISC_ENABLE  0x1a0u
#define BTS_UNAVAILABLE  (UINT64_C(1) << 11)
#define PEBS_UNAVAILABLE (UINT64_C(1) << 12)
#define CPUID_1_EDX_DS   (1u << 21)

#define SHUTDOWN_CYCLES  20000 /* for a process that was killed to end */

static void
init_intel(void)
{
	struct cpuinfo_x86 cpu = identify();
	u64 misc;

	if ((cpuid_read(1, 0).edx & CPUID_1_EDX_DS) == 0)
		return;
	misc = rdmsr64(MSR_MISC_ENABLE);
	if ((misc & BTS_UNAVAILABLE) == 0 || (misc & PEBS_UNAVAILABLE) == 0)
		ds_init_intel(&cpu);
	if ((misc & BTS_UNAVAILABLE) == 0)
		ptrace_bts_init_intel(&cpu);
}

static void
process_made(struct process *process)
{
	host_space(process->pid, process->space.cr3);
}

static void
exec(struct process *process, const char *path, uint64_t base)
{
	(void)path;
	(void)base;
	linux_exec_mm();
	host_space(process->pid, process->space.cr3);
}

static int
load(void)
{
	static const struct task_hooks switches = {
		.switch_in = linux_switch_to
	};
	int error = ptrace_create();

	if (error == 0)
		error = profiler_create();
	if (error != 0)
		return error;
	paging_map_low();
	init_intel();
	task_hooks.task_made = linux_copy_task;
	task_hooks.task_leaving = linux_exit_thread;
	task_hooks.notified = ptrace_notified;
	process_hooks.process_made = process_made;
	process_hooks.exec = exec;
	process_hooks.process_freed = linux_free_process;
	task_set_switch_hooks(&switches);
	return 0;
}

static void
find_process(struct task *task, void *arg)
{
	struct process **found = arg;

	if (task->user && !task->process->exiting)
		*found = task->process;
}

/* A shutdown ends every process, so that what a task owned is freed. */
static void
end_processes(void)
{
	struct process *found;

	do {
		found = NULL;
		task_for_each(find_process, &found);
		if (found != NULL)
			(void)process_kill(found->pid, SYS_KILLED);
		(void)task_pause(SHUTDOWN_CYCLES);
	} while (found != NULL);
}

static void
unload(void)
{
	end_processes();
	task_set_switch_hooks(NULL);
	process_hooks.process_freed = NULL;
	process_hooks.exec = NULL;
	process_hooks.process_made = NULL;
	task_hooks.notified = NULL;
	task_hooks.task_leaving = NULL;
	task_hooks.task_made = NULL;
	profiler_destroy();
	ptrace_destroy();
}

NATIVE_MODULE(ptrace, load, unload);
