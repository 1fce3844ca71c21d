/*
 * The probe driver for FreeBSD's interfaces: command N of /dev/probe calls the
 * function of row N; 0, or an error when it fails.
 */
#include <sys/conf.h>
#include <sys/event.h>
#include <sys/interrupt.h>
#include <sys/kernel.h>
#include <sys/malloc.h>
#include <sys/module.h>
#include <sys/mutex.h>
#include <sys/param.h>
#include <sys/proc.h>
#include <sys/smp.h>
#include <sys/systm.h>
#include <sys/taskqueue.h>
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

#define CONTIG_BYTES (3 * PAGE_SIZE - 8)
#define CONTIG_ALIGN (8 * PAGE_SIZE)

static volatile char *
contig(void)
{
	return (contigmalloc(CONTIG_BYTES, M_PROBE, M_WAITOK | M_ZERO, 0,
	    ~(vm_paddr_t)0, CONTIG_ALIGN, 0));
}

static int
do_contig(void)
{
	volatile char *first = contig(), *second;
	vm_paddr_t pa;
	int error, i;

	if (first == NULL)
		return (ENOMEM);
	second = contig();
	pa = vtophys(first);
	error = second == NULL || pa % CONTIG_ALIGN != 0 ||
	    vtophys(second) == pa;
	for (i = 0; i < 3; i++)
		error |= vtophys(first + i * PAGE_SIZE) != pa + i * PAGE_SIZE;
	error |= first[0] != 0 || first[CONTIG_BYTES - 1] != 0;
	free(__DECONST(void *, first), M_PROBE);
	contigfree(__DECONST(void *, second), CONTIG_BYTES, M_PROBE);
	return (error);
}

static void
do_contig_wrong(u_long command)
{
	volatile char *bytes = contig();

	if (command == FREEBSD_CONTIG_BEYOND) {
		bytes[3 * PAGE_SIZE] = 1;
	} else if (command == FREEBSD_CONTIG_FREED) {
		contigfree(__DECONST(void *, bytes), CONTIG_BYTES, M_PROBE);
		bytes[0] = 1;
	} else {
		contigfree(malloc(32, M_PROBE, M_WAITOK), 32, M_PROBE);
	}
}

static struct taskqueue *queue;
static int ran[4], ran_count;

static void
note_run(void *arg, int pending)
{
	ran[ran_count++] = (int)(intptr_t)arg * 10 + pending;
}

static int
do_taskqueue(void)
{
	struct task first = TASK_INITIALIZER(0, note_run, (void *)1);
	struct task second = TASK_INITIALIZER(0, note_run, (void *)2);
	struct task above = TASK_INITIALIZER(1, note_run, (void *)3);
	u_int pending = 0;
	int error = 0;

	ran_count = 0;
	queue = taskqueue_create_fast(
	    "probe", M_WAITOK, taskqueue_thread_enqueue, &queue);
	/* No thread yet: all wait. */
	error |= taskqueue_enqueue(queue, &first) != 0;
	error |= taskqueue_enqueue(queue, &first) != 0;
	error |= taskqueue_enqueue_flags(
		     queue, &first, TASKQUEUE_FAIL_IF_PENDING) != EEXIST;
	error |= taskqueue_enqueue(queue, &second) != 0;
	error |= taskqueue_enqueue(queue, &above) != 0;
	error |= taskqueue_cancel(queue, &second, &pending) != 0;
	error |= pending != 1;
	error |= taskqueue_start_threads(&queue, 1, PWAIT, "probe taskq") != 0;
	taskqueue_drain(queue, &first);
	error |= ran_count != 2 || ran[0] != 31 || ran[1] != 12;
	error |= taskqueue_enqueue(queue, &second) != 0;
	taskqueue_drain_all(queue);
	error |= ran_count != 3 || ran[2] != 21;
	taskqueue_free(queue);
	return (error);
}

static int sysinits, sysinits_at_load;

static void
count_sysinit(void *arg)
{
	sysinits += (int)(intptr_t)arg;
}
SYSINIT(probe_early, SI_SUB_CPU, SI_ORDER_FIRST, count_sysinit, 1);
SYSINIT(probe_late, SI_SUB_LAST, SI_ORDER_FIRST, count_sysinit, 10);

static u_int critnest_there;

static void
note_critnest(void *arg __unused)
{
	critnest_there = curthread->td_critnest;
}

static int
do_critnest(void)
{
	struct mtx spin;
	u_int nest[3];

	mtx_init(&spin, "probe spin", NULL, MTX_SPIN);
	mtx_lock_spin(&spin);
	nest[0] = curthread->td_critnest;
	critical_enter();
	nest[1] = curthread->td_critnest;
	critical_exit();
	mtx_unlock_spin(&spin);
	nest[2] = curthread->td_critnest;
	mtx_destroy(&spin);
	smp_rendezvous(NULL, note_critnest, NULL, NULL);
	return (nest[0] != 1 || nest[1] != 2 || nest[2] != 0 ||
	    critnest_there != 1 || curthread->td_critnest != 0);
}

/* Without a queue of the process there is none to find an event in. */
static int
do_kqueue(void)
{
	struct kevent kev;

	EV_SET(&kev, 138, EVFILT_USER, 0, NOTE_TRIGGER, 0, NULL);
	return (kqfd_register(-1, &kev, curthread, M_WAITOK) != EBADF);
}

static volatile u_int held, sent;
static int held_cpu;

/* On another CPU: its own interrupt waits with the one that is sent to it. */
static void
hold_interrupts(void *cookie, int pending __unused)
{
	uint64_t begin;

	spinlock_enter();
	held_cpu = (int)curcpu;
	swi_sched(cookie, SWI_FROMNMI);
	atomic_store_rel_int(&held, 1);
	while (atomic_load_acq_int(&sent) == 0)
		cpu_spinwait();
	for (begin = rdtsc(); rdtsc() - begin < 100000;)
		cpu_spinwait();
	spinlock_exit();
}

static int
do_vectors(void)
{
	struct task task;
	cpuset_t map;
	void *cookie;

	if (swi_add(&clk_intr_event, "probe", handler, NULL, SWI_CLOCK,
		INTR_MPSAFE, &cookie) != 0)
		return (ENOMEM);
	TASK_INIT(&task, 0, hold_interrupts, cookie);
	queue = taskqueue_create(
	    "probe", M_WAITOK, taskqueue_thread_enqueue, &queue);
	taskqueue_start_threads(&queue, 1, PWAIT, "probe taskq");
	taskqueue_enqueue(queue, &task);
	while (atomic_load_acq_int(&held) == 0)
		cpu_spinwait();
	CPU_SETOF(held_cpu, &map);
	atomic_store_rel_int(&sent, 1);
	smp_rendezvous_cpus(map, NULL, note_critnest, NULL, NULL);
	taskqueue_free(queue);
	swi_remove(cookie);
	return (0);
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
	case FREEBSD_CONTIG:
		return (do_contig());
	case FREEBSD_CONTIG_FREED:
	case FREEBSD_CONTIG_BEYOND:
	case FREEBSD_CONTIG_FOREIGN:
		do_contig_wrong(command);
		return (0);
	case FREEBSD_TASKQUEUE:
		return (do_taskqueue());
	case FREEBSD_SYSINIT:
		return (sysinits_at_load != 1 || sysinits != 11);
	case FREEBSD_CRITNEST:
		return (do_critnest());
	case FREEBSD_KQUEUE:
		return (do_kqueue());
	case FREEBSD_VECTORS:
		return (do_vectors());
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
		sysinits_at_load = sysinits;
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
