/*
 * Processes and threads as they were in January 2008: the fields that hwpmc(4) uses.
 * Each is part of the guest kernel's structure.
 */
#ifndef _SYS_PROC_H_
#define _SYS_PROC_H_

#include <sys/mutex.h>
#include <sys/param.h>
#include <sys/pcpu.h>
#include <sys/queue.h>
#include <sys/sx.h>
#include <sys/types.h>
#include <sys/ucred.h>

struct vnode;

enum kpi_proc_state { PRS_NEW, PRS_NORMAL, PRS_ZOMBIE };

struct proc {
	struct ucred *p_ucred;
	pid_t p_pid;
	int p_flag;
	int p_flag2;
	enum kpi_proc_state p_state;
	bool p_exec_due; /* the program's first thread has not run yet */
	u_int p_siglist; /* bit N: signal N was sent */
	char p_comm[MAXCOMLEN + 1];
	struct vnode *p_textvp; /* NULL: a process of the kernel, or a zombie */
	struct proc *p_pptr;
	LIST_HEAD(, proc) p_children; /* with proctree_lock; zombies stay */
	LIST_ENTRY(proc) p_sibling;
	struct sx p_map_lock; /* the lock of the vm_map */
};

struct thread {
	struct proc *td_proc;
	struct ucred *td_ucred;
	lwpid_t td_tid;
	u_int td_critnest; /* critical sections and spin mutexes entered */
	u_char td_oncpu;   /* NOCPU: it does not run */
	int td_flags, td_pflags;
	volatile u_int td_lock_owner; /* thread_lock(): its CPU, plus 1 */
	uint64_t td_unbound_mask;     /* CPUs, while sched_bind() holds */
};

#define P_WEXIT        0x02000
#define P_HWPMC        0x800000 /* target or owner of counters */
#define P2_HWT         0x04000000

#define TDF_BOUND      0x00000004 /* by sched_bind() */
#define TDF_ASTPENDING 0x00000800
#define TDP_CALLCHAIN \
 0x00400000 /* a callchain is due at the return to ring 3 */

extern struct sx proctree_lock; /* p_pptr, p_children, p_sibling */

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

/*
 * A spin lock of the thread.  Also in an NMI handler: there it waits for another CPU,
 * and without end for its own.
 */
void thread_lock(struct thread *td);
void thread_unlock(struct thread *td);

/* Returns with the process locked, or NULL: not there, not made yet, or a zombie. */
struct proc *pfind(pid_t pid);
int p_candebug(struct thread *td, struct proc *p);

#endif
