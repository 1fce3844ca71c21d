/* Owners by their process. */
#ifndef _DEV_HWT_HWT_OWNERHASH_H_
#define _DEV_HWT_HWT_OWNERHASH_H_

struct hwt_owner;
struct proc;

struct hwt_owner *hwt_ownerhash_lookup(struct proc *p);
void hwt_ownerhash_insert(struct hwt_owner *ho);
void hwt_ownerhash_remove(struct hwt_owner *ho);
void hwt_ownerhash_load(void);
void hwt_ownerhash_unload(void);

/* The mutex is in hwt_ownerhash.c. */
#define HWT_OWNERHASH_LOCK()   mtx_lock(&hwt_ownerhash_mtx)
#define HWT_OWNERHASH_UNLOCK() mtx_unlock(&hwt_ownerhash_mtx)

#endif
