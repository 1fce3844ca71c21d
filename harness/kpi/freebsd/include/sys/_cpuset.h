/* The type of a set of CPUs. */
#ifndef _SYS__CPUSET_H_
#define _SYS__CPUSET_H_

#include <sys/_bitset.h>

#define CPU_MAXSIZE 1024
#define CPU_SETSIZE CPU_MAXSIZE

BITSET_DEFINE(_cpuset, CPU_SETSIZE);
typedef struct _cpuset cpuset_t;

#endif
