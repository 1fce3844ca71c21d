/*
 * A backend for tests, with what older versions of FreeBSD's use: a task queue,
 * events by kqueue(2), hwt_intr, an LVT entry of each CPU's own, probes, other names
 * of operations.  CPU mode only.
 */
#include <machine/atomic.h>
#include <machine/cpufunc.h>
#include <machine/param.h>
#include <machine/specialreg.h>
#include <sys/cdefs.h>
#include <sys/domainset.h>
#include <sys/event.h>
#include <sys/hwt.h>
#include <sys/interrupt.h>
#include <sys/kernel.h>
#include <sys/malloc.h>
#include <sys/module.h>
#include <sys/param.h>
#include <sys/proc.h>
#include <sys/sdt.h>
#include <sys/sleepqueue.h>
#include <sys/smp.h>
#include <sys/systm.h>
#include <sys/taskqueue.h>
#include <sys/types.h>
#include <vm/vm.h>
#include <vm/vm_page.h>
#include <x86/apicvar.h>

#include <dev/hwt/hwt_backend.h>
#include <dev/hwt/hwt_context.h>
#include <dev/hwt/hwt_cpu.h>
#include <dev/hwt/hwt_event.h>
#include <dev/hwt/hwt_intr.h>
#include <dev/hwt/hwt_thread.h>
#include <dev/hwt/hwt_vm.h>

static MALLOC_DEFINE(M_OLDER, "older", "tests");

SDT_PROVIDER_DEFINE(older);
SDT_PROBE_DEFINE(older, , , intr);

struct older_config {
	uint64_t rtit_ctl;
	register_t cr3_filter;
	int nranges;
	struct {
		vm_offset_t start, end;
	} ranges[4];
};

static struct unit {
	struct hwt_context *ctx;
	uint64_t *table;
	uint64_t ctl, position;
	struct task task;
	void *cookie;
	bool running;
} units[MAXCPU];

static void
start_here(void *arg __unused)
{
	struct unit *unit = &units[curcpu];

	KASSERT(curthread->td_critnest >= 1, ("not in a critical section"));
	wrmsr(MSR_IA32_RTIT_STATUS, 0);
	wrmsr(MSR_IA32_RTIT_OUTPUT_BASE, vtophys(unit->table));
	wrmsr(MSR_IA32_RTIT_OUTPUT_MASK_PTRS, 0x7f);
	unit->running = true;
	wmb();
	lapic_enable_pt_pmi();
	wrmsr(MSR_IA32_RTIT_CTL, unit->ctl);
}

static void
stop_here(void *arg __unused)
{
	struct unit *unit = &units[curcpu];

	lapic_disable_pt_pmi();
	if (unit->running)
		wrmsr(MSR_IA32_RTIT_CTL, unit->ctl & ~RTIT_CTL_TRACEEN);
	unit->running = false;
}

static int
older_intr(struct trapframe *tf __unused)
{
	struct unit *unit = &units[curcpu];
	uint64_t pointers;

	SDT_PROBE0(older, , , intr);
	if ((rdmsr(MSR_IA_GLOBAL_STATUS) & GLOBAL_STATUS_FLAG_TRACETOPAPMI) ==
	    0)
		return (0);
	critical_enter();
	wrmsr(MSR_IA_GLOBAL_STATUS_RESET, GLOBAL_STATUS_FLAG_TRACETOPAPMI);
	if (unit->running) {
		wrmsr(MSR_IA32_RTIT_CTL, unit->ctl & ~RTIT_CTL_TRACEEN);
		pointers = rdmsr(MSR_IA32_RTIT_OUTPUT_MASK_PTRS);
		unit->position = ((pointers & 0xffffffff) >> 7) * PAGE_SIZE +
		    (pointers >> 32);
		lapic_reenable_pt_pmi();
		wrmsr(MSR_IA32_RTIT_CTL, unit->ctl);
		swi_sched(unit->cookie, SWI_FROMNMI);
	}
	critical_exit();
	return (1);
}

/* The task's thread may sleep where the interrupt's may not. */
static void
buffer_ready(void *arg, int pending __unused)
{
	struct unit *unit = arg;
	struct kevent kev;
	int error __diagused;

	EV_SET(&kev, HWT_KQ_BUFRDY_EV, EVFILT_USER, 0,
	    NOTE_TRIGGER | NOTE_FFCOPY | (u_int)(unit - units),
	    (int64_t)unit->position, NULL);
	error = kqfd_register(
	    unit->ctx->kqueue_fd, &kev, unit->ctx->hwt_td, M_WAITOK);
	KASSERT(error == 0, ("no event in the queue: %d", error));
}

static void
queue_event(void *arg)
{
	struct unit *unit = arg;

	(void)hwt_event_send(HWT_KQ_BUFRDY_EV, &unit->task, buffer_ready, unit);
}

static int
older_init(struct hwt_context *ctx)
{
	struct hwt_cpu *cpu;
	struct unit *unit;
	int i;

	KASSERT(hwt_intr == NULL, ("another handler"));
	TAILQ_FOREACH(cpu, &ctx->cpus, next)
	{
		unit = &units[cpu->cpu_id];
		unit->table = malloc((size_t)(cpu->vm->npages + 1) * 8, M_OLDER,
		    M_WAITOK | M_ZERO);
		for (i = 0; i < cpu->vm->npages; i++)
			unit->table[i] = VM_PAGE_TO_PHYS(cpu->vm->pages[i]) |
			    TOPA_SIZE_4K | TOPA_INT;
		unit->table[i] = vtophys(unit->table) | TOPA_END;
		unit->ctx = ctx;
	}
	hwt_intr = older_intr;
	wmb();
	return (0);
}

static int
older_configure(struct hwt_context *ctx, int cpu_id, int thread_id __unused)
{
	const struct older_config *config = ctx->config;

	units[cpu_id].ctl = config->rtit_ctl | RTIT_CTL_TOPA | RTIT_CTL_TRACEEN;
	return (0);
}

static int
older_enable_smp(struct hwt_context *ctx)
{
	smp_rendezvous_cpus(ctx->cpu_map, NULL, start_here, NULL, NULL);
	return (0);
}

static int
older_deinit(struct hwt_context *ctx)
{
	int cpu;

	smp_rendezvous_cpus(ctx->cpu_map, NULL, stop_here, NULL, NULL);
	hwt_intr = NULL;
	hwt_event_drain_all();
	CPU_FOREACH(cpu)
	if (CPU_ISSET(cpu, &ctx->cpu_map))
		free(units[cpu].table, M_OLDER);
	return (0);
}

static int
older_alloc_thread(struct hwt_thread *thr)
{
	thr->cookie = NULL;
	return (EOPNOTSUPP);
}

static struct hwt_backend_ops older_ops = {
	.hwt_backend_init = older_init,
	.hwt_backend_deinit = older_deinit,
	.hwt_backend_configure = older_configure,
	.hwt_backend_enable_smp = older_enable_smp,
	.hwt_backend_alloc_thread_priv = older_alloc_thread,
};
static struct hwt_backend older = { .name = "pt", .ops = &older_ops };

static int
older_modevent(module_t mod __unused, int type, void *data __unused)
{
	int i;

	switch (type) {
	case MOD_LOAD:
		for (i = 0; i < mp_ncpus; i++)
			if (swi_add(&clk_intr_event, "older", queue_event,
				&units[i], SWI_CLOCK, INTR_MPSAFE,
				&units[i].cookie) != 0)
				return (ENOMEM);
		return (hwt_backend_register(&older));
	case MOD_UNLOAD:
		(void)hwt_backend_unregister(&older);
		for (i = 0; i < mp_ncpus; i++)
			swi_remove(units[i].cookie);
		return (0);
	default:
		return (0);
	}
}

static moduledata_t older_mod = { "older", older_modevent, NULL };

DECLARE_MODULE(older, older_mod, SI_SUB_DRIVERS, SI_ORDER_FIRST);
MODULE_DEPEND(older, hwt, 1, 1, 1);
MODULE_VERSION(older, 1);
