/*
 * Processes and threads in FreeBSD's form. Each is part of the guest kernel's
 * structure and has only the fields that tracing code uses.
 */
#ifndef _SYS_PROC_H_
#define _SYS_PROC_H_

#include <sys/mutex.h>
#include <sys/pcpu.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <sys/ucred.h>

struct proc {
	struct ucred *p_ucred;
	pid_t p_pid;
	int p_flag;
	int p_flag2;
};

struct thread {
	struct proc *td_proc;
	struct ucred *td_ucred;
	lwpid_t td_tid;
	u_int td_critnest; /* critical sections and spin mutexes entered */
};

#define P2_HWT 0x04000000 /* traced: the scheduler and others call the hook */

/* Oldest first; the process is locked. */
struct thread *kpi_thread_first(struct proc *p);
struct thread *kpi_thread_next(struct thread *td);
#define FIRST_THREAD_IN_PROC(p) kpi_thread_first(p)
#define FOREACH_THREAD_IN_PROC(p, td) \
 for ((td) = kpi_thread_first(p); (td) != NULL; (td) = kpi_thread_next(td))

void kpi_proc_lock(struct proc *p);
void kpi_proc_unlock(struct proc *p);
void kpi_proc_assert_locked(struct proc *p);
#define PROC_LOCK(p)   kpi_proc_lock(p)
#define PROC_UNLOCK(p) kpi_proc_unlock(p)
#ifdef INVARIANTS
# define PROC_LOCK_ASSERT(p, type) kpi_proc_assert_locked(p)
#else
# define PROC_LOCK_ASSERT(p, type) ((void)0)
#endif

/* Returns with the process locked, or NULL. */
struct proc *pfind(pid_t pid);

#endif
