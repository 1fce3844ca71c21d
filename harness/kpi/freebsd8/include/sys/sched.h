/* A thread bound to a CPU; with its lock held, which a change of the CPU releases. */
#ifndef _SYS_SCHED_H_
#define _SYS_SCHED_H_

struct thread;

void sched_bind(struct thread *td, int cpu);
void sched_unbind(struct thread *td);
int sched_is_bound(struct thread *td);

#endif
