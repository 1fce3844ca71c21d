/*
 * The owner of a session of /dev/insntrace, and its reader: allocates a buffer for each
 * CPU or for threads of the first workload, traces while the workloads run, and after
 * Stop drains all bytes of the buffers to the host, the oldest first.  Bytes that wraps
 * overwrote are reported as lost. driver/insntrace/README.md lists its boot parameters.
 */
#include "driver/insntrace/insntrace.h"
#include "harness/guest/user/user.h"

/* IA32_RTIT_CTL: SDM vol. 3, 33.2.8.2. */
#define CTL_OS             (UINT64_C(1) << 2)
#define CTL_USER           (UINT64_C(1) << 3)
#define CTL_CR3FILTER      (UINT64_C(1) << 7)
#define CTL_MTCEN          (UINT64_C(1) << 9)
#define CTL_DISRETC        (UINT64_C(1) << 11)
#define CTL_BRANCHEN       (UINT64_C(1) << 13)
#define CTL_MTCFREQ(value) ((uint64_t)(value) << 14)
#define CTL_CYC(value)     ((uint64_t)(value) << 19)
#define CTL_PSBFREQ(value) ((uint64_t)(value) << 24)
#define CTL_RANGE(n)       (UINT64_C(1) << (32 + 4 * (n)))

static int64_t device_fd;
static bool any_error;
static bool thread_mode;
static uint32_t trace_count;
static uint64_t target; /* thread mode: the process */

/* Thread mode: the threads that have a buffer, and the thread that looks for more. */
static uint32_t assigned[INSNTRACE_TRACES_MAX];
static uint32_t assigned_count;
static uint32_t stopping, watcher_ended;
static _Alignas(16) unsigned char watcher_stack[4096];

static const char *
status_text(int64_t status)
{
	switch (status) {
	case INSNTRACE_BAD_STATE:
		return "BAD_STATE";
	case INSNTRACE_INVALID_ARGS:
		return "INVALID_ARGS";
	case INSNTRACE_NO_RESOURCES:
		return "NO_RESOURCES";
	case INSNTRACE_NOT_SUPPORTED:
		return "NOT_SUPPORTED";
	case INSNTRACE_NO_MEMORY:
		return "NO_MEMORY";
	case INSNTRACE_INTERNAL:
		return "INTERNAL";
	case INSNTRACE_DATA_LOSS:
		return "DATA_LOSS";
	default:
		return "error";
	}
}

static void
request(
    enum insntrace_command command, const volatile void *args, const char *what)
{
	int64_t result = sys3(
	    SYS_IOCTL, (uint64_t)device_fd, command, address(args));

	if (result < 0) {
		user_printf("insntrace: %s: %s (%d)\n", what,
		    status_text(-result), -result);
		user_exit(1);
	}
}

static uint64_t
configured_ctl(const char *args)
{
	uint64_t ranges = arg_number(args, "ranges", 0);
	uint64_t ctl = CTL_BRANCHEN |
	    CTL_MTCFREQ(arg_number(args, "mtc_freq", 0)) |
	    CTL_CYC(arg_number(args, "cyc_thresh", 0)) |
	    CTL_PSBFREQ(arg_number(args, "psb_freq", 0));

	if (arg_number(args, "user", 1) != 0)
		ctl |= CTL_USER;
	if (arg_number(args, "kernel", thread_mode ? 1 : 0) != 0)
		ctl |= CTL_OS;
	if (arg_number(args, "cr3", 0) != 0)
		ctl |= CTL_CR3FILTER;
	if (arg_number(args, "mtc", 0) != 0)
		ctl |= CTL_MTCEN;
	if (arg_number(args, "disretc", 0) != 0)
		ctl |= CTL_DISRETC;
	for (uint64_t i = 0; i < ranges && i < INSNTRACE_RANGES_MAX; i++)
		ctl |= CTL_RANGE(i);
	return arg_number(args, "ctl", ctl);
}

/* Boot parameters range0a= and range0b=: the first and the last byte. */
static void
configure_ranges(const char *args, struct insntrace_config *config)
{
	char key[16];
	uint64_t last;

	for (uint64_t i = 0; i < INSNTRACE_RANGES_MAX; i++) {
		struct insntrace_range *range = &config->range[i];

		user_format(key, sizeof(key), "range%ua", i);
		range->start = arg_number(args, key, 0);
		user_format(key, sizeof(key), "range%ub", i);
		last = arg_number(args, key, 0);
		if (last != 0)
			range->bytes = last - range->start + 1;
	}
}

static uint64_t
stream_of(uint32_t descriptor)
{
	return thread_mode ? descriptor | THREAD_STREAM : descriptor;
}

static uint64_t
map_buffer(uint32_t descriptor, uint64_t bytes)
{
	struct insntrace_chunk chunk = { .descriptor = descriptor };
	int64_t result;

	request(INSNTRACE_GET_CHUNK, &chunk, "GetChunk");
	result = sys5(SYS_MMAP, (uint64_t)device_fd, chunk.map_offset, bytes,
	    SYS_PROT_READ, 0);
	if (result < 0)
		user_fail("mapping a buffer", result);
	return (uint64_t)result;
}

static void
unmap_buffer(uint64_t base, uint64_t bytes)
{
	int64_t result = sys2(SYS_MUNMAP, base, bytes);

	if (result < 0)
		user_fail("unmapping a buffer", result);
}

/* Reports the frames to the host: a session may end without reading. */
static void
name_buffer(uint32_t descriptor, uint64_t bytes)
{
	uint64_t base = map_buffer(descriptor, bytes);
	int64_t result = sys3(SYS_BUFFER, stream_of(descriptor), base, bytes);

	if (result < 0)
		user_fail("naming a buffer", result);
	unmap_buffer(base, bytes);
}

static void
allocate(const char *args)
{
	struct insntrace_allocation allocation = {
		.mode = thread_mode ? INSNTRACE_MODE_THREAD
				    : INSNTRACE_MODE_CPU,
		.trace_count = trace_count,
	};
	struct insntrace_buffer buffer = {
		.config = {
			.chunk_order = (uint32_t)arg_number(args, "order", 0),
			.stop_on_full = (uint32_t)arg_number(args, "full", 0),
			.ctl = configured_ctl(args),
			.cr3_match = arg_number(args, "cr3", 0),
		},
	};
	uint64_t bytes = arg_number(args, "buf", UINT64_C(1) << 20);
	uint64_t chunk_bytes = UINT64_C(4096)
	    << (buffer.config.chunk_order & 31);

	if (bytes % chunk_bytes != 0) {
		user_printf("insntrace: buf=%u: not a multiple of %u\n", bytes,
		    chunk_bytes);
		user_exit(1);
	}
	buffer.config.chunk_count = (uint32_t)(bytes / chunk_bytes);
	configure_ranges(args, &buffer.config);
	request(INSNTRACE_INITIALIZE, &allocation, "Initialize");
	for (uint32_t i = 0; i < allocation.trace_count; i++) {
		request(INSNTRACE_ALLOCATE_BUFFER, &buffer, "AllocateBuffer");
		name_buffer(buffer.descriptor, bytes);
	}
}

static void
drain(uint64_t stream, uint64_t from, uint64_t bytes)
{
	int64_t result;

	if (bytes == 0)
		return;
	result = sys3(SYS_DRAIN, stream, from, bytes);
	if (result < 0)
		user_fail("drain", result);
}

/* Drains all that the buffer holds, in the order in which it was written. */
static void
drain_buffer(const struct insntrace_buffer_state *state)
{
	uint64_t base = map_buffer(state->descriptor, state->size_bytes);
	uint64_t position = state->position;
	uint64_t stream = stream_of(state->descriptor);

	if (state->written_bytes > state->size_bytes) {
		drain(stream, base + position, state->size_bytes - position);
		drain(stream, base, position);
	} else {
		drain(stream, base, state->written_bytes);
	}
	unmap_buffer(base, state->size_bytes);
}

static void
report(uint32_t descriptor)
{
	struct insntrace_buffer_state state = { .descriptor = descriptor };
	uint64_t lost = 0;

	request(INSNTRACE_GET_BUFFER_STATE, &state, "GetBufferState");
	if (state.written_bytes > state.size_bytes)
		lost = state.written_bytes - state.size_bytes;
	if (lost != 0)
		sys2(SYS_LOST, stream_of(descriptor), lost);
	drain_buffer(&state);
	user_printf("insntrace: %s %u: %u bytes written, %u wraps, "
		    "%u drained, %u lost%s%s\n",
	    thread_mode ? "thread" : "CPU",
	    (uint64_t)(thread_mode ? assigned[descriptor] : descriptor),
	    state.written_bytes, state.wraps, state.written_bytes - lost, lost,
	    (state.flags & INSNTRACE_STATE_STOPPED) != 0 ? ", stopped" : "",
	    (state.flags & INSNTRACE_STATE_ERROR) != 0 ? ", error" : "");
	if ((state.flags & INSNTRACE_STATE_ERROR) != 0)
		any_error = true;
}

static bool
is_assigned(uint32_t thread)
{
	for (uint32_t i = 0; i < assigned_count; i++) {
		if (assigned[i] == thread)
			return true;
	}
	return false;
}

/* Gives each thread of the target that has no buffer the next one. */
static void
assign_new(void)
{
	for (uint64_t i = 0; assigned_count < trace_count; i++) {
		int64_t tid = sys2(SYS_THREAD_OF, target, i);
		struct insntrace_thread thread = {
			.descriptor = assigned_count,
			.thread = (uint32_t)tid,
		};

		if (tid < 0)
			return;
		/* It may end between the two calls. */
		if (!is_assigned((uint32_t)tid) &&
		    sys3(SYS_IOCTL, (uint64_t)device_fd,
			INSNTRACE_ASSIGN_THREAD_BUFFER, address(&thread)) == 0)
			assigned[assigned_count++] = (uint32_t)tid;
	}
}

static _Noreturn void
watch(void)
{
	while (__atomic_load_n(&stopping, __ATOMIC_SEQ_CST) == 0) {
		assign_new();
		sys1(SYS_SLEEP, 2000);
	}
	__atomic_store_n(&watcher_ended, 1, __ATOMIC_SEQ_CST);
	sys1(SYS_WAKE_WORD, address(&watcher_ended));
	for (;;)
		sys1(SYS_THREAD_EXIT, 0);
}

/* In thread mode a second thread looks for threads of the target meanwhile. */
static void
run_workloads(const char *args)
{
	int64_t result;

	if (thread_mode) {
		assign_new();
		result = sys3(SYS_THREAD_CREATE, (uint64_t)(uintptr_t)watch,
		    address(watcher_stack + sizeof(watcher_stack)), 0);
		if (result < 0)
			user_fail("thread", result);
	}
	user_run_workloads(arg_number(args, "jobs", 0));
	if (!thread_mode)
		return;
	__atomic_store_n(&stopping, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&watcher_ended, __ATOMIC_SEQ_CST) == 0)
		sys2(SYS_WAIT_WORD, address(&watcher_ended), 0);
}

/* The workloads run in the last session; earlier sessions trace none. */
static void
run_sessions(const char *args)
{
	uint64_t sessions = arg_number(args, "sessions", 1);

	for (uint64_t i = 1; i <= sessions; i++) {
		request(INSNTRACE_START, NULL, "Start");
		if (i == sessions)
			run_workloads(args);
		else
			sys1(SYS_SLEEP, arg_number(args, "settle", 200000));
		if (i == sessions && arg_number(args, "leave", 0) != 0)
			user_exit(0);
		request(INSNTRACE_STOP, NULL, "Stop");
		for (uint32_t trace = 0; trace < trace_count; trace++)
			report(trace);
	}
}

int
user_main(const char *args)
{
	char mode[8];
	int64_t result = sys1(SYS_SET_AFFINITY,
	    UINT64_C(1) << (arg_number(args, "drain", 0) & 63));

	if (result < 0)
		user_fail("drain=: no such CPU", result);
	device_fd = sys2(SYS_OPEN, address(INSNTRACE_PATH), 0);
	if (device_fd < 0)
		user_fail(INSNTRACE_PATH, device_fd);
	arg_text(args, "mode", mode, sizeof(mode));
	thread_mode = mode[0] == 't';
	target = arg_number(args, "target", 0);
	trace_count = (uint32_t)(thread_mode ? arg_number(args, "traces", 1)
					     : arg_number(args, "cpus", 1));
	allocate(args);
	run_sessions(args);
	request(INSNTRACE_TERMINATE, NULL, "Terminate");
	return any_error ? 1 : 0;
}
