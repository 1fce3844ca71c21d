/* Owners of contexts, and their exit. */
#include "hwt.h"

static MALLOC_DEFINE(M_HWT_OWNER, "hwt_owner", "HWT owners");

/* A context in CPU mode counts as pid 0. */
struct hwt_context *
hwt_owner_lookup_ctx(struct hwt_owner *ho, pid_t pid)
{
	struct hwt_context *ctx;

	mtx_lock(&ho->mtx);
	LIST_FOREACH(ctx, &ho->hwts, next_hwts)
		if (ctx->pid == pid)
			break;
	mtx_unlock(&ho->mtx);
	return (ctx);
}

struct hwt_owner *
hwt_owner_alloc(struct proc *p)
{
	struct hwt_owner *ho;

	ho = malloc(sizeof(*ho), M_HWT_OWNER, M_WAITOK | M_ZERO);
	ho->p = p;
	LIST_INIT(&ho->hwts);
	mtx_init(&ho->mtx, "hwt owner", NULL, MTX_DEF);
	return (ho);
}

/* A thread that is switched out of a CPU is traced there until deinit: hooks leave the
 * backend out once the context is not running. */
static void
end_threads(struct hwt_context *ctx)
{
	const struct hwt_thread *thr;

	HWT_CTX_LOCK(ctx);
	TAILQ_FOREACH(thr, &ctx->threads, next)
		kern_traced_any(VM_PAGE_TO_PHYS(thr->vm->pages[0]));
	HWT_CTX_UNLOCK(ctx);
}

/*
 * No operation stops the context: only the backend's deinit is called. In CPU
 * mode nothing holds references, so there is no wait.
 */
static void
shutdown_context(struct hwt_context *ctx)
{
	if (ctx->mode == HWT_MODE_THREAD) {
		end_threads(ctx);
		hwt_contexthash_remove(ctx);
	}
	HWT_CTX_LOCK(ctx);
	ctx->state = CTX_STATE_STOPPED;
	HWT_CTX_UNLOCK(ctx);
	while (refcount_load(&ctx->refcnt) > 0)
		continue;
	hwt_backend_deinit(ctx);
	hwt_record_free_all(ctx);
	hwt_ctx_free(ctx);
}

/* The owner's mutex is not destroyed. */
void
hwt_owner_shutdown(struct hwt_owner *ho)
{
	struct hwt_context *ctx;

	for (;;) {
		mtx_lock(&ho->mtx);
		ctx = LIST_FIRST(&ho->hwts);
		if (ctx != NULL)
			LIST_REMOVE(ctx, next_hwts);
		mtx_unlock(&ho->mtx);
		if (ctx == NULL)
			break;
		shutdown_context(ctx);
	}
	hwt_ownerhash_remove(ho);
	free(ho, M_HWT_OWNER);
}
