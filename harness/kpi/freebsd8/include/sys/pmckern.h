/*
 * hwpmc(4)'s part of the kernel: the hook and where the kernel calls it.
 */
#ifndef _SYS_PMCKERN_H_
#define _SYS_PMCKERN_H_

#include <sys/kernel.h>
#include <sys/lock.h>
#include <sys/param.h>
#include <sys/proc.h>
#include <sys/sx.h>
#include <sys/types.h>

#include <machine/atomic.h>

struct trapframe;

#define PMC_FN_PROCESS_EXEC   1
#define PMC_FN_CSW_IN         2
#define PMC_FN_CSW_OUT        3
#define PMC_FN_DO_SAMPLES     4
#define PMC_FN_KLD_LOAD       5
#define PMC_FN_KLD_UNLOAD     6
#define PMC_FN_MMAP           7
#define PMC_FN_MUNMAP         8
#define PMC_FN_USER_CALLCHAIN 9

struct pmckern_procexec {
	int pm_credentialschanged;
	uintfptr_t pm_entryaddr;
};

struct pmckern_map_in {
	void *pm_file; /* a path, or a vnode */
	uintptr_t pm_address;
};

struct pmckern_map_out {
	uintptr_t pm_address;
	size_t pm_size;
};

/* pmc_hook changes with pmc_sx held exclusively. */
extern int (*pmc_hook)(struct thread *td, int function, void *arg);
extern int (*pmc_intr)(int cpu, struct trapframe *frame);
extern struct sx pmc_sx;
extern volatile cpumask_t pmc_cpumask; /* CPUs that have samples */
extern volatile int pmc_ss_count;      /* owners of system-wide sampling */
extern const int pmc_kernel_version;

#define PMC_CALL_HOOK_X(t, cmd, arg)     \
 do {                                    \
  sx_xlock(&pmc_sx);                     \
  if (pmc_hook != NULL)                  \
   (void)(*pmc_hook)((t), (cmd), (arg)); \
  sx_xunlock(&pmc_sx);                   \
 } while (0)

#define PMC_CALL_HOOK(t, cmd, arg)       \
 do {                                    \
  sx_slock(&pmc_sx);                     \
  if (pmc_hook != NULL)                  \
   (void)(*pmc_hook)((t), (cmd), (arg)); \
  sx_sunlock(&pmc_sx);                   \
 } while (0)

/* Without the lock: switches, the clock, the return to ring 3. */
#define PMC_CALL_HOOK_UNLOCKED(t, cmd, arg) \
 do {                                       \
  if (pmc_hook != NULL)                     \
   (void)(*pmc_hook)((t), (cmd), (arg));    \
 } while (0)
#define PMC_SWITCH_CONTEXT(t, cmd) PMC_CALL_HOOK_UNLOCKED((t), (cmd), NULL)

#define PMC_PROC_IS_USING_PMCS(p) \
 (__predict_false(                \
     (atomic_load_acq_int((volatile u_int *)&(p)->p_flag) & P_HWPMC) != 0))
#define PMC_SYSTEM_SAMPLING_ACTIVE() (pmc_ss_count > 0)
#define PMC_CPU_HAS_SAMPLES(cpu) \
 (__predict_false((pmc_cpumask & (1u << (cpu))) != 0))

int pmc_cpu_is_disabled(int cpu);
#define pmc_cpu_is_logical(cpu) 0

#endif
