/* The calls on /dev/insntrace. */
#include "driver/insntrace/insntrace.h"
#include "harness/guest/user/actor.h"

static int64_t
request(uint64_t fd, enum insntrace_command command, volatile void *argument)
{
	return sys3(SYS_IOCTL, fd, command, address(argument));
}

/* The number of the first buffer's stream: those of threads have their own. */
static uint64_t
first_stream(const struct insntrace_allocation *allocation)
{
	return allocation->mode == INSNTRACE_MODE_THREAD ? THREAD_STREAM : 0;
}

/* Maps a whole buffer, or *BYTES of it; returns its address or an error. */
static int64_t
map(uint64_t fd, uint64_t descriptor, uint64_t *bytes)
{
	struct insntrace_chunk chunk = { .descriptor = (uint32_t)descriptor };
	struct insntrace_buffer buffer = {
		.descriptor = (uint32_t)descriptor,
	};
	int64_t result = request(fd, INSNTRACE_GET_CHUNK, &chunk);

	if (result < 0)
		return result;
	result = request(fd, INSNTRACE_GET_BUFFER_CONFIG, &buffer);
	if (result < 0)
		return result;
	if (*bytes == 0)
		*bytes = chunk.bytes * buffer.config.chunk_count;
	return sys5(SYS_MMAP, fd, chunk.map_offset, *bytes, SYS_PROT_READ, 0);
}

static int64_t
name_frames(uint64_t fd, uint64_t descriptor, uint64_t bytes)
{
	struct insntrace_allocation allocation = { 0 };
	int64_t base = map(fd, descriptor, &bytes);
	int64_t result;

	if (base < 0)
		return base;
	result = request(fd, INSNTRACE_GET_ALLOCATION, &allocation);
	if (result == 0)
		result = sys3(SYS_BUFFER,
		    first_stream(&allocation) + descriptor, (uint64_t)base,
		    bytes);
	sys2(SYS_MUNMAP, (uint64_t)base, bytes);
	return result;
}

static int64_t
drain(uint64_t stream, uint64_t from, uint64_t bytes)
{
	return bytes == 0 ? 0 : sys3(SYS_DRAIN, stream, from, bytes);
}

/* Drains all that the buffer holds, in the order in which it was written. */
static int64_t
drain_all(
    uint64_t stream, const struct insntrace_buffer_state *state, uint64_t base)
{
	int64_t result;

	if (state->written_bytes <= state->size_bytes)
		return drain(stream, base, state->written_bytes);
	if (state->position > state->size_bytes)
		return ACTOR_INVAL;
	result = drain(stream, base + state->position,
	    state->size_bytes - state->position);
	return result < 0 ? result : drain(stream, base, state->position);
}

static int64_t
read_buffer(uint64_t fd, uint64_t descriptor, uint64_t stream)
{
	struct insntrace_buffer_state state = {
		.descriptor = (uint32_t)descriptor,
	};
	int64_t base, result = request(fd, INSNTRACE_GET_BUFFER_STATE, &state);
	uint64_t bytes;

	if (result < 0)
		return result;
	bytes = state.size_bytes;
	base = map(fd, descriptor, &bytes);
	if (base < 0)
		return base;
	if (state.written_bytes > state.size_bytes)
		sys2(SYS_LOST, stream, state.written_bytes - state.size_bytes);
	/* Stopped, or an error: an unknown number of bytes is missing. */
	if (state.flags != 0)
		sys2(SYS_LOST, stream, 0);
	result = drain_all(stream, &state, (uint64_t)base);
	sys2(SYS_MUNMAP, (uint64_t)base, bytes);
	return result;
}

/* Reads TRACES buffers, or all.  Continues after an error; returns the last error. */
static int64_t
read_all(uint64_t fd, uint64_t traces)
{
	struct insntrace_allocation allocation = { 0 };
	int64_t worst = request(fd, INSNTRACE_GET_ALLOCATION, &allocation);

	if (worst < 0)
		return worst;
	if (traces < allocation.trace_count)
		traces = allocation.trace_count;
	for (uint64_t i = 0; i < traces && i < INSNTRACE_TRACES_MAX; i++) {
		int64_t result = read_buffer(
		    fd, i, first_stream(&allocation) + i);

		if (result < 0)
			worst = result;
	}
	return worst;
}

static int64_t
assign(uint64_t fd, uint64_t descriptor, uint64_t pid, uint64_t index)
{
	int64_t result;
	struct insntrace_thread thread = { .descriptor = (uint32_t)descriptor };
	int64_t tid = sys2(SYS_THREAD_OF, pid, index);

	if (tid < 0)
		return tid;
	thread.thread = (uint32_t)tid;
	result = request(fd, INSNTRACE_ASSIGN_THREAD_BUFFER, &thread);
	if (result == 0)
		sys2(SYS_TRACED, descriptor | THREAD_STREAM, (uint64_t)tid);
	return result;
}

/* COMMAND with ARGUMENT ends the assignment of a thread to the buffer. */
static int64_t
unassign(uint64_t fd, enum insntrace_command command, volatile void *argument,
    uint64_t descriptor)
{
	int64_t result = request(fd, command, argument);

	if (result == 0)
		sys2(SYS_TRACED, descriptor | THREAD_STREAM, 0);
	return result;
}

/* When it returns, the buffer gets nothing more. */
static int64_t
release(uint64_t fd, uint64_t descriptor)
{
	struct insntrace_thread thread = { .descriptor = (uint32_t)descriptor };

	return unassign(
	    fd, INSNTRACE_RELEASE_THREAD_BUFFER, &thread, descriptor);
}

static int64_t
free_buffer(uint64_t fd, uint64_t descriptor)
{
	struct insntrace_buffer buffer = { .descriptor = (uint32_t)descriptor };

	return unassign(fd, INSNTRACE_FREE_BUFFER, &buffer, descriptor);
}

bool
actor_call(uint32_t call, const uint64_t *args, int64_t *result)
{
	switch (call) {
	case SCRIPT_INSNTRACE_MAP:
		*result = name_frames(args[0], args[1], args[2]);
		return true;
	case SCRIPT_INSNTRACE_READ:
		*result = read_all(args[0], args[1]);
		return true;
	case SCRIPT_INSNTRACE_ASSIGN:
		*result = assign(args[0], args[1], args[2], args[3]);
		return true;
	case SCRIPT_INSNTRACE_FREE:
		*result = free_buffer(args[0], args[1]);
		return true;
	case SCRIPT_INSNTRACE_RELEASE:
		*result = release(args[0], args[1]);
		return true;
	default:
		return false;
	}
}
