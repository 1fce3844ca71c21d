/*
 * Kernel modules written on the guest kernel itself (harness/guest/kern.h),
 * with no OS's interfaces in between: how one says how it starts and ends.
 * Modules do not depend on each other; they load in the host's order and unload
 * in reverse.
 */
#ifndef TOPAZ_HARNESS_KPI_NATIVE_MODULE_H
#define TOPAZ_HARNESS_KPI_NATIVE_MODULE_H

struct native_module {
	const char *name;
	int (*load)(void); /* 0, or an error (enum kerr): it is not loaded */
	void (*unload)(void);
};

/* At file level, once in a module; NAME is an identifier. */
#define NATIVE_MODULE(name, load, unload)                                  \
 static const struct native_module native_module_##name = { #name, (load), \
	 (unload) };                                                       \
 static const struct native_module *const native_record_##name             \
     __attribute__((used, section("topaz_modules"))) = &native_module_##name

#endif
