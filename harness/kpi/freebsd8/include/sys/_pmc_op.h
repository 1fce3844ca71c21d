/* The system call of hwpmc(4): operations, their arguments, and the ids of counters. */
#ifndef _SYS__PMC_OP_H_
#define _SYS__PMC_OP_H_

#include <sys/types.h>

#include <machine/pmc_mdep.h>

#define PMC_MODULE_NAME "hwpmc"
#define PMC_VERSION     0x03000000

/* Classes of counters; those of architectural counters came later in 2008. */
#define __PMC_CLASSES() \
 __PMC_CLASS(TSC)       \
 __PMC_CLASS(K7)        \
 __PMC_CLASS(K8)        \
 __PMC_CLASS(P5)        \
 __PMC_CLASS(P6)        \
 __PMC_CLASS(P4)        \
 __PMC_CLASS(IAF)       \
 __PMC_CLASS(IAP)

enum pmc_class {
#define __PMC_CLASS(N) PMC_CLASS_##N,
	__PMC_CLASSES()
};
#define PMC_CLASS_MAX 8

enum pmc_cputype {
	PMC_CPU_INTEL_PM = 0x84,
	PMC_CPU_INTEL_CORE = 0x87,
};

/* The driver passes events on: select and unit mask, fixed counter, or the TSC. */
enum pmc_event {
	PMC_EV_TSC_TSC = 0x10000,
	PMC_EV_FIXED_FIRST = 0x20000, /* + N: fixed counter N */
	/* 0 to 0xffff: event select, unit mask << 8 */
};

#define __PMC_MODES() \
 __PMC_MODE(SS) __PMC_MODE(SC) __PMC_MODE(TS) __PMC_MODE(TC)
enum pmc_mode {
	PMC_MODE_SS = 0, /* system-wide sampling */
	PMC_MODE_SC = 1, /* system-wide counting */
	PMC_MODE_TS = 2, /* sampling of processes */
	PMC_MODE_TC = 3, /* counting of processes */
};

#define PMC_IS_SYSTEM_MODE(mode) \
 ((mode) == PMC_MODE_SS || (mode) == PMC_MODE_SC)
#define PMC_IS_VIRTUAL_MODE(mode) \
 ((mode) == PMC_MODE_TS || (mode) == PMC_MODE_TC)
#define PMC_IS_SAMPLING_MODE(mode) \
 ((mode) == PMC_MODE_SS || (mode) == PMC_MODE_TS)
#define PMC_IS_COUNTING_MODE(mode) \
 ((mode) == PMC_MODE_SC || (mode) == PMC_MODE_TC)

enum pmc_state {
	PMC_STATE_DISABLED,
	PMC_STATE_FREE,
	PMC_STATE_ALLOCATED,
	PMC_STATE_STOPPED,
	PMC_STATE_RUNNING,
	PMC_STATE_DELETED,
};

enum pmc_disp {
	PMC_DISP_STANDALONE,
	PMC_DISP_FREE,
	PMC_DISP_THREAD,
};

enum pmc_caps {
	PMC_CAP_INTERRUPT = 0x0001,
	PMC_CAP_USER = 0x0002,
	PMC_CAP_SYSTEM = 0x0004,
	PMC_CAP_EDGE = 0x0008,
	PMC_CAP_THRESHOLD = 0x0010,
	PMC_CAP_READ = 0x0020,
	PMC_CAP_WRITE = 0x0040,
	PMC_CAP_INVERT = 0x0080,
	PMC_CAP_QUALIFIER = 0x0100,
	PMC_CAP_PRECISE = 0x0200,
	PMC_CAP_TAGGING = 0x0400,
	PMC_CAP_CASCADE = 0x0800,
};

typedef uint32_t pmc_id_t;
typedef uint64_t pmc_value_t;

/* A counter's id: CPU, mode, class, row; 8 bits each. */
#define PMC_ID_INVALID (~(pmc_id_t)0)
#define PMC_CPU_ANY    ~0
#define PMC_ID_MAKE_ID(cpu, mode, class, row)                        \
 ((((pmc_id_t)(cpu)&0xff) << 24) | (((pmc_id_t)(mode)&0xff) << 16) | \
     (((pmc_id_t)(class) & 0xff) << 8) | ((pmc_id_t)(row)&0xff))
#define PMC_ID_TO_ROWINDEX(id) ((id)&0xff)
#define PMC_ID_TO_CLASS(id)    (((id) >> 8) & 0xff)
#define PMC_ID_TO_MODE(id)     ((enum pmc_mode)(((id) >> 16) & 0xff))
#define PMC_ID_TO_CPU(id)      (((id) >> 24) & 0xff)

#define __PMC_OPS()                                           \
 __PMC_OP(CONFIGURELOG, "Set log file")                       \
 __PMC_OP(FLUSHLOG, "Flush log file")                         \
 __PMC_OP(GETCPUINFO, "Get the CPU's counters")               \
 __PMC_OP(GETDRIVERSTATS, "Get the driver's statistics")      \
 __PMC_OP(GETMODULEVERSION, "Get the module's version")       \
 __PMC_OP(GETPMCINFO, "Get the counters of a CPU")            \
 __PMC_OP(PMCADMIN, "Set the state of a counter")             \
 __PMC_OP(PMCALLOCATE, "Allocate a counter")                  \
 __PMC_OP(PMCATTACH, "Attach a counter to a process")         \
 __PMC_OP(PMCDETACH, "Detach a counter from a process")       \
 __PMC_OP(PMCGETMSR, "Get the number for RDPMC")              \
 __PMC_OP(PMCRELEASE, "Release a counter")                    \
 __PMC_OP(PMCRW, "Read or set a counter")                     \
 __PMC_OP(PMCSETCOUNT, "Set the initial count or the period") \
 __PMC_OP(PMCSTART, "Start a counter")                        \
 __PMC_OP(PMCSTOP, "Stop a counter")                          \
 __PMC_OP(WRITELOG, "Write an entry to the log file")

enum pmc_ops {
#define __PMC_OP(N, D) PMC_OP_##N,
	__PMC_OPS()
};

/* Flags: of PMCALLOCATE, of PMCRW, and the driver's own. */
#define PMC_F_DESCENDANTS       0x00000002
#define PMC_F_LOG_PROCCSW       0x00000004
#define PMC_F_LOG_PROCEXIT      0x00000008
#define PMC_F_CALLCHAIN         0x00000080
#define PMC_F_NEWVALUE          0x00000010
#define PMC_F_OLDVALUE          0x00000020
#define PMC_F_ATTACHED_TO_OWNER 0x00010000
#define PMC_F_NEEDS_LOGFILE     0x00020000
#define PMC_F_ATTACH_DONE       0x00040000

struct pmc_syscall_args {
	register_t pmop_code;
	void *pmop_data;
};

struct pmc_op_configurelog {
	int pm_logfd; /* -1: none any more */
	uint32_t pm_flags;
};

struct pmc_classinfo {
	enum pmc_class pm_class;
	uint32_t pm_caps;
	uint32_t pm_width; /* bits */
};

struct pmc_op_getcpuinfo {
	enum pmc_cputype pm_cputype;
	uint32_t pm_ncpu, pm_npmc, pm_nclass;
	struct pmc_classinfo pm_classes[PMC_CLASS_MAX];
};

struct pmc_op_getdriverstats {
	int pm_intr_ignored, pm_intr_processed, pm_intr_bufferfull;
	int pm_syscalls, pm_syscall_errors;
	int pm_buffer_requests, pm_buffer_requests_failed;
	int pm_log_sweeps;
};

#define PMC_NAME_MAX 16
struct pmc_info {
	char pm_name[PMC_NAME_MAX];
	enum pmc_class pm_class;
	int pm_enabled;
	enum pmc_disp pm_rowdisp;
	pid_t pm_ownerpid; /* or -1 */
	enum pmc_mode pm_mode;
	enum pmc_event pm_event;
	uint32_t pm_flags;
	pmc_value_t pm_reloadcount;
};

struct pmc_op_getpmcinfo {
	uint32_t pm_cpu;
	struct pmc_info pm_pmcs[];
};

struct pmc_op_pmcadmin {
	int pm_cpu;
	uint32_t pm_flags;
	int pm_pmc;
	enum pmc_state pm_state;
};

struct pmc_op_pmcallocate {
	uint32_t pm_caps;
	uint32_t pm_cpu; /* or PMC_CPU_ANY */
	enum pmc_class pm_class;
	enum pmc_event pm_ev;
	uint32_t pm_flags;
	enum pmc_mode pm_mode;
	pmc_id_t pm_pmcid; /* the result */
	union pmc_md_op_pmcallocate pm_md;
};

struct pmc_op_pmcattach {
	pmc_id_t pm_pmc;
	pid_t pm_pid; /* 0: the caller */
};

struct pmc_op_getmsr {
	uint32_t pm_msr;
	pmc_id_t pm_pmcid;
};

struct pmc_op_simple {
	pmc_id_t pm_pmcid;
};

struct pmc_op_pmcrw {
	uint32_t pm_flags; /* PMC_F_OLDVALUE, PMC_F_NEWVALUE */
	pmc_id_t pm_pmcid;
	pmc_value_t pm_value;
};

struct pmc_op_pmcsetcount {
	pmc_value_t pm_count;
	pmc_id_t pm_pmcid;
};

struct pmc_op_writelog {
	uint32_t pm_userdata;
};

#endif
