/*
 * System calls (sys.h): the table and the handlers that are a few lines each.
 */
#include "harness/guest/kern.h"

#include "harness/guest/internal.h"

#define NAME_MAX_BYTES 64

static int64_t
sys_exit(const uint64_t *args)
{
	process_exit((int)args[0]);
}

static int64_t
sys_write(const uint64_t *args)
{
	char part[128];
	uint64_t done = 0;

	while (done < args[1]) {
		uint64_t rest = args[1] - done;
		uint64_t count = rest < sizeof(part) ? rest : sizeof(part);
		int error = copyin(
		    (const void *)(uintptr_t)(args[0] + done), part, count);

		if (error != 0)
			return -error;
		console_write(part, count);
		done += count;
	}
	return (int64_t)done;
}

static int64_t
sys_getpid(const uint64_t *args)
{
	(void)args;
	return process_self()->pid;
}

static int64_t
sys_gettid(const uint64_t *args)
{
	(void)args;
	return task_self()->tid;
}

static int64_t
sys_thread_of(const uint64_t *args)
{
	struct process *process = process_find_locked((uint32_t)args[0]);
	struct task *task;
	int64_t result = -KE_SRCH;

	if (process == NULL)
		return -KE_SRCH;
	task = process->tasks;
	for (uint64_t i = 0; i < args[1] && task != NULL; i++)
		task = task->sibling;
	if (task != NULL)
		result = task->tid;
	mutex_unlock(&process->lock);
	return result;
}

static int
copy_strings(const uint64_t *args, char *program, char *line)
{
	int error = copyinstr(
	    (const void *)(uintptr_t)args[0], program, NAME_MAX_BYTES, NULL);

	line[0] = '\0';
	if (error == 0 && args[1] != 0)
		error = copyinstr(
		    (const void *)(uintptr_t)args[1], line, ARGS_MAX, NULL);
	return error;
}

static int64_t
sys_spawn(const uint64_t *args)
{
	char program[NAME_MAX_BYTES], line[ARGS_MAX];
	int error = copy_strings(args, program, line);

	return error != 0 ? -error : process_spawn(program, line, args[2]);
}

static int64_t
sys_exec(const uint64_t *args)
{
	char program[NAME_MAX_BYTES], line[ARGS_MAX];
	struct trap_frame frame;
	int error = copy_strings(args, program, line);

	if (error == 0)
		error = process_exec(program, line, &frame);
	if (error == 0)
		*user_frame(task_self()) = frame;
	return -error;
}

static int64_t
sys_wait(const uint64_t *args)
{
	int code = 0;
	int64_t pid = process_wait((uint32_t)args[0], &code);
	int error = 0;

	if (pid > 0 && args[1] != 0)
		error = copyout(
		    &code, (void *)(uintptr_t)args[1], sizeof(code));
	return error != 0 ? -error : pid;
}

static int64_t
sys_thread_create(const uint64_t *args)
{
	return process_thread_create(args[0], args[1], args[2]);
}

static int64_t
sys_thread_exit(const uint64_t *args)
{
	uint32_t one = 1;

	if (args[0] != 0 &&
	    copyout(&one, (void *)(uintptr_t)args[0], sizeof(one)) == 0)
		(void)user_word_wake(args[0]);
	process_thread_exit();
}

static int64_t
sys_yield(const uint64_t *args)
{
	(void)args;
	task_yield();
	return 0;
}

static int64_t
sys_sleep(const uint64_t *args)
{
	return -task_pause(args[0]);
}

static int64_t
sys_set_affinity(const uint64_t *args)
{
	return -task_set_mask(task_self(), args[0]);
}

static int64_t
sys_rdcpu(const uint64_t *args)
{
	(void)args;
	return cpu_number();
}

static int64_t
sys_fault_handler(const uint64_t *args)
{
	if (args[0] >= SYS_USER_TOP)
		return -KE_FAULT;
	task_self()->fault_handler = args[0];
	task_self()->fault_arg = args[1];
	return 0;
}

static int64_t
sys_fault_return(const uint64_t *args)
{
	struct trap_frame *frame = user_frame(task_self());
	struct sys_fault fault;
	int error = copyin(
	    (const void *)(uintptr_t)args[0], &fault, sizeof(fault));

	if (error != 0 || fault.rip >= SYS_USER_TOP)
		return -KE_FAULT;
	memcpy(&frame->r15, &fault.r15, 15 * sizeof(uint64_t));
	frame->rip = fault.rip;
	frame->rsp = fault.rsp;
	frame->rflags = (fault.rflags & RFLAGS_USER) | RFLAGS_FIXED | RFLAGS_IF;
	return 0;
}

static int64_t
sys_open(const uint64_t *args)
{
	char name[NAME_MAX_BYTES];
	int error = copyinstr(
	    (const void *)(uintptr_t)args[0], name, sizeof(name), NULL);

	return error != 0 ? -error : device_open_file(name, (int)args[1]);
}

static int64_t
sys_close(const uint64_t *args)
{
	return -device_close_file(args[0]);
}

static int64_t
sys_ioctl(const uint64_t *args)
{
	int error;
	struct file *file = file_enter(args[0], &error);

	if (file == NULL)
		return -error;
	error = file->device->ops->ioctl != NULL
	    ? file->device->ops->ioctl(file->device, args[1], args[2])
	    : KE_NOTTY;
	file_leave(file);
	return -error;
}

static int64_t
sys_mmap(const uint64_t *args)
{
	struct process *process = process_self();
	int prot = (int)args[3];
	struct device *device;
	struct file *file;
	int64_t result;
	int error;

	if (args[2] == 0 || args[2] % PAGE_BYTES != 0 ||
	    args[2] > boot_info->ram_bytes || args[1] % PAGE_BYTES != 0)
		return -KE_INVAL;
	file = file_enter(args[0], &error);
	if (file == NULL)
		return -error;
	device = file->device;
	error = device->ops->mmap != NULL
	    ? device->ops->mmap(device, args[1], args[2], prot)
	    : KE_NODEV;
	result = -error;
	if (error == 0) {
		mutex_lock(&process->lock);
		result = region_map_device(
		    &process->space, device, args[1], args[2], prot);
		mutex_unlock(&process->lock);
	}
	file_leave(file);
	return result;
}

static int64_t
sys_map_anon(const uint64_t *args)
{
	struct process *process = process_self();
	int64_t result;

	mutex_lock(&process->lock);
	result = region_map_anon(&process->space, args[0]);
	mutex_unlock(&process->lock);
	return result;
}

static int64_t
sys_map_program(const uint64_t *args)
{
	struct process *process = process_self();
	char name[NAME_MAX_BYTES];
	const struct abi_program *program;
	uint64_t entry, base = 0, stack_pages;
	int error = copyinstr(
	    (const void *)(uintptr_t)args[0], name, sizeof(name), NULL);

	if (error != 0)
		return -error;
	program = program_find(name);
	if (program == NULL)
		return -KE_NOENT;
	mutex_lock(&process->lock);
	error = program_map(
	    &process->space, program, &entry, &base, &stack_pages);
	mutex_unlock(&process->lock);
	if (error == 0 && process_hooks.mmap != NULL)
		process_hooks.mmap(process, name, base);
	return error != 0 ? -error : (int64_t)base;
}

static int64_t
sys_munmap(const uint64_t *args)
{
	struct process *process = process_self();
	int error;

	if (process_hooks.munmap_begin != NULL)
		process_hooks.munmap_begin(process, args[0], args[1]);
	mutex_lock(&process->lock);
	error = region_unmap(&process->space, args[0], args[1]);
	mutex_unlock(&process->lock);
	if (process_hooks.munmap_end != NULL)
		process_hooks.munmap_end(process);
	if (error == 0 && process_hooks.munmap != NULL)
		process_hooks.munmap(process, args[0], args[1]);
	return -error;
}

static int64_t
sys_wait_word(const uint64_t *args)
{
	return -user_word_wait(args[0], (uint32_t)args[1]);
}

static int64_t
sys_wake_word(const uint64_t *args)
{
	return -user_word_wake(args[0]);
}

static int64_t
sys_sem_wait(const uint64_t *args)
{
	return -semaphore_wait(args[0]);
}

static int64_t
sys_sem_post(const uint64_t *args)
{
	struct process *process = process_self();

	if (args[0] == process->end_semaphore)
		process->end_semaphore = 0;
	return -semaphore_post(args[0]);
}

static int64_t
sys_kill(const uint64_t *args)
{
	return -process_kill((uint32_t)args[0], SYS_KILLED);
}

static int64_t
sys_note(const uint64_t *args)
{
	host_note(args[0], args[1]);
	return 0;
}

static int64_t
sys_drain(const uint64_t *args)
{
	return -host_drain(args[0], args[1], args[2]);
}

static int64_t
sys_buffer(const uint64_t *args)
{
	return -host_buffer(args[0], args[1], args[2]);
}

static int64_t
sys_lost(const uint64_t *args)
{
	host_lost(args[0], args[1]);
	return 0;
}

static int64_t
sys_position(const uint64_t *args)
{
	host_position(args[0], args[1]);
	return 0;
}

static int64_t
sys_traced(const uint64_t *args)
{
	host_traced_thread(args[0], (uint32_t)args[1], false);
	return 0;
}

static int64_t
sys_shutdown(const uint64_t *args)
{
	host_exit((int)args[0]);
}

static int64_t
sys_script(const uint64_t *args)
{
	struct process *process = process_self();
	uint64_t pa;
	int64_t result;

	if (args[0] != 0)
		return -KE_INVAL;
	mutex_lock(&process->lock);
	result = region_map_run(&process->space, args[1], &pa);
	mutex_unlock(&process->lock);
	if (result > 0)
		host_script(pa, args[1]);
	return result;
}

static int64_t
sys_call_begin(const uint64_t *args)
{
	host_call_begin(args[0], args[1], args[2]);
	return 0;
}

static int64_t
sys_call_end(const uint64_t *args)
{
	host_call_end(args[0], args[1], args[2]);
	return 0;
}

static int64_t
sys_module_load(const uint64_t *args)
{
	char name[NAME_MAX_BYTES];
	int error = copyinstr(
	    (const void *)(uintptr_t)args[0], name, sizeof(name), NULL);

	return -(error != 0 ? error : module_load(name));
}

static int64_t
sys_module_unload(const uint64_t *args)
{
	char name[NAME_MAX_BYTES];
	int error = copyinstr(
	    (const void *)(uintptr_t)args[0], name, sizeof(name), NULL);

	return -(error != 0 ? error : module_unload(name));
}

static int64_t
sys_cpu_offline(const uint64_t *args)
{
	int error = sched_offline(args[0]);

	if (error == 0)
		kpi_cpu_offline((uint32_t)args[0]);
	return -error;
}

__attribute__((weak)) int64_t
kpi_module_call(uint64_t number, const uint64_t *args)
{
	(void)number;
	(void)args;
	return -KE_NOSYS;
}

static int64_t
sys_module_call(const uint64_t *args)
{
	return kpi_module_call(args[0], args + 1);
}

static int64_t
sys_counter(const uint64_t *args)
{
	host_counter(args[0], args[1], args[2]);
	return 0;
}

static int64_t
sys_log_read(const uint64_t *args)
{
	return -host_log_read(args[0], args[1], args[2]);
}

static int64_t (*const handlers[SYS_COUNT])(const uint64_t *args) = {
	[SYS_EXIT] = sys_exit,
	[SYS_WRITE] = sys_write,
	[SYS_GETPID] = sys_getpid,
	[SYS_GETTID] = sys_gettid,
	[SYS_THREAD_OF] = sys_thread_of,
	[SYS_SPAWN] = sys_spawn,
	[SYS_EXEC] = sys_exec,
	[SYS_WAIT] = sys_wait,
	[SYS_THREAD_CREATE] = sys_thread_create,
	[SYS_THREAD_EXIT] = sys_thread_exit,
	[SYS_YIELD] = sys_yield,
	[SYS_SLEEP] = sys_sleep,
	[SYS_SET_AFFINITY] = sys_set_affinity,
	[SYS_RDCPU] = sys_rdcpu,
	[SYS_FAULT_HANDLER] = sys_fault_handler,
	[SYS_FAULT_RETURN] = sys_fault_return,
	[SYS_OPEN] = sys_open,
	[SYS_CLOSE] = sys_close,
	[SYS_IOCTL] = sys_ioctl,
	[SYS_MMAP] = sys_mmap,
	[SYS_MAP_ANON] = sys_map_anon,
	[SYS_MAP_PROGRAM] = sys_map_program,
	[SYS_MUNMAP] = sys_munmap,
	[SYS_WAIT_WORD] = sys_wait_word,
	[SYS_WAKE_WORD] = sys_wake_word,
	[SYS_SEM_WAIT] = sys_sem_wait,
	[SYS_SEM_POST] = sys_sem_post,
	[SYS_KILL] = sys_kill,
	[SYS_NOTE] = sys_note,
	[SYS_DRAIN] = sys_drain,
	[SYS_BUFFER] = sys_buffer,
	[SYS_LOST] = sys_lost,
	[SYS_POSITION] = sys_position,
	[SYS_TRACED] = sys_traced,
	[SYS_SHUTDOWN] = sys_shutdown,
	[SYS_SCRIPT] = sys_script,
	[SYS_CALL_BEGIN] = sys_call_begin,
	[SYS_CALL_END] = sys_call_end,
	[SYS_MODULE_LOAD] = sys_module_load,
	[SYS_MODULE_UNLOAD] = sys_module_unload,
	[SYS_CPU_OFFLINE] = sys_cpu_offline,
	[SYS_MODULE_CALL] = sys_module_call,
	[SYS_COUNTER] = sys_counter,
	[SYS_LOG_READ] = sys_log_read,
};

/*
 * True: FRAME has all registers (exec, return from a fault handler) and the
 * caller must return by IRET; SYSRET does not restore all of them.
 */
bool
syscall_handle(struct trap_frame *frame)
{
	uint64_t args[5] = { frame->rdi, frame->rsi, frame->rdx, frame->r10,
		frame->r8 };
	uint64_t number = frame->rax;
	int64_t result = -KE_NOSYS;
	bool whole;

	intr_enable();
	if (number < SYS_COUNT && handlers[number] != NULL)
		result = handlers[number](args);
	if (!intr_enabled())
		kpanic("lock: interrupts off at the end of a system call");
	whole = result == 0 &&
	    (number == SYS_EXEC || number == SYS_FAULT_RETURN);
	if (!whole)
		frame->rax = (uint64_t)result;
	intr_disable();
	trap_leave_to_user(frame);
	return whole;
}
