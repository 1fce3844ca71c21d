/*
 * Files that the kernel writes and a program reads: /dev/pmclog0 to /dev/pmclog3.  Each
 * holds what was written and not read yet, until no open file is left; it never makes a
 * writer wait, and what does not fit is ENOSPC.
 */
#include <sys/file.h>
#include <sys/malloc.h>
#include <sys/proc.h>
#include <sys/systm.h>

#include "harness/guest/process/process.h"
#include "harness/kpi/freebsd8/kpi8.h"
#include "harness/kpi/freebsd8/log.h"

#define LOG_BYTES (1u << 18)

static struct log {
	struct device *device;
	struct mutex lock;
	u_int opens;
	char *bytes; /* while it is open */
	size_t first, count;
} logs[KPI_LOGS];

static int
log_open(struct device *device, int flags __unused)
{
	struct log *log = device->arg;

	mutex_lock(&log->lock);
	if (log->opens++ == 0) {
		log->bytes = malloc(LOG_BYTES, M_TEMP, M_WAITOK);
		log->first = log->count = 0;
	}
	mutex_unlock(&log->lock);
	return (0);
}

static void
log_close(struct device *device)
{
	struct log *log = device->arg;

	mutex_lock(&log->lock);
	if (--log->opens == 0)
		free(log->bytes, M_TEMP);
	mutex_unlock(&log->lock);
}

static int
log_write(struct device *device, const void *from, size_t bytes)
{
	struct log *log = device->arg;
	size_t i;
	int error = 0;

	mutex_lock(&log->lock);
	if (bytes > LOG_BYTES - log->count)
		error = ENOSPC;
	for (i = 0; error == 0 && i < bytes; i++)
		log->bytes[(log->first + log->count++) % LOG_BYTES] = ((
		    const char *)from)[i];
	mutex_unlock(&log->lock);
	return (error);
}

/* In parts that lie in one piece. */
static int
log_read(struct log *log, struct kpi_log_read *read)
{
	size_t part, done = 0;
	int error = 0;

	while (error == 0 && done < read->bytes && log->count != 0) {
		part = LOG_BYTES - log->first;
		if (part > log->count)
			part = log->count;
		if (part > read->bytes - done)
			part = read->bytes - done;
		error = copyout(log->bytes + log->first,
		    (void *)(uintptr_t)(read->at + done), part);
		if (error != 0)
			break;
		log->first = (log->first + part) % LOG_BYTES;
		log->count -= part;
		done += part;
	}
	read->bytes = done;
	return (error);
}

static int
log_ioctl(struct device *device, uint64_t command, uint64_t user_arg)
{
	struct log *log = device->arg;
	struct kpi_log_read read;
	void *arg = (void *)(uintptr_t)user_arg;
	int error;

	if (command != KPI_LOG_READ)
		return (ENOTTY);
	error = copyin(arg, &read, sizeof(read));
	if (error != 0)
		return (error);
	mutex_lock(&log->lock);
	error = log_read(log, &read);
	mutex_unlock(&log->lock);
	return (error != 0 ? error : copyout(&read, arg, sizeof(read)));
}

static const struct device_ops log_ops = { .open = log_open,
	.close = log_close,
	.ioctl = log_ioctl,
	.write = log_write };

void
kpi_log_init(void)
{
	char name[16];
	int i;

	for (i = 0; i < KPI_LOGS; i++) {
		mutex_init(&logs[i].lock, "log file");
		(void)snprintf(name, sizeof(name), "/dev/pmclog%d", i);
		if (device_create(name, &log_ops, &logs[i], &logs[i].device) !=
		    0)
			panic("%s can not be made", name);
	}
}

void
kpi_log_fini(void)
{
	int i;

	for (i = 0; i < KPI_LOGS; i++)
		device_destroy(logs[i].device);
}

int
fget_write(struct thread *td __unused, int fd, struct file **fp)
{
	if (fd < 0)
		return (EBADF);
	*fp = file_hold((uint64_t)fd);
	return (*fp != NULL ? 0 : EBADF);
}

int
fdrop(struct file *fp, struct thread *td __unused)
{
	file_drop(fp);
	return (0);
}

int
kpi_fo_write(struct file *fp, const void *from, size_t bytes)
{
	return (file_write(fp, from, bytes));
}
