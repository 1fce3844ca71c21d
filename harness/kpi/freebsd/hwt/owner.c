/* Owners of contexts, and what happens when one exits. */
#include "hwt.h"

#define HASH_SIZE 1024

LIST_HEAD(owner_list, hwt_owner);
static struct owner_list *owners;
static u_long owners_mask;
static struct mtx owners_mtx;

static struct owner_list *
bucket(const struct proc *p)
{
	return (&owners[((uintptr_t)p >> 6) & owners_mask]);
}

void
owner_hash_init(void)
{
	owners = hashinit(HASH_SIZE, M_HWT, &owners_mask);
	mtx_init(&owners_mtx, "hwt owners", NULL, MTX_DEF);
}

void
owner_hash_fini(void)
{
	mtx_destroy(&owners_mtx);
	hashdestroy(owners, M_HWT, owners_mask);
}

struct hwt_owner *
owner_find(struct proc *p)
{
	struct hwt_owner *owner;

	mtx_lock(&owners_mtx);
	LIST_FOREACH(owner, bucket(p), next)
		if (owner->p == p)
			break;
	mtx_unlock(&owners_mtx);
	return (owner);
}

/* Nothing tests that P has none yet: two threads may make two. */
struct hwt_owner *
owner_create(struct proc *p)
{
	struct hwt_owner *owner;

	owner = malloc(sizeof(*owner), M_HWT, M_WAITOK | M_ZERO);
	owner->p = p;
	LIST_INIT(&owner->hwts);
	mtx_init(&owner->mtx, "hwt owner", NULL, MTX_DEF);
	mtx_lock(&owners_mtx);
	LIST_INSERT_HEAD(bucket(p), owner, next);
	mtx_unlock(&owners_mtx);
	return (owner);
}

void
owner_insert_context(struct hwt_owner *owner, struct hwt_context *ctx)
{
	mtx_lock(&owner->mtx);
	LIST_INSERT_HEAD(&owner->hwts, ctx, next_hwts);
	mtx_unlock(&owner->mtx);
}

/* A context in CPU mode counts as pid 0. */
bool
owner_traces_pid(struct hwt_owner *owner, pid_t pid)
{
	struct hwt_context *ctx;

	mtx_lock(&owner->mtx);
	LIST_FOREACH(ctx, &owner->hwts, next_hwts)
		if (ctx->pid == pid)
			break;
	mtx_unlock(&owner->mtx);
	return (ctx != NULL);
}

/*
 * No operation stops the context: the backend's deinit is all that it hears. In
 * CPU mode nothing holds references, and so nothing is waited for.
 */
static void
shutdown_context(struct hwt_context *ctx)
{
	if (ctx->mode == HWT_MODE_THREAD)
		context_hash_remove(ctx);
	HWT_CTX_LOCK(ctx);
	ctx->state = CTX_STATE_STOPPED;
	HWT_CTX_UNLOCK(ctx);
	while (refcount_load(&ctx->refcnt) > 0)
		continue;
	(void)ctx->hwt_backend->ops->hwt_backend_deinit(ctx);
	record_free_all(ctx);
	context_free(ctx);
}

void
owner_process_exit(void *arg __unused, struct proc *p)
{
	struct hwt_context *ctx;
	struct hwt_owner *owner;

	owner = owner_find(p);
	if (owner == NULL)
		return;
	for (;;) {
		mtx_lock(&owner->mtx);
		ctx = LIST_FIRST(&owner->hwts);
		if (ctx != NULL)
			LIST_REMOVE(ctx, next_hwts);
		mtx_unlock(&owner->mtx);
		if (ctx == NULL)
			break;
		shutdown_context(ctx);
	}
	mtx_lock(&owners_mtx);
	LIST_REMOVE(owner, next);
	mtx_unlock(&owners_mtx);
	free(owner, M_HWT);
}
