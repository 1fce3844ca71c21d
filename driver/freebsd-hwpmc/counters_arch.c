/*
 * Counters of architectural performance monitoring from version 2 on: general-purpose
 * and fixed ones, GLOBAL_CTRL, GLOBAL_STATUS and GLOBAL_OVF_CTRL.
 */
#include "counters.h"

#include <machine/cpufunc.h>
#include <machine/md_var.h>

#define SELECT0       0x186
#define COUNTER0      0xc1
#define FIXED0        0x309
#define FIXED_CONTROL 0x38d
#define STATUS        0x38e
#define CONTROL       0x38f
#define OVERFLOW      0x390
#define FIXED_BIT     32 /* of fixed counter 0 in the three */
#define RDPMC_FIXED   0x40000000

#define GENERAL_MAX   8
#define FIXED_MAX     3

/* CPUID.0AH, the same on all CPUs. */
static int general, fixed;
static u_int width, fixed_width;

static bool
is_fixed(int ri)
{
	return (ri >= ROW_FIRST + general);
}

static u_int
index_of(int ri)
{
	return (
	    (u_int)(is_fixed(ri) ? ri - ROW_FIRST - general : ri - ROW_FIRST));
}

static uint64_t
bit_of(int ri)
{
	return (1UL << (index_of(ri) + (is_fixed(ri) ? FIXED_BIT : 0)));
}

static void
init(void)
{
	u_int i;

	wrmsr(CONTROL, 0);
	for (i = 0; i < (u_int)general; i++)
		wrmsr(SELECT0 + i, 0);
	wrmsr(FIXED_CONTROL, 0);
	wrmsr(OVERFLOW,
	    rdmsr(STATUS) &
		(((1UL << general) - 1) | ((1UL << fixed) - 1) << FIXED_BIT));
}

/* A fixed counter's field of FIXED_CTR_CTRL: ring 0, other rings, PMI. */
static uint64_t
fixed_field(uint32_t caps)
{
	uint64_t field = 0;

	if ((caps & (PMC_CAP_USER | PMC_CAP_SYSTEM)) != PMC_CAP_USER)
		field |= 1;
	if ((caps & (PMC_CAP_USER | PMC_CAP_SYSTEM)) != PMC_CAP_SYSTEM)
		field |= 2;
	if ((caps & PMC_CAP_INTERRUPT) != 0)
		field |= 8;
	return (field);
}

static int
select(
    int ri, const struct pmc_op_pmcallocate *op, uint32_t caps, uint64_t *value)
{
	if (!is_fixed(ri))
		return (counters_select(op, caps, value));
	if ((u_int)op->pm_ev != PMC_EV_FIXED_FIRST + index_of(ri) ||
	    op->pm_md.pm_md.pm_md_config != 0)
		return (EINVAL);
	*value = fixed_field(caps);
	return (0);
}

static uint64_t
select_of(const struct counter_cpu *cpu, u_int running, int ri)
{
	const struct pmc *pm = cpu->hw[ri].phw_pmc;

	if ((running & (1u << ri)) == 0 || pm == NULL)
		return (0);
	return (
	    pm->pm_md.pm_md.pm_md_select | (is_fixed(ri) ? 0 : SELECT_ENABLE));
}

static void
apply(struct counter_cpu *cpu)
{
	uint64_t control, fields, value;
	u_int running;
	int ri;

	do {
		running = cpu->running;
		control = fields = 0;
		for (ri = ROW_FIRST; ri < ROW_FIRST + general + fixed; ri++) {
			value = select_of(cpu, running, ri);
			if (value != 0)
				control |= bit_of(ri);
			if (is_fixed(ri))
				fields |= value << (4 * index_of(ri));
			else
				wrmsr(SELECT0 + index_of(ri), value);
		}
		wrmsr(FIXED_CONTROL, fields);
		wrmsr(CONTROL, control);
	} while (running != cpu->running);
}

static void
halt(void)
{
	wrmsr(CONTROL, 0);
}

/* Other bits of the status are not counters: they stay. */
static u_int
overflows(const struct counter_cpu *cpu __unused)
{
	uint64_t status = rdmsr(STATUS), mine = 0;
	u_int rows = 0;
	int ri;

	for (ri = ROW_FIRST; ri < ROW_FIRST + general + fixed; ri++) {
		if ((status & bit_of(ri)) == 0)
			continue;
		rows |= 1u << ri;
		mine |= bit_of(ri);
	}
	if (mine != 0)
		wrmsr(OVERFLOW, mine);
	return (rows);
}

static int64_t
read(int ri)
{
	u_int bits = is_fixed(ri) ? fixed_width : width;
	uint64_t value = rdmsr(
	    (is_fixed(ri) ? FIXED0 : COUNTER0) + index_of(ri));

	return ((int64_t)(value << (64 - bits)) >> (64 - bits));
}

/* Software extends the sign for a fixed counter, the processor for the others. */
static void
write(int ri, int64_t value)
{
	if (is_fixed(ri))
		wrmsr(FIXED0 + index_of(ri),
		    (uint64_t)value & ((1UL << fixed_width) - 1));
	else
		wrmsr(COUNTER0 + index_of(ri), (uint64_t)value & 0xffffffff);
}

static uint32_t
rdpmc(int ri)
{
	return ((is_fixed(ri) ? RDPMC_FIXED : 0) | index_of(ri));
}

static const struct counter_family arch = { .cputype = PMC_CPU_INTEL_CORE,
	.init = init,
	.select = select,
	.apply = apply,
	.halt = halt,
	.overflows = overflows,
	.read = read,
	.write = write,
	.rdpmc = rdpmc };

const struct counter_family *
counters_arch(struct pmc_mdep *mdep)
{
	const uint32_t caps = PMC_CAP_INTERRUPT | PMC_CAP_USER |
	    PMC_CAP_SYSTEM | PMC_CAP_READ | PMC_CAP_WRITE;
	u_int regs[4];

	if (cpu_high < 0xa)
		return (NULL);
	do_cpuid(0xa, regs);
	if ((regs[0] & 0xff) < 2)
		return (NULL);
	general = imin((int)(regs[0] >> 8 & 0xff), GENERAL_MAX);
	width = regs[0] >> 16 & 0xff;
	fixed = imin((int)(regs[3] & 0x1f), FIXED_MAX);
	fixed_width = regs[3] >> 5 & 0xff;
	(void)counters_add(mdep, PMC_CLASS_IAP, general,
	    caps | PMC_CAP_EDGE | PMC_CAP_THRESHOLD | PMC_CAP_INVERT |
		PMC_CAP_QUALIFIER,
	    width);
	if (fixed != 0)
		(void)counters_add(
		    mdep, PMC_CLASS_IAF, fixed, caps, fixed_width);
	return (&arch);
}
