/*
 * The guest kernel's interface for kernel interfaces built on it: everything that
 * harness/kpi/<os>/ may use.  Names that an OS has as well (struct thread, malloc,
 * panic, PAGE_SIZE ...) are left to it; memcpy and the like are shared.
 */
#ifndef TOPAZ_HARNESS_GUEST_KERN_H
#define TOPAZ_HARNESS_GUEST_KERN_H

#include "emu/abi.h"
#include "harness/guest/cpu.h"
#include "harness/guest/lib.h"
#include "harness/guest/lock.h"
#include "harness/guest/mem.h"
#include "harness/guest/process.h"
#include "harness/guest/sys.h"
#include "harness/guest/task.h"

/*
 * Supplied by the kernel interface; the guest kernel's own weak ones do nothing.
 * Both run in a kernel task on CPU 0, interrupts on: kpi_init before the first
 * user program starts, kpi_fini after it has ended.
 */
void kpi_init(void);
void kpi_fini(void);

#endif
