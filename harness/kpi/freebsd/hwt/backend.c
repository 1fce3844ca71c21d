/* The list of backends.  A backend found may be unregistered while it is in
 * use. */
#include "hwt.h"

struct backend_entry {
	LIST_ENTRY(backend_entry) next;
	struct hwt_backend *backend;
};

static LIST_HEAD(, backend_entry) backends;
static struct mtx backends_mtx;

void
backend_list_init(void)
{
	LIST_INIT(&backends);
	mtx_init(&backends_mtx, "hwt backends", NULL, MTX_DEF);
}

void
backend_list_fini(void)
{
	mtx_destroy(&backends_mtx);
}

int
hwt_backend_register(struct hwt_backend *backend)
{
	struct backend_entry *entry;

	if (backend == NULL || backend->name == NULL || backend->ops == NULL)
		return (EINVAL);
	if (kern_fault_point(__func__, __builtin_return_address(0)))
		return (ENOMEM);
	entry = malloc(sizeof(*entry), M_HWT, M_WAITOK | M_ZERO);
	entry->backend = backend;
	mtx_lock(&backends_mtx);
	LIST_INSERT_HEAD(&backends, entry, next);
	mtx_unlock(&backends_mtx);
	return (0);
}

int
hwt_backend_unregister(struct hwt_backend *backend)
{
	struct backend_entry *entry;

	if (backend == NULL)
		return (EINVAL);
	mtx_lock(&backends_mtx);
	LIST_FOREACH(entry, &backends, next)
		if (entry->backend == backend)
			break;
	if (entry != NULL)
		LIST_REMOVE(entry, next);
	mtx_unlock(&backends_mtx);
	if (entry == NULL)
		return (ENOENT);
	free(entry, M_HWT);
	return (0);
}

struct hwt_backend *
backend_find(const char *name)
{
	struct backend_entry *entry;
	struct hwt_backend *found;

	found = NULL;
	mtx_lock(&backends_mtx);
	LIST_FOREACH(entry, &backends, next)
		if (strcmp(entry->backend->name, name) == 0) {
			found = entry->backend;
			break;
		}
	mtx_unlock(&backends_mtx);
	return (found);
}
