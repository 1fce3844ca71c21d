/* The counters of x86, as hwpmc(4)'s machine-dependent layer sees them. */
#ifndef _MACHINE_PMC_MDEP_H_
#define _MACHINE_PMC_MDEP_H_

#include <machine/frame.h>
#include <sys/types.h>

struct pmc_mdep;

/* What an allocation asks for beyond class, event and mode. */
union pmc_md_op_pmcallocate {
	struct {
		uint32_t pm_md_config; /* bits of IA32_PERFEVTSELx to add */
	} pm_md;
	uint64_t __pad[4];
};

#ifdef _KERNEL
/* What a counter needs while it is allocated. */
union pmc_md_pmc {
	struct {
		uint64_t
		    pm_md_select; /* IA32_PERFEVTSELx, or a fixed counter's field */
	} pm_md;
};

# define PMC_TRAPFRAME_TO_PC(tf) ((uintptr_t)(tf)->tf_rip)

# define KPI_KERNEL_BASE         0xffffffff80000000u /* code is above it */
/* Whether AT is in the current thread's kernel stack.  Any context, also NMI. */
bool kpi_on_kernel_stack(uintptr_t at);
#endif

#endif
