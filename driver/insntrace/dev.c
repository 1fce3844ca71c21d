/*
 * The module and its device.  The arguments of ioctls are copied in and out here
 * and nowhere else.
 */
#include "driver/insntrace/ops.h"
#include "harness/guest/kern.h"
#include "harness/kpi/native/module.h"

union args {
	struct insntrace_allocation allocation;
	struct insntrace_buffer buffer;
	struct insntrace_buffer_state state;
	struct insntrace_chunk chunk;
};

struct command {
	enum insntrace_command number;
	enum op op;
	size_t bytes; /* of the argument */
	bool answers; /* the argument is written back */
};

static const struct command commands[] = {
	{ INSNTRACE_INITIALIZE, OP_INITIALIZE,
	    sizeof(struct insntrace_allocation), false },
	{ INSNTRACE_TERMINATE, OP_TERMINATE, 0, false },
	{ INSNTRACE_GET_ALLOCATION, OP_GET_ALLOCATION,
	    sizeof(struct insntrace_allocation), true },
	{ INSNTRACE_ALLOCATE_BUFFER, OP_ALLOCATE_BUFFER,
	    sizeof(struct insntrace_buffer), true },
	{ INSNTRACE_FREE_BUFFER, OP_FREE_BUFFER,
	    sizeof(struct insntrace_buffer), false },
	{ INSNTRACE_GET_BUFFER_CONFIG, OP_GET_BUFFER_CONFIG,
	    sizeof(struct insntrace_buffer), true },
	{ INSNTRACE_GET_BUFFER_STATE, OP_GET_BUFFER_STATE,
	    sizeof(struct insntrace_buffer_state), true },
	{ INSNTRACE_GET_CHUNK, OP_GET_CHUNK, sizeof(struct insntrace_chunk),
	    true },
	{ INSNTRACE_START, OP_START, 0, false },
	{ INSNTRACE_STOP, OP_STOP, 0, false },
	{ INSNTRACE_ASSIGN_THREAD_BUFFER, OP_THREAD_BUFFER, 0, false },
	{ INSNTRACE_RELEASE_THREAD_BUFFER, OP_THREAD_BUFFER, 0, false },
};

static const struct command *
find_command(uint64_t number)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (commands[i].number == number)
			return &commands[i];
	}
	return NULL;
}

/* The first copyout only tries: a bad address fails before anything is done. */
static int
device_ioctl(struct device *device, uint64_t number, uint64_t user_arg)
{
	const struct command *command = find_command(number);
	void *user = (void *)(uintptr_t)user_arg;
	union args args;
	enum insntrace_status status;
	int error = 0;

	(void)device;
	if (command == NULL)
		return KE_NOTTY;
	memset(&args, 0, sizeof(args));
	if (command->bytes != 0)
		error = copyin(user, &args, command->bytes);
	if (error == 0 && command->answers)
		error = copyout(&args, user, command->bytes);
	if (error != 0)
		return error;
	status = ops_run(command->op, &args);
	if (status == INSNTRACE_OK && command->answers)
		error = copyout(&args, user, command->bytes);
	return status != INSNTRACE_OK ? (int)status : error;
}

static int
device_mmap(struct device *device, uint64_t offset, uint64_t bytes, int prot)
{
	(void)device;
	if ((prot & ~SYS_PROT_READ) != 0)
		return KE_ACCES;
	return (int)ops_check_map(offset, bytes);
}

static int
device_page(struct device *device, uint64_t offset, uint64_t *pa)
{
	(void)device;
	return (int)ops_map_frame(offset, pa);
}

static const struct device_ops device_ops = {
	.ioctl = device_ioctl,
	.mmap = device_mmap,
	.page = device_page,
};

static struct device *insntrace_device;
static void (*next_process_exiting)(struct process *process);

/* When an owner dies, its tracing is turned off. */
static void
process_exiting(struct process *process)
{
	ops_abandon(process);
	if (next_process_exiting != NULL)
		next_process_exiting(process);
}

static int
insntrace_load(void)
{
	int error;

	ops_init();
	next_process_exiting = process_set_exiting(process_exiting);
	error = device_create(
	    INSNTRACE_PATH, &device_ops, NULL, &insntrace_device);
	if (error != 0)
		(void)process_set_exiting(next_process_exiting);
	return error;
}

static void
insntrace_unload(void)
{
	device_destroy(insntrace_device);
	ops_abandon(NULL);
	(void)process_set_exiting(next_process_exiting);
}

NATIVE_MODULE(insntrace, insntrace_load, insntrace_unload);
