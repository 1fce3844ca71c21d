/*
 * The kernel's part of hwpmc(4): its variables, and the calls from the scheduler, the
 * clock, the NMI and the return to ring 3.
 */
#include <sys/pmc.h>
#include <sys/pmckern.h>
#include <sys/smp.h>
#include <sys/systm.h>

#include <machine/frame.h>

#include "harness/guest/cpu.h"
#include "harness/guest/lib.h"
#include "harness/guest/task/task.h"
#include "harness/kpi/freebsd8/kpi8.h"

_Static_assert(sizeof(struct trapframe) == sizeof(struct trap_frame) &&
	__offsetof(struct trapframe, tf_rip) ==
	    __offsetof(struct trap_frame, rip) &&
	__offsetof(struct trapframe, tf_rbp) ==
	    __offsetof(struct trap_frame, rbp) &&
	__offsetof(struct trapframe, tf_ss) ==
	    __offsetof(struct trap_frame, ss),
    "a trap frame is the guest kernel's");

int (*pmc_hook)(struct thread *td, int function, void *arg);
int (*pmc_intr)(int cpu, struct trapframe *frame);
struct sx pmc_sx;
volatile cpumask_t pmc_cpumask;
volatile int pmc_ss_count;
const int pmc_kernel_version = PMC_VERSION;

/*
 * Raised by an NMI from ring 3: the interrupt's return is where ast() runs.  Each CPU has
 * its own: one that another CPU has raised already would interrupt that CPU alone.
 */
static struct soft_event ast_events[CPUS_MAX];

int
pmc_cpu_is_disabled(int cpu)
{
	return (CPU_ISSET(cpu, &hlt_cpus_mask) != 0);
}

void
kpi_pmc_switched_out(struct thread *td)
{
	if (PMC_PROC_IS_USING_PMCS(td->td_proc))
		PMC_SWITCH_CONTEXT(td, PMC_FN_CSW_OUT);
}

void
kpi_pmc_resumed(struct thread *td)
{
	if (PMC_PROC_IS_USING_PMCS(td->td_proc))
		PMC_SWITCH_CONTEXT(td, PMC_FN_CSW_IN);
}

void
kpi_pmc_tick(void)
{
	if (PMC_CPU_HAS_SAMPLES(PCPU_GET(cpuid)))
		PMC_CALL_HOOK_UNLOCKED(curthread, PMC_FN_DO_SAMPLES, NULL);
}

bool
kpi_on_kernel_stack(uintptr_t at)
{
	const struct task *task = task_self();

	return (at >= task->stack_va && at < task->stack_top);
}

static int
nmi(struct trap_frame *frame)
{
	int (*intr)(int, struct trapframe *) = pmc_intr;
	int claimed;

	if (intr == NULL)
		return (0);
	claimed = intr((int)PCPU_GET(cpuid), (struct trapframe *)(void *)frame);
	if (trap_from_user(frame) &&
	    (curthread->td_pflags & TDP_CALLCHAIN) != 0) {
		task_notify(task_self());
		soft_event_raise(&ast_events[cpu_number()]);
	}
	return (claimed);
}

static void
ast_fire(struct soft_event *event __unused)
{
}

/* ast(): the hook may fault. */
void
kpi_pmc_ast(struct task *task __unused, struct trap_frame *frame)
{
	struct thread *td = curthread;

	if ((td->td_flags & TDF_ASTPENDING) == 0)
		return;
	thread_lock(td);
	td->td_flags &= ~TDF_ASTPENDING;
	thread_unlock(td);
	if ((td->td_pflags & TDP_CALLCHAIN) != 0) {
		PMC_CALL_HOOK_UNLOCKED(
		    td, PMC_FN_USER_CALLCHAIN, (void *)frame);
		td->td_pflags &= ~TDP_CALLCHAIN;
	}
}

void
kpi_pmc_init(void)
{
	sx_init(&pmc_sx, "pmc-sx");
	for (uint32_t cpu = 0; cpu < cpu_count; cpu++) {
		ast_events[cpu].fire = ast_fire;
		soft_event_register(&ast_events[cpu]);
	}
	if (nmi_register(nmi) != 0)
		panic("no room for an NMI handler");
}
