/*
 * What the files of this folder share and no driver sees: how they start and
 * end, and the guest objects behind FreeBSD's.  Included after FreeBSD's
 * headers.
 */
#ifndef TOPAZ_HARNESS_KPI_FREEBSD_KPI_H
#define TOPAZ_HARNESS_KPI_FREEBSD_KPI_H

struct proc;
struct process;
struct task;
struct thread;

/* In this order, before the modules; the ends in reverse, after them. */
void kpi_cpu_init(void);
void kpi_swi_init(void);
void kpi_device_init(void);
void kpi_process_init(void);
void kpi_process_fini(void);
void kpi_device_fini(void);
void kpi_swi_fini(void);

/* The FreeBSD form of a guest object; filled at its first use. */
struct thread *kpi_thread_of(struct task *task);
struct proc *kpi_proc_of(struct process *process);

/* Calls the handlers of process_exit for P. */
void kpi_eventhandler_process_exit(struct proc *p);

#endif
