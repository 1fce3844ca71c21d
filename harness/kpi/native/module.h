/*
 * Kernel modules written for the guest kernel itself (harness/guest/kern.h),
 * without the interfaces of an OS: the declaration of load and unload.  Modules
 * do not depend on each other; they load in the host's order and unload in
 * reverse.
 */
#ifndef TOPAZ_HARNESS_KPI_NATIVE_MODULE_H
#define TOPAZ_HARNESS_KPI_NATIVE_MODULE_H

struct native_module {
	const char *name;
	/*
	 * Called in a task that may sleep, on any CPU, all CPUs online: at boot
	 * before the first program starts, or by module_load of a scenario.
	 * Returns 0, or an error (enum kerr): the module is not loaded, .unload
	 * is not called, and nothing of it may stay registered.
	 */
	int (*load)(void);
	/* The same context.  On return nothing may refer to the module any
	 * more: its text and data are unmapped if a scenario loaded it. */
	void (*unload)(void);
};

/*
 * Used once in a module, at file level.  NAME is an identifier and becomes the
 * record's name, LOAD and UNLOAD are functions.  Each time a scenario loads the
 * module, its data are as at boot.
 */
#define NATIVE_MODULE(name, load, unload)                                  \
 static const struct native_module native_module_##name = { #name, (load), \
	 (unload) };                                                       \
 static const struct native_module *const native_record_##name             \
     __attribute__((used, section("topaz_modules"))) = &native_module_##name

#endif
