/*
 * The guest kernel's interface for kernel interfaces built on it: everything that
 * harness/kpi/<os>/ may use.  Names that an OS has as well (struct thread, malloc,
 * panic, PAGE_SIZE ...) are left to it; memcpy and the like are shared.
 */
#ifndef TOPAZ_HARNESS_GUEST_KERN_H
#define TOPAZ_HARNESS_GUEST_KERN_H

#include "emu/guest_abi.h"
#include "harness/guest/cpu.h"
#include "harness/guest/lib.h"
#include "harness/guest/memory/mem.h"
#include "harness/guest/process/process.h"
#include "harness/guest/sys.h"
#include "harness/guest/task/lock.h"
#include "harness/guest/task/task.h"

/*
 * Supplied by the kernel interface; the guest kernel's own weak ones do nothing.
 * Both run in a kernel task on CPU 0, interrupts on: kpi_init before the first
 * user program starts, kpi_fini after it has ended.
 */
void kpi_init(void);
void kpi_fini(void);

/*
 * SYS_MODULE_LOAD and SYS_MODULE_UNLOAD: 0, or an error (enum kerr).  One call at a
 * time, in the calling program's task.  kpi_cpu_offline: the CPU runs no more tasks.
 */
int kpi_module_load(const char *name);
int kpi_module_unload(const char *name);
void kpi_cpu_offline(uint32_t cpu);

/* Is NAME one of the modules of the word manual=NAME,..., which kpi_init does not
 * load? */
bool module_is_manual(const char *name);
/*
 * A module that is not loaded has neither code nor data: who calls it or holds a
 * pointer into it faults.  module_keep notes its data as it is at boot, before any
 * of it runs, and takes text and data away; the first module_show brings them back,
 * data as noted, and the last module_hide takes them away again.  Constants stay.
 */
void module_keep(const struct abi_module *module);
void module_hide(const struct abi_module *module);
void module_show(const struct abi_module *module);

#endif
