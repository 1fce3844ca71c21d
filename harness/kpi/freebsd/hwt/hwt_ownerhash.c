/* Owners by their process. */
#include "hwt.h"

#define HASH_SIZE 1024

static MALLOC_DEFINE(M_HWT_OWNERHASH, "hwt_ohash", "HWT owners by process");

LIST_HEAD(owner_list, hwt_owner);
static struct owner_list *owners;
static u_long owners_mask;
static struct mtx hwt_ownerhash_mtx;

static struct owner_list *
bucket(const struct proc *p)
{
	return (&owners[((uintptr_t)p >> 6) & owners_mask]);
}

void
hwt_ownerhash_load(void)
{
	owners = hashinit(HASH_SIZE, M_HWT_OWNERHASH, &owners_mask);
	mtx_init(&hwt_ownerhash_mtx, "hwt owners", NULL, MTX_DEF);
}

void
hwt_ownerhash_unload(void)
{
	mtx_destroy(&hwt_ownerhash_mtx);
	hashdestroy(owners, M_HWT_OWNERHASH, owners_mask);
}

struct hwt_owner *
hwt_ownerhash_lookup(struct proc *p)
{
	struct hwt_owner *ho;

	HWT_OWNERHASH_LOCK();
	LIST_FOREACH(ho, bucket(p), next)
		if (ho->p == p)
			break;
	HWT_OWNERHASH_UNLOCK();
	return (ho);
}

/* No test for an owner of the same process: two threads may insert two. */
void
hwt_ownerhash_insert(struct hwt_owner *ho)
{
	HWT_OWNERHASH_LOCK();
	LIST_INSERT_HEAD(bucket(ho->p), ho, next);
	HWT_OWNERHASH_UNLOCK();
}

void
hwt_ownerhash_remove(struct hwt_owner *ho)
{
	HWT_OWNERHASH_LOCK();
	LIST_REMOVE(ho, next);
	HWT_OWNERHASH_UNLOCK();
}
