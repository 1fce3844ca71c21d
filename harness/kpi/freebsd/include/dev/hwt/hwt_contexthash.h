/* Contexts in thread mode, by the process that they trace. */
#ifndef _DEV_HWT_HWT_CONTEXTHASH_H_
#define _DEV_HWT_HWT_CONTEXTHASH_H_

struct hwt_context;
struct proc;

/* The result has a reference, which hwt_ctx_put() drops; NULL: none. */
struct hwt_context *hwt_contexthash_lookup(struct proc *p);
void hwt_contexthash_insert(struct hwt_context *ctx);
void hwt_contexthash_remove(struct hwt_context *ctx);
void hwt_contexthash_load(void);
void hwt_contexthash_unload(void);

/* Spin: taken in the scheduler's switch.  The mutex is in hwt_contexthash.c. */
#define HWT_CTXHASH_LOCK()   mtx_lock_spin(&hwt_contexthash_mtx)
#define HWT_CTXHASH_UNLOCK() mtx_unlock_spin(&hwt_contexthash_mtx)

#endif
