/*
 * hwpmc(4)'s log: a sequence of entries, each with a header of its type, its length and
 * the time.
 */
#ifndef _SYS_PMCLOG_H_
#define _SYS_PMCLOG_H_

#include <sys/pmc.h>

enum pmclog_type {
	PMCLOG_TYPE_CLOSELOG = 1,
	PMCLOG_TYPE_DROPNOTIFY = 2, /* entries before it were lost */
	PMCLOG_TYPE_INITIALIZE = 3,
	PMCLOG_TYPE_PMCALLOCATE = 6,
	PMCLOG_TYPE_PMCATTACH = 7,
	PMCLOG_TYPE_PMCDETACH = 8,
	PMCLOG_TYPE_PROCCSW = 9,
	PMCLOG_TYPE_PROCEXEC = 10,
	PMCLOG_TYPE_PROCEXIT = 11,
	PMCLOG_TYPE_PROCFORK = 12,
	PMCLOG_TYPE_SYSEXIT = 13,
	PMCLOG_TYPE_USERDATA = 14,
	PMCLOG_TYPE_MAP_IN = 15,
	PMCLOG_TYPE_MAP_OUT = 16,
	PMCLOG_TYPE_CALLCHAIN = 17,
};

#define PMCLOG_MAGIC 0xee
#define PMCLOG_HEADER(type, bytes) \
 ((uint32_t)PMCLOG_MAGIC << 24 | (uint32_t)(type) << 16 | (uint32_t)(bytes))
#define PMCLOG_HEADER_TO_MAGIC(h)  ((h) >> 24)
#define PMCLOG_HEADER_TO_TYPE(h)   ((h) >> 16 & 0xff)
#define PMCLOG_HEADER_TO_LENGTH(h) ((h)&0xffff)

#define PMCLOG_PATH_MAX            1024

struct pmclog_head {
	uint32_t pl_header, pl_ts_sec, pl_ts_nsec;
};
struct pmclog_initialize {
	struct pmclog_head pl_head;
	uint32_t pl_version, pl_cpu;
};
struct pmclog_pmcallocate {
	struct pmclog_head pl_head;
	uint32_t pl_pmcid, pl_event, pl_flags;
};
struct pmclog_pmcattach { /* pl_path: of the text */
	struct pmclog_head pl_head;
	uint32_t pl_pmcid, pl_pid;
	char pl_path[];
};
struct pmclog_pmcdetach {
	struct pmclog_head pl_head;
	uint32_t pl_pmcid, pl_pid;
};
struct pmclog_proccsw {
	struct pmclog_head pl_head;
	uint32_t pl_pmcid;
	uint64_t pl_value; /* events while it ran */
	uint32_t pl_pid;
} __attribute__((__packed__));
struct pmclog_procexec {
	struct pmclog_head pl_head;
	uint32_t pl_pid;
	uint64_t pl_entryaddr;
	uint32_t pl_pmcid;
	char pl_path[];
} __attribute__((__packed__));
struct pmclog_procexit {
	struct pmclog_head pl_head;
	uint32_t pl_pmcid;
	uint64_t pl_value;
	uint32_t pl_pid;
} __attribute__((__packed__));
struct pmclog_procfork {
	struct pmclog_head pl_head;
	uint32_t pl_oldpid, pl_newpid;
};
struct pmclog_sysexit {
	struct pmclog_head pl_head;
	uint32_t pl_pid;
};
struct pmclog_userdata {
	struct pmclog_head pl_head;
	uint32_t pl_userdata;
};
struct pmclog_map_in {
	struct pmclog_head pl_head;
	uint32_t pl_pid;
	uint64_t pl_start;
	char pl_path[];
} __attribute__((__packed__));
struct pmclog_map_out {
	struct pmclog_head pl_head;
	uint32_t pl_pid;
	uint64_t pl_start, pl_end;
} __attribute__((__packed__));
struct pmclog_callchain {
	struct pmclog_head pl_head;
	uint32_t pl_pid, pl_pmcid, pl_cpuflags; /* CPU << 16 | PMC_CC_F_* */
	uint64_t pl_pc[];
} __attribute__((__packed__));

#ifdef _KERNEL
void pmclog_initialize(void);
void pmclog_shutdown(void);
/* EBUSY: the owner has a log already; EBADF. */
int pmclog_configure_log(struct pmc_owner *po, int logfd);
int pmclog_deconfigure_log(struct pmc_owner *po);
/* Waits until all that was logged is written; the first error of the file. */
int pmclog_flush(struct pmc_owner *po);

/* Each drops its entry where no buffer is free.  They do not sleep, except closelog. */
void pmclog_process_callchain(struct pmc *pm, struct pmc_sample *ps);
void pmclog_process_closelog(struct pmc_owner *po);
void pmclog_process_map_in(
    struct pmc_owner *po, pid_t pid, uintfptr_t start, const char *path);
void pmclog_process_map_out(
    struct pmc_owner *po, pid_t pid, uintfptr_t start, uintfptr_t end);
void pmclog_process_pmcallocate(struct pmc *pm);
void pmclog_process_pmcattach(struct pmc *pm, pid_t pid, char *path);
void pmclog_process_pmcdetach(struct pmc *pm, pid_t pid);
void pmclog_process_proccsw(
    struct pmc *pm, struct pmc_process *pp, pmc_value_t value);
void pmclog_process_procexec(struct pmc_owner *po, pmc_id_t pmid, pid_t pid,
    uintfptr_t entry, char *path);
void pmclog_process_procexit(struct pmc *pm, struct pmc_process *pp);
void pmclog_process_procfork(struct pmc_owner *po, pid_t oldpid, pid_t newpid);
void pmclog_process_sysexit(struct pmc_owner *po, pid_t pid);
int pmclog_process_userlog(struct pmc_owner *po, struct pmc_op_writelog *wl);
#endif

#endif
