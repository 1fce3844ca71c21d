/*
 * Before the first program starts, loads the modules that the host passed,
 * except those of manual=; after it has ended, unloads the loaded ones.
 */
#include "harness/kpi/native/module.h"

#include "harness/guest/kern.h"

#define MODULES_MAX 32

/* A record and the state of its module. */
static struct loadable {
	const struct native_module *record;
	const struct abi_module *image;
	bool manual;
	uint32_t order; /* of loading, from 1; 0: it is not loaded */
} loadables[MODULES_MAX];
static unsigned loadable_count;
static uint32_t loaded_count;

/* NAME is the module's own name or that of its file. */
static struct loadable *
find(const char *name)
{
	for (unsigned i = 0; i < loadable_count; i++) {
		if (strcmp(loadables[i].record->name, name) == 0 ||
		    strcmp(loadables[i].image->name, name) == 0)
			return &loadables[i];
	}
	return NULL;
}

static int
load_one(struct loadable *self)
{
	int error = self->record->load();

	if (error == 0)
		self->order = ++loaded_count;
	else
		kprintf("module %s does not load, error %d\n",
		    self->record->name, error);
	return error;
}

static void
collect(const struct abi_module *image, const struct native_module *record)
{
	if (loadable_count == MODULES_MAX)
		kpanic("more than %u modules", loadable_count);
	loadables[loadable_count++] = (struct loadable){ .record = record,
		.image = image,
		.manual = module_is_manual(record->name) ||
		    module_is_manual(image->name) };
}

void
kpi_init(void)
{
	const struct abi_module *module;

	for (uint64_t i = 0; (module = module_at(i)) != NULL; i++) {
		const struct native_module *const *set =
		    (const void *)(uintptr_t)module->set_va;
		uint64_t count = module->set_bytes / sizeof(*set);

		for (uint64_t j = 0; j < count; j++)
			collect(module, set[j]);
	}
	for (unsigned i = 0; i < loadable_count; i++) {
		if (!loadables[i].manual) {
			(void)load_one(&loadables[i]);
			continue;
		}
		module_keep(loadables[i].image);
	}
}

int
kpi_module_load(const char *name)
{
	struct loadable *self = find(name);
	int error;

	if (self == NULL || !self->manual)
		return KE_NOENT;
	if (self->order != 0)
		return KE_EXIST;
	module_show(self->image);
	error = load_one(self);
	if (error != 0)
		module_hide(self->image);
	return error;
}

int
kpi_module_unload(const char *name)
{
	struct loadable *self = find(name);

	if (self == NULL || !self->manual || self->order == 0)
		return KE_NOENT;
	self->record->unload();
	if (self->order == loaded_count)
		loaded_count--;
	self->order = 0;
	module_hide(self->image);
	return 0;
}

/* Unloads the last loaded module first. */
void
kpi_fini(void)
{
	for (; loaded_count != 0; loaded_count--) {
		for (unsigned i = 0; i < loadable_count; i++) {
			if (loadables[i].order == loaded_count)
				loadables[i].record->unload();
		}
	}
}
