/*
 * Modules that are loaded and unloaded while the machine runs (manual=): their
 * memory is mapped only while they are loaded.
 */
#include "harness/guest/kern.h"

#include "harness/guest/internal.h"

#define SEGMENTS 4
#define KEPT_MAX 8

static struct kept {
	const struct abi_module *module;
	uint64_t copy_pa[SEGMENTS]; /* of writable segments, else 0 */
	unsigned users;
} kept[KEPT_MAX];

static struct mutex module_lock = MUTEX_INIT("modules");

bool
module_is_manual(const char *name)
{
	char list[128];
	const char *s = list;
	size_t length = strlen(name);

	boot_text("manual", list, sizeof(list));
	while (*s != '\0') {
		if (strncmp(s, name, length) == 0 &&
		    (s[length] == '\0' || s[length] == ','))
			return true;
		while (*s != '\0' && *s != ',')
			s++;
		s += *s == ',';
	}
	return false;
}

static struct kept *
find_kept(const struct abi_module *module)
{
	for (unsigned i = 0; i < KEPT_MAX; i++) {
		if (kept[i].module == module)
			return &kept[i];
	}
	return NULL;
}

static void
unmap_all(const struct abi_module *module)
{
	for (unsigned s = 0; s < SEGMENTS; s++) {
		if (module->segment[s].flags != 0 &&
		    module->segment[s].bytes != 0)
			kva_unmap(module->segment[s].va,
			    module->segment[s].bytes / PAGE_BYTES);
	}
}

void
module_keep(const struct abi_module *module)
{
	struct kept *entry = find_kept(NULL);

	if (find_kept(module) != NULL)
		return;
	if (entry == NULL)
		kpanic("more than %u modules to load by hand", KEPT_MAX);
	entry->module = module;
	for (unsigned s = 0; s < SEGMENTS; s++) {
		uint64_t bytes = module->segment[s].bytes;

		if ((module->segment[s].flags & ABI_SEG_WRITE) == 0 ||
		    bytes == 0)
			continue;
		entry->copy_pa[s] = frame_alloc_run(bytes / PAGE_BYTES);
		if (entry->copy_pa[s] == FRAME_NONE)
			kpanic("no memory for module %s", module->name);
		memcpy(phys_to_virt(entry->copy_pa[s]),
		    phys_to_virt(module->segment[s].va - ABI_KERNBASE), bytes);
	}
	unmap_all(module);
}

void
module_hide(const struct abi_module *module)
{
	struct kept *entry = find_kept(module);

	KERN_ASSERT(entry != NULL && entry->users != 0);
	if (--entry->users == 0)
		unmap_all(module);
}

void
module_show(const struct abi_module *module)
{
	struct kept *entry = find_kept(module);

	KERN_ASSERT(entry != NULL);
	if (entry->users++ != 0)
		return;
	for (unsigned s = 0; s < SEGMENTS; s++) {
		if (module->segment[s].flags == 0 ||
		    module->segment[s].bytes == 0)
			continue;
		if (entry->copy_pa[s] != 0)
			memcpy(
			    phys_to_virt(module->segment[s].va - ABI_KERNBASE),
			    phys_to_virt(entry->copy_pa[s]),
			    module->segment[s].bytes);
		paging_map_segment(module, s);
	}
}

int
module_load(const char *name)
{
	int error;

	mutex_lock(&module_lock);
	error = kpi_module_load(name);
	mutex_unlock(&module_lock);
	return error;
}

int
module_unload(const char *name)
{
	int error;

	mutex_lock(&module_lock);
	error = kpi_module_unload(name);
	mutex_unlock(&module_lock);
	return error;
}
