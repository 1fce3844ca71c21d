/*
 * Character devices, on the guest kernel's: copying of arguments by the ioctl's
 * number, mapping of VM objects, and destruction deferred to a task.
 */
#include <sys/conf.h>
#include <sys/ioccom.h>
#include <sys/malloc.h>
#include <sys/proc.h>
#include <sys/systm.h>
#include <vm/vm_object.h>
#include <vm/vm_page.h>

#include "harness/guest/lib.h"
#include "harness/guest/process/process.h"
#include "harness/guest/task/lock.h"
#include "harness/guest/task/task.h"
#include "harness/kpi/freebsd/kpi.h"

static MALLOC_DEFINE(M_CDEV, "cdev", "Character devices");

/* Nodes whose destruction is pending, oldest first. */
static TAILQ_HEAD(, cdev) doomed = TAILQ_HEAD_INITIALIZER(doomed);
static struct spin doomed_lock;
static bool reaper_stop, reaper_stopped;

static int
guest_open(struct device *device, int flags)
{
	struct cdev *dev = device->arg;

	if (dev->si_devsw->d_open == NULL)
		return (0);
	return (dev->si_devsw->d_open(dev, flags, 0, curthread));
}

static int
guest_ioctl(struct device *device, uint64_t command, uint64_t user_arg)
{
	struct cdev *dev = device->arg;
	char small[128] __aligned(16);
	void *user = (void *)(uintptr_t)user_arg;
	size_t bytes = IOCPARM_LEN(command);
	char *data = small;
	int error;

	if (dev->si_devsw->d_ioctl == NULL)
		return (ENOTTY);
	if (bytes > sizeof(small))
		data = malloc(bytes, M_CDEV, M_WAITOK);
	memset(data, 0, bytes);
	error = 0;
	if ((command & IOC_IN) != 0)
		error = copyin(user, data, bytes);
	if (error == 0)
		error = dev->si_devsw->d_ioctl(
		    dev, command, data, 0, curthread);
	if (error == 0 && (command & IOC_OUT) != 0)
		error = copyout(data, user, bytes);
	if (data != small)
		free(data, M_CDEV);
	return (error);
}

/* The node holds one reference for all of its mappings. */
static int
guest_mmap(struct device *device, uint64_t offset, uint64_t bytes, int prot)
{
	struct cdev *dev = device->arg;
	struct vm_object *object;
	vm_ooffset_t where;
	int error;

	if (dev->si_devsw->d_mmap_single == NULL)
		return (ENODEV);
	where = (vm_ooffset_t)offset;
	object = NULL;
	error = dev->si_devsw->d_mmap_single(dev, &where, bytes, &object, prot);
	if (error != 0)
		return (error);
	if (dev->si_object != NULL)
		vm_object_deallocate(dev->si_object);
	dev->si_object = object;
	return (0);
}

static int
guest_page(struct device *device, uint64_t offset, uint64_t *pa)
{
	struct cdev *dev = device->arg;
	uint64_t index = offset >> PAGE_SHIFT;
	vm_page_t m;

	if (dev->si_object == NULL || index >= dev->si_object->size)
		return (EFAULT);
	m = dev->si_object->pages[index];
	if (m == NULL)
		return (EFAULT);
	*pa = VM_PAGE_TO_PHYS(m);
	return (0);
}

static const struct device_ops guest_ops = {
	.open = guest_open,
	.ioctl = guest_ioctl,
	.mmap = guest_mmap,
	.page = guest_page,
};

void
kpi_make_dev_args_init(struct make_dev_args *args, size_t bytes)
{
	memset(args, 0, bytes);
	args->mda_size = bytes;
}

int
make_dev_s(
    struct make_dev_args *args, struct cdev **result, const char *fmt, ...)
{
	char path[sizeof("/dev/") + sizeof(((struct cdev *)0)->si_name)];
	struct device *device;
	struct cdev *dev;
	va_list ap;
	int error;

	if (fault_point(__func__, __builtin_return_address(0)))
		return (EEXIST);
	dev = malloc(sizeof(*dev), M_CDEV, M_WAITOK | M_ZERO);
	va_start(ap, fmt);
	vsnprintf(dev->si_name, sizeof(dev->si_name), fmt, ap);
	va_end(ap);
	dev->si_devsw = args->mda_devsw;
	dev->si_drv1 = args->mda_si_drv1;
	dev->si_drv2 = args->mda_si_drv2;
	snprintf(path, sizeof(path), "/dev/%s", dev->si_name);
	error = device_create(path, &guest_ops, dev, &device);
	if (error != 0) {
		free(dev, M_CDEV);
		return (error);
	}
	dev->si_guest = device;
	*result = dev;
	return (0);
}

void
destroy_dev(struct cdev *dev)
{
	device_destroy(dev->si_guest);
	if (dev->si_object != NULL)
		vm_object_deallocate(dev->si_object);
	free(dev, M_CDEV);
}

int
destroy_dev_sched(struct cdev *dev)
{
	spin_lock(&doomed_lock);
	TAILQ_INSERT_TAIL(&doomed, dev, si_doomed);
	spin_unlock(&doomed_lock);
	task_wakeup(&doomed);
	return (0);
}

static void
reaper_main(void *arg __unused)
{
	struct cdev *dev;

	spin_lock(&doomed_lock);
	for (;;) {
		while ((dev = TAILQ_FIRST(&doomed)) == NULL && !reaper_stop)
			task_sleep_spin(&doomed, &doomed_lock, false, 0);
		if (dev == NULL)
			break;
		TAILQ_REMOVE(&doomed, dev, si_doomed);
		spin_unlock(&doomed_lock);
		destroy_dev(dev);
		spin_lock(&doomed_lock);
	}
	reaper_stopped = true;
	spin_unlock(&doomed_lock);
	task_wakeup(&reaper_stopped);
	task_exit();
}

void
kpi_device_init(void)
{
	spin_init(&doomed_lock, "doomed devices");
	if (task_create("device reaper", reaper_main, NULL, TASK_NORMAL,
		CPU_MASK_ALL) == NULL)
		panic("no memory for the device reaper");
}

/* All pending destructions have happened when it returns. */
void
kpi_device_fini(void)
{
	spin_lock(&doomed_lock);
	reaper_stop = true;
	task_wakeup(&doomed);
	while (!reaper_stopped)
		task_sleep_spin(&reaper_stopped, &doomed_lock, false, 0);
	spin_unlock(&doomed_lock);
}
