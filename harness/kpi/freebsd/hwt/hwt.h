/*
 * Included by every source of the framework.  Names, files and interfaces are
 * FreeBSD's (sys/dev/hwt), so that a source or header of a FreeBSD tree can
 * replace ours of the same name.
 *
 * Locks, each taken alone: the backend list's, the idents', the owners', an
 * owner's (all sleep mutexes), the context hash's and a context's (spin).  No
 * backend is called with one of them held.
 */
#ifndef TOPAZ_HARNESS_KPI_FREEBSD_HWT_HWT_H
#define TOPAZ_HARNESS_KPI_FREEBSD_HWT_HWT_H

/* FreeBSD's headers of hwt include nothing: the later groups use the earlier. */
#include <sys/conf.h>
#include <sys/hwt.h>
#include <sys/malloc.h>
#include <sys/mman.h>
#include <sys/module.h>
#include <sys/mutex.h>
#include <sys/param.h>
#include <sys/proc.h>
#include <sys/refcount.h>
#include <sys/smp.h>
#include <sys/systm.h>

#include <vm/vm.h>

#include <vm/pmap.h>
#include <vm/vm_extern.h>
#include <vm/vm_object.h>
#include <vm/vm_page.h>
#include <vm/vm_pager.h>

#include <dev/hwt/hwt_context.h>
#include <dev/hwt/hwt_contexthash.h>
#include <dev/hwt/hwt_cpu.h>
#include <dev/hwt/hwt_hook.h>
#include <dev/hwt/hwt_owner.h>
#include <dev/hwt/hwt_ownerhash.h>
#include <dev/hwt/hwt_thread.h>
#include <dev/hwt/hwt_vm.h>

#include <dev/hwt/hwt_backend.h>
#include <dev/hwt/hwt_config.h>
#include <dev/hwt/hwt_ioctl.h>
#include <dev/hwt/hwt_record.h>

/* From harness/guest/lib.h.  True: FUNCTION must fail. */
bool kern_fault_point(const char *function, const void *caller);
/* Also from there: an error that no caller receives; whose trace a buffer is. */
void kern_dropped_configure(int error, uint64_t cpu);
void kern_dropped_enable(int error, uint64_t cpu);
void kern_dropped_record(int error);
void kern_traced_thread(uint64_t pa, uint32_t thread);
void kern_traced_any(uint64_t pa);

#endif
