/* Contexts: idents, allocation and free. */
#include "hwt.h"

#include <sys/bitstring.h>

#define IDENT_COUNT 256

static MALLOC_DEFINE(M_HWT_CTX, "hwt_ctx", "HWT contexts");

static bitstr_t *idents;
static struct mtx idents_mtx;

void
hwt_ctx_load(void)
{
	idents = bit_alloc(IDENT_COUNT, M_HWT_CTX, M_WAITOK);
	mtx_init(&idents_mtx, "hwt idents", NULL, MTX_DEF);
}

void
hwt_ctx_unload(void)
{
	mtx_destroy(&idents_mtx);
	free(idents, M_HWT_CTX);
}

/* Takes the lowest free ident; -1: none is free. */
static int
ident_take(void)
{
	int ident;

	if (kern_fault_point("bit_ffc", __builtin_return_address(0)))
		return (-1);
	mtx_lock(&idents_mtx);
	bit_ffc(idents, IDENT_COUNT, &ident);
	if (ident >= 0)
		bit_set(idents, ident);
	mtx_unlock(&idents_mtx);
	return (ident);
}

static void
ident_give(int ident)
{
	mtx_lock(&idents_mtx);
	bit_clear(idents, ident);
	mtx_unlock(&idents_mtx);
}

/* If no ident is free the memory leaks, as in FreeBSD. */
int
hwt_ctx_alloc(struct hwt_context **ctx0)
{
	struct hwt_context *ctx;

	ctx = malloc(sizeof(*ctx), M_HWT_CTX, M_WAITOK | M_ZERO);
	TAILQ_INIT(&ctx->records);
	TAILQ_INIT(&ctx->cpus);
	TAILQ_INIT(&ctx->threads);
	mtx_init(&ctx->mtx, "hwt ctx", NULL, MTX_SPIN);
	mtx_init(&ctx->rec_mtx, "hwt ctx records", NULL, MTX_DEF);
	refcount_init(&ctx->refcnt, 0);
	ctx->ident = ident_take();
	if (ctx->ident < 0)
		return (ENOMEM);
	*ctx0 = ctx;
	return (0);
}

static void
free_cpus(struct hwt_context *ctx)
{
	struct hwt_cpu *cpu;

	for (;;) {
		HWT_CTX_LOCK(ctx);
		cpu = TAILQ_FIRST(&ctx->cpus);
		if (cpu != NULL)
			TAILQ_REMOVE(&ctx->cpus, cpu, next);
		HWT_CTX_UNLOCK(ctx);
		if (cpu == NULL)
			return;
		hwt_vm_free(cpu->vm);
		hwt_cpu_free(cpu);
	}
}

static void
free_threads(struct hwt_context *ctx)
{
	struct hwt_thread *thr;

	for (;;) {
		HWT_CTX_LOCK(ctx);
		thr = TAILQ_FIRST(&ctx->threads);
		if (thr != NULL)
			TAILQ_REMOVE(&ctx->threads, thr, next);
		HWT_CTX_UNLOCK(ctx);
		if (thr == NULL)
			return;
		HWT_THR_LOCK(thr);
		wakeup(thr);
		HWT_THR_UNLOCK(thr);
		if (refcount_release(&thr->refcnt))
			hwt_thread_free(thr);
	}
}

/* The context's mutexes are not destroyed. */
void
hwt_ctx_free(struct hwt_context *ctx)
{
	if (ctx->mode == HWT_MODE_CPU)
		free_cpus(ctx);
	else
		free_threads(ctx);
	hwt_config_free(ctx);
	ident_give(ctx->ident);
	free(ctx, M_HWT_CTX);
}

/* The last reference frees nothing: the owner's exit waits for it. */
void
hwt_ctx_put(struct hwt_context *ctx)
{
	(void)refcount_release(&ctx->refcnt);
}
