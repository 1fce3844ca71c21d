/* Per-CPU data; the guest kernel has the storage. */
#ifndef _SYS_PCPU_H_
#define _SYS_PCPU_H_

#include <sys/_cpuset.h>
#include <sys/types.h>

struct thread;

int kpi_cpuid(void);
struct thread *kpi_curthread(void);

#define PCPU_GET(member)     PCPU_GET_##member()
#define PCPU_GET_cpuid()     ((u_int)kpi_cpuid())
#define PCPU_GET_curthread() kpi_curthread()

#define curcpu               PCPU_GET(cpuid)
#define curthread            PCPU_GET(curthread)
#define curproc              (curthread->td_proc)

#endif
