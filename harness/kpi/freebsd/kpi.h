/*
 * Declarations for the files of this folder, not for drivers: their start and
 * end, and FreeBSD's form of guest objects.  Included after FreeBSD's
 * headers.
 */
#ifndef TOPAZ_HARNESS_KPI_FREEBSD_KPI_H
#define TOPAZ_HARNESS_KPI_FREEBSD_KPI_H

#include <sys/types.h>

struct proc;
struct process;
struct task;
struct thread;

/* Called in this order before the modules load; the ends in reverse, after. */
void kpi_cpu_init(void);
void kpi_swi_init(void);
void kpi_kqueue_init(void);
void kpi_device_init(void);
void kpi_process_init(void);
void kpi_process_fini(void);
void kpi_device_fini(void);
void kpi_swi_fini(void);

/* The FreeBSD form of a guest object, initialised at its first use. */
struct thread *kpi_thread_of(struct task *task);
struct proc *kpi_proc_of(struct process *process);
/* The guest kernel's structure of P. */
struct process *kpi_process_of(struct proc *p);

/* In process.c of each version: sets its own fields of P and TD at their first use;
 * whether pfind() finds P. */
void kpi_proc_first_use(struct proc *p);
void kpi_thread_first_use(struct thread *td);
bool kpi_proc_is_visible(const struct proc *p);

/* Adds BY to the current thread's td_critnest. */
void kpi_critnest_add(u_int by);

/* Starts a kernel thread of high priority; its function ends with
 * kpi_thread_end().  False: no memory. */
bool kpi_thread_start(const char *name, void (*main)(void *arg), void *arg);
void kpi_thread_end(void) __dead2;

/* Removes the events of a process that ends. */
void kpi_kqueue_forget(struct proc *p);

/* Panics where malloc(9) and free(9) must not be called: they may take a mutex,
 * whatever the flags. */
void kpi_malloc_check(const char *function);

/* False: ADDR is not from contigmalloc(9). */
bool kpi_contig_free(void *addr, const void *caller);

/* Calls the handlers of process_exit for P. */
void kpi_eventhandler_process_exit(struct proc *p);
/* Calls the handlers of process_fork, in the parent; CHILD has not run yet. */
void kpi_eventhandler_process_fork(
    struct proc *parent, struct proc *child, int flags);

#endif
