/*
 * The two counters of P6 processors, here of 06_0DH: the enable bit of the first select
 * enables both, and no register shows an overflow: a counter that was negative is not.
 */
#include "counters.h"

#include <machine/cpufunc.h>
#include <machine/md_var.h>

#define P6_SELECT0  0x186
#define P6_COUNTER0 0xc1
#define P6_COUNTERS 2
#define P6_WIDTH    40

static void
init(void)
{
	int i;

	wrmsr(P6_SELECT0, 0);
	wrmsr(P6_SELECT0 + 1, 0);
	for (i = 0; i < P6_COUNTERS; i++)
		wrmsr(P6_COUNTER0 + (u_int)i, 0);
}

static int
select(int ri __unused, const struct pmc_op_pmcallocate *op, uint32_t caps,
    uint64_t *value)
{
	return (counters_select(op, caps, value));
}

static uint64_t
select_of(const struct counter_cpu *cpu, u_int running, int i)
{
	const struct pmc *pm = cpu->hw[ROW_FIRST + i].phw_pmc;

	if ((running & (1u << (ROW_FIRST + i))) == 0 || pm == NULL)
		return (0);
	return (pm->pm_md.pm_md.pm_md_select);
}

static void
apply(struct counter_cpu *cpu)
{
	u_int running;

	do {
		running = cpu->running;
		wrmsr(P6_SELECT0 + 1, select_of(cpu, running, 1));
		wrmsr(P6_SELECT0,
		    select_of(cpu, running, 0) |
			(running != 0 ? SELECT_ENABLE : 0));
	} while (running != cpu->running);
}

static void
halt(void)
{
	wrmsr(P6_SELECT0, rdmsr(P6_SELECT0) & ~SELECT_ENABLE);
}

static int64_t
read(int ri)
{
	uint64_t value = rdmsr(P6_COUNTER0 + (u_int)(ri - ROW_FIRST));

	return ((int64_t)(value << (64 - P6_WIDTH)) >> (64 - P6_WIDTH));
}

static u_int
overflows(const struct counter_cpu *cpu)
{
	u_int rows = 0;
	int i;

	for (i = ROW_FIRST; i < ROW_FIRST + P6_COUNTERS; i++) {
		const struct pmc *pm = cpu->hw[i].phw_pmc;

		if ((cpu->running & (1u << i)) != 0 && pm != NULL &&
		    (pm->pm_md.pm_md.pm_md_select & SELECT_INT) != 0 &&
		    read(i) >= 0)
			rows |= 1u << i;
	}
	return (rows);
}

static void
write(int ri, int64_t value)
{
	wrmsr(P6_COUNTER0 + (u_int)(ri - ROW_FIRST),
	    (uint64_t)value & 0xffffffff);
}

static uint32_t
rdpmc(int ri)
{
	return ((uint32_t)(ri - ROW_FIRST));
}

static const struct counter_family p6 = { .cputype = PMC_CPU_INTEL_PM,
	.init = init,
	.select = select,
	.apply = apply,
	.halt = halt,
	.overflows = overflows,
	.read = read,
	.write = write,
	.rdpmc = rdpmc };

/* Family 6, model 13. */
const struct counter_family *
counters_p6(struct pmc_mdep *mdep)
{
	if ((cpu_id & 0x000f0ff0) != 0x000006d0)
		return (NULL);
	(void)counters_add(mdep, PMC_CLASS_P6, P6_COUNTERS,
	    PMC_CAP_INTERRUPT | PMC_CAP_USER | PMC_CAP_SYSTEM | PMC_CAP_EDGE |
		PMC_CAP_THRESHOLD | PMC_CAP_READ | PMC_CAP_WRITE |
		PMC_CAP_INVERT | PMC_CAP_QUALIFIER,
	    P6_WIDTH);
	return (&p6);
}
