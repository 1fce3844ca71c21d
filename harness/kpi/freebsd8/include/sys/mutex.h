/* Mutexes, and pools of them: an address selects one. */
#ifndef _FREEBSD8_SYS_MUTEX_H_
#define _FREEBSD8_SYS_MUTEX_H_

#include_next <sys/mutex.h>

struct mtx_pool;

struct mtx_pool *mtx_pool_create(const char *name, int size, int opts);
void mtx_pool_destroy(struct mtx_pool **pool);
struct mtx *mtx_pool_find(struct mtx_pool *pool, void *ptr);
#define mtx_pool_lock_spin(pool, ptr) \
 mtx_lock_spin(mtx_pool_find((pool), (ptr)))
#define mtx_pool_unlock_spin(pool, ptr) \
 mtx_unlock_spin(mtx_pool_find((pool), (ptr)))

#endif
