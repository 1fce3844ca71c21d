/*
 * Threads of execution (tasks) and the scheduler.  One queue for all CPUs, first
 * in, first out, in two priorities; a task runs on any CPU of its mask, is
 * preempted at the end of its slice, also in the kernel, and may go on elsewhere.
 */
#ifndef TOPAZ_HARNESS_GUEST_TASK_TASK_H
#define TOPAZ_HARNESS_GUEST_TASK_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpu;
struct mutex;
struct process;
struct spin;
struct trap_frame;

enum task_state {
	TASK_RUNNABLE, /* queued, or running */
	TASK_SLEEPING,
	TASK_DEAD,
};

enum task_priority { TASK_HIGH, TASK_NORMAL, TASK_PRIORITIES };

/* Room inside a task and a process for the kernel interface's own structure
 * (struct thread, struct proc), zeroed when it is made. */
#define TASK_KPI_BYTES    512
#define PROCESS_KPI_BYTES 512

#define TASK_MUTEXES_MAX  16 /* that a task holds at once */

struct task {
	uint64_t rsp;            /* while it does not run */
	struct task *next;       /* in the run queue or a sleep bucket */
	struct task *sibling;    /* in its process */
	struct process *process; /* never NULL: kernel tasks have process 0 */
	uint64_t stack_va;       /* lowest mapped byte */
	uint64_t stack_top;
	uint8_t *fpu; /* FXSAVE image; user tasks only are saved, at a switch */
	bool user;
	uint64_t cpu_mask;
	uint32_t tid;
	enum task_state state;
	enum task_priority priority;
	bool on_cpu; /* its registers and stack are in use */
	bool idle;
	bool killed;        /* leaves at the next return to ring 3 */
	bool leaving;       /* counted in the process's leaving_count */
	bool interruptible; /* of the sleep it is in */
	uint32_t last_cpu;
	uint32_t critical; /* depth of critical sections */
	const struct mutex *held[TASK_MUTEXES_MAX]; /* in the order taken */
	unsigned held_count;
	bool spin_if; /* RFLAGS.IF to restore at the outermost spin_exit */
	const void *channel;
	int sleep_result;
	uint64_t deadline; /* TSC of timeout_cpu, 0: none */
	struct task *timeout_next;
	uint32_t timeout_cpu;
	uint64_t fault_handler, fault_arg; /* ring 3, 0: none */
	void (*entry)(void *arg);
	void *arg;
	char name[24];
	_Alignas(16) unsigned char kpi[TASK_KPI_BYTES];
};

/* Any CPU. */
#define CPU_MASK_ALL (~UINT64_C(0))

/* The task that runs, or that was interrupted.  Any context. */
struct task *task_self(void);

/*
 * A kernel task that calls ENTRY with ARG and ends when that returns; it is queued
 * before the function returns.  NAME is cut to 23 characters.  NULL: no memory.  A task
 * of a module ends by task_exit_done(), so that the module knows when it may go.  Where
 * sleeping is allowed.
 */
struct task *task_create(const char *name, void (*entry)(void *arg), void *arg,
    enum task_priority priority, uint64_t cpu_mask);
/* Ends the current task.  A lock that is held: panic. */
_Noreturn void task_exit(void);
/*
 * The same after *DONE has become 1: the task executes nothing of the module any more.
 * task_join() sleeps until *DONE is not 0.
 */
_Noreturn void task_exit_done(uint32_t *done);
void task_join(const uint32_t *done);
/* Lets others of the same priority run.  Where sleeping is allowed. */
void task_yield(void);
/* CPU_MASK: bit N: CPU N.  Moves the task at once if it may no longer run here.
 * KE_INVAL: none of them is online. */
int task_set_mask(struct task *task, uint64_t cpu_mask);

/*
 * Sleeps until a wakeup of CHANNEL (any address); LOCK (may be NULL) is held by the
 * caller, released meanwhile, so that no wakeup is lost, and held again on return.
 * CYCLES of the TSC: at most so long (0: no limit).  Returns 0, KE_AGAIN when the time is
 * over, KE_INTR when CATCH and the task's process is killed.  Where sleeping is allowed;
 * task_sleep_spin: with that one spin lock held.
 */
int task_sleep(
    const void *channel, struct mutex *lock, bool catch, uint64_t cycles);
int task_sleep_spin(
    const void *channel, struct spin *lock, bool catch, uint64_t cycles);
/* Sleeps for CYCLES of the TSC; KE_INTR as above. */
int task_pause(uint64_t cycles);
/* Wakes all sleepers of CHANNEL, or the first.  Tasks and interrupt handlers; an NMI
 * handler panics. */
void task_wakeup(const void *channel);
void task_wakeup_one(const void *channel);

/* Every task, idle ones too, with the scheduler's lock held. */
void task_for_each(void (*visit)(struct task *task, void *arg), void *arg);

/*
 * Called by the kernel when not NULL; kernel interfaces set them.  The switch hooks run inside the switch
 * with interrupts off, the queue's lock released, and current task and CR3 still
 * the outgoing ones; both are called when the task really changes, out first.
 * task_exiting runs with the process's lock and spin lock held, in the exiting
 * task, which is not in its process's list any more; no switch_out follows it.  task_made comes for every task before it runs
 * (those from before the hook was set: task_for_each); task_created only for
 * further threads of a user process.
 */
struct task_hooks {
	void (*task_made)(struct task *task); /* fill .kpi */
	void (*switch_out)(struct task *task);
	void (*switch_in)(struct task *task);
	void (*task_created)(struct task *task); /* by its creator, sleepable */
	void (*task_exiting)(struct task *task);
};
extern struct task_hooks task_hooks;
/*
 * For a module that traces threads: .switch_out, .switch_in and .task_exiting of HOOKS
 * from now on (NULL: none of them).  Those from before run on no CPU any more when it
 * returns.  As rendezvous().
 */
void task_set_switch_hooks(const struct task_hooks *hooks);

#endif
