/*
 * What the files of this folder share and no driver sees: how they start and
 * end, and the guest objects behind FreeBSD's.  Included after FreeBSD's
 * headers.
 */
#ifndef TOPAZ_HARNESS_KPI_FREEBSD_KPI_H
#define TOPAZ_HARNESS_KPI_FREEBSD_KPI_H

#include <sys/types.h>

struct proc;
struct process;
struct task;
struct thread;

/* In this order, before the modules; the ends in reverse, after them. */
void kpi_cpu_init(void);
void kpi_swi_init(void);
void kpi_kqueue_init(void);
void kpi_device_init(void);
void kpi_process_init(void);
void kpi_process_fini(void);
void kpi_device_fini(void);
void kpi_swi_fini(void);

/* The FreeBSD form of a guest object; filled at its first use. */
struct thread *kpi_thread_of(struct task *task);
struct proc *kpi_proc_of(struct process *process);

/* To the current thread's td_critnest. */
void kpi_critnest_add(u_int by);

/* A kernel thread of high priority; its function ends in kpi_thread_end().  False:
 * no memory. */
bool kpi_thread_start(const char *name, void (*main)(void *arg), void *arg);
void kpi_thread_end(void) __dead2;

/* The events of a process that ends. */
void kpi_kqueue_forget(struct proc *p);

/* A function that may take a mutex whatever its flags are panics where it must
 * not be called. */
void kpi_malloc_check(const char *function);

/* False: contigmalloc(9) did not return it. */
bool kpi_contig_free(void *addr, const void *caller);

/* Calls the handlers of process_exit for P. */
void kpi_eventhandler_process_exit(struct proc *p);

#endif
