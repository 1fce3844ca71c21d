/*
 * The module and its device, a misc device: copies arguments in and out, serialises the
 * operations, and ends the session of an open file that is closed.
 */
#include <linux/compat.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include "driver/insntrace/core/services.h"
#include "driver/insntrace/core/session/command.h"
#include "driver/insntrace/core/session/session.h"
#include "driver/insntrace/linux/services.h"

static DEFINE_MUTEX(session_lock);       /* the core, and what follows */
static const struct file *session_owner; /* called Initialize */
static unsigned int mappings;
static struct buffer *kept; /* removed; perhaps one of the mappings is of them */

/* Releases the lock.  Removed buffers are freed once nothing is mapped. */
static void
unlock(void)
{
	struct buffer *removed = session_take_removed();
	struct buffer **last = &removed, *unmapped = NULL;

	while (*last != NULL)
		last = &(*last)->next;
	*last = kept;
	kept = removed;
	if (mappings == 0) {
		unmapped = kept;
		kept = NULL;
	}
	mutex_unlock(&session_lock);
	buffer_destroy_all(unmapped);
}

static enum insntrace_status
run(struct file *file, enum op op, void *args)
{
	enum insntrace_status status;

	mutex_lock(&session_lock);
	status = session_run(op, args);
	if (status == INSNTRACE_OK && op == OP_INITIALIZE)
		session_owner = file;
	if (status == INSNTRACE_OK && op == OP_TERMINATE)
		session_owner = NULL;
	unlock();
	return status;
}

/* Tracing needs all CPUs that there were when the module was loaded. */
static int
run_with_cpus(struct file *file, enum op op, void *args)
{
	int error = 0;

	cpus_read_lock();
	if (op == OP_START && num_online_cpus() != os_cpu_count())
		error = -ENXIO;
	else
		error = -(int)run(file, op, args);
	cpus_read_unlock();
	return error;
}

/* A failure changes nothing: a buffer whose descriptor cannot be written is freed. */
static long
device_ioctl(struct file *file, unsigned int number, unsigned long user_arg)
{
	const struct command *command = command_find(number);
	void __user *user = (void __user *)user_arg;
	union command_args args;
	int error;

	if (command == NULL)
		return -ENOTTY;
	memset(&args, 0, sizeof(args));
	if (copy_from_user(&args, user, command->bytes) != 0)
		return -EFAULT;
	error = run_with_cpus(file, command->op, &args);
	if (error != 0)
		return error;
	if (command->answers &&
	    copy_to_user(user, &args, command->bytes) != 0) {
		if (command->op == OP_ALLOCATE_BUFFER)
			(void)run_with_cpus(file, OP_FREE_BUFFER, &args);
		return -EFAULT;
	}
	return 0;
}

static void
mapping_open(struct vm_area_struct *area)
{
	(void)area;
	mutex_lock(&session_lock);
	mappings++;
	mutex_unlock(&session_lock);
}

static void
mapping_close(struct vm_area_struct *area)
{
	(void)area;
	mutex_lock(&session_lock);
	mappings--;
	unlock();
}

static const struct vm_operations_struct mapping_ops = {
	.open = mapping_open,
	.close = mapping_close,
};

/* Nobody can make it writable later. */
static void
forbid_writing(struct vm_area_struct *area)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	area->vm_flags &= ~VM_MAYWRITE;
#else
	vm_flags_clear(area, VM_MAYWRITE);
#endif
}

static int
map_pages(struct vm_area_struct *area)
{
	uint64_t offset = (uint64_t)area->vm_pgoff << PAGE_SHIFT;
	uint64_t bytes = area->vm_end - area->vm_start, pa = 0;
	int error = -(int)session_check_map(offset, bytes);

	for (uint64_t at = 0; error == 0 && at < bytes; at += PAGE_SIZE) {
		error = -(int)session_map_page(offset + at, &pa);
		if (error == 0)
			error = remap_pfn_range(area, area->vm_start + at,
			    pa >> PAGE_SHIFT, PAGE_SIZE, area->vm_page_prot);
	}
	return error;
}

static int
device_mmap(struct file *file, struct vm_area_struct *area)
{
	int error;

	(void)file;
	if ((area->vm_flags & VM_WRITE) != 0)
		return -EACCES;
	forbid_writing(area);
	mutex_lock(&session_lock);
	error = map_pages(area);
	if (error == 0) {
		area->vm_ops = &mapping_ops;
		mappings++;
	}
	mutex_unlock(&session_lock);
	return error;
}

/* FILE's session, or any (NULL).  Its tracing is turned off. */
static void
abandon(const struct file *file)
{
	cpus_read_lock();
	mutex_lock(&session_lock);
	if (file == NULL || session_owner == file) {
		session_abandon();
		session_owner = NULL;
	}
	unlock();
	cpus_read_unlock();
}

static int
device_release(struct inode *inode, struct file *file)
{
	(void)inode;
	abandon(file);
	return 0;
}

/* Before a CPU goes, tracing is turned off on all; the buffers can be read. */
static int
cpu_goes(unsigned int cpu)
{
	(void)cpu;
	mutex_lock(&session_lock);
	(void)session_run(OP_STOP, NULL);
	unlock();
	return 0;
}

static const struct file_operations device_ops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = device_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = device_mmap,
	.release = device_release,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "insntrace",
	.mode = 0600,
	.fops = &device_ops,
};

static int hotplug_state;

/* The core numbers CPUs from 0 without holes, and reads CPUID on each. */
static int
check_cpus(void)
{
	if (os_cpu_count() > OS_CPUS_MAX)
		return -EOVERFLOW;
	for (unsigned int i = 0; i < os_cpu_count(); i++) {
		if (!cpu_online(i))
			return -ENXIO;
	}
	return 0;
}

static int
begin(void)
{
	int error = check_cpus();

	if (error != 0)
		return error;
	session_init();
	hotplug_state = cpuhp_setup_state_nocalls_cpuslocked(
	    CPUHP_AP_ONLINE_DYN, "insntrace:online", NULL, cpu_goes);
	return hotplug_state < 0 ? hotplug_state : 0;
}

static int __init
insntrace_load(void)
{
	int error = services_begin();

	if (error != 0)
		return error;
	cpus_read_lock();
	error = begin();
	cpus_read_unlock();
	if (error == 0) {
		error = misc_register(&device);
		if (error != 0)
			cpuhp_remove_state_nocalls(hotplug_state);
	}
	if (error != 0)
		services_end();
	return error;
}

static void __exit
insntrace_unload(void)
{
	misc_deregister(&device);
	abandon(NULL);
	cpuhp_remove_state_nocalls(hotplug_state);
	services_end();
}

module_init(insntrace_load);
module_exit(insntrace_unload);
MODULE_DESCRIPTION("Intel Processor Trace of CPUs and threads");
MODULE_LICENSE("Dual BSD/GPL");
