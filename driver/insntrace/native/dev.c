/*
 * The module and its device: copies arguments in and out, serialises the
 * operations, and ends the session of a process that exits.
 */
#include "driver/insntrace/core/session/command.h"
#include "driver/insntrace/core/session/session.h"
#include "harness/guest/kern.h"
#include "harness/kpi/native/module.h"

/*
 * device_page takes this lock with a process's lock held, so it is never held
 * when a process is locked: removed buffers are unmapped after its release.
 */
static struct mutex session_lock = MUTEX_INIT("insntrace");
static const struct process *session_owner; /* called Initialize */

static void
unmap(const struct buffer *buffer)
{
	uint64_t bytes = topa_bytes(&buffer->topa);

	for (uint64_t at = 0; at < bytes; at += PAGE_BYTES)
		process_unmap_frame(
		    buffer_frame(buffer, at), buffer_map_offset(buffer, at));
}

/* Releases the lock and frees the removed buffers. */
static void
unlock(void)
{
	struct buffer *removed = session_take_removed();

	mutex_unlock(&session_lock);
	for (const struct buffer *buffer = removed; buffer != NULL;
	     buffer = buffer->next) {
		if (buffer->mapped)
			unmap(buffer);
	}
	buffer_destroy_all(removed);
}

static enum insntrace_status
run(enum op op, void *args)
{
	enum insntrace_status status;

	mutex_lock(&session_lock);
	status = session_run(op, args);
	if (status == INSNTRACE_OK && op == OP_INITIALIZE)
		session_owner = process_self();
	if (status == INSNTRACE_OK && op == OP_TERMINATE)
		session_owner = NULL;
	unlock();
	return status;
}

/* The session of OWNER, or of any process (NULL). */
static void
abandon(const struct process *owner)
{
	mutex_lock(&session_lock);
	if (owner == NULL || session_owner == owner) {
		session_abandon();
		session_owner = NULL;
	}
	unlock();
}

/* A failure changes nothing: a buffer whose descriptor cannot be written is freed. */
static int
device_ioctl(struct device *device, uint64_t number, uint64_t user_arg)
{
	const struct command *command = command_find(number);
	void *user = (void *)(uintptr_t)user_arg;
	union command_args args;
	enum insntrace_status status;
	int error = 0;

	(void)device;
	if (command == NULL)
		return KE_NOTTY;
	memset(&args, 0, sizeof(args));
	if (command->bytes != 0)
		error = copyin(user, &args, command->bytes);
	if (error != 0)
		return error;
	status = run(command->op, &args);
	if (status != INSNTRACE_OK)
		return (int)status;
	if (command->answers)
		error = copyout(&args, user, command->bytes);
	if (error != 0 && command->op == OP_ALLOCATE_BUFFER)
		(void)run(OP_FREE_BUFFER, &args);
	return error;
}

static int
device_mmap(struct device *device, uint64_t offset, uint64_t bytes, int prot)
{
	enum insntrace_status status;

	(void)device;
	if ((prot & ~SYS_PROT_READ) != 0)
		return KE_ACCES;
	mutex_lock(&session_lock);
	status = session_check_map(offset, bytes);
	mutex_unlock(&session_lock);
	return (int)status;
}

static int
device_page(struct device *device, uint64_t offset, uint64_t *pa)
{
	enum insntrace_status status;

	(void)device;
	mutex_lock(&session_lock);
	status = session_map_page(offset, pa);
	mutex_unlock(&session_lock);
	return (int)status;
}

/* When an owner dies, its tracing is turned off. */
static void
device_exiting(struct device *device, struct process *process)
{
	(void)device;
	abandon(process);
}

static const struct device_ops device_ops = {
	.ioctl = device_ioctl,
	.mmap = device_mmap,
	.page = device_page,
	.exiting = device_exiting,
};

static struct device *insntrace_device;

static int
insntrace_load(void)
{
	session_init();
	return device_create(
	    INSNTRACE_PATH, &device_ops, NULL, &insntrace_device);
}

static void
insntrace_unload(void)
{
	device_destroy(insntrace_device);
	abandon(NULL);
}

NATIVE_MODULE(insntrace, insntrace_load, insntrace_unload);
