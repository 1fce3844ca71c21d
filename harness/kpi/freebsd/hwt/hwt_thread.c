/* Traced threads. */
#include "hwt.h"

static MALLOC_DEFINE(M_HWT_THREAD, "hwt_thread", "HWT threads");

int
hwt_thread_alloc(
    struct hwt_thread **thr0, char *path, size_t bufsize, int kva_req)
{
	struct hwt_thread *thr;
	struct hwt_vm *vm;
	int error;

	error = hwt_vm_alloc(bufsize, kva_req, path, &vm);
	if (error != 0)
		return (error);
	thr = malloc(sizeof(*thr), M_HWT_THREAD, M_WAITOK | M_ZERO);
	thr->vm = vm;
	mtx_init(&thr->mtx, "hwt thread", NULL, MTX_DEF);
	refcount_init(&thr->refcnt, 1);
	vm->thr = thr;
	*thr0 = thr;
	return (0);
}

/* Frees the buffer first, then the backend's part. */
void
hwt_thread_free(struct hwt_thread *thr)
{
	hwt_vm_free(thr->vm);
	if (thr->private != NULL)
		hwt_backend_thread_free(thr);
	free(thr, M_HWT_THREAD);
}

/* Here and below the context is locked. */
void
hwt_thread_insert(struct hwt_context *ctx, struct hwt_thread *thr,
    struct hwt_record_entry *entry)
{
	HWT_CTX_ASSERT_LOCKED(ctx);
	kern_traced_thread(
	    VM_PAGE_TO_PHYS(thr->vm->pages[0]), (uint32_t)thr->td->td_tid);
	TAILQ_INSERT_TAIL(&ctx->threads, thr, next);
	TAILQ_INSERT_TAIL(&ctx->records, entry, next);
}

struct hwt_thread *
hwt_thread_first(struct hwt_context *ctx)
{
	struct hwt_thread *thr = TAILQ_FIRST(&ctx->threads);

	HWT_CTX_ASSERT_LOCKED(ctx);
	KASSERT(thr != NULL, ("a context without threads"));
	return (thr);
}

/* The caller holds a reference to the context.  NULL: not traced. */
struct hwt_thread *
hwt_thread_lookup(struct hwt_context *ctx, struct thread *td)
{
	struct hwt_thread *thr;

	HWT_CTX_LOCK(ctx);
	TAILQ_FOREACH(thr, &ctx->threads, next)
		if (thr->td == td)
			break;
	HWT_CTX_UNLOCK(ctx);
	return (thr);
}
