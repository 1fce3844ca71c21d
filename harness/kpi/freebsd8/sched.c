/*
 * thread_lock() and the binding of a thread to a CPU.  The lock is no spin mutex of the
 * guest kernel's: hwpmc(4) takes it in an NMI handler, too.
 */
#include <sys/proc.h>
#include <sys/sched.h>
#include <sys/systm.h>

#include "harness/guest/cpu.h"
#include "harness/guest/task/task.h"
#include "harness/kpi/freebsd8/kpi8.h"

static struct task *
task_of(struct thread *td)
{
	return (__containerof(td, struct task, kpi));
}

void
thread_lock(struct thread *td)
{
	if (!cpu_in_nmi())
		spinlock_enter();
	while (atomic_cmpset_int(&td->td_lock_owner, 0, cpu_number() + 1) == 0)
		cpu_spinwait();
}

static void
release(struct thread *td)
{
	if (td->td_lock_owner != cpu_number() + 1)
		panic("lock: thread lock of another CPU");
	atomic_store_rel_int(&td->td_lock_owner, 0);
}

void
thread_unlock(struct thread *td)
{
	release(td);
	if (!cpu_in_nmi())
		spinlock_exit();
}

/* A change of the mask moves the thread at the end of its spin section. */
static void
move(struct thread *td, uint64_t mask)
{
	if (td != curthread)
		panic("sched_bind: not the current thread");
	thread_unlock(td);
	if (task_set_mask(task_of(td), mask) != 0)
		panic("sched_bind: the CPU does not run threads");
	thread_lock(td);
}

void
sched_bind(struct thread *td, int cpu)
{
	if ((td->td_flags & TDF_BOUND) == 0)
		td->td_unbound_mask = task_of(td)->cpu_mask;
	td->td_flags |= TDF_BOUND;
	move(td, UINT64_C(1) << cpu);
}

void
sched_unbind(struct thread *td)
{
	if ((td->td_flags & TDF_BOUND) == 0)
		return;
	td->td_flags &= ~TDF_BOUND;
	move(td, td->td_unbound_mask);
}

int
sched_is_bound(struct thread *td)
{
	return ((td->td_flags & TDF_BOUND) != 0);
}
