/* Sets of CPUs; none of the operations is atomic. */
#ifndef _SYS_CPUSET_H_
#define _SYS_CPUSET_H_

#include <sys/_cpuset.h>
#include <sys/bitset.h>

#define CPU_CLR(n, p)           BIT_CLR(CPU_SETSIZE, n, p)
#define CPU_SET(n, p)           BIT_SET(CPU_SETSIZE, n, p)
#define CPU_ISSET(n, p)         BIT_ISSET(CPU_SETSIZE, n, p)
#define CPU_ZERO(p)             BIT_ZERO(CPU_SETSIZE, p)
#define CPU_FILL(p)             BIT_FILL(CPU_SETSIZE, p)
#define CPU_COPY(f, t)          BIT_COPY(CPU_SETSIZE, f, t)
#define CPU_EMPTY(p)            BIT_EMPTY(CPU_SETSIZE, p)
#define CPU_COUNT(p)            BIT_COUNT(CPU_SETSIZE, p)
#define CPU_SETOF(n, p)         (CPU_ZERO(p), CPU_SET(n, p))
#define CPU_FOREACH_ISSET(i, p) BIT_FOREACH_ISSET(CPU_SETSIZE, i, p)

#endif
