/*
 * Both sides for the framework's own files: the guest kernel's interface and Linux's.
 */
#ifndef TOPAZ_HARNESS_KPI_LINUX26_KPI_H
#define TOPAZ_HARNESS_KPI_LINUX26_KPI_H

#include "harness/guest/kern.h"

#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/slab.h>

/* task.c: the structure of TASK; NULL only before core is loaded. */
struct task_struct *linux_task(const struct task *task);

/*
 * copy_process() for TASK, whose first instruction has not run: a copy of the current
 * task, with an address space of its own if it is the first of a process.
 */
void linux_copy_task(struct task *task);
/* exec: a new, empty address space for the current task. */
void linux_exec_mm(void);
/* Drops the reference that TASK, which has ended, has to its own structure. */
void linux_forget_task(struct task *task);
void linux_free_process(struct process *process);

/* The task with that PID, with a reference; NULL: there is none. */
struct task_struct *linux_find_task(uint32_t pid);

/* switch.c */
void linux_switch_to(struct task *next);
void linux_exit_thread(struct task *task);
void update_debugctlmsr(unsigned long value);

/* profiler.c */
int profiler_create(void);
void profiler_destroy(void);

/* ptrace.c */
int ptrace_create(void);
void ptrace_destroy(void);
void ptrace_notified(struct task *task, struct trap_frame *frame);
/* The tracers' side of the end of TASK. */
void ptrace_exit(struct task_struct *task);

#endif
