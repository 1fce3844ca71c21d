/* CPU sets, and running a function on several CPUs at once. */
#ifndef _SYS_SMP_H_
#define _SYS_SMP_H_

#include <sys/cpuset.h>
#include <sys/types.h>

extern int mp_ncpus;
extern volatile int smp_started;
extern int smp_cpus;
extern u_int mp_maxid;
extern cpuset_t all_cpus;
extern cpuset_t hlt_cpus_mask;

#define CPU_ABSENT(cpu) (!CPU_ISSET((cpu), &all_cpus))
#define CPU_FOREACH(i)                      \
 for ((i) = 0; (i) <= (int)mp_maxid; (i)++) \
  if (!CPU_ABSENT(i))

/*
 * Runs setup, action and teardown on every CPU of the set with interrupts off
 * there.  A step begins when the previous one has ended on all CPUs; NULL steps
 * are skipped.  Returns when all have ended.  Must not be called with
 * interrupts off.
 */
void smp_rendezvous_cpus(cpuset_t map, void (*setup)(void *),
    void (*action)(void *), void (*teardown)(void *), void *arg);
void smp_rendezvous(void (*setup)(void *), void (*action)(void *),
    void (*teardown)(void *), void *arg);

#define smp_no_rendezvous_barrier ((void (*)(void *))0)

#endif
