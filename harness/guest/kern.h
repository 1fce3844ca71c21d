/*
 * The guest kernel's interface for the kernel interfaces built on it: all that
 * harness/kpi/<os>/ may use.  It avoids names that an OS also has (struct
 * thread, malloc, panic, PAGE_SIZE ...); memcpy and the like are shared.
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
 * Supplied by the kernel interface; the guest kernel's weak definitions do
 * nothing.  Both run in a kernel task on CPU 0 with interrupts on: kpi_init
 * before the first user program starts, kpi_fini after it has ended.
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
/* SYS_MODULE_CALL of system call NUMBER: its result, or a negative error. */
int64_t kpi_module_call(uint64_t number, const uint64_t *args);

/* True if the boot parameter manual=NAME,... lists module NAME; kpi_init does
 * not load these modules. */
bool module_is_manual(const char *name);
/*
 * A module that is not loaded has neither code nor data: a call or access
 * through a stale pointer faults.  module_keep saves its data as at boot,
 * before its code first runs, and unmaps text and data.  The first module_show
 * maps them, data as saved; the last module_hide unmaps them.  Constants stay.
 */
void module_keep(const struct abi_module *module);
void module_hide(const struct abi_module *module);
void module_show(const struct abi_module *module);

#endif
