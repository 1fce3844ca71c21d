/* CPUs: identity, rendezvous, the NMI chain and the counters' interrupt. */
#include <sys/smp.h>
#include <sys/systm.h>
#include <x86/apicvar.h>
#include <x86/x86_var.h>

#include <dev/hwt/hwt_intr.h>

#include "harness/guest/kern.h"
#include "harness/kpi/freebsd/kpi.h"

/* Writable globals of the kernel, as in FreeBSD: nothing protects them. */
u_int cpu_feature;
u_int cpu_feature2;
u_int cpu_stdext_feature;
u_int cpu_high;
u_int cpu_id;

int mp_ncpus;
int smp_cpus;
volatile int smp_started;
u_int mp_maxid;
cpuset_t all_cpus;
cpuset_t hlt_cpus_mask;

int hz = 1000;
volatile int ticks;
int cold;

static struct mutex pcint_lock = MUTEX_INIT("lapic pcint");
static u_int pcint_users;

int (*hwt_intr)(struct trapframe *tf);

/* Calls the handler that older versions store in hwt_intr. */
static int
call_hwt_intr(struct trap_frame *frame)
{
	if (hwt_intr == NULL)
		return (0);
	return (hwt_intr((struct trapframe *)(void *)frame));
}

void
kpi_cpu_init(void)
{
	u_int regs[4], i;

	do_cpuid(0, regs);
	cpu_high = regs[0];
	do_cpuid(1, regs);
	cpu_id = regs[0];
	cpu_feature2 = regs[2];
	cpu_feature = regs[3];
	if (cpu_high >= 7) {
		cpuid_count(7, 0, regs);
		cpu_stdext_feature = regs[1];
	}
	mp_ncpus = (int)cpu_count;
	smp_cpus = mp_ncpus;
	mp_maxid = cpu_count - 1;
	smp_started = 1;
	for (i = 0; i < cpu_count; i++)
		CPU_SET(i, &all_cpus);
	if (nmi_register(call_hwt_intr) != 0)
		panic("no room for an NMI handler");
}

/* As FreeBSD's halted CPU: it stays in all_cpus and takes interrupts and
 * rendezvous, but no thread is scheduled on it. */
void
kpi_cpu_offline(uint32_t cpu)
{
	CPU_SET(cpu, &hlt_cpus_mask);
}

int
kpi_cpuid(void)
{
	return ((int)cpu_number());
}

/* The three steps of a rendezvous, each in a critical section. */
struct steps {
	void (*setup)(void *);
	void (*action)(void *);
	void (*teardown)(void *);
	void *arg;
};

static void
do_step(void (*step)(void *), void *arg)
{
	kpi_critnest_add(1);
	step(arg);
	kpi_critnest_add(-1u);
}

static void
do_setup(void *arg)
{
	const struct steps *steps = arg;

	do_step(steps->setup, steps->arg);
}

static void
do_action(void *arg)
{
	const struct steps *steps = arg;

	do_step(steps->action, steps->arg);
}

static void
do_teardown(void *arg)
{
	const struct steps *steps = arg;

	do_step(steps->teardown, steps->arg);
}

/* Only the present CPUs of the set take part; there must be one. */
void
smp_rendezvous_cpus(cpuset_t map, void (*setup)(void *), void (*action)(void *),
    void (*teardown)(void *), void *arg)
{
	struct steps steps = { setup, action, teardown, arg };
	uint64_t mask;
	int i;

	mask = 0;
	CPU_FOREACH(i)
		if (CPU_ISSET(i, &map))
			mask |= UINT64_C(1) << i;
	if (mask == 0)
		panic("smp_rendezvous_cpus: no CPU of the set is present");
	rendezvous(mask, setup != NULL ? do_setup : NULL,
	    action != NULL ? do_action : NULL,
	    teardown != NULL ? do_teardown : NULL, &steps);
}

void
smp_rendezvous(void (*setup)(void *), void (*action)(void *),
    void (*teardown)(void *), void *arg)
{
	smp_rendezvous_cpus(all_cpus, setup, action, teardown, arg);
}

/*
 * FreeBSD's trap frame is opaque to a handler, so the guest kernel's is passed
 * instead.
 */
void
nmi_register_handler(int (*handler)(struct trapframe *))
{
	if (nmi_register((int (*)(struct trap_frame *))(void *)handler) != 0)
		panic("nmi_register_handler: too many handlers");
}

void
nmi_remove_handler(int (*handler)(struct trapframe *))
{
	nmi_remove((int (*)(struct trap_frame *))(void *)handler);
}

static void
pcint_set(void *arg)
{
	uint32_t lvt;

	lvt = LAPIC_MODE_NMI;
	if (*(const bool *)arg)
		lvt |= LAPIC_LVT_MASKED;
	lapic_write32(LAPIC_LVT_PC, lvt);
}

/* SDM vol. 3, 11.4.8 "Local APIC Version Register": bits 23:16 are the number
 * of LVT entries less one; the counters' entry is the fifth. */
static bool
pcint_present(void)
{
	return (((lapic_read32(LAPIC_VERSION) >> 16) & 0xff) >= 4);
}

int
lapic_enable_pcint(void)
{
	bool masked = false;

	if (!pcint_present() ||
	    fault_point(__func__, __builtin_return_address(0)))
		return (0);
	mutex_lock(&pcint_lock);
	if (pcint_users++ == 0)
		smp_rendezvous(NULL, pcint_set, NULL, &masked);
	mutex_unlock(&pcint_lock);
	return (1);
}

void
lapic_disable_pcint(void)
{
	bool masked = true;

	if (!pcint_present())
		return;
	mutex_lock(&pcint_lock);
	if (pcint_users == 0)
		panic("lapic_disable_pcint: not enabled");
	if (--pcint_users == 0)
		smp_rendezvous(NULL, pcint_set, NULL, &masked);
	mutex_unlock(&pcint_lock);
}

/* Older versions do not count users; they call this on each CPU. */
void
lapic_enable_pt_pmi(void)
{
	bool masked = false;

	pcint_set(&masked);
}

void
lapic_disable_pt_pmi(void)
{
	bool masked = true;

	pcint_set(&masked);
}

void
lapic_reenable_pt_pmi(void)
{
	lapic_enable_pt_pmi();
}

void
lapic_reenable_pcint(void)
{
	if (pcint_users == 0)
		return;
	lapic_write32(
	    LAPIC_LVT_PC, lapic_read32(LAPIC_LVT_PC) & ~LAPIC_LVT_MASKED);
}
