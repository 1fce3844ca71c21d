/* Reader/writer locks, of which the guest has only the writer's side. */
#ifndef _SYS_RWLOCK_H_
#define _SYS_RWLOCK_H_

#include <sys/mutex.h>

struct rwlock {
	struct mtx rw_mtx;
};

#define rw_init(rw, name) mtx_init(&(rw)->rw_mtx, (name), NULL, MTX_DEF)
#define rw_wlock(rw)      mtx_lock(&(rw)->rw_mtx)
#define rw_wunlock(rw)    mtx_unlock(&(rw)->rw_mtx)
#define rw_destroy(rw)    mtx_destroy(&(rw)->rw_mtx)

#endif
