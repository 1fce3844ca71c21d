/*
 * Devices and the files that are open on them.  A device exists as long as a
 * file or a mapping refers to it; destroying it ends its operations.  A file
 * exists until it is closed and no operation on it is in progress.
 */
#include "harness/guest/internal.h"

static struct mutex device_lock = MUTEX_INIT("devices");
static struct device *devices; /* the last one that was created comes first */
static uint64_t device_count;  /* that were ever created */

static struct device *
find_device(const char *name)
{
	struct device *device = devices;

	while (device != NULL && strcmp(device->name, name) != 0)
		device = device->next;
	return device;
}

int
device_create(const char *name, const struct device_ops *ops, void *arg,
    struct device **device)
{
	struct device *made;

	if (strlen(name) >= sizeof(made->name))
		return KE_NAMETOOLONG;
	if (fault_point(__func__, __builtin_return_address(0)))
		return KE_NOMEM;
	mutex_lock(&device_lock);
	if (find_device(name) != NULL) {
		mutex_unlock(&device_lock);
		return KE_EXIST;
	}
	made = bucket_alloc(sizeof(*made));
	if (made != NULL) {
		*made = (struct device){ .next = devices,
			.ops = ops,
			.arg = arg,
			.references = 1,
			.number = ++device_count };
		strlcpy(made->name, name, sizeof(made->name));
		devices = made;
		*device = made;
	}
	mutex_unlock(&device_lock);
	return made != NULL ? 0 : KE_NOMEM;
}

void
device_destroy(struct device *device)
{
	struct device **link = &devices;

	mutex_lock(&device_lock);
	while (*link != device)
		link = &(*link)->next;
	*link = device->next;
	device->gone = true;
	while (device->calls != 0)
		task_sleep(device, &device_lock, false, 0);
	mutex_unlock(&device_lock);
	device_release(device);
}

void
device_reference(struct device *device)
{
	__atomic_add_fetch(&device->references, 1, __ATOMIC_RELAXED);
}

void
device_release(struct device *device)
{
	if (__atomic_sub_fetch(&device->references, 1, __ATOMIC_ACQ_REL) == 0)
		bucket_free(device);
}

/* Begins an operation and takes a reference for it; device_lock is held. */
static int
enter(struct device *device)
{
	if (device->gone)
		return KE_NXIO;
	device->calls++;
	device_reference(device);
	return 0;
}

/* Ends an operation. */
static void
leave(struct device *device)
{
	lock_assert_none("at return from a device's operation");
	mutex_lock(&device_lock);
	if (--device->calls == 0 && device->gone)
		task_wakeup(device);
	mutex_unlock(&device_lock);
	device_release(device);
}

/* Calls the close operation, unless the driver has destroyed the device. */
static void
call_close(struct device *device)
{
	int error;

	mutex_lock(&device_lock);
	error = enter(device);
	mutex_unlock(&device_lock);
	if (error != 0)
		return;
	if (device->ops->close != NULL)
		device->ops->close(device);
	leave(device);
}

/*
 * Of the devices with .exiting and a number below BELOW, begins an operation
 * on the one with the highest number; NULL: there is no such device.  The
 * list can change between two calls.
 */
static struct device *
enter_before(uint64_t below)
{
	struct device *device;

	mutex_lock(&device_lock);
	device = devices;
	while (device != NULL &&
	    (device->number >= below || device->ops->exiting == NULL))
		device = device->next;
	if (device != NULL)
		(void)enter(device);
	mutex_unlock(&device_lock);
	return device;
}

void
device_process_exiting(struct process *process)
{
	uint64_t below = UINT64_MAX;
	struct device *device;

	while ((device = enter_before(below)) != NULL) {
		below = device->number;
		device->ops->exiting(device, process);
		leave(device);
	}
}

/* Drops one reference to the file; the last one closes it. */
static void
file_release(struct file *file)
{
	struct device *device = file->device;

	if (__atomic_sub_fetch(&file->references, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	*file = (struct file){ .device = NULL };
	bucket_free(file);
	call_close(device);
	device_release(device);
}

struct file *
file_enter(uint64_t fd, int *error)
{
	struct process *process = process_self();
	struct file *file = NULL;

	*error = KE_BADF;
	mutex_lock(&process->lock);
	if (fd < PROCESS_FILES_MAX)
		file = process->files[fd];
	if (file != NULL) {
		mutex_lock(&device_lock);
		*error = enter(file->device);
		mutex_unlock(&device_lock);
	}
	if (*error == 0)
		__atomic_add_fetch(&file->references, 1, __ATOMIC_RELAXED);
	mutex_unlock(&process->lock);
	return *error == 0 ? file : NULL;
}

void
file_leave(struct file *file)
{
	leave(file->device);
	file_release(file);
}

struct file *
file_hold(uint64_t fd)
{
	struct process *process = process_self();
	struct file *file = NULL;

	mutex_lock(&process->lock);
	if (fd < PROCESS_FILES_MAX)
		file = process->files[fd];
	if (file != NULL)
		__atomic_add_fetch(&file->references, 1, __ATOMIC_RELAXED);
	mutex_unlock(&process->lock);
	return file;
}

void
file_drop(struct file *file)
{
	file_release(file);
}

int
file_write(struct file *file, const void *from, size_t bytes)
{
	struct device *device = file->device;
	int error;

	mutex_lock(&device_lock);
	error = enter(device);
	mutex_unlock(&device_lock);
	if (error != 0)
		return error;
	error = device->ops->write != NULL
	    ? device->ops->write(device, from, bytes)
	    : KE_NXIO;
	leave(device);
	return error;
}

static int64_t
install_file(struct process *process, struct file *file)
{
	int64_t fd = -KE_MFILE;

	mutex_lock(&process->lock);
	for (unsigned i = 0; i < PROCESS_FILES_MAX && fd < 0; i++) {
		if (process->files[i] == NULL) {
			process->files[i] = file;
			fd = i;
		}
	}
	mutex_unlock(&process->lock);
	return fd;
}

/* Begins an operation on the device called NAME; NULL: there is none. */
static struct device *
enter_by_name(const char *name)
{
	struct device *device;

	mutex_lock(&device_lock);
	device = find_device(name);
	if (device != NULL)
		(void)enter(device);
	mutex_unlock(&device_lock);
	return device;
}

int64_t
device_open_file(const char *name, int flags)
{
	struct device *device = enter_by_name(name);
	struct file *file;
	int64_t result = -KE_NOMEM;

	if (device == NULL)
		return -KE_NOENT;
	file = bucket_alloc(sizeof(*file));
	if (file != NULL)
		result = device->ops->open != NULL
		    ? -device->ops->open(device, flags)
		    : 0;
	if (result == 0) {
		device_reference(device);
		*file = (struct file){ .device = device, .references = 1 };
	} else if (file != NULL) {
		bucket_free(file);
	}
	leave(device);
	if (result == 0) {
		result = install_file(process_self(), file);
		if (result < 0)
			file_release(file);
	}
	return result;
}

int
device_close_file(uint64_t fd)
{
	struct process *process = process_self();
	struct file *file = NULL;

	mutex_lock(&process->lock);
	if (fd < PROCESS_FILES_MAX) {
		file = process->files[fd];
		process->files[fd] = NULL;
	}
	mutex_unlock(&process->lock);
	if (file == NULL)
		return KE_BADF;
	file_release(file);
	return 0;
}
