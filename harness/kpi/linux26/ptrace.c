/*
 * kernel/ptrace.c in small: tracers, stops, and the device that stands for the system call.
 * A task stops at its next return to ring 3; every BTS request needs a stopped one.
 */
#include "harness/kpi/linux26/bts.h"
#include "harness/kpi/linux26/kpi.h"

#define WAIT_CYCLES 5000000 /* for a task that may sleep in the kernel */

/* Over .tracer, .stop, .stopped and .leaving of all tasks. */
static struct spin stop_lock = SPIN_INIT("ptrace");
static struct device *device;

static void
lock_stops(void)
{
	(spin_lock)(&stop_lock);
}

static void
unlock_stops(void)
{
	(spin_unlock)(&stop_lock);
}

static void
ask_stop(struct task_struct *child)
{
	child->stop = true;
	task_notify(child->task);
}

/* With the lock held.  It is not stopped any more, although it has not run yet. */
static void
resume(struct task_struct *child)
{
	child->stop = child->stopped = false;
	task_wakeup(&child->stop);
}

void
ptrace_notified(struct task *task, struct trap_frame *frame)
{
	struct task_struct *self = linux_task(task);
	int error = 0;

	(void)frame;
	lock_stops();
	while (self->stop && error == 0) {
		self->stopped = true;
		task_wakeup(&self->stopped);
		error = task_sleep_spin(&self->stop, &stop_lock, true, 0);
	}
	self->stopped = false;
	unlock_stops();
}

static int
attach(struct task_struct *child)
{
	int error = 0;

	if (child->mm == current->mm)
		return -EPERM;
	lock_stops();
	if (child->leaving || child->mm == NULL || child->tracer != NULL) {
		error = -EPERM;
	} else {
		child->tracer = current;
		get_task_struct(child);
		ask_stop(child);
	}
	unlock_stops();
	return error;
}

/* Ends the tracing of CHILD, and its stop; the lock is held. */
static void
unlink(struct task_struct *child)
{
	child->tracer = NULL;
	resume(child);
}

static int
detach(struct task_struct *child)
{
	ptrace_bts_disable(child);
	lock_stops();
	unlink(child);
	unlock_stops();
	put_task_struct(child);
	return 0;
}

static int
stop(struct task_struct *child)
{
	int error = 0;

	lock_stops();
	if (child->leaving || child->tracer != current)
		error = -ESRCH;
	else if (!child->stop)
		ask_stop(child);
	unlock_stops();
	return error;
}

static int
wait_stopped(struct task_struct *child)
{
	int error = 0, slept;

	lock_stops();
	if (child->tracer != current)
		error = -ESRCH;
	while (error == 0 && !child->stopped) {
		if (child->leaving || child->tracer != current) {
			error = -ESRCH;
			break;
		}
		slept = task_sleep_spin(
		    &child->stopped, &stop_lock, true, WAIT_CYCLES);
		if (slept != 0)
			error = slept == KE_INTR ? -EINTR : -EAGAIN;
	}
	unlock_stops();
	return error;
}

static int
cont(struct task_struct *child)
{
	lock_stops();
	resume(child);
	unlock_stops();
	return 0;
}

static bool
is_stopped_tracee(const struct task_struct *child)
{
	bool is;

	lock_stops();
	is = child->tracer == current && child->stopped && !child->leaving &&
	    (child->task->due & TASK_KILLED) == 0;
	unlock_stops();
	return is;
}

static int64_t
request_of(struct task_struct *child, const struct linux_ptrace *call,
    uint64_t request)
{
	switch (request) {
	case PTRACE_ATTACH:
		return attach(child);
	case LINUX_STOP:
		return stop(child);
	case LINUX_WAIT:
		return wait_stopped(child);
	default:
		break;
	}
	if (!is_stopped_tracee(child))
		return -ESRCH;
	switch (request) {
	case PTRACE_CONT:
		return cont(child);
	case PTRACE_DETACH:
		return detach(child);
	default:
		return ptrace_bts(child, call, request);
	}
}

static int
ioctl(struct device *self, uint64_t request, uint64_t user_arg)
{
	void *at = (void *)(uintptr_t)user_arg;
	struct linux_ptrace call;
	struct task_struct *child;

	(void)self;
	if (copyin(at, &call, sizeof(call)) != 0)
		return EFAULT;
	child = linux_find_task(call.pid);
	if (child == NULL)
		return ESRCH;
	call.result = request_of(child, &call, request);
	put_task_struct(child);
	if (call.result < 0)
		return (int)-call.result;
	return copyout(&call, at, sizeof(call)) != 0 ? EFAULT : 0;
}

int
ptrace_create(void)
{
	static const struct device_ops ops = { .ioctl = ioctl };

	return device_create("/dev/ptrace", &ops, NULL, &device);
}

void
ptrace_destroy(void)
{
	device_destroy(device);
}

struct tracees {
	struct task_struct *tracer, *found;
};

static void
find_tracee(struct task *task, void *arg)
{
	struct tracees *tracees = arg;
	struct task_struct *child = linux_task(task);

	if (child->tracer == tracees->tracer)
		tracees->found = child;
}

/* A tracee keeps what it has of the Debug Store: its own end frees that. */
void
ptrace_exit(struct task_struct *task)
{
	struct tracees tracees = { .tracer = task };

	do {
		tracees.found = NULL;
		task_for_each(find_tracee, &tracees);
		if (tracees.found != NULL) {
			lock_stops();
			unlink(tracees.found);
			unlock_stops();
			put_task_struct(tracees.found);
		}
	} while (tracees.found != NULL);
	lock_stops();
	task->leaving = true;
	task_wakeup(&task->stopped);
	unlock_stops();
}
