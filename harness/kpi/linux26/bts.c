/*
 * arch/x86/kernel/ptrace.c by the patch's meaning: branch records of a stopped task,
 * through the Debug Store driver.
 */
#include "harness/kpi/linux26/bts.h"

#include <asm/ds.h>

#include "harness/kpi/linux26/kpi.h"

#define DEBUGCTL_TR         (1UL << 6)
#define DEBUGCTL_BTS        (1UL << 7)
#define DEBUGCTL_BTS_OFF_OS (1UL << 9)
#define ESCAPE              (~UINT64_C(0)) /* as source: not a branch */
#define HZ                  250u

/* A record in the buffer: three fields of 8 bytes on each processor known here. */
struct raw_record {
	u64 from, to, flags;
};

static struct {
	unsigned record_bytes; /* 0: no support */
	unsigned long debugctl;
} config;

void
ptrace_bts_init_intel(const struct cpuinfo_x86 *c)
{
	if (c->x86 != 6)
		return;
	switch (c->x86_model) {
	case 0x0d:
	case 0x0e:
		config.debugctl = DEBUGCTL_TR | DEBUGCTL_BTS;
		break;
	case 0x0f:
	case 0x1c:
		config.debugctl = DEBUGCTL_TR | DEBUGCTL_BTS |
		    DEBUGCTL_BTS_OFF_OS;
		break;
	default:
		return;
	}
	config.record_bytes = sizeof(struct raw_record);
}

static void
translate(const struct raw_record *raw, struct bts_struct *out)
{
	memset(out, 0, sizeof(*out));
	if (raw->from == ESCAPE) {
		out->qualifier = raw->to;
		out->variant.jiffies = raw->flags;
	} else if (raw->from != 0 || raw->to != 0) {
		out->qualifier = BTS_BRANCH;
		out->variant.lbr.from_ip = raw->from;
		out->variant.lbr.to_ip = raw->to;
	}
}

static u64
jiffies_now(void)
{
	return rdtsc64() / (boot_info->tsc_hz / HZ);
}

void
ptrace_bts_take_timestamp(
    struct task_struct *task, enum bts_qualifier qualifier)
{
	const struct raw_record raw = { ESCAPE, qualifier, jiffies_now() };

	(void)ds_unchecked_write_bts(task, &raw, sizeof(raw));
}

/* Tells the host about the buffer of TASK's records, or that there is none. */
static void
tell_buffer(struct task_struct *task)
{
	const void *area = NULL;
	size_t room = 0;

	if (task->thread.ds_ctx != NULL && ds_get_bts_end(task, &room) >= 0)
		area = task->thread.ds_ctx->ds;
	host_records(task->task->process->pid, area, room);
}

static int
release(struct task_struct *child)
{
	int error = ds_release_bts(child);

	if (error >= 0)
		host_records(child->task->process->pid, NULL, 0);
	return error;
}

static void
set_tracing(struct task_struct *child, bool on, bool switches)
{
	if (on)
		child->thread.debugctlmsr |= config.debugctl;
	else
		child->thread.debugctlmsr &= ~config.debugctl;
	if (child->thread.debugctlmsr != 0)
		set_tsk_thread_flag(child, TIF_DEBUGCTLMSR);
	else
		clear_tsk_thread_flag(child, TIF_DEBUGCTLMSR);
	if (switches)
		set_tsk_thread_flag(child, TIF_BTS_TRACE_TS);
	else
		clear_tsk_thread_flag(child, TIF_BTS_TRACE_TS);
	host_recording(child->task->process->pid, on, switches);
}

static void
overflow(struct task_struct *child)
{
	kpanic(
	    "branch records of pid %d overflow: no signals here", child->pid);
}

/* Replaces the child's buffer. */
static int
allocate(struct task_struct *child, const struct ptrace_bts_config *wanted)
{
	bool signal = (wanted->flags & PTRACE_BTS_O_SIGNAL) != 0;
	int error;

	/* It fails where there is none. */
	(void)release(child);
	if (signal && wanted->signal == 0)
		return -EINVAL;
	error = ds_request_bts(
	    child, NULL, wanted->size, signal ? overflow : NULL);
	if (error != 0)
		return error;
	child->thread.bts_ovfl_signal = signal ? wanted->signal : 0;
	tell_buffer(child);
	return 0;
}

static int
configure(struct task_struct *child, const struct ptrace_bts_config *wanted)
{
	int error = 0;

	if ((wanted->flags & PTRACE_BTS_O_SIGNAL) != 0 &&
	    (wanted->flags & PTRACE_BTS_O_ALLOC) == 0)
		return -EINVAL;
	if ((wanted->flags & PTRACE_BTS_O_ALLOC) != 0)
		error = allocate(child, wanted);
	if (error == 0 && child->thread.ds_ctx == NULL && wanted->flags != 0)
		error = -EINVAL;
	return error;
}

static int64_t
do_config(struct task_struct *child, const struct linux_ptrace *call)
{
	struct ptrace_bts_config wanted = { 0 };
	int error = 0;

	if (config.record_bytes == 0)
		error = -EOPNOTSUPP;
	else if (call->data < sizeof(wanted))
		error = -EIO;
	else if (copyin((const void *)(uintptr_t)call->addr, &wanted,
		     sizeof(wanted)) != 0)
		error = -EFAULT;
	else
		error = configure(child, &wanted);
	set_tracing(child,
	    error == 0 && (wanted.flags & PTRACE_BTS_O_TRACE) != 0,
	    error == 0 && (wanted.flags & PTRACE_BTS_O_SCHED) != 0);
	return error != 0 ? error : (int64_t)sizeof(wanted);
}

static int64_t
do_status(struct task_struct *child, const struct linux_ptrace *call)
{
	struct ptrace_bts_config status = { .bts_size = sizeof(
						struct bts_struct) };
	const void *base, *max;
	size_t end;
	int error;

	if (call->data < sizeof(status))
		return -EIO;
	error = ds_get_bts_end(child, &end);
	if (error >= 0)
		error = ds_access_bts(child, 0, &base);
	if (error >= 0)
		error = ds_access_bts(child, end, &max);
	if (error < 0)
		return error;
	status.size = (u32)((const char *)max - (const char *)base);
	status.signal = child->thread.bts_ovfl_signal;
	if (status.signal != 0)
		status.flags |= PTRACE_BTS_O_SIGNAL;
	if ((child->thread.debugctlmsr & config.debugctl) != 0)
		status.flags |= PTRACE_BTS_O_TRACE;
	if (test_tsk_thread_flag(child, TIF_BTS_TRACE_TS))
		status.flags |= PTRACE_BTS_O_SCHED;
	if (copyout(&status, (void *)(uintptr_t)call->addr, sizeof(status)) !=
	    0)
		return -EFAULT;
	return sizeof(status);
}

static int64_t
copy_record(const struct raw_record *raw, u64 to)
{
	struct bts_struct record;

	translate(raw, &record);
	if (copyout(&record, (void *)(uintptr_t)to, sizeof(record)) != 0)
		return -EFAULT;
	return sizeof(record);
}

/* Record 0 is the newest one. */
static int64_t
do_get(struct task_struct *child, const struct linux_ptrace *call)
{
	const void *raw;
	size_t end, index;
	int error = ds_get_bts_end(child, &end);

	if (error < 0)
		return error;
	if (end <= call->data)
		return -EINVAL;
	error = ds_get_bts_index(child, &index);
	if (error < 0)
		return error;
	index += end - (call->data + 1);
	if (end <= index)
		index -= end;
	error = ds_access_bts(child, index, &raw);
	return error < 0 ? error : copy_record(raw, call->addr);
}

/* What was not read is given up. */
static int
do_clear(struct task_struct *child)
{
	int error = ds_clear_bts(child);

	if (error >= 0)
		tell_buffer(child);
	return error;
}

/* Records before the write position; older ones behind it are cleared unread. */
static int64_t
do_drain(struct task_struct *child, const struct linux_ptrace *call)
{
	const void *base;
	size_t end;
	int error = ds_get_bts_index(child, &end);

	if (error < 0)
		return error;
	if (call->data < end * sizeof(struct bts_struct))
		return -EIO;
	error = ds_access_bts(child, 0, &base);
	if (error < 0)
		return error;
	host_records_read(
	    child->task->process->pid, base, end * sizeof(struct raw_record));
	for (size_t i = 0; i < end; i++) {
		int64_t copied = copy_record(
		    (const struct raw_record *)base + i,
		    call->addr + i * sizeof(struct bts_struct));

		if (copied < 0)
			return copied;
	}
	error = ds_clear_bts(child);
	return error < 0 ? error : (int64_t)end;
}

int64_t
ptrace_bts(struct task_struct *child, const struct linux_ptrace *call,
    uint64_t request)
{
	switch (request) {
	case PTRACE_BTS_CONFIG:
		return do_config(child, call);
	case PTRACE_BTS_STATUS:
		return do_status(child, call);
	case PTRACE_BTS_SIZE:
		return ds_get_bts_index(child, NULL);
	case PTRACE_BTS_GET:
		return do_get(child, call);
	case PTRACE_BTS_CLEAR:
		return do_clear(child);
	case PTRACE_BTS_DRAIN:
		return do_drain(child, call);
	default:
		return -EIO;
	}
}

void
ptrace_bts_disable(struct task_struct *child)
{
	(void)release(child);
	set_tracing(child, false, false);
}
