/*
 * Loading and unloading of the modules that the host passed.  A module's
 * declarations come from its section topaz_modules; SI_SUB_*, SI_ORDER_* and
 * MODULE_DEPEND give the order.  Versions of dependencies are not compared.
 */
#include <sys/linker.h>
#include <sys/malloc.h>
#include <sys/module.h>
#include <sys/pmckern.h>
#include <sys/systm.h>

#include "harness/guest/kern.h"
#include "harness/kpi/freebsd/kpi.h"

#define RECORDS_MAX 32

struct loadable {
	const struct kpi_module_record *declare;
	const struct abi_module *image;
	bool visited, loaded;
	bool manual; /* by SYS_MODULE_LOAD only */
};

static struct loadable loadables[RECORDS_MAX];
static size_t loadable_count;
static const struct kpi_module_record *depends[RECORDS_MAX];
static size_t depend_count;

/* SYSINIT and SYSUNINIT of all modules. */
static struct {
	const struct kpi_module_record *record;
	const struct abi_module *image;
} inits[RECORDS_MAX];
static size_t init_count;

/* The loaded modules, in the order of loading. */
static struct loadable *loaded[RECORDS_MAX];
static size_t loaded_count;

static void
collect_record(
    const struct abi_module *image, const struct kpi_module_record *record)
{
	struct loadable *self;

	if (loadable_count == RECORDS_MAX || depend_count == RECORDS_MAX ||
	    init_count == RECORDS_MAX)
		panic("too many module records");
	if (record->kind == KPI_MODULE_DECLARE) {
		self = &loadables[loadable_count++];
		self->declare = record;
		self->image = image;
		self->manual = module_is_manual(record->name) ||
		    module_is_manual(image->name);
		self->visited = self->manual;
	} else if (record->kind == KPI_MODULE_DEPEND) {
		depends[depend_count++] = record;
	} else if (record->kind != KPI_MODULE_VERSION) {
		inits[init_count].record = record;
		inits[init_count++].image = image;
	}
}

static void
collect(void)
{
	const struct kpi_module_record *const *set;
	const struct abi_module *module;
	uint64_t i, j;

	for (i = 0; (module = module_at(i)) != NULL; i++) {
		set = (const void *)(uintptr_t)module->set_va;
		for (j = 0; j < module->set_bytes / sizeof(*set); j++)
			collect_record(module, set[j]);
	}
	for (i = 0; i < loadable_count; i++)
		if (loadables[i].manual)
			module_keep(loadables[i].image);
}

static bool
starts_before(
    const struct kpi_module_record *a, const struct kpi_module_record *b)
{
	if (a->sub != b->sub)
		return (a->sub < b->sub);
	return (a->order < b->order);
}

/* The first module not visited, by SI_*, then by the host's order. */
static struct loadable *
next_loadable(void)
{
	struct loadable *best;
	size_t i;

	best = NULL;
	for (i = 0; i < loadable_count; i++)
		if (!loadables[i].visited &&
		    (best == NULL ||
			starts_before(loadables[i].declare, best->declare)))
			best = &loadables[i];
	return (best);
}

/* NAME is the module's own name or that of its file. */
static struct loadable *
find_loadable(const char *name)
{
	size_t i;

	for (i = 0; i < loadable_count; i++)
		if (strcmp(loadables[i].declare->name, name) == 0 ||
		    strcmp(loadables[i].image->name, name) == 0)
			return (&loadables[i]);
	return (NULL);
}

static bool load_one(struct loadable *self);

/*
 * A dependency that no module satisfies fails, as in kldload.  Any other
 * failure before the module's own code counts as a missing dependency.
 */
static bool
load_needs(const char *name)
{
	struct loadable *need;
	size_t i;

	for (i = 0; i < depend_count; i++) {
		if (strcmp(depends[i]->name, name) != 0)
			continue;
		need = find_loadable(depends[i]->needs);
		if (need != NULL && fault_point(__func__, depends[i]))
			need = NULL;
		if (need == NULL || !load_one(need)) {
			printf("kpi: module %s needs %s\n", name,
			    depends[i]->needs);
			return (false);
		}
	}
	return (true);
}

/*
 * Runs the functions of KIND of the module's image that come before (or after)
 * its MOD_LOAD, in order.  O(n^2), for few functions.
 */
static void
run_inits(const struct loadable *self, enum kpi_module_kind kind, bool before)
{
	bool done[RECORDS_MAX] = { false };
	size_t best, i;

	for (;;) {
		best = init_count;
		for (i = 0; i < init_count; i++) {
			if (done[i] || inits[i].image != self->image ||
			    inits[i].record->kind != kind ||
			    starts_before(inits[i].record, self->declare) !=
				before)
				continue;
			if (best == init_count ||
			    starts_before(
				inits[i].record, inits[best].record) ==
				(kind == KPI_MODULE_SYSINIT))
				best = i;
		}
		if (best == init_count)
			return;
		done[best] = true;
		inits[best].record->func(inits[best].record->arg);
	}
}

static void
run_uninits(const struct loadable *self)
{
	run_inits(self, KPI_MODULE_SYSUNINIT, false);
	run_inits(self, KPI_MODULE_SYSUNINIT, true);
}

/* If MOD_LOAD fails, the module gets MOD_UNLOAD, as in FreeBSD. */
static bool
start(struct loadable *self)
{
	const moduledata_t *data = self->declare->data;
	int error;

	run_inits(self, KPI_MODULE_SYSINIT, true);
	error = data->evhand(NULL, MOD_LOAD, data->priv);
	if (error != 0) {
		(void)data->evhand(NULL, MOD_UNLOAD, data->priv);
		run_uninits(self);
		printf("kpi: module %s does not load, error %d\n", data->name,
		    error);
		return (false);
	}
	run_inits(self, KPI_MODULE_SYSINIT, false);
	self->loaded = true;
	loaded[loaded_count++] = self;
	return (true);
}

static bool
load_one(struct loadable *self)
{
	if (self->visited)
		return (self->loaded);
	self->visited = true;
	return (load_needs(self->declare->name) && start(self));
}

/* Loads by name, as kldload does.  Dependencies that are loaded by name, too,
 * must be loaded already. */
int
kpi_module_load(const char *name)
{
	struct loadable *self = find_loadable(name);

	if (self == NULL || !self->manual)
		return (ENOENT);
	if (self->loaded)
		return (EEXIST);
	if (!load_needs(self->declare->name))
		return (ENOENT);
	module_show(self->image);
	if (start(self))
		return (0);
	module_hide(self->image);
	return (ENOEXEC);
}

static bool
is_needed(const struct loadable *self)
{
	size_t i, j;

	for (i = 0; i < depend_count; i++)
		for (j = 0; j < loaded_count; j++)
			if (strcmp(depends[i]->needs, self->declare->name) ==
				0 &&
			    strcmp(depends[i]->name,
				loaded[j]->declare->name) == 0)
				return (true);
	return (false);
}

static void
forget(const struct loadable *self)
{
	size_t i, count;

	for (i = count = 0; i < loaded_count; i++)
		if (loaded[i] != self)
			loaded[count++] = loaded[i];
	loaded_count = count;
}

/* As kldunload without force: MOD_QUIESCE and MOD_UNLOAD may refuse. */
int
kpi_module_unload(const char *name)
{
	struct loadable *self = find_loadable(name);
	const moduledata_t *data;
	int error;

	if (self == NULL || !self->manual || !self->loaded)
		return (ENOENT);
	if (is_needed(self))
		return (EBUSY);
	data = self->declare->data;
	error = data->evhand(NULL, MOD_QUIESCE, data->priv);
	if (error != 0 && error != EOPNOTSUPP && error != EINVAL)
		return (error);
	error = data->evhand(NULL, MOD_UNLOAD, data->priv);
	if (error != 0)
		return (error);
	run_uninits(self);
	self->loaded = false;
	forget(self);
	module_hide(self->image);
	return (0);
}

void
kpi_init(void)
{
	struct loadable *next;

	kpi_cpu_init();
	kpi_swi_init();
	kpi_device_init();
	kpi_kqueue_init();
	kpi_process_init();
	collect();
	while ((next = next_loadable()) != NULL)
		(void)load_one(next);
}

void
kpi_fini(void)
{
	const struct loadable *self;
	const moduledata_t *data;
	int error;

	while (loaded_count > 0) {
		self = loaded[--loaded_count];
		data = self->declare->data;
		error = data->evhand(NULL, MOD_UNLOAD, data->priv);
		if (error != 0)
			printf("kpi: module %s does not unload, error %d\n",
			    data->name, error);
		else
			run_uninits(self);
	}
	kpi_process_fini();
	kpi_device_fini();
	kpi_swi_fini();
}

void *
linker_hwpmc_list_objects(void)
{
	const struct abi_module *module;
	struct pmckern_map_in *list;
	uint64_t count, i;

	for (count = 0; module_at(count) != NULL; count++)
		continue;
	list = mallocarray(
	    count + 2, sizeof(*list), M_LINKER, M_WAITOK | M_ZERO);
	list[0].pm_file = __DECONST(char *, "kernel");
	list[0].pm_address = ABI_KERNEL_VA;
	for (i = 0; i < count; i++) {
		module = module_at(i);
		list[i + 1].pm_file = __DECONST(char *, module->name);
		list[i + 1].pm_address = module->segment[0].va;
	}
	return (list);
}
