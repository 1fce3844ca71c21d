/*
 * Tasks, their memory and limits; the current CPU; MSRs.  Linux 2.6.25 has these in
 * sched.h and in what it includes.  Only the members that the driver and the framework use
 * are there.
 */
#ifndef TOPAZ_LINUX26_LINUX_SCHED_H
#define TOPAZ_LINUX26_LINUX_SCHED_H

#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct ds_context;
struct task;

#define RLIMIT_MEMLOCK 8
#define RLIMIT_AS      9
#define RLIM_NLIMITS   16
#define RLIM_INFINITY  (~0UL)

struct rlimit {
	unsigned long rlim_cur, rlim_max;
};

struct signal_struct {
	struct rlimit rlim[RLIM_NLIMITS];
};

/* Pages: of the address space, and of it those that are locked in memory. */
struct mm_struct {
	unsigned long total_vm, locked_vm;
	struct rw_semaphore mmap_sem;
	int users; /* references; framework */
};

/* Bits of thread_info.flags. */
#define TIF_DEBUGCTLMSR  25
#define TIF_DS_AREA_MSR  26
#define TIF_BTS_TRACE_TS 27

struct thread_struct {
	unsigned long debugctlmsr; /* IA32_DEBUGCTL of the task */
	struct ds_context *ds_ctx;
	unsigned int bts_ovfl_signal;
};

struct task_struct {
	unsigned long flags; /* of its thread_info */
	int usage;           /* get_task_struct() */
	int pid;
	struct mm_struct *mm; /* NULL: a kernel thread */
	struct signal_struct *signal;
	struct thread_struct thread;
	/* ptrace */
	struct task_struct *tracer; /* NULL: it is not traced */
	bool stop;                  /* it stops at its next return to ring 3 */
	bool stopped;
	bool leaving;      /* exit_thread() has begun */
	struct task *task; /* of the guest kernel; it may be gone if .leaving */
};

struct task_struct *linux_current(void);
#define current linux_current()

void get_task_struct(struct task_struct *task);
void put_task_struct(struct task_struct *task);

static inline void
set_tsk_thread_flag(struct task_struct *task, int flag)
{
	__atomic_or_fetch(&task->flags, 1UL << flag, __ATOMIC_SEQ_CST);
}

static inline void
clear_tsk_thread_flag(struct task_struct *task, int flag)
{
	__atomic_and_fetch(&task->flags, ~(1UL << flag), __ATOMIC_SEQ_CST);
}

static inline int
test_tsk_thread_flag(struct task_struct *task, int flag)
{
	return (__atomic_load_n(&task->flags, __ATOMIC_SEQ_CST) >> flag & 1) !=
	    0;
}

/* <linux/percpu.h>, <linux/smp.h> */
#define NR_CPUS                    8
#define DEFINE_PER_CPU(type, name) __typeof__(type) per_cpu__##name[NR_CPUS]
#define per_cpu(name, cpu)         (per_cpu__##name[cpu])
int smp_processor_id(void);

/* <asm/processor.h> */
struct cpuinfo_x86 {
	u8 x86;       /* family */
	u8 x86_model; /* with the extended model */
};

/*
 * <asm/msr.h>: wrmsr(MSR, low, high); the same name with two arguments, as ds.c calls it
 * once, writes the second one as 64 bits.
 */
#define MSR_IA32_DEBUGCTLMSR 0x1d9u
#define MSR_IA32_DS_AREA     0x600u
void native_write_msr(unsigned msr, unsigned low, unsigned high);
void wrmsrl(unsigned msr, u64 value);
#define wrmsr_pick(_1, _2, _3, name, ...) name
#define wrmsr(...) \
 wrmsr_pick(__VA_ARGS__, native_write_msr, wrmsrl, )(__VA_ARGS__)

#endif
