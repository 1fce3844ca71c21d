/*
 * A profiler in the kernel: a user of the Debug Store driver beside ptrace.  It passes what
 * ring 3 asks for to the driver's functions, one by one, so that all of them can be called
 * with any argument.
 */
#include <asm/ds.h>

#include "harness/kpi/linux26/ds_abi.h"
#include "harness/kpi/linux26/kpi.h"

#define DEBUGCTL_RECORD 0x2c0UL /* TR, BTS, BTS_OFF_OS */

static struct device *device;

/* The functions for BTS and for PEBS. */
static const struct {
	int (*request)(
	    struct task_struct *, void *, size_t, ds_ovfl_callback_t);
	int (*release)(struct task_struct *);
	int (*index)(struct task_struct *, size_t *);
	int (*end)(struct task_struct *, size_t *);
	int (*access)(struct task_struct *, size_t, const void **);
	int (*write)(struct task_struct *, const void *, size_t);
	int (*unchecked_write)(struct task_struct *, const void *, size_t);
	int (*reset)(struct task_struct *);
	int (*clear)(struct task_struct *);
} functions[] = {
	{ ds_request_bts, ds_release_bts, ds_get_bts_index, ds_get_bts_end,
	    ds_access_bts, ds_write_bts, ds_unchecked_write_bts, ds_reset_bts,
	    ds_clear_bts },
	{ ds_request_pebs, ds_release_pebs, ds_get_pebs_index, ds_get_pebs_end,
	    ds_access_pebs, ds_write_pebs, ds_unchecked_write_pebs,
	    ds_reset_pebs, ds_clear_pebs },
};

static int64_t
request(struct task_struct *task, const struct linux_ds *call)
{
	void *base = NULL;
	int error;

	if (call->value != 0) {
		base = kzalloc(call->size, GFP_KERNEL);
		if (base == NULL)
			return -ENOMEM;
	}
	error = functions[call->pebs].request(task, base, call->size, NULL);
	if (error != 0)
		kfree(base);
	return error;
}

static int64_t
write(struct task_struct *task, const struct linux_ds *call)
{
	unsigned char record[LINUX_DS_WRITE_MAX];

	if (call->size > sizeof(record))
		return -EINVAL;
	memset(record, 0x5a, sizeof(record));
	return call->value != 0
	    ? functions[call->pebs].unchecked_write(task, record, call->size)
	    : functions[call->pebs].write(task, record, call->size);
}

/* Of a task: from its next switch on; the caller's own ones, and its CPU's: at once. */
static int64_t
enable(struct task_struct *task, bool on)
{
	unsigned long value = on ? DEBUGCTL_RECORD : 0;

	if (task != NULL) {
		task->thread.debugctlmsr = value;
		if (on)
			set_tsk_thread_flag(task, TIF_DEBUGCTLMSR);
		else
			clear_tsk_thread_flag(task, TIF_DEBUGCTLMSR);
	}
	if (task == NULL || task == current)
		update_debugctlmsr(value);
	return 0;
}

static int64_t
call_driver(
    struct task_struct *task, uint64_t what, const struct linux_ds *call)
{
	const void *record;
	size_t count = 0;
	u64 value = 0;
	int result;

	switch (what) {
	case LINUX_DS_REQUEST:
		return request(task, call);
	case LINUX_DS_RELEASE:
		return functions[call->pebs].release(task);
	case LINUX_DS_INDEX:
		result = functions[call->pebs].index(task, &count);
		return result < 0 ? result : (int64_t)count;
	case LINUX_DS_END:
		result = functions[call->pebs].end(task, &count);
		return result < 0 ? result : (int64_t)count;
	case LINUX_DS_ACCESS:
		return functions[call->pebs].access(task, call->value, &record);
	case LINUX_DS_WRITE:
		return write(task, call);
	case LINUX_DS_RESET:
		return call->value != 0 ? functions[call->pebs].clear(task)
					: functions[call->pebs].reset(task);
	case LINUX_DS_GET_RESET:
		result = ds_get_pebs_reset(task, &value);
		return result < 0 ? result : (int64_t)value;
	case LINUX_DS_SET_RESET:
		return ds_set_pebs_reset(task, call->value);
	case LINUX_DS_ENABLE:
		return enable(task, call->value != 0);
	default:
		return -EINVAL;
	}
}

static int
ioctl(struct device *self, uint64_t what, uint64_t user_arg)
{
	void *at = (void *)(uintptr_t)user_arg;
	struct task_struct *task = NULL;
	struct linux_ds call;

	(void)self;
	if (copyin(at, &call, sizeof(call)) != 0)
		return EFAULT;
	if (call.pebs > 1)
		return EINVAL;
	if (call.pid != 0) {
		task = linux_find_task((uint32_t)call.pid);
		if (task == NULL)
			return ESRCH;
	}
	call.result = call_driver(task, what, &call);
	if (task != NULL)
		put_task_struct(task);
	if (call.result < 0)
		return (int)-call.result;
	return copyout(&call, at, sizeof(call)) != 0 ? EFAULT : 0;
}

int
profiler_create(void)
{
	static const struct device_ops ops = { .ioctl = ioctl };

	return device_create("/dev/ds", &ops, NULL, &device);
}

void
profiler_destroy(void)
{
	device_destroy(device);
}
