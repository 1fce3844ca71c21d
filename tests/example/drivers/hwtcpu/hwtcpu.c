/*
 * A small backend of FreeBSD's hwt(4) for Intel Processor Trace: CPU mode only,
 * with plain writes of the MSRs.  Each CPU of a context has a ToPA table of
 * single pages, which is a ring.  Each filled page raises a PMI; its handler
 * stores the position and makes a software interrupt send a record.
 */
#include <sys/bus.h>
#include <sys/hwt.h>
#include <sys/interrupt.h>
#include <sys/kernel.h>
#include <sys/malloc.h>
#include <sys/module.h>
#include <sys/param.h>
#include <sys/smp.h>
#include <sys/systm.h>

#include <machine/atomic.h>
#include <machine/cpufunc.h>
#include <machine/specialreg.h>

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

#define TOPA_END_ENTRY  (1UL << 0)
#define TOPA_INT_ENTRY  (1UL << 2)
#define PT_LEAF         0x14
#define PT_TOPA         (1U << 0) /* leaf 14H, ECX */
#define PT_TOPA_ENTRIES (1U << 1)

/* The bits that a configuration may set. */
#define CTL_SUPPORTED (RTIT_CTL_OS | RTIT_CTL_USER | RTIT_CTL_BRANCHEN)

static MALLOC_DEFINE(M_HWTCPU, "hwtcpu", "Intel PT of hwt(4), by CPU");

static struct hwtcpu {
	u_int taken; /* by .ctx */
	struct hwt_context *ctx;
	uint64_t *topa;
	u_long topa_bytes;
	uint64_t ctl;    /* without TraceEn */
	int tracing;     /* TraceEn is to be 1 */
	u_long position; /* in the buffer, as last read */
	void *swi;
} * hwtcpu;

static u_int contexts;

/* Reads the position from the MSRs while TraceEn is 0; pages have one size. */
static void
note_position(struct hwtcpu *cpu)
{
	uint64_t pointers = rdmsr(MSR_IA32_RTIT_OUTPUT_MASK_PTRS);
	u_long entry = (pointers & 0xffffffff) >> 7;

	atomic_store_rel_64(
	    &cpu->position, entry * PAGE_SIZE + (pointers >> 32));
}

static void
start_here(void *arg)
{
	struct hwtcpu *cpu = &hwtcpu[curcpu];

	if (cpu->ctx != arg || cpu->topa == NULL || cpu->ctl == 0)
		return;
	wrmsr(MSR_IA32_RTIT_STATUS, 0);
	wrmsr(MSR_IA32_RTIT_OUTPUT_BASE, vtophys(cpu->topa));
	wrmsr(MSR_IA32_RTIT_OUTPUT_MASK_PTRS, 0x7f);
	atomic_store_rel_64(&cpu->position, 0);
	cpu->tracing = 1;
	wrmsr(MSR_IA32_RTIT_CTL, cpu->ctl | RTIT_CTL_TRACEEN);
}

static void
stop_here(void *arg)
{
	struct hwtcpu *cpu = &hwtcpu[curcpu];

	if (cpu->ctx != arg || cpu->tracing == 0)
		return;
	/* From here on a PMI handler leaves tracing off. */
	cpu->tracing = 0;
	wrmsr(MSR_IA32_RTIT_CTL, 0);
	note_position(cpu);
}

static int
handle_nmi(struct trapframe *frame)
{
	struct hwtcpu *cpu = &hwtcpu[curcpu];

	if ((rdmsr(MSR_IA_GLOBAL_STATUS) & GLOBAL_STATUS_FLAG_TRACETOPAPMI) ==
	    0)
		return (0);
	wrmsr(MSR_IA32_RTIT_CTL, 0);
	wrmsr(MSR_IA_GLOBAL_STATUS_RESET, GLOBAL_STATUS_FLAG_TRACETOPAPMI);
	lapic_reenable_pcint();
	if (cpu->tracing != 0) {
		note_position(cpu);
		swi_sched(cpu->swi, SWI_FROMNMI);
		wrmsr(MSR_IA32_RTIT_CTL, cpu->ctl | RTIT_CTL_TRACEEN);
	}
	return (1);
}

static void
send_record(void *arg)
{
	struct hwtcpu *cpu = arg;
	struct hwt_context *ctx = cpu->ctx;
	u_long position = atomic_load_acq_64(&cpu->position);
	struct hwt_record_entry record = {
		.record_type = HWT_RECORD_BUFFER,
		.buf_id = (int)(cpu - hwtcpu),
		.curpage = (int)(position / PAGE_SIZE),
		.offset = position & PAGE_MASK,
	};

	if (ctx != NULL)
		hwt_record_ctx(ctx, &record, M_NOWAIT | M_ZERO);
}

static int
fill_topa(struct hwtcpu *cpu, struct hwt_vm *vm)
{
	if (vm->npages == 0)
		return (EINVAL);
	cpu->topa_bytes = roundup2(
	    (vm->npages + 1) * sizeof(cpu->topa[0]), (u_long)PAGE_SIZE);
	cpu->topa = contigmalloc(cpu->topa_bytes, M_HWTCPU, M_WAITOK | M_ZERO,
	    0, ~(vm_paddr_t)0, PAGE_SIZE, 0);
	if (cpu->topa == NULL)
		return (ENOMEM);
	for (int i = 0; i < vm->npages; i++)
		cpu->topa[i] = VM_PAGE_TO_PHYS(vm->pages[i]) | TOPA_INT_ENTRY;
	cpu->topa[vm->npages] = vtophys(cpu->topa) | TOPA_END_ENTRY;
	return (0);
}

static void
release(struct hwt_context *ctx)
{
	int i;

	CPU_FOREACH(i)
	{
		struct hwtcpu *cpu = &hwtcpu[i];

		if (cpu->ctx != ctx)
			continue;
		if (cpu->topa != NULL)
			contigfree(cpu->topa, cpu->topa_bytes, M_HWTCPU);
		cpu->topa = NULL;
		cpu->ctl = 0;
		cpu->ctx = NULL;
		atomic_store_rel_int(&cpu->taken, 0);
	}
}

static int
hwtcpu_init(struct hwt_context *ctx)
{
	struct hwt_cpu *each;
	int error = 0;

	if (ctx->mode != HWT_MODE_CPU)
		return (EOPNOTSUPP);
	TAILQ_FOREACH(each, &ctx->cpus, next)
	{
		u_int id = (u_int)each->cpu_id;

		if (id > mp_maxid || CPU_ABSENT((int)id))
			error = ENXIO;
		else if (atomic_cmpset_int(&hwtcpu[id].taken, 0, 1) == 0)
			error = EBUSY;
		if (error == 0) {
			hwtcpu[id].ctx = ctx;
			error = fill_topa(&hwtcpu[id], each->vm);
		}
		if (error != 0) {
			release(ctx);
			return (error);
		}
	}
	atomic_add_int(&contexts, 1);
	return (0);
}

static void
hwtcpu_stop(struct hwt_context *ctx)
{
	smp_rendezvous_cpus(ctx->cpu_map, NULL, stop_here, NULL, ctx);
}

static int
hwtcpu_deinit(struct hwt_context *ctx)
{
	hwtcpu_stop(ctx);
	release(ctx);
	atomic_subtract_int(&contexts, 1);
	return (0);
}

static int
hwtcpu_configure(struct hwt_context *ctx, int cpu_id, int thread_id)
{
	const struct pt_cpu_config *config = ctx->config;

	if (hwtcpu[cpu_id].ctx != ctx)
		return (ENOENT);
	hwtcpu[cpu_id].ctl = 0;
	if (config == NULL || ctx->config_size != sizeof(*config) ||
	    (config->rtit_ctl & ~(uint64_t)CTL_SUPPORTED) != 0 ||
	    (config->rtit_ctl & RTIT_CTL_BRANCHEN) == 0 || config->nranges != 0)
		return (EINVAL);
	hwtcpu[cpu_id].ctl = config->rtit_ctl | RTIT_CTL_TOPA;
	return (0);
}

static int
hwtcpu_enable_smp(struct hwt_context *ctx)
{
	smp_rendezvous_cpus(ctx->cpu_map, NULL, start_here, NULL, ctx);
	return (0);
}

static int
hwtcpu_disable_smp(struct hwt_context *ctx)
{
	hwtcpu_stop(ctx);
	return (0);
}

static void
hwtcpu_toggle(struct hwt_context *ctx, int cpu_id)
{
	/* Thread mode only, which init refuses. */
}

static int
hwtcpu_read(struct hwt_vm *vm, int *page, vm_offset_t *offset, uint64_t *data)
{
	u_long position = atomic_load_acq_64(&hwtcpu[vm->cpu->cpu_id].position);

	*page = (int)(position / PAGE_SIZE);
	*offset = position & PAGE_MASK;
	*data = 0;
	return (0);
}

static int
hwtcpu_svc_buf(
    struct hwt_context *ctx, void *data, size_t data_size, int data_version)
{
	return (EOPNOTSUPP);
}

static struct hwt_backend_ops hwtcpu_ops = {
	.hwt_backend_init = hwtcpu_init,
	.hwt_backend_deinit = hwtcpu_deinit,
	.hwt_backend_configure = hwtcpu_configure,
	.hwt_backend_svc_buf = hwtcpu_svc_buf,
	.hwt_backend_enable = hwtcpu_toggle,
	.hwt_backend_disable = hwtcpu_toggle,
	.hwt_backend_read = hwtcpu_read,
	.hwt_backend_stop = hwtcpu_stop,
	.hwt_backend_enable_smp = hwtcpu_enable_smp,
	.hwt_backend_disable_smp = hwtcpu_disable_smp,
};

static struct hwt_backend hwtcpu_backend = {
	.name = "pt",
	.ops = &hwtcpu_ops,
	.kva_req = 0,
};

static bool
is_supported(void)
{
	u_int words[4];

	if ((cpu_stdext_feature & CPUID_STDEXT_PROCTRACE) == 0)
		return (false);
	cpuid_count(PT_LEAF, 0, words);
	return ((words[2] & PT_TOPA) != 0 && (words[2] & PT_TOPA_ENTRIES) != 0);
}

static void
remove_swis(void)
{
	int i;

	CPU_FOREACH(i)
	{
		if (hwtcpu[i].swi != NULL)
			swi_remove(hwtcpu[i].swi);
	}
	free(hwtcpu, M_HWTCPU);
	hwtcpu = NULL;
}

static int
load(void)
{
	int i, error = 0;

	if (!is_supported())
		return (ENXIO);
	hwtcpu = mallocarray(
	    mp_maxid + 1, sizeof(*hwtcpu), M_HWTCPU, M_WAITOK | M_ZERO);
	CPU_FOREACH(i)
	{
		error = swi_add(&clk_intr_event, "hwtcpu", send_record,
		    &hwtcpu[i], SWI_CLOCK, INTR_MPSAFE, &hwtcpu[i].swi);
		if (error != 0)
			break;
	}
	if (error == 0 && !lapic_enable_pcint())
		error = ENXIO;
	if (error != 0) {
		remove_swis();
		return (error);
	}
	nmi_register_handler(handle_nmi);
	error = hwt_backend_register(&hwtcpu_backend);
	if (error != 0) {
		nmi_remove_handler(handle_nmi);
		lapic_disable_pcint();
		remove_swis();
	}
	return (error);
}

static int
unload(void)
{
	if (contexts != 0)
		return (EBUSY);
	/* The kernel also unloads a module whose load has failed. */
	if (hwtcpu == NULL)
		return (0);
	hwt_backend_unregister(&hwtcpu_backend);
	lapic_disable_pcint();
	nmi_remove_handler(handle_nmi);
	remove_swis();
	return (0);
}

static int
hwtcpu_modevent(module_t module, int type, void *data)
{
	switch (type) {
	case MOD_LOAD:
		return (load());
	case MOD_UNLOAD:
		return (unload());
	default:
		return (0);
	}
}

static moduledata_t hwtcpu_module = { "hwtcpu", hwtcpu_modevent, NULL };

DECLARE_MODULE(hwtcpu, hwtcpu_module, SI_SUB_DRIVERS, SI_ORDER_FIRST);
MODULE_DEPEND(hwtcpu, hwt, 1, 1, 1);
MODULE_VERSION(hwtcpu, 1);
