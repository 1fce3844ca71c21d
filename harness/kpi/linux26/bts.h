/* The ptrace requests that concern branch records.  -Errno of Linux. */
#ifndef TOPAZ_HARNESS_KPI_LINUX26_BTS_H
#define TOPAZ_HARNESS_KPI_LINUX26_BTS_H

#include "harness/kpi/linux26/bts_abi.h"

struct cpuinfo_x86;
struct task_struct;

/* Without it, or on a processor that it does not know, PTRACE_BTS_CONFIG: -EOPNOTSUPP. */
void ptrace_bts_init_intel(const struct cpuinfo_x86 *c);

/* A BTS request for CHILD, which is stopped: a count of bytes or records, or an error. */
int64_t ptrace_bts(struct task_struct *child, const struct linux_ptrace *call,
    uint64_t request);

/* What PTRACE_DETACH does for branch records. */
void ptrace_bts_disable(struct task_struct *child);

/* Records that TASK arrives or departs; in the switch of tasks. */
void ptrace_bts_take_timestamp(
    struct task_struct *task, enum bts_qualifier qualifier);

#endif
