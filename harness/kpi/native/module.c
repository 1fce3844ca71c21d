/*
 * Loads the modules that the host handed over before the first program starts,
 * and unloads them after it has ended.
 */
#include "harness/kpi/native/module.h"

#include "harness/guest/kern.h"

#define MODULES_MAX 32

static const struct native_module *loaded[MODULES_MAX];
static unsigned loaded_count;

static void
load_one(const struct native_module *module)
{
	int error;

	if (loaded_count == MODULES_MAX)
		kpanic("more than %u modules", loaded_count);
	error = module->load();
	if (error == 0)
		loaded[loaded_count++] = module;
	else
		kprintf(
		    "module %s does not load, error %d\n", module->name, error);
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
			load_one(set[j]);
	}
}

void
kpi_fini(void)
{
	while (loaded_count != 0)
		loaded[--loaded_count]->unload();
}
