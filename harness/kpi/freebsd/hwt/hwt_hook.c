/*
 * The kernel's hook, for processes that a context traces.  Switch hooks run
 * with interrupts off, exit hooks with the process locked; others may sleep.
 */
#include "hwt.h"

#define NODE_NAME_BYTES 32

/* The running context of the thread's process that knows the thread, with a
 * reference; or NULL. */
static struct hwt_context *
running_context(struct thread *td, struct hwt_thread **thr)
{
	struct hwt_context *ctx;

	ctx = hwt_contexthash_lookup(td->td_proc);
	if (ctx == NULL)
		return (NULL);
	if (ctx->state == CTX_STATE_RUNNING &&
	    (*thr = hwt_thread_lookup(ctx, td)) != NULL)
		return (ctx);
	hwt_ctx_put(ctx);
	return (NULL);
}

/* Every switch-in configures; enabling does not depend on its result. */
static void
switch_in(struct thread *td)
{
	struct hwt_context *ctx;
	struct hwt_thread *thr;
	int cpu = (int)PCPU_GET(cpuid);

	ctx = running_context(td, &thr);
	if (ctx == NULL)
		return;
	(void)hwt_backend_configure(ctx, cpu, thr->thread_id);
	hwt_backend_enable(ctx, cpu);
	hwt_ctx_put(ctx);
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
	hwt_backend_disable(ctx, cpu);
	hwt_ctx_put(ctx);
}

/* The thread stays in its context, with its buffer. */
static void
thread_exiting(struct thread *td)
{
	struct hwt_context *ctx;
	struct hwt_thread *thr;
	int cpu = (int)PCPU_GET(cpuid);

	ctx = hwt_contexthash_lookup(td->td_proc);
	if (ctx == NULL)
		return;
	thr = hwt_thread_lookup(ctx, td);
	if (thr != NULL) {
		thr->state = HWT_THREAD_STATE_EXITED;
		if (ctx->state == CTX_STATE_RUNNING)
			hwt_backend_disable(ctx, cpu);
	}
	hwt_ctx_put(ctx);
}

/*
 * No reference to the context is held while memory is allocated.  If the
 * backend fails, the reference of the second lookup is kept, as in FreeBSD: the
 * owner's exit then never ends.
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

	ctx = hwt_contexthash_lookup(td->td_proc);
	if (ctx == NULL)
		return;
	thread_id = (int)atomic_fetchadd_int(&ctx->thread_counter, 1);
	bytes = ctx->bufsize;
	kva_req = ctx->hwt_backend->kva_req;
	snprintf(node, sizeof(node), "hwt_%d_%d", ctx->ident, thread_id);
	hwt_ctx_put(ctx);

	if (hwt_thread_alloc(&thr, node, bytes, kva_req) != 0)
		return;
	entry = hwt_record_entry_alloc();
	entry->record_type = HWT_RECORD_THREAD_CREATE;
	entry->thread_id = thread_id;

	ctx = hwt_contexthash_lookup(td->td_proc);
	if (ctx == NULL) {
		hwt_record_entry_free(entry);
		hwt_thread_free(thr);
		return;
	}
	if (hwt_backend_thread_alloc(ctx, thr) != 0)
		return;
	thr->vm->ctx = ctx;
	thr->ctx = ctx;
	thr->backend = ctx->hwt_backend;
	thr->thread_id = thread_id;
	thr->td = td;
	HWT_CTX_LOCK(ctx);
	hwt_thread_insert(ctx, thr, entry);
	HWT_CTX_UNLOCK(ctx);
	hwt_record_wakeup(ctx);
	hwt_ctx_put(ctx);
}

/* If the context asks for it, sleeps until WAKEUP on the thread's node. */
static void
pause_thread(struct thread *td)
{
	struct hwt_context *ctx;
	struct hwt_thread *thr;
	int pause;

	ctx = hwt_contexthash_lookup(td->td_proc);
	if (ctx == NULL)
		return;
	pause = ctx->pause_on_mmap;
	thr = hwt_thread_lookup(ctx, td);
	if (thr == NULL) {
		hwt_ctx_put(ctx);
		return;
	}
	refcount_acquire(&thr->refcnt);
	hwt_ctx_put(ctx);
	if (pause) {
		HWT_THR_LOCK(thr);
		(void)msleep(thr, &thr->mtx, PCATCH, "hwtmap", 0);
		HWT_THR_UNLOCK(thr);
	}
	if (refcount_release(&thr->refcnt))
		hwt_thread_free(thr);
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
		hwt_record_td(td, arg, M_WAITOK | M_ZERO);
		pause_thread(td);
		break;
	case HWT_RECORD:
		hwt_record_td(td, arg, M_WAITOK | M_ZERO);
		break;
	default:
		break;
	}
}

void
hwt_hook_load(void)
{
	hwt_hook = hook;
}

void
hwt_hook_unload(void)
{
	hwt_hook = NULL;
}
