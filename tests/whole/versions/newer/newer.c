/*
 * A backend for tests, with what newer versions of FreeBSD's use: contigmalloc(9),
 * macros of frequencies, a stop operation that waits for the handler, a record of
 * lost output, a larger configuration.  The last page of a buffer is a header, which
 * begins with the position in the pages before it.  CPU mode only.
 */
#include <machine/cpu.h>
#include <machine/cpufunc.h>
#include <machine/specialreg.h>
#include <sys/bus.h>
#include <sys/hwt.h>
#include <sys/interrupt.h>
#include <sys/kernel.h>
#include <sys/malloc.h>
#include <sys/module.h>
#include <sys/param.h>
#include <sys/smp.h>
#include <sys/systm.h>
#include <vm/vm.h>
#include <vm/vm_page.h>
#include <x86/apicvar.h>
#include <x86/x86_var.h>

#include <dev/hwt/hwt_backend.h>
#include <dev/hwt/hwt_context.h>
#include <dev/hwt/hwt_cpu.h>
#include <dev/hwt/hwt_record.h>
#include <dev/hwt/hwt_vm.h>

#include <amd64/pt/pt.h>

static MALLOC_DEFINE(M_NEWER, "newer", "tests");

static struct unit {
	struct hwt_context *ctx;
	uint64_t *table, *header;
	size_t table_bytes;
	uint64_t ctl, position;
	void *cookie;
	u_int in_handler;
	bool running, failed;
} units[MAXCPU];

static void
note_position(struct unit *unit)
{
	uint64_t pointers = rdmsr(MSR_IA32_RTIT_OUTPUT_MASK_PTRS);

	unit->position = ((pointers & 0xffffffff) >> 7) * PAGE_SIZE +
	    (pointers >> 32);
	*unit->header = unit->position;
}

static void
start_here(void *arg __unused)
{
	struct unit *unit = &units[curcpu];

	wrmsr(MSR_IA32_RTIT_STATUS, 0);
	wrmsr(MSR_IA32_RTIT_OUTPUT_BASE, vtophys(unit->table));
	wrmsr(MSR_IA32_RTIT_OUTPUT_MASK_PTRS, 0x7f);
	unit->running = true;
	wrmsr(MSR_IA32_RTIT_CTL, unit->ctl);
}

static void
stop_here(void *arg __unused)
{
	struct unit *unit = &units[curcpu];

	if (!unit->running)
		return;
	wrmsr(MSR_IA32_RTIT_CTL, unit->ctl & ~RTIT_CTL_TRACEEN);
	unit->running = false;
	note_position(unit);
}

static int
newer_intr(struct trapframe *tf __unused)
{
	struct unit *unit = &units[curcpu];

	if ((rdmsr(MSR_IA_GLOBAL_STATUS) & GLOBAL_STATUS_FLAG_TRACETOPAPMI) ==
	    0)
		return (0);
	atomic_store_rel_int(&unit->in_handler, 1);
	wrmsr(MSR_IA_GLOBAL_STATUS_RESET, GLOBAL_STATUS_FLAG_TRACETOPAPMI);
	if (unit->running) {
		wrmsr(MSR_IA32_RTIT_CTL, unit->ctl & ~RTIT_CTL_TRACEEN);
		note_position(unit);
		unit->failed |= (rdmsr(MSR_IA32_RTIT_STATUS) &
				    RTIT_STATUS_ERROR) != 0;
		swi_sched(unit->cookie, SWI_FROMNMI);
		wrmsr(MSR_IA32_RTIT_CTL, unit->ctl);
	}
	lapic_reenable_pcint();
	atomic_store_rel_int(&unit->in_handler, 0);
	return (1);
}

static void
send_record(void *arg)
{
	struct unit *unit = arg;
	struct hwt_record_entry record = { .record_type = unit->failed
		    ? HWT_RECORD_OVERFLOW
		    : HWT_RECORD_BUFFER };

	if (unit->ctx == NULL)
		return;
	record.buf_id = (int)(unit - units);
	record.curpage = (int)(unit->position / PAGE_SIZE);
	record.offset = unit->position % PAGE_SIZE;
	hwt_record_ctx(unit->ctx, &record, M_NOWAIT | M_ZERO);
}

static int
newer_init(struct hwt_context *ctx)
{
	struct hwt_cpu *cpu;
	struct unit *unit;
	int i, last;

	if (ctx->mode != HWT_MODE_CPU)
		return (EOPNOTSUPP);
	TAILQ_FOREACH(cpu, &ctx->cpus, next)
	{
		if (cpu->cpu_id >= mp_ncpus)
			return (ENXIO);
		unit = &units[cpu->cpu_id];
		last = cpu->vm->npages - 1;
		unit->header = (uint64_t *)((char *)cpu->vm->kvaddr +
		    (size_t)last * PAGE_SIZE);
		unit->table_bytes = (size_t)cpu->vm->npages * 8;
		unit->table = contigmalloc(unit->table_bytes, M_NEWER,
		    M_WAITOK | M_ZERO, 0, ~(vm_paddr_t)0, PAGE_SIZE, 0);
		if (unit->table == NULL)
			return (ENOMEM);
		for (i = 0; i < last; i++)
			unit->table[i] = VM_PAGE_TO_PHYS(cpu->vm->pages[i]) |
			    TOPA_SIZE_4K | TOPA_INT;
		unit->table[i] = vtophys(unit->table) | TOPA_END;
		unit->ctx = ctx;
	}
	return (0);
}

static int
newer_configure(struct hwt_context *ctx, int cpu_id, int thread_id __unused)
{
	const struct pt_cpu_config *config = ctx->config;
	struct unit *unit = &units[cpu_id];

	if (config == NULL || ctx->config_size != sizeof(*config))
		return (EINVAL);
	unit->ctl = config->rtit_ctl | RTIT_CTL_TOPA | RTIT_CTL_TRACEEN;
	if (config->mtc_freq != 0)
		unit->ctl |= RTIT_CTL_MTC_FREQ(config->mtc_freq) |
		    RTIT_CTL_MTCEN | RTIT_CTL_TSCEN;
	return (0);
}

static int
newer_enable_smp(struct hwt_context *ctx)
{
	int cpu;

	CPU_FOREACH_ISSET(cpu, &ctx->cpu_map)
	if (units[cpu].ctl == 0)
		return (EINVAL);
	smp_rendezvous_cpus(ctx->cpu_map, NULL, start_here, NULL, NULL);
	return (0);
}

static void
newer_stop(struct hwt_context *ctx)
{
	int cpu;

	smp_rendezvous_cpus(ctx->cpu_map, NULL, stop_here, NULL, NULL);
	CPU_FOREACH_ISSET(cpu, &ctx->cpu_map)
	while (atomic_load_acq_int(&units[cpu].in_handler) != 0)
		cpu_spinwait();
}

static int
newer_deinit(struct hwt_context *ctx)
{
	struct unit *unit;
	int cpu;

	newer_stop(ctx);
	CPU_FOREACH_ISSET(cpu, &ctx->cpu_map)
	{
		unit = &units[cpu];
		unit->ctx = NULL;
		unit->ctl = 0;
		contigfree(unit->table, unit->table_bytes, M_NEWER);
	}
	return (0);
}

static int
newer_read(
    struct hwt_vm *vm, int *page, vm_offset_t *offset, uint64_t *data __unused)
{
	uint64_t position = units[vm->cpu->cpu_id].position;

	*page = (int)(position / PAGE_SIZE);
	*offset = position % PAGE_SIZE;
	return (0);
}

static struct hwt_backend_ops newer_ops = {
	.hwt_backend_init = newer_init,
	.hwt_backend_deinit = newer_deinit,
	.hwt_backend_configure = newer_configure,
	.hwt_backend_enable_smp = newer_enable_smp,
	.hwt_backend_stop = newer_stop,
	.hwt_backend_read = newer_read,
};
static struct hwt_backend newer = {
	.name = "pt", .ops = &newer_ops, .kva_req = true
};

static int
newer_modevent(module_t mod __unused, int type, void *data __unused)
{
	int i;

	switch (type) {
	case MOD_LOAD:
		for (i = 0; i < mp_ncpus; i++)
			if (swi_add(&clk_intr_event, "newer", send_record,
				&units[i], SWI_CLOCK, INTR_MPSAFE,
				&units[i].cookie) != 0)
				return (ENOMEM);
		nmi_register_handler(newer_intr);
		if (lapic_enable_pcint() == 0)
			return (ENXIO);
		return (hwt_backend_register(&newer));
	case MOD_UNLOAD:
		(void)hwt_backend_unregister(&newer);
		lapic_disable_pcint();
		nmi_remove_handler(newer_intr);
		for (i = 0; i < mp_ncpus; i++)
			swi_remove(units[i].cookie);
		return (0);
	default:
		return (0);
	}
}

static moduledata_t newer_mod = { "newer", newer_modevent, NULL };

DECLARE_MODULE(newer, newer_mod, SI_SUB_DRIVERS, SI_ORDER_FIRST);
MODULE_DEPEND(newer, hwt, 1, 1, 1);
MODULE_VERSION(newer, 1);
