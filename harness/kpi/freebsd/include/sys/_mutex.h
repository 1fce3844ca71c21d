/* The layout of a mutex. */
#ifndef _SYS__MUTEX_H_
#define _SYS__MUTEX_H_

#include <sys/_lock.h>

struct mtx {
	struct lock_object lock_object;
	uintptr_t mtx_guest[3]; /* the guest kernel's lock of that kind */
};

#endif
