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
	/*
	 * Called in a task that may sleep, on any CPU, all CPUs online: at boot before
	 * the first program starts, or by the call module_load of a scenario.  0; or an
	 * error (enum kerr): the module is not loaded, .unload is not called, and nothing
	 * of it may be left registered.
	 */
	int (*load)(void);
	/* The same context.  On return nothing may lead into the module any more: its
	 * text and data are unmapped where it was loaded by a scenario. */
	void (*unload)(void);
};

/*
 * At file level, once in a module; NAME is an identifier and becomes the record's name,
 * LOAD and UNLOAD are functions.  A module that a scenario loads has its data as at boot
 * each time.
 */
#define NATIVE_MODULE(name, load, unload)                                  \
 static const struct native_module native_module_##name = { #name, (load), \
	 (unload) };                                                       \
 static const struct native_module *const native_record_##name             \
     __attribute__((used, section("topaz_modules"))) = &native_module_##name

#endif
