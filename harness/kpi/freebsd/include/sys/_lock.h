/* The common first part of all locks. */
#ifndef _SYS__LOCK_H_
#define _SYS__LOCK_H_

#include <sys/types.h>

struct lock_object {
	const char *lo_name;
	u_int lo_flags; /* MTX_* of mtx_init, and KPI_LOCK_* */
};

#define KPI_LOCK_READY 0x80000000u

#endif
