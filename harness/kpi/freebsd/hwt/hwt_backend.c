/*
 * The list of backends, and the calls of their operations.  A backend may be
 * unregistered while a lookup's result is in use.  Of the operations, only
 * enable_smp, thread_alloc and thread_free are tested for NULL.
 */
#include "hwt.h"

static MALLOC_DEFINE(M_HWT_BACKEND, "hwt_backend", "HWT backends");

struct backend_entry {
	LIST_ENTRY(backend_entry) next;
	struct hwt_backend *backend;
};

static LIST_HEAD(, backend_entry) backends;
static struct mtx hwt_backend_mtx;

void
hwt_backend_load(void)
{
	LIST_INIT(&backends);
	mtx_init(&hwt_backend_mtx, "hwt backends", NULL, MTX_DEF);
}

void
hwt_backend_unload(void)
{
	mtx_destroy(&hwt_backend_mtx);
}

int
hwt_backend_register(struct hwt_backend *backend)
{
	struct backend_entry *entry;

	if (backend == NULL || backend->name == NULL || backend->ops == NULL)
		return (EINVAL);
	if (kern_fault_point(__func__, __builtin_return_address(0)))
		return (ENOMEM);
	entry = malloc(sizeof(*entry), M_HWT_BACKEND, M_WAITOK | M_ZERO);
	entry->backend = backend;
	HWT_BACKEND_LOCK();
	LIST_INSERT_HEAD(&backends, entry, next);
	HWT_BACKEND_UNLOCK();
	return (0);
}

int
hwt_backend_unregister(struct hwt_backend *backend)
{
	struct backend_entry *entry;

	if (backend == NULL)
		return (EINVAL);
	HWT_BACKEND_LOCK();
	LIST_FOREACH(entry, &backends, next)
		if (entry->backend == backend)
			break;
	if (entry != NULL)
		LIST_REMOVE(entry, next);
	HWT_BACKEND_UNLOCK();
	if (entry == NULL)
		return (ENOENT);
	free(entry, M_HWT_BACKEND);
	return (0);
}

struct hwt_backend *
hwt_backend_lookup(const char *name)
{
	struct backend_entry *entry;
	struct hwt_backend *found;

	found = NULL;
	HWT_BACKEND_LOCK();
	LIST_FOREACH(entry, &backends, next)
		if (strcmp(entry->backend->name, name) == 0) {
			found = entry->backend;
			break;
		}
	HWT_BACKEND_UNLOCK();
	return (found);
}

static const struct hwt_backend_ops *
ops_of(const struct hwt_context *ctx)
{
	return (ctx->hwt_backend->ops);
}

int
hwt_backend_init(struct hwt_context *ctx)
{
	return (ops_of(ctx)->hwt_backend_init(ctx));
}

void
hwt_backend_deinit(struct hwt_context *ctx)
{
	(void)ops_of(ctx)->hwt_backend_deinit(ctx);
}

/* Both callers drop the error; only the host receives it. */
int
hwt_backend_configure(struct hwt_context *ctx, int cpu_id, int thread_id)
{
	int error;

	error = ops_of(ctx)->hwt_backend_configure(ctx, cpu_id, thread_id);
	if (error != 0)
		kern_dropped_configure(error, (uint64_t)cpu_id);
	return (error);
}

void
hwt_backend_enable(struct hwt_context *ctx, int cpu_id)
{
	ops_of(ctx)->hwt_backend_enable(ctx, cpu_id);
}

void
hwt_backend_disable(struct hwt_context *ctx, int cpu_id)
{
	ops_of(ctx)->hwt_backend_disable(ctx, cpu_id);
}

void
hwt_backend_enable_smp(struct hwt_context *ctx)
{
	int cpu_id, error;

	error = ops_of(ctx)->hwt_backend_enable_smp(ctx);
	if (error != 0)
		CPU_FOREACH_ISSET(cpu_id, &ctx->cpu_map)
			kern_dropped_enable(error, (uint64_t)cpu_id);
}

void
hwt_backend_disable_smp(struct hwt_context *ctx)
{
	(void)ops_of(ctx)->hwt_backend_disable_smp(ctx);
}

void
hwt_backend_stop(struct hwt_context *ctx)
{
	ops_of(ctx)->hwt_backend_stop(ctx);
}

void
hwt_backend_dump(struct hwt_context *ctx, int cpu_id)
{
	ops_of(ctx)->hwt_backend_dump(cpu_id);
}

int
hwt_backend_read(struct hwt_context *ctx, struct hwt_vm *vm, int *ident,
    vm_offset_t *offset, uint64_t *data)
{
	return (ops_of(ctx)->hwt_backend_read(vm, ident, offset, data));
}

int
hwt_backend_svc_buf(
    struct hwt_context *ctx, void *data, size_t data_size, int data_version)
{
	return (ops_of(ctx)->hwt_backend_svc_buf(
	    ctx, data, data_size, data_version));
}

int
hwt_backend_thread_alloc(struct hwt_context *ctx, struct hwt_thread *thr)
{
	if (ops_of(ctx)->hwt_backend_thread_alloc == NULL)
		return (0);
	KASSERT(thr->private == NULL, ("hwt thread has backend data"));
	return (ops_of(ctx)->hwt_backend_thread_alloc(thr));
}

void
hwt_backend_thread_free(struct hwt_thread *thr)
{
	if (thr->backend->ops->hwt_backend_thread_free == NULL)
		return;
	KASSERT(thr->private != NULL, ("hwt thread has no backend data"));
	thr->backend->ops->hwt_backend_thread_free(thr);
}
