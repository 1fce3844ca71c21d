/*
 * arch/x86/kernel/process_64.c by the patch's meaning: the Debug Store at a switch of tasks
 * and at the end of a task.
 */
#include <asm/ds.h>

#include "harness/kpi/linux26/bts.h"
#include "harness/kpi/linux26/kpi.h"

#define WORK_CTXSW \
 (1UL << TIF_DEBUGCTLMSR | 1UL << TIF_DS_AREA_MSR | 1UL << TIF_BTS_TRACE_TS)

void
update_debugctlmsr(unsigned long value)
{
	wrmsrl(MSR_IA32_DEBUGCTLMSR, value);
}

static u64
area_of(const struct thread_struct *thread)
{
	return thread->ds_ctx != NULL ? (uintptr_t)thread->ds_ctx->ds : 0;
}

/* No record may be stored while the area changes. */
static void
switch_msrs(const struct thread_struct *prev, const struct thread_struct *next)
{
	unsigned long debugctl = prev->debugctlmsr;

	if (area_of(next) != area_of(prev)) {
		debugctl = 0;
		update_debugctlmsr(0);
		wrmsrl(MSR_IA32_DS_AREA, area_of(next));
	}
	if (next->debugctlmsr != debugctl)
		update_debugctlmsr(next->debugctlmsr);
}

/* Interrupts are off, as with the run queue's lock held. */
void
linux_switch_to(struct task *next_task)
{
	struct task_struct *prev = current;
	struct task_struct *next = linux_task(next_task);
	struct task *prev_task = task_self();

	if (((prev->flags | next->flags) & WORK_CTXSW) != 0) {
		switch_msrs(&prev->thread, &next->thread);
		if (test_tsk_thread_flag(prev, TIF_BTS_TRACE_TS))
			ptrace_bts_take_timestamp(prev, BTS_TASK_DEPARTS);
		if (test_tsk_thread_flag(next, TIF_BTS_TRACE_TS))
			ptrace_bts_take_timestamp(next, BTS_TASK_ARRIVES);
	}
	if (prev_task->state == TASK_DEAD)
		linux_forget_task(prev_task);
}

void
linux_exit_thread(struct task *task)
{
	struct task_struct *self = linux_task(task);

	ptrace_exit(self);
	if (self->thread.ds_ctx != NULL) {
		update_debugctlmsr(0);
		ds_free(self->thread.ds_ctx);
	}
}
