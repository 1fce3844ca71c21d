/* The CPUs of a context in CPU mode. */
#include "hwt.h"

static MALLOC_DEFINE(M_HWT_CPU, "hwt_cpu", "HWT CPUs");

struct hwt_cpu *
hwt_cpu_alloc(void)
{
	return (malloc(sizeof(struct hwt_cpu), M_HWT_CPU, M_WAITOK | M_ZERO));
}

void
hwt_cpu_free(struct hwt_cpu *cpu)
{
	free(cpu, M_HWT_CPU);
}

/* Here and below the context is locked. It must have a CPU. */
struct hwt_cpu *
hwt_cpu_first(struct hwt_context *ctx)
{
	struct hwt_cpu *cpu = TAILQ_FIRST(&ctx->cpus);

	HWT_CTX_ASSERT_LOCKED(ctx);
	KASSERT(cpu != NULL, ("a context without CPUs"));
	return (cpu);
}

struct hwt_cpu *
hwt_cpu_get(struct hwt_context *ctx, int cpu_id)
{
	struct hwt_cpu *cpu;

	HWT_CTX_ASSERT_LOCKED(ctx);
	TAILQ_FOREACH(cpu, &ctx->cpus, next) {
		if (cpu->cpu_id == cpu_id)
			return (cpu);
	}
	return (NULL);
}

void
hwt_cpu_insert(struct hwt_context *ctx, struct hwt_cpu *cpu)
{
	HWT_CTX_ASSERT_LOCKED(ctx);
	TAILQ_INSERT_TAIL(&ctx->cpus, cpu, next);
}
