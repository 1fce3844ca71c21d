/*
 * A profiler in the kernel: a user of the Debug Store driver beside ptrace.  It passes what
 * ring 3 asks for to the driver's functions, one by one, so that all of them can be called
 * with any argument.
 */
#include <asm/ds.h>

#include "harness/kpi/linux26/ds_abi.h"
#include "harness/kpi/linux26/kpi.h"

#define DEBUGCTL_RECORD 0x2c0UL /* TR, BTS, BTS_OFF_OS */

/* General-purpose counter 0, and PEBS with it. */
#define MSR_PMC0        0xc1u
#define MSR_PERFEVTSEL0 0x186u
#define MSR_GLOBAL_CTRL 0x38fu
#define MSR_PEBS_ENABLE 0x3f1u
#define SELECT          0x4100c0UL /* EN, USR: instructions retired */

static const unsigned record_bytes[] = { 24, 144 };

static struct device *device;
/* Whose request for a CPU's BTS and PEBS succeeded: only that task may release it. */
static struct task_struct *requester[NR_CPUS][2];

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

/* The current CPU's branch records, or its PEBS records, for the host. */
static uint64_t
cpu_id(unsigned pebs)
{
	return (pebs != 0 ? ABI_RECORDS_PEBS : ABI_RECORDS_CPU) |
	    (unsigned)smp_processor_id();
}

/* Tells the host about the current CPU's buffer, which is empty. */
static void
tell_buffer(unsigned pebs)
{
	const void *area = NULL;
	size_t room = 0;

	if (functions[pebs].end(NULL, &room) >= 0)
		area = (const void *)(uintptr_t)rdmsr64(MSR_IA32_DS_AREA);
	host_records(cpu_id(pebs), area, room);
}

/* Tells the host whether the current CPU has a buffer; nothing is recorded yet. */
static void
tell_cpu(unsigned pebs, bool buffer)
{
	if (buffer)
		tell_buffer(pebs);
	else
		host_records(cpu_id(pebs), NULL, 0);
	host_recording(cpu_id(pebs), false, false);
}

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
	else if (task == NULL)
		requester[smp_processor_id()][call->pebs] = current;
	if (error == 0 && task == NULL)
		tell_cpu((unsigned)call->pebs, true);
	return error;
}

/* Of a task: from its next switch on; the caller's own ones, and its CPU's: at once. */
static int64_t
enable(struct task_struct *task, bool on)
{
	unsigned long value = on ? DEBUGCTL_RECORD : 0;

	if (on && ds_get_bts_end(task, NULL) <= 0)
		return -EINVAL;
	if (task != NULL) {
		task->thread.debugctlmsr = value;
		if (on)
			set_tsk_thread_flag(task, TIF_DEBUGCTLMSR);
		else
			clear_tsk_thread_flag(task, TIF_DEBUGCTLMSR);
		if (task == current)
			update_debugctlmsr(value);
		return 0;
	}
	critical_enter();
	update_debugctlmsr(value);
	host_recording(cpu_id(0), on, false);
	critical_exit();
	return 0;
}

/* A processor has counters that write PEBS records from 06_0FH on. */
static bool
has_counters(void)
{
	return (cpuid_read(0, 0).eax >= 0xa &&
	    (cpuid_read(0xa, 0).eax & 0xff) >= 2);
}

/* Of the current CPU, from here on. */
static int64_t
sample(struct task_struct *task, uint64_t period)
{
	uint64_t start = -period;

	if (task != NULL)
		return -EINVAL;
	if (!has_counters())
		return -EOPNOTSUPP;
	critical_enter();
	wrmsrl(MSR_GLOBAL_CTRL, 0);
	wrmsrl(MSR_PEBS_ENABLE, 0);
	critical_exit();
	if (period == 0)
		return 0;
	if (period > 0x7fffffff || ds_get_pebs_end(NULL, NULL) <= 0 ||
	    ds_set_pebs_reset(NULL, start) < 0)
		return -EINVAL;
	host_counter(cpu_id(1), ABI_COUNTER_RESET, start);
	critical_enter();
	wrmsrl(MSR_PEBS_ENABLE, 1);
	wrmsrl(MSR_PMC0, start & 0xffffffff);
	wrmsrl(MSR_PERFEVTSEL0, SELECT);
	wrmsrl(MSR_GLOBAL_CTRL, 1);
	critical_exit();
	return 0;
}

/* Nothing may be recorded any more when the save area is freed. */
static int
release(struct task_struct *task, unsigned pebs)
{
	int error;

	if (task == NULL)
		(void)(pebs != 0 ? sample(NULL, 0) : enable(NULL, false));
	error = functions[pebs].release(task);
	if (error != 0 || task != NULL)
		return error;
	requester[smp_processor_id()][pebs] = NULL;
	tell_cpu(pebs, false);
	return 0;
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

static bool
is_recording(unsigned pebs)
{
	if (pebs != 0)
		return has_counters() && rdmsr64(MSR_PEBS_ENABLE) != 0;
	return (rdmsr64(MSR_IA32_DEBUGCTLMSR) & DEBUGCTL_RECORD) != 0;
}

/* The current CPU's records, at most .size bytes of them; their number. */
static int64_t
read_cpu(const struct linux_ds *call)
{
	unsigned pebs = (unsigned)call->pebs;
	const void *base;
	size_t count, bytes;
	int error = functions[pebs].index(NULL, &count);

	if (is_recording(pebs))
		return -EPERM;
	if (error >= 0)
		error = functions[pebs].access(NULL, 0, &base);
	if (error < 0)
		return error;
	bytes = count * record_bytes[pebs];
	if (call->size < bytes)
		return -EIO;
	host_records_read(cpu_id(pebs), base, bytes);
	if (copyout(base, (void *)(uintptr_t)call->value, bytes) != 0)
		return -EFAULT;
	error = functions[pebs].reset(NULL);
	return error < 0 ? error : (int64_t)count;
}

/* What was not read is given up. */
static int
reset(struct task_struct *task, const struct linux_ds *call)
{
	int error = call->value != 0 ? functions[call->pebs].clear(task)
				     : functions[call->pebs].reset(task);

	if (error >= 0 && task == NULL)
		tell_buffer((unsigned)call->pebs);
	return error;
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
		return release(task, (unsigned)call->pebs);
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
		return reset(task, call);
	case LINUX_DS_GET_RESET:
		result = ds_get_pebs_reset(task, &value);
		return result < 0 ? result : (int64_t)value;
	case LINUX_DS_SET_RESET:
		return ds_set_pebs_reset(task, call->value);
	case LINUX_DS_READ:
		return task == NULL ? read_cpu(call) : -EINVAL;
	case LINUX_DS_ENABLE:
		return call->pebs != 0 ? sample(task, call->value)
				       : enable(task, call->value != 0);
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

/* Ends what the closing task records on any CPU. */
static void
close(struct device *self)
{
	uint64_t mask = task_self()->cpu_mask;

	(void)self;
	for (uint32_t cpu = 0; cpu < cpu_count; cpu++) {
		for (unsigned pebs = 0; pebs < 2; pebs++) {
			if (requester[cpu][pebs] != current ||
			    task_set_mask(task_self(), UINT64_C(1) << cpu) != 0)
				continue;
			(void)release(NULL, pebs);
		}
	}
	(void)task_set_mask(task_self(), mask);
}

int
profiler_create(void)
{
	static const struct device_ops ops = { .close = close, .ioctl = ioctl };

	return device_create("/dev/ds", &ops, NULL, &device);
}

void
profiler_destroy(void)
{
	device_destroy(device);
}
