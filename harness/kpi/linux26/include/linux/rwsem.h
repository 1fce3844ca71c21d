#ifndef TOPAZ_LINUX26_LINUX_RWSEM_H
#define TOPAZ_LINUX26_LINUX_RWSEM_H

#include <linux/types.h>

/* Only writers: the sources here have no readers. */
struct rw_semaphore {
	_Alignas(
	    8) unsigned char mutex[32]; /* struct mutex of the guest kernel */
};

void init_rwsem(struct rw_semaphore *sem);
/* May sleep: panics where that is not allowed. */
void down_write(struct rw_semaphore *sem);
void up_write(struct rw_semaphore *sem);

#endif
