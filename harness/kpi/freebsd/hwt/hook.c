/*
 * The kernel's hook, for processes that a context traces.  Switches come with
 * interrupts off, thread exit with the process locked; the others may sleep.
 */
#include "hwt.h"

#define NODE_NAME_BYTES 32

/* The context in that process's name if it runs and knows the thread,
 * referenced. */
static struct hwt_context *
running_context(struct thread *td, struct hwt_thread **thr)
{
	struct hwt_context *ctx;

	ctx = context_get(td->td_proc);
	if (ctx == NULL)
		return (NULL);
	if (ctx->state == CTX_STATE_RUNNING &&
	    (*thr = thread_find(ctx, td)) != NULL)
		return (ctx);
	context_put(ctx);
	return (NULL);
}

/* Configuration comes with every switch-in; enabling does not depend on it. */
static void
switch_in(struct thread *td)
{
	const struct hwt_backend_ops *ops;
	struct hwt_context *ctx;
	struct hwt_thread *thr;
	int cpu = (int)PCPU_GET(cpuid);

	ctx = running_context(td, &thr);
	if (ctx == NULL)
		return;
	ops = ctx->hwt_backend->ops;
	(void)ops->hwt_backend_configure(ctx, cpu, thr->thread_id);
	ops->hwt_backend_enable(ctx, cpu);
	context_put(ctx);
}

static void
switch_out(struct thread *td)
{
	struct hwt_context *ctx;
	struct hwt_thread *thr;
	int cpu = (int)PCPU_GET(cpuid);

	ctx = running_context(td, &thr);
	if (ctx == NULL)
		return;
	ctx->hwt_backend->ops->hwt_backend_disable(ctx, cpu);
	context_put(ctx);
}

/* The thread stays in its context, with its buffer. */
static void
thread_exiting(struct thread *td)
{
	struct hwt_context *ctx;
	struct hwt_thread *thr;
	int cpu = (int)PCPU_GET(cpuid);

	ctx = context_get(td->td_proc);
	if (ctx == NULL)
		return;
	thr = thread_find(ctx, td);
	if (thr != NULL) {
		thr->state = HWT_THREAD_STATE_EXITED;
		if (ctx->state == CTX_STATE_RUNNING)
			ctx->hwt_backend->ops->hwt_backend_disable(ctx, cpu);
	}
	context_put(ctx);
}

/*
 * The context is not held while memory is waited for.  Where the backend fails,
 * the reference of the second lookup is kept, as in FreeBSD: the owner's exit
 * then never ends.
 */
static void
thread_created(struct thread *td)
{
	char node[NODE_NAME_BYTES];
	struct hwt_record_entry *entry;
	struct hwt_context *ctx;
	struct hwt_thread *thr;
	size_t bytes;
	bool kva_req;
	int thread_id;

	ctx = context_get(td->td_proc);
	if (ctx == NULL)
		return;
	thread_id = (int)atomic_fetchadd_int(&ctx->thread_counter, 1);
	bytes = ctx->bufsize;
	kva_req = ctx->hwt_backend->kva_req;
	snprintf(node, sizeof(node), "hwt_%d_%d", ctx->ident, thread_id);
	context_put(ctx);

	if (thread_create(bytes, kva_req, node, &thr) != 0)
		return;
	entry = record_create();
	entry->record_type = HWT_RECORD_THREAD_CREATE;
	entry->thread_id = thread_id;

	ctx = context_get(td->td_proc);
	if (ctx == NULL) {
		record_free(entry);
		thread_release(thr);
		return;
	}
	if (thread_backend_alloc(ctx, thr) != 0)
		return;
	thread_attach(thr, ctx, thread_id, td, entry);
	wakeup(ctx);
	context_put(ctx);
}

/* A thread of a context that asked for it sleeps until its node's WAKEUP. */
static void
pause_thread(struct thread *td)
{
	struct hwt_context *ctx;
	struct hwt_thread *thr;
	int pause;

	ctx = context_get(td->td_proc);
	if (ctx == NULL)
		return;
	pause = ctx->pause_on_mmap;
	thr = thread_find(ctx, td);
	if (thr == NULL) {
		context_put(ctx);
		return;
	}
	refcount_acquire(&thr->refcnt);
	context_put(ctx);
	if (pause) {
		HWT_THR_LOCK(thr);
		(void)msleep(thr, &thr->mtx, PCATCH, "hwtmap", 0);
		HWT_THR_UNLOCK(thr);
	}
	thread_release(thr);
}

static void
hook(struct thread *td, int func, void *arg)
{
	if ((td->td_proc->p_flag2 & P2_HWT) == 0)
		return;
	switch (func) {
	case HWT_SWITCH_IN:
		switch_in(td);
		break;
	case HWT_SWITCH_OUT:
		switch_out(td);
		break;
	case HWT_THREAD_CREATE:
		thread_created(td);
		break;
	case HWT_THREAD_EXIT:
		thread_exiting(td);
		break;
	case HWT_EXEC:
	case HWT_MMAP:
		record_thread(td, arg);
		pause_thread(td);
		break;
	case HWT_RECORD:
		record_thread(td, arg);
		break;
	default:
		break;
	}
}

void
hook_install(void)
{
	hwt_hook = hook;
}

void
hook_remove(void)
{
	hwt_hook = NULL;
}
