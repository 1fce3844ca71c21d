/*
 * hwpmc(4): what a program and the driver agree on (_pmc_op.h), and the driver's own
 * structures, which its parts share.
 */
#ifndef _SYS_PMC_H_
#define _SYS_PMC_H_

#include <sys/_pmc_op.h>

#ifdef _KERNEL

# include <sys/lock.h>
# include <sys/malloc.h>
# include <sys/mutex.h>
# include <sys/queue.h>
# include <sys/sysctl.h>

# include <machine/frame.h>

/* Sizes that the tunables kern.hwpmc.NAME change. */
# define PMC_SYSCTL_NAME_PREFIX  "kern.hwpmc."
# define PMC_CALLCHAIN_DEPTH     8
# define PMC_CALLCHAIN_DEPTH_MAX 32
# define PMC_HASH_SIZE           16
# define PMC_LOG_BUFFER_SIZE     4 /* KiB */
# define PMC_MTXPOOL_SIZE        32
# define PMC_NLOGBUFFERS         16
# define PMC_NSAMPLES            32

struct file;
struct pmc;
struct pmc_owner;
struct pmclog_buffer;
struct proc;
struct thread;

/* A counter's row in the structure of a target process. */
struct pmc_targetstate {
	struct pmc *pp_pmc;
	pmc_value_t pp_pmcval; /* sampling: events left; counting: events */
};

struct pmc_process {
	LIST_ENTRY(pmc_process) pp_next;
	int pp_refcnt;     /* counters attached to it */
	uint32_t pp_flags; /* PMC_PP_* */
	struct proc *pp_proc;
	struct pmc_targetstate pp_pmcs[];
};

# define PMC_PP_ENABLE_MSR_ACCESS 0x00000001

struct pmc_target {
	LIST_ENTRY(pmc_target) pt_next;
	struct pmc_process *pt_process;
};

struct pmc {
	LIST_HEAD(, pmc_target) pm_targets;
	LIST_ENTRY(pmc) pm_next; /* of the owner's */
	union {
		pmc_value_t pm_savedvalue;
	} pm_gv;
	union {
		pmc_value_t pm_initial;     /* counting */
		pmc_value_t pm_reloadcount; /* sampling */
	} pm_sc;
	uint32_t pm_stalled; /* stopped, because the ring of samples was full */
	uint32_t pm_caps;
	enum pmc_event pm_event;
	uint32_t pm_flags;
	struct pmc_owner *pm_owner;
	uint32_t pm_runcount; /* CPUs and samples that refer to it */
	enum pmc_state pm_state;
	pmc_id_t pm_id;
	union pmc_md_pmc pm_md;
};

# define PMC_TO_MODE(P)     PMC_ID_TO_MODE((P)->pm_id)
# define PMC_TO_CLASS(P)    PMC_ID_TO_CLASS((P)->pm_id)
# define PMC_TO_ROWINDEX(P) PMC_ID_TO_ROWINDEX((P)->pm_id)
# define PMC_TO_CPU(P)      PMC_ID_TO_CPU((P)->pm_id)

struct pmc_owner {
	LIST_ENTRY(pmc_owner) po_next;
	LIST_ENTRY(pmc_owner) po_ssnext;
	LIST_HEAD(, pmc) po_pmcs;
	TAILQ_HEAD(, pmclog_buffer) po_logbuffers; /* to be written; po_mtx */
	struct mtx po_mtx;
	struct proc *po_owner;
	uint32_t po_flags; /* PMC_PO_* */
	struct proc *po_kthread;
	struct pmclog_buffer *po_curbuf; /* po_mtx */
	struct file *po_file;
	int po_error;   /* of the log's file */
	int po_sscount; /* running system-wide sampling counters */
};

# define PMC_PO_OWNS_LOGFILE          0x00000001
# define PMC_PO_IN_FLUSH              0x00000010
# define PMC_PO_INITIAL_MAPPINGS_DONE 0x00000020

/* A row of one CPU. */
struct pmc_hw {
	uint32_t phw_state; /* PMC_PHW_* */
	struct pmc *phw_pmc;
};

# define PMC_PHW_FLAG_IS_ENABLED   0x00010000
# define PMC_PHW_FLAG_IS_SHAREABLE 0x00020000

/* A sample.  The NMI handler fills it, the clock empties it. */
struct pmc_sample {
	uint16_t ps_nsamples; /* addresses; PMC_SAMPLE_* */
	uint8_t ps_cpu;
	uint8_t ps_flags; /* PMC_CC_F_* */
	pid_t ps_pid;     /* or -1 */
	struct pmc *ps_pmc;
	uintptr_t *ps_pc;
};

# define PMC_SAMPLE_FREE    ((uint16_t)0)
# define PMC_SAMPLE_INUSE   ((uint16_t)0xffff)
# define PMC_CC_F_USERSPACE 0x01

struct pmc_samplebuffer {
	struct pmc_sample *volatile ps_read;
	struct pmc_sample *volatile ps_write;
	uintptr_t *ps_callchains;
	struct pmc_sample *ps_fence;
	struct pmc_sample ps_samples[];
};

struct pmc_cpu {
	uint32_t pc_state;
	struct pmc_samplebuffer *pc_sb;
	struct pmc_hw *pc_hwpmcs[];
};

struct pmc_binding {
	int pb_bound;
	int pb_cpu;
};

/* The operations of the machine-dependent layer; a row is an index over all classes. */
struct pmc_mdep {
	enum pmc_cputype pmd_cputype;
	uint32_t pmd_npmc;
	uint32_t pmd_nclass;
	struct pmc_classinfo pmd_classes[PMC_CLASS_MAX];
	int pmd_nclasspmcs[PMC_CLASS_MAX];

	int (*pmd_init)(int cpu);
	int (*pmd_cleanup)(int cpu);
	int (*pmd_switch_in)(struct pmc_cpu *pc, struct pmc_process *pp);
	int (*pmd_switch_out)(struct pmc_cpu *pc, struct pmc_process *pp);
	int (*pmd_config_pmc)(int cpu, int ri, struct pmc *pm);
	int (*pmd_get_config)(int cpu, int ri, struct pmc **pm);
	int (*pmd_read_pmc)(int cpu, int ri, pmc_value_t *value);
	int (*pmd_write_pmc)(int cpu, int ri, pmc_value_t value);
	int (*pmd_allocate_pmc)(int cpu, int ri, struct pmc *pm,
	    const struct pmc_op_pmcallocate *op);
	int (*pmd_release_pmc)(int cpu, int ri, struct pmc *pm);
	int (*pmd_start_pmc)(int cpu, int ri);
	int (*pmd_stop_pmc)(int cpu, int ri);
	int (*pmd_intr)(int cpu, struct trapframe *frame);
	int (*pmd_describe)(
	    int cpu, int ri, struct pmc_info *info, struct pmc **pm);
	int (*pmd_get_msr)(int ri, uint32_t *msr);
};

extern struct pmc_cpu **pmc_pcpu;
extern struct pmc_mdep *md;
extern struct pmc_op_getdriverstats pmc_stats;

/* NULL: no counters that the layer knows. */
struct pmc_mdep *pmc_md_initialize(void);
int pmc_getrowdisp(int ri);
int pmc_process_interrupt(
    int cpu, struct pmc *pm, struct trapframe *tf, int inuserspace);
/* The number of addresses that were stored: at least 1. */
int pmc_save_kernel_callchain(
    uintptr_t *cc, int maxsamples, struct trapframe *tf);
int pmc_save_user_callchain(
    uintptr_t *cc, int maxsamples, struct trapframe *tf);

MALLOC_DECLARE(M_PMC);

/* Messages of DEBUG kernels. */
# define PMCDBG(M, N, L, F, ...)

#endif
#endif
