/* Contexts: idents, making, configuration, freeing. */
#include "hwt.h"

#include <sys/bitstring.h>

#define IDENT_COUNT 256

static bitstr_t *idents;
static struct mtx idents_mtx;

void
context_idents_init(void)
{
	idents = bit_alloc(IDENT_COUNT, M_HWT, M_WAITOK);
	mtx_init(&idents_mtx, "hwt idents", NULL, MTX_DEF);
}

void
context_idents_fini(void)
{
	mtx_destroy(&idents_mtx);
	free(idents, M_HWT);
}

/* The lowest free one, or -1. */
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

/* Without an ident the memory stays behind, as in FreeBSD. */
int
context_create(struct hwt_context **result)
{
	struct hwt_context *ctx;

	ctx = malloc(sizeof(*ctx), M_HWT, M_WAITOK | M_ZERO);
	TAILQ_INIT(&ctx->records);
	TAILQ_INIT(&ctx->cpus);
	TAILQ_INIT(&ctx->threads);
	mtx_init(&ctx->mtx, "hwt ctx", NULL, MTX_SPIN);
	mtx_init(&ctx->rec_mtx, "hwt ctx records", NULL, MTX_DEF);
	refcount_init(&ctx->refcnt, 0);
	ctx->ident = ident_take();
	if (ctx->ident < 0)
		return (ENOMEM);
	*result = ctx;
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
		buffer_free(cpu->vm);
		free(cpu, M_HWT);
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
		thread_release(thr);
	}
}

/* The context's mutexes are not destroyed. */
void
context_free(struct hwt_context *ctx)
{
	if (ctx->mode == HWT_MODE_CPU)
		free_cpus(ctx);
	else
		free_threads(ctx);
	free(ctx->config, M_HWT);
	ident_give(ctx->ident);
	free(ctx, M_HWT);
}

/*
 * Size 0 keeps what is there.  The old configuration is freed at once: a hook
 * may still be reading it.
 */
int
context_config_set(struct hwt_context *ctx, const struct hwt_set_config *set)
{
	void *config, *old;
	int error;

	if (set->config_size == 0)
		return (0);
	if (set->config_size > PAGE_SIZE)
		return (EFBIG);
	config = malloc(set->config_size, M_HWT, M_WAITOK | M_ZERO);
	error = copyin(set->config, config, set->config_size);
	if (error != 0) {
		free(config, M_HWT);
		return (error);
	}
	HWT_CTX_LOCK(ctx);
	old = ctx->config;
	ctx->config = config;
	ctx->config_size = set->config_size;
	ctx->config_version = set->config_version;
	HWT_CTX_UNLOCK(ctx);
	free(old, M_HWT);
	return (0);
}
