/*
 * The backend of hwt(4) and its module.  hwt does not serialise its calls, and calls
 * enable and disable at switches of threads, off.
 */
#include <sys/hwt.h>
#include <sys/kernel.h>
#include <sys/lock.h>
#include <sys/module.h>
#include <sys/mutex.h>
#include <sys/param.h>
#include <sys/smp.h>
#include <sys/systm.h>

#include <machine/atomic.h>
#include <machine/cpufunc.h>

#include <vm/vm.h>

#include <dev/hwt/hwt_backend.h>
#include <dev/hwt/hwt_context.h>
#include <dev/hwt/hwt_cpu.h>
#include <dev/hwt/hwt_thread.h>
#include <dev/hwt/hwt_vm.h>

#include "driver/insntrace-freebsd/trace.h"
#include "driver/insntrace/core/services.h"

/* Of CPU mode; under backend_lock. */
static struct cpu_owner {
	struct hwt_context *ctx;
	struct trace *trace;
} owners[OS_CPUS_MAX];

/* Contexts of one mode at a time: a CPU has one trace. */
static u_int contexts[2];
static struct mtx backend_lock;

/* Of thread mode: the context that is being stopped, written under stop_lock; and for each
 * CPU the trace that hwt has configured there and enables next. */
static struct hwt_context *stopping;
static struct mtx stop_lock;
static struct trace *next[OS_CPUS_MAX];

static u_int
is_of_threads(const struct hwt_context *ctx)
{
	return (ctx->mode == HWT_MODE_THREAD);
}

static int
claim_mode(const struct hwt_context *ctx)
{
	u_int mode = is_of_threads(ctx);
	int error = 0;

	mtx_lock(&backend_lock);
	if (contexts[!mode] != 0)
		error = EBUSY;
	else
		contexts[mode]++;
	mtx_unlock(&backend_lock);
	return (error);
}

static void
release_mode(const struct hwt_context *ctx)
{
	mtx_lock(&backend_lock);
	contexts[is_of_threads(ctx)]--;
	mtx_unlock(&backend_lock);
}

static int
claim_cpu(struct hwt_context *ctx, int cpu)
{
	int error = 0;

	if (cpu < 0 || (u_int)cpu > mp_maxid || CPU_ABSENT(cpu))
		return (ENXIO);
	mtx_lock(&backend_lock);
	if (owners[cpu].ctx != NULL)
		error = EBUSY;
	else
		owners[cpu].ctx = ctx;
	mtx_unlock(&backend_lock);
	return (error);
}

static struct trace *
trace_of_cpu(const struct hwt_context *ctx, int cpu)
{
	struct trace *trace;

	mtx_lock(&backend_lock);
	trace = owners[cpu].ctx == ctx ? owners[cpu].trace : NULL;
	mtx_unlock(&backend_lock);
	return (trace);
}

/* No CPU traces for CTX. */
static void
release_cpus(struct hwt_context *ctx)
{
	int cpu;

	CPU_FOREACH(cpu) {
		struct trace *trace = NULL;

		mtx_lock(&backend_lock);
		if (owners[cpu].ctx == ctx) {
			trace = owners[cpu].trace;
			owners[cpu] = (struct cpu_owner){ .ctx = NULL };
		}
		mtx_unlock(&backend_lock);
		if (trace != NULL)
			trace_free(trace);
	}
}

static int
init_cpu(struct hwt_context *ctx, struct hwt_cpu *cpu)
{
	int error = claim_cpu(ctx, cpu->cpu_id);

	return (error != 0 ? error
			   : trace_create(ctx, cpu->cpu_id, NULL, cpu->vm,
				 &owners[cpu->cpu_id].trace));
}

/* hwt frees a context that this refuses, and does not call deinit. */
static int
insntrace_init(struct hwt_context *ctx)
{
	struct hwt_cpu *cpu;
	int error = claim_mode(ctx);

	if (error != 0 || is_of_threads(ctx))
		return (error);
	TAILQ_FOREACH(cpu, &ctx->cpus, next) {
		error = init_cpu(ctx, cpu);
		if (error != 0)
			break;
	}
	if (error != 0) {
		release_cpus(ctx);
		release_mode(ctx);
	}
	return (error);
}

static void
leave_here(void *ctx)
{
	trace_leave(ctx);
}

static void
nothing(void *arg __unused)
{
}

/*
 * While the context runs, hwt enables its threads at each switch.  So they are refused
 * until the context is stopped for hwt, too, and each CPU has left hwt's hooks.
 */
static void
stop_threads(struct hwt_context *ctx)
{
	struct hwt_thread *thread;

	mtx_lock(&stop_lock);
	__atomic_store_n(&stopping, ctx, __ATOMIC_SEQ_CST);
	smp_rendezvous(NULL, leave_here, NULL, ctx);
	HWT_CTX_LOCK(ctx);
	ctx->state = CTX_STATE_STOPPED;
	HWT_CTX_UNLOCK(ctx);
	smp_rendezvous(NULL, nothing, NULL, NULL);
	HWT_CTX_LOCK(ctx);
	TAILQ_FOREACH(thread, &ctx->threads, next)
		trace_reset(thread->private);
	HWT_CTX_UNLOCK(ctx);
	__atomic_store_n(&stopping, NULL, __ATOMIC_SEQ_CST);
	mtx_unlock(&stop_lock);
	TAILQ_FOREACH(thread, &ctx->threads, next)
		trace_tell(thread->private);
}

static void
stop_cpus(struct hwt_context *ctx)
{
	int cpu;

	smp_rendezvous_cpus(ctx->cpu_map, NULL, leave_here, NULL, ctx);
	CPU_FOREACH_ISSET(cpu, &ctx->cpu_map) {
		struct trace *trace = trace_of_cpu(ctx, cpu);

		if (trace == NULL)
			continue;
		trace_reset(trace);
		trace_tell(trace);
	}
}

static void
insntrace_stop(struct hwt_context *ctx)
{
	if (is_of_threads(ctx))
		stop_threads(ctx);
	else
		stop_cpus(ctx);
}

/* hwt calls no hook for the context any more, and frees its threads after this. */
static int
insntrace_deinit(struct hwt_context *ctx)
{
	struct hwt_thread *thread;

	insntrace_stop(ctx);
	if (is_of_threads(ctx)) {
		TAILQ_FOREACH(thread, &ctx->threads, next)
			trace_retire(thread->private);
	} else {
		release_cpus(ctx);
	}
	release_mode(ctx);
	return (0);
}

static struct trace *
trace_of_thread(struct hwt_context *ctx, int thread_id)
{
	const struct hwt_thread *thread;
	struct trace *trace = NULL;

	HWT_CTX_LOCK(ctx);
	TAILQ_FOREACH(thread, &ctx->threads, next)
		if (thread->thread_id == thread_id)
			trace = thread->private;
	HWT_CTX_UNLOCK(ctx);
	return (trace);
}

/*
 * In thread mode on the CPU, off, before each enable, which
 * does not depend on the result.
 */
static int
insntrace_configure(struct hwt_context *ctx, int cpu, int thread_id)
{
	struct trace *trace;
	int error;

	if (!is_of_threads(ctx)) {
		trace = trace_of_cpu(ctx, cpu);
		return (trace == NULL ? ENXIO : trace_configure(trace, ctx));
	}
	next[cpu] = NULL;
	if (__atomic_load_n(&stopping, __ATOMIC_SEQ_CST) == ctx)
		return (EBUSY);
	trace = trace_of_thread(ctx, thread_id);
	error = trace == NULL ? ENXIO : trace_configure(trace, ctx);
	if (error == 0)
		next[cpu] = trace;
	return (error);
}

static void
insntrace_enable(struct hwt_context *ctx, int cpu)
{
	if (is_of_threads(ctx) && next[cpu] != NULL)
		trace_enter(next[cpu]);
}

/* At the end of a thread interrupts are on. */
static void
insntrace_disable(struct hwt_context *ctx, int cpu __unused)
{
	if (!is_of_threads(ctx))
		return;
	spinlock_enter();
	trace_leave(ctx);
	spinlock_exit();
}

static void
enter_here(void *ctx)
{
	const struct cpu_owner *owner = &owners[curcpu];

	if (owner->ctx == ctx && owner->trace != NULL &&
	    trace_is_configured(owner->trace))
		trace_enter(owner->trace);
}

static int
insntrace_enable_smp(struct hwt_context *ctx)
{
	smp_rendezvous_cpus(ctx->cpu_map, NULL, enter_here, NULL, ctx);
	return (0);
}

static int
insntrace_disable_smp(struct hwt_context *ctx)
{
	stop_cpus(ctx);
	return (0);
}

static int
insntrace_read(
    struct hwt_vm *vm, int *page, vm_offset_t *offset, uint64_t *data)
{
	struct trace *trace = vm->thr != NULL
	    ? vm->thr->private
	    : trace_of_cpu(vm->ctx, vm->cpu->cpu_id);
	uint64_t position;

	if (trace == NULL)
		return (ENXIO);
	position = trace_position(trace);
	*page = (int)(position / PAGE_SIZE);
	*offset = position & PAGE_MASK;
	*data = 0;
	return (0);
}

static int
insntrace_thread_alloc(struct hwt_thread *thread)
{
	struct trace *trace;
	int error = trace_create(NULL, 0, thread, thread->vm, &trace);

	if (error == 0)
		thread->private = trace;
	return (error);
}

static void
insntrace_thread_free(struct hwt_thread *thread)
{
	trace_free(thread->private);
}

static int
insntrace_svc_buf(struct hwt_context *ctx __unused, void *data __unused,
    size_t bytes __unused, int version __unused)
{
	return (EOPNOTSUPP);
}

static void
insntrace_dump(int cpu __unused)
{
}

static struct hwt_backend_ops ops = {
	.hwt_backend_init = insntrace_init,
	.hwt_backend_deinit = insntrace_deinit,
	.hwt_backend_configure = insntrace_configure,
	.hwt_backend_svc_buf = insntrace_svc_buf,
	.hwt_backend_enable = insntrace_enable,
	.hwt_backend_disable = insntrace_disable,
	.hwt_backend_read = insntrace_read,
	.hwt_backend_stop = insntrace_stop,
	.hwt_backend_enable_smp = insntrace_enable_smp,
	.hwt_backend_disable_smp = insntrace_disable_smp,
	.hwt_backend_thread_alloc = insntrace_thread_alloc,
	.hwt_backend_thread_free = insntrace_thread_free,
	.hwt_backend_dump = insntrace_dump,
};

static struct hwt_backend backend = {
	.name = "pt",
	.ops = &ops,
	.kva_req = 0,
};

static bool loaded;

/* Registered last: contexts are made from then on. */
static int
load(void)
{
	int error;

	mtx_init(&backend_lock, "insntrace backend", NULL, MTX_DEF);
	mtx_init(&stop_lock, "insntrace stop", NULL, MTX_DEF);
	error = trace_load();
	if (error == 0) {
		error = hwt_backend_register(&backend);
		if (error != 0)
			(void)trace_unload();
	}
	loaded = error == 0;
	if (!loaded) {
		mtx_destroy(&stop_lock);
		mtx_destroy(&backend_lock);
	}
	return (error);
}

/* The kernel also unloads a module whose load has failed. */
static int
unload(void)
{
	int error;

	if (!loaded)
		return (0);
	(void)hwt_backend_unregister(&backend);
	error = trace_unload();
	if (error != 0) {
		(void)hwt_backend_register(&backend);
		return (error);
	}
	mtx_destroy(&stop_lock);
	mtx_destroy(&backend_lock);
	loaded = false;
	return (0);
}

static int
insntrace_modevent(module_t module __unused, int type, void *data __unused)
{
	switch (type) {
	case MOD_LOAD:
		return (load());
	case MOD_UNLOAD:
		return (unload());
	default:
		return (0);
	}
}

static moduledata_t insntrace_module = { "intel_pt", insntrace_modevent, NULL };

DECLARE_MODULE(intel_pt, insntrace_module, SI_SUB_DRIVERS, SI_ORDER_FIRST);
MODULE_DEPEND(intel_pt, hwt, 1, 1, 1);
MODULE_VERSION(intel_pt, 1);
