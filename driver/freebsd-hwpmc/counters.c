/*
 * The machine-dependent layer of hwpmc(4): its interface pmd_*, on a family of counters.
 *
 * A sampling counter holds the negative of the events to go, so a value read from it is
 * the number of events to go again; a counting one starts at 0 and has its value beside
 * it, so that no value is cut to the 32 bits that can be written.
 */
#include "counters.h"

#include <sys/malloc.h>
#include <sys/proc.h>
#include <sys/smp.h>

#include <machine/cpufunc.h>
#include <x86/apicvar.h>

#define CR4_PCE      0x100
#define DISTANCE_MAX 0x7fffffff /* events between two samples */

static const struct counter_family *family;
static u_int users; /* CPUs that were initialised */
static bool lvt_enabled;

static struct counter_cpu *
cpu_of(int cpu)
{
	return (__containerof(pmc_pcpu[cpu], struct counter_cpu, common));
}

static bool
is_sampling(const struct pmc *pm)
{
	return (PMC_IS_SAMPLING_MODE(PMC_TO_MODE(pm)));
}

static int
init(int cpu)
{
	struct counter_cpu *own;
	int ri;

	own = malloc(sizeof(*own) + md->pmd_npmc * sizeof(struct pmc_hw *),
	    M_PMC, M_WAITOK | M_ZERO);
	for (ri = 0; ri < (int)md->pmd_npmc; ri++) {
		own->hw[ri].phw_state = PMC_PHW_FLAG_IS_ENABLED;
		if (ri == ROW_TSC)
			own->hw[ri].phw_state |= PMC_PHW_FLAG_IS_SHAREABLE;
		own->common.pc_hwpmcs[ri] = &own->hw[ri];
	}
	pmc_pcpu[cpu] = &own->common;
	family->init();
	if (users++ == 0)
		lvt_enabled = lapic_enable_pmc() != 0;
	return (0);
}

static int
cleanup(int cpu)
{
	struct counter_cpu *own = cpu_of(cpu);

	own->running = 0;
	family->init();
	pmc_pcpu[cpu] = NULL;
	free(own, M_PMC);
	if (--users == 0 && lvt_enabled)
		lapic_disable_pmc();
	return (0);
}

/* Programs that read their counters by RDPMC may do so while they run. */
static int
switch_in(struct pmc_cpu *pc __unused, struct pmc_process *pp)
{
	if ((pp->pp_flags & PMC_PP_ENABLE_MSR_ACCESS) != 0)
		load_cr4(rcr4() | CR4_PCE);
	return (0);
}

static int
switch_out(struct pmc_cpu *pc __unused, struct pmc_process *pp __unused)
{
	u_long cr4 = rcr4();

	if ((cr4 & CR4_PCE) != 0)
		load_cr4(cr4 & ~(u_long)CR4_PCE);
	return (0);
}

static int
config_pmc(int cpu, int ri, struct pmc *pm)
{
	cpu_of(cpu)->hw[ri].phw_pmc = pm;
	return (0);
}

static int
get_config(int cpu, int ri, struct pmc **pm)
{
	*pm = cpu_of(cpu)->hw[ri].phw_pmc;
	return (0);
}

static int
read_pmc(int cpu, int ri, pmc_value_t *value)
{
	struct counter_cpu *own = cpu_of(cpu);
	const struct pmc *pm = own->hw[ri].phw_pmc;

	if (ri == ROW_TSC)
		*value = rdtsc();
	else if (pm == NULL)
		return (EINVAL);
	else if (is_sampling(pm))
		*value = (pmc_value_t)-family->read(ri);
	else
		*value = own->base[ri] + (pmc_value_t)family->read(ri);
	return (0);
}

static int
write_pmc(int cpu, int ri, pmc_value_t value)
{
	struct counter_cpu *own = cpu_of(cpu);
	const struct pmc *pm = own->hw[ri].phw_pmc;

	if (ri == ROW_TSC)
		return (0);
	if (pm == NULL)
		return (EINVAL);
	if (!is_sampling(pm)) {
		own->base[ri] = value;
		family->write(ri, 0);
		return (0);
	}
	if (value > DISTANCE_MAX)
		return (EINVAL);
	family->write(ri, -(int64_t)(value != 0 ? value : 1));
	return (0);
}

/* The class of row RI. */
static const struct pmc_classinfo *
class_of(int ri)
{
	int left = ri;
	u_int i;

	for (i = 0; left >= md->pmd_nclasspmcs[i]; i++)
		left -= md->pmd_nclasspmcs[i];
	return (&md->pmd_classes[i]);
}

static int
allocate_pmc(int cpu __unused, int ri, struct pmc *pm,
    const struct pmc_op_pmcallocate *op)
{
	const struct pmc_classinfo *class = class_of(ri);

	if (class->pm_class != op->pm_class ||
	    (pm->pm_caps & ~class->pm_caps) != 0)
		return (EINVAL);
	if (ri == ROW_TSC)
		return (
		    op->pm_ev == PMC_EV_TSC_TSC && op->pm_mode == PMC_MODE_SC
			? 0
			: EINVAL);
	return (
	    family->select(ri, op, pm->pm_caps, &pm->pm_md.pm_md.pm_md_select));
}

static int
release_pmc(int cpu __unused, int ri __unused, struct pmc *pm __unused)
{
	return (0);
}

static int
start_pmc(int cpu, int ri)
{
	struct counter_cpu *own = cpu_of(cpu);

	if (ri == ROW_TSC)
		return (0);
	atomic_set_int(&own->running, 1u << ri);
	family->apply(own);
	return (0);
}

static int
stop_pmc(int cpu, int ri)
{
	struct counter_cpu *own = cpu_of(cpu);

	if (ri == ROW_TSC)
		return (0);
	atomic_clear_int(&own->running, 1u << ri);
	family->apply(own);
	return (0);
}

/* A sample that the ring has no room for stops its counter. */
static void
take_sample(struct counter_cpu *own, int cpu, int ri, struct trapframe *frame)
{
	struct pmc *pm = own->hw[ri].phw_pmc;
	int error;

	if (pm == NULL || pm->pm_state != PMC_STATE_RUNNING || !is_sampling(pm))
		return;
	error = pmc_process_interrupt(cpu, pm, frame, TRAPF_USERMODE(frame));
	if (error != 0)
		atomic_clear_int(&own->running, 1u << ri);
	(void)write_pmc(cpu, ri, pm->pm_sc.pm_reloadcount);
}

/* In an NMI handler.  The counters stand still meanwhile. */
static int
intr(int cpu, struct trapframe *frame)
{
	struct counter_cpu *own = cpu_of(cpu);
	u_int rows;
	int ri;

	family->halt();
	rows = family->overflows(own);
	for (ri = ROW_FIRST; ri < (int)md->pmd_npmc; ri++)
		if ((rows & (1u << ri)) != 0)
			take_sample(own, cpu, ri, frame);
	atomic_add_int(rows != 0 ? (u_int *)&pmc_stats.pm_intr_processed
				 : (u_int *)&pmc_stats.pm_intr_ignored,
	    1);
	if (rows != 0)
		lapic_reenable_pmc();
	family->apply(own);
	return (rows != 0);
}

static int
describe(int cpu, int ri, struct pmc_info *info, struct pmc **pm)
{
	static const char *const names[] = {
#undef __PMC_CLASS
#define __PMC_CLASS(N) #N,
		__PMC_CLASSES()
	};
	const struct counter_cpu *own = cpu_of(cpu);
	const struct pmc_classinfo *class = class_of(ri);

	bzero(info, sizeof(*info));
	(void)snprintf(info->pm_name, sizeof(info->pm_name), "%s-%d",
	    names[class->pm_class], ri);
	info->pm_class = class->pm_class;
	info->pm_enabled = (own->hw[ri].phw_state & PMC_PHW_FLAG_IS_ENABLED) !=
	    0;
	*pm = own->hw[ri].phw_pmc;
	return (0);
}

static int
get_msr(int ri, uint32_t *msr)
{
	if (ri == ROW_TSC)
		return (EINVAL);
	*msr = family->rdpmc(ri);
	return (0);
}

int
counters_add(struct pmc_mdep *mdep, enum pmc_class class, int count,
    uint32_t caps, uint32_t width)
{
	int first = (int)mdep->pmd_npmc;

	mdep->pmd_classes[mdep->pmd_nclass] = (struct pmc_classinfo){
		.pm_class = class, .pm_caps = caps, .pm_width = width
	};
	mdep->pmd_nclasspmcs[mdep->pmd_nclass++] = count;
	mdep->pmd_npmc += (uint32_t)count;
	return (first);
}

int
counters_select(
    const struct pmc_op_pmcallocate *op, uint32_t caps, uint64_t *select)
{
	if ((u_int)op->pm_ev > 0xffff ||
	    (op->pm_md.pm_md.pm_md_config & ~0xff840000u) != 0)
		return (EINVAL);
	*select = (uint64_t)op->pm_ev | op->pm_md.pm_md.pm_md_config;
	if ((caps & (PMC_CAP_USER | PMC_CAP_SYSTEM)) != PMC_CAP_SYSTEM)
		*select |= SELECT_USER;
	if ((caps & (PMC_CAP_USER | PMC_CAP_SYSTEM)) != PMC_CAP_USER)
		*select |= SELECT_OS;
	if ((caps & PMC_CAP_INTERRUPT) != 0)
		*select |= SELECT_INT;
	return (0);
}

struct pmc_mdep *
pmc_md_initialize(void)
{
	struct pmc_mdep *mdep;

	mdep = malloc(sizeof(*mdep), M_PMC, M_WAITOK | M_ZERO);
	(void)counters_add(mdep, PMC_CLASS_TSC, 1, PMC_CAP_READ, 64);
	family = counters_arch(mdep);
	if (family == NULL)
		family = counters_p6(mdep);
	if (family == NULL) {
		free(mdep, M_PMC);
		return (NULL);
	}
	mdep->pmd_cputype = family->cputype;
	mdep->pmd_init = init;
	mdep->pmd_cleanup = cleanup;
	mdep->pmd_switch_in = switch_in;
	mdep->pmd_switch_out = switch_out;
	mdep->pmd_config_pmc = config_pmc;
	mdep->pmd_get_config = get_config;
	mdep->pmd_read_pmc = read_pmc;
	mdep->pmd_write_pmc = write_pmc;
	mdep->pmd_allocate_pmc = allocate_pmc;
	mdep->pmd_release_pmc = release_pmc;
	mdep->pmd_start_pmc = start_pmc;
	mdep->pmd_stop_pmc = stop_pmc;
	mdep->pmd_intr = intr;
	mdep->pmd_describe = describe;
	mdep->pmd_get_msr = get_msr;
	return (mdep);
}
