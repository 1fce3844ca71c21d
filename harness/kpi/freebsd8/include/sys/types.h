/* Types that later versions of FreeBSD do not have or name otherwise. */
#ifndef _FREEBSD8_SYS_TYPES_H_
#define _FREEBSD8_SYS_TYPES_H_

#include_next <sys/types.h>

typedef u_int cpumask_t; /* bit N: CPU N */
typedef uintptr_t uintfptr_t;

#endif
