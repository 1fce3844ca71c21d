/* A CPU of a context in CPU mode. */
#ifndef _DEV_HWT_HWT_CPU_H_
#define _DEV_HWT_HWT_CPU_H_

#include <sys/queue.h>

struct hwt_context;
struct hwt_vm;

struct hwt_cpu {
	int cpu_id;
	struct hwt_vm *vm;
	TAILQ_ENTRY(hwt_cpu) next;
};

struct hwt_cpu *hwt_cpu_alloc(void);
void hwt_cpu_free(struct hwt_cpu *cpu);

/* The context is locked and has a CPU. hwt_cpu_get: NULL if not in it. */
struct hwt_cpu *hwt_cpu_first(struct hwt_context *ctx);
struct hwt_cpu *hwt_cpu_get(struct hwt_context *ctx, int cpu_id);
void hwt_cpu_insert(struct hwt_context *ctx, struct hwt_cpu *cpu);

#endif
