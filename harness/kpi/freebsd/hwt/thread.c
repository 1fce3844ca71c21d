/* Traced threads. */
#include "hwt.h"

int
thread_create(
    size_t bytes, bool kva_req, const char *node, struct hwt_thread **result)
{
	struct hwt_thread *thr;
	struct hwt_vm *vm;
	int error;

	error = buffer_create(bytes, kva_req, node, &vm);
	if (error != 0)
		return (error);
	thr = malloc(sizeof(*thr), M_HWT, M_WAITOK | M_ZERO);
	thr->vm = vm;
	mtx_init(&thr->mtx, "hwt thread", NULL, MTX_DEF);
	refcount_init(&thr->refcnt, 1);
	vm->thr = thr;
	*result = thr;
	return (0);
}

int
thread_backend_alloc(struct hwt_context *ctx, struct hwt_thread *thr)
{
	const struct hwt_backend_ops *ops = ctx->hwt_backend->ops;

	if (ops->hwt_backend_thread_alloc == NULL)
		return (0);
	KASSERT(thr->private == NULL, ("hwt thread has backend data"));
	return (ops->hwt_backend_thread_alloc(thr));
}

/* Only now are the thread's context, number and backend known to it. */
void
thread_attach(struct hwt_thread *thr, struct hwt_context *ctx, int thread_id,
    struct thread *td, struct hwt_record_entry *entry)
{
	thr->vm->ctx = ctx;
	thr->td = td;
	thr->ctx = ctx;
	thr->backend = ctx->hwt_backend;
	thr->thread_id = thread_id;
	HWT_CTX_LOCK(ctx);
	TAILQ_INSERT_TAIL(&ctx->threads, thr, next);
	TAILQ_INSERT_TAIL(&ctx->records, entry, next);
	HWT_CTX_UNLOCK(ctx);
}

/* The last reference frees the buffer first, then the backend's part. */
void
thread_release(struct hwt_thread *thr)
{
	if (!refcount_release(&thr->refcnt))
		return;
	buffer_free(thr->vm);
	if (thr->private != NULL &&
	    thr->backend->ops->hwt_backend_thread_free != NULL)
		thr->backend->ops->hwt_backend_thread_free(thr);
	free(thr, M_HWT);
}

/* The caller holds a reference to the context.  NULL: not traced. */
struct hwt_thread *
thread_find(struct hwt_context *ctx, struct thread *td)
{
	struct hwt_thread *thr;

	HWT_CTX_LOCK(ctx);
	TAILQ_FOREACH(thr, &ctx->threads, next)
		if (thr->td == td)
			break;
	HWT_CTX_UNLOCK(ctx);
	return (thr);
}
