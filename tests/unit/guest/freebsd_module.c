/*
 * The probe driver for FreeBSD's interfaces: command N of /dev/probe calls the
 * function of row N; 0, or an error when it fails.
 */
#include <sys/conf.h>
#include <sys/interrupt.h>
#include <sys/kernel.h>
#include <sys/malloc.h>
#include <sys/module.h>
#include <sys/mutex.h>
#include <sys/param.h>
#include <sys/proc.h>
#include <sys/smp.h>
#include <sys/systm.h>
#include <vm/uma.h>
#include <vm/vm.h>
#include <vm/vm_extern.h>
#include <vm/vm_page.h>
#include <x86/apicvar.h>

#include "tests/unit/guest/freebsd_probe.h"

static MALLOC_DEFINE(M_PROBE, "probe", "probe driver");

static struct cdev *node;
static struct mtx a, b;
static int loads; /* 0 whenever the module is loaded */

static int
keep_or_fail(void *p)
{
	free(p, M_PROBE);
	return (p != NULL ? 0 : ENOMEM);
}

static int
do_uma(void)
{
	uma_zone_t zone = uma_zcreate(
	    "probe", 32, NULL, NULL, NULL, NULL, 0, 0);
	void *item = uma_zalloc(zone, M_NOWAIT);

	uma_zfree(zone, item);
	uma_zdestroy(zone);
	return (item != NULL ? 0 : ENOMEM);
}

static struct cdevsw second_cdevsw = { .d_version = D_VERSION };

static int
do_make_dev(void)
{
	struct make_dev_args args;
	struct cdev *dev;
	int error;

	make_dev_args_init(&args);
	args.mda_devsw = &second_cdevsw;
	error = make_dev_s(&args, &dev, "probe2");
	if (error == 0)
		destroy_dev(dev);
	return (error);
}

static void
handler(void *arg __unused)
{
}

static int
do_swi(void)
{
	void *cookie;
	int error;

	error = swi_add(&clk_intr_event, "probe", handler, NULL, SWI_CLOCK,
	    INTR_MPSAFE, &cookie);
	if (error == 0)
		swi_remove(cookie);
	return (error);
}

static int
do_pcint(void)
{
	if (lapic_enable_pcint() == 0)
		return (ENXIO);
	lapic_disable_pcint();
	return (0);
}

static int
do_page(void)
{
	vm_page_t m;

	m = vm_page_alloc_noobj_contig(VM_ALLOC_ZERO, 1, 0, ~(vm_paddr_t)0,
	    PAGE_SIZE, 0, VM_MEMATTR_DEFAULT);
	if (m == NULL)
		return (ENOMEM);
	vm_page_free(m);
	return (0);
}

static int
do_kva(void)
{
	void *va = (void *)(uintptr_t)kva_alloc(PAGE_SIZE);

	if (va == NULL)
		return (ENOMEM);
	kva_free(va, PAGE_SIZE);
	return (0);
}

static void
do_order(struct mtx *first, struct mtx *second)
{
	mtx_lock(first);
	mtx_lock(second);
	mtx_unlock(second);
	mtx_unlock(first);
}

static void
do_locked_malloc(void)
{
	mtx_lock(&a);
	free(malloc(32, M_PROBE, M_WAITOK), M_PROBE);
	mtx_unlock(&a);
}

static int
probe_ioctl(struct cdev *dev __unused, u_long command, caddr_t data __unused,
    int flags __unused, struct thread *td __unused)
{
	char c;

	switch (command) {
	case FREEBSD_LOADS:
		return (loads);
	case FREEBSD_MALLOC:
		return (keep_or_fail(malloc(32, M_PROBE, M_NOWAIT)));
	case FREEBSD_MALLOCARRAY:
		return (keep_or_fail(mallocarray(4, 8, M_PROBE, M_NOWAIT)));
	case FREEBSD_MALLOC_ALIGNED:
		return (
		    keep_or_fail(malloc_aligned(32, 64, M_PROBE, M_NOWAIT)));
	case FREEBSD_UMA:
		return (do_uma());
	case FREEBSD_MAKE_DEV:
		return (do_make_dev());
	case FREEBSD_COPYIN:
		return (copyin((const void *)0x400000, &c, 1));
	case FREEBSD_SWI:
		return (do_swi());
	case FREEBSD_PCINT:
		return (do_pcint());
	case FREEBSD_PAGE:
		return (do_page());
	case FREEBSD_KVA:
		return (do_kva());
	case FREEBSD_ORDER:
		do_order(&a, &b);
		do_order(&b, &a);
		return (0);
	case FREEBSD_LOCKED_MALLOC:
		do_locked_malloc();
		return (0);
	case FREEBSD_CRITICAL_MALLOC:
		spinlock_enter();
		free(malloc(32, M_PROBE, M_NOWAIT), M_PROBE);
		spinlock_exit();
		return (0);
	case FREEBSD_HALTED:
		return (CPU_ISSET(1, &hlt_cpus_mask) ? EBUSY : 0);
	default:
		return (ENOTTY);
	}
}

static struct cdevsw probe_cdevsw = {
	.d_version = D_VERSION,
	.d_ioctl = probe_ioctl,
};

static int
probe_modevent(module_t mod __unused, int type, void *arg __unused)
{
	struct make_dev_args args;

	switch (type) {
	case MOD_LOAD:
		loads++;
		mtx_init(&a, "a", NULL, MTX_DEF);
		mtx_init(&b, "b", NULL, MTX_DEF);
		make_dev_args_init(&args);
		args.mda_devsw = &probe_cdevsw;
		return (make_dev_s(&args, &node, "probe"));
	case MOD_UNLOAD:
		if (node != NULL)
			destroy_dev(node);
		return (0);
	default:
		return (EOPNOTSUPP);
	}
}

static moduledata_t probe_mod = { "probe", probe_modevent, NULL };

DECLARE_MODULE(probe, probe_mod, SI_SUB_DRIVERS, SI_ORDER_FIRST);
