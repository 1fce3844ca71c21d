/* Contexts in thread mode, by the process that they trace. */
#include "hwt.h"

#define HASH_SIZE 1024

static MALLOC_DEFINE(M_HWT_CONTEXTHASH, "hwt_chash", "HWT contexts by process");

LIST_HEAD(context_list, hwt_context);
static struct context_list *contexts;
static u_long contexts_mask;
static struct mtx hwt_contexthash_mtx;

static struct context_list *
bucket(const struct proc *p)
{
	return (&contexts[((uintptr_t)p >> 6) & contexts_mask]);
}

void
hwt_contexthash_load(void)
{
	contexts = hashinit(HASH_SIZE, M_HWT_CONTEXTHASH, &contexts_mask);
	mtx_init(&hwt_contexthash_mtx, "hwt context hash", NULL, MTX_SPIN);
}

void
hwt_contexthash_unload(void)
{
	mtx_destroy(&hwt_contexthash_mtx);
	hashdestroy(contexts, M_HWT_CONTEXTHASH, contexts_mask);
}

void
hwt_contexthash_insert(struct hwt_context *ctx)
{
	HWT_CTXHASH_LOCK();
	LIST_INSERT_HEAD(bucket(ctx->proc), ctx, next_hch);
	HWT_CTXHASH_UNLOCK();
}

void
hwt_contexthash_remove(struct hwt_context *ctx)
{
	HWT_CTXHASH_LOCK();
	LIST_REMOVE(ctx, next_hch);
	HWT_CTXHASH_UNLOCK();
}

/* The caller gets a reference. */
struct hwt_context *
hwt_contexthash_lookup(struct proc *p)
{
	struct hwt_context *ctx;

	HWT_CTXHASH_LOCK();
	LIST_FOREACH(ctx, bucket(p), next_hch)
		if (ctx->proc == p) {
			refcount_acquire(&ctx->refcnt);
			break;
		}
	HWT_CTXHASH_UNLOCK();
	return (ctx);
}
