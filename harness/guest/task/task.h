/*
 * Threads of execution (tasks) and the scheduler.  One queue for all CPUs,
 * first in, first out, in two priorities.  A task runs on any CPU of its mask,
 * is preempted at the end of its slice, also in the kernel, and may migrate.
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
#define TASK_KILLED       1u /* its process ends */
#define TASK_NOTIFY       2u /* task_hooks.notified is to be called */

struct task {
	uint64_t rsp;            /* while it does not run */
	struct task *next;       /* in the run queue or the list of sleepers */
	struct task *sibling;    /* in its process */
	struct process *process; /* never NULL: kernel tasks have process 0 */
	uint64_t stack_va;       /* lowest mapped byte */
	uint64_t stack_top;
	uint8_t *fpu; /* FXSAVE image; saved at a switch of user tasks only */
	bool user;
	uint64_t cpu_mask;
	uint32_t tid;
	enum task_state state;
	enum task_priority priority;
	bool on_cpu; /* its registers and stack are in use */
	bool idle;
	uint8_t due;  /* TASK_KILLED, TASK_NOTIFY: at the return to ring 3 */
	bool leaving; /* counted in the process's leaving_count */
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
 * Creates a kernel task that calls ENTRY with ARG and ends when ENTRY returns;
 * it is queued before this function returns.  NAME is cut to 23 characters.
 * NULL: no memory.  A task of a module ends by task_exit_done(), so that the
 * module knows when it may be unloaded.  Called where sleeping is allowed.
 */
struct task *task_create(const char *name, void (*entry)(void *arg), void *arg,
    enum task_priority priority, uint64_t cpu_mask);
/* Ends the current task.  Panics if it holds a lock. */
_Noreturn void task_exit(void);
/*
 * Sets *DONE to 1 and ends the current task, which then executes no more code
 * of the module.  task_join() sleeps until *DONE is not 0.
 */
_Noreturn void task_exit_done(uint32_t *done);
void task_join(const uint32_t *done);
/* Lets others of the same priority run.  Called where sleeping is allowed. */
void task_yield(void);
/* Bit N of CPU_MASK: CPU N.  Moves the task at once if it may no longer run on
 * its CPU.  KE_INVAL: no CPU of the mask is online. */
int task_set_mask(struct task *task, uint64_t cpu_mask);

/*
 * Sleeps until a wakeup of CHANNEL (any address).  The caller holds LOCK (may
 * be NULL); it is released meanwhile without losing a wakeup, and held again on
 * return.  CYCLES: limit in TSC cycles (0: none).  Returns 0, KE_AGAIN at the
 * limit, KE_INTR if CATCH and the task's process is killed.  Called where
 * sleeping is allowed; task_sleep_spin: with only that spin lock held.
 */
int task_sleep(
    const void *channel, struct mutex *lock, bool catch, uint64_t cycles);
int task_sleep_spin(
    const void *channel, struct spin *lock, bool catch, uint64_t cycles);
/* Sleeps for CYCLES of the TSC; KE_INTR as above. */
int task_pause(uint64_t cycles);
/* Wakes all sleepers of CHANNEL, or the first one.  Tasks and interrupt
 * handlers; panics in an NMI handler. */
void task_wakeup(const void *channel);
void task_wakeup_one(const void *channel);

/*
 * task_hooks.notified is called for TASK, a thread of a user process, at its next return
 * to ring 3, also where it runs in ring 3 now; several requests before it are one.
 * Tasks and interrupt handlers; for the current task also NMI handlers, which have to
 * see to it that the kernel is entered.
 */
void task_notify(struct task *task);
/* Calls VISIT for every task, also idle ones; the scheduler's lock is held. */
void task_for_each(void (*visit)(struct task *task, void *arg), void *arg);

/*
 * Called by the kernel when not NULL; set by kernel interfaces.  The switch
 * hooks run in the switch with interrupts off and the queue's lock released,
 * with current task and CR3 still the outgoing ones; only if the task changes,
 * out first.  task_exiting runs in the exiting task with the process's lock and
 * spin lock held; the task has left its process's list, and no switch_out
 * follows.  task_made comes for every task before it runs (earlier ones:
 * task_for_each), task_created only for further threads of a user process.
 * task_leaving and notified run in the task that they concern, without a lock, and
 * may sleep: the one before task_exiting of a user process's task, whose files are
 * closed and whose memory is freed if it is the last one; the other as
 * task_notify() says, FRAME being the state in ring 3.
 *
 * resumed runs after a switch, in the task that goes on, which is the current one, with
 * interrupts off; not in a task that runs for the first time.
 */
struct task_hooks {
	void (*task_made)(struct task *task); /* fill .kpi */
	void (*switch_out)(struct task *task);
	void (*switch_in)(struct task *task);
	void (*task_created)(struct task *task); /* by its creator, sleepable */
	void (*task_exiting)(struct task *task);
	void (*task_leaving)(struct task *task);
	void (*notified)(struct task *task, struct trap_frame *frame);
	void (*resumed)(struct task *task);
};
extern struct task_hooks task_hooks;
/*
 * For a module that traces threads: installs .switch_out, .switch_in and
 * .task_exiting of HOOKS (NULL: none of them).  On return the previous hooks
 * run on no CPU.  Context as for rendezvous().
 */
void task_set_switch_hooks(const struct task_hooks *hooks);

/*
 * A clock: TICK runs on each CPU, also an idle one, in an interrupt handler, every
 * CYCLES of the TSC (not 0); without time slices at each interrupt of the timer.  To be
 * called once.  Context as for rendezvous().
 */
void task_set_clock(uint64_t cycles, void (*tick)(void));

#endif
