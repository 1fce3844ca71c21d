/* Contexts in thread mode, by the process that they trace. */
#include "hwt.h"

#define HASH_SIZE 1024

LIST_HEAD(context_list, hwt_context);
static struct context_list *contexts;
static u_long contexts_mask;
static struct mtx contexts_mtx; /* spin: taken in the scheduler's switch */

static struct context_list *
bucket(const struct proc *p)
{
	return (&contexts[((uintptr_t)p >> 6) & contexts_mask]);
}

void
context_hash_init(void)
{
	contexts = hashinit(HASH_SIZE, M_HWT, &contexts_mask);
	mtx_init(&contexts_mtx, "hwt context hash", NULL, MTX_SPIN);
}

void
context_hash_fini(void)
{
	mtx_destroy(&contexts_mtx);
	hashdestroy(contexts, M_HWT, contexts_mask);
}

void
context_hash_insert(struct hwt_context *ctx)
{
	mtx_lock_spin(&contexts_mtx);
	LIST_INSERT_HEAD(bucket(ctx->proc), ctx, next_hch);
	mtx_unlock_spin(&contexts_mtx);
}

void
context_hash_remove(struct hwt_context *ctx)
{
	mtx_lock_spin(&contexts_mtx);
	LIST_REMOVE(ctx, next_hch);
	mtx_unlock_spin(&contexts_mtx);
}

struct hwt_context *
context_get(struct proc *p)
{
	struct hwt_context *ctx;

	mtx_lock_spin(&contexts_mtx);
	LIST_FOREACH(ctx, bucket(p), next_hch)
		if (ctx->proc == p) {
			refcount_acquire(&ctx->refcnt);
			break;
		}
	mtx_unlock_spin(&contexts_mtx);
	return (ctx);
}

/* The last reference frees nothing: the owner's exit waits for it. */
void
context_put(struct hwt_context *ctx)
{
	(void)refcount_release(&ctx->refcnt);
}
