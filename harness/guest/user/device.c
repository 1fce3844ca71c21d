#include "harness/guest/user/device.h"

int64_t
device_request(
    uint64_t fd, enum trace_command command, const volatile void *argument)
{
	return sys3(SYS_IOCTL, fd, command, address(argument));
}

static int64_t
read_state(uint64_t fd, uint32_t cpu, struct trace_state *state)
{
	*state = (struct trace_state){ .cpu = cpu };
	return device_request(fd, TRACE_READ, state);
}

static int64_t
map(uint64_t fd, const struct trace_state *state)
{
	return sys5(SYS_MMAP, fd, (uint64_t)state->cpu << TRACE_MAP_SHIFT,
	    state->size_bytes, SYS_PROT_READ, 0);
}

static int64_t
name_buffer(uint64_t fd, uint32_t cpu)
{
	struct trace_state state;
	int64_t result = read_state(fd, cpu, &state);
	int64_t base = result < 0 ? result : map(fd, &state);

	if (base < 0)
		return base;
	result = sys3(SYS_BUFFER, cpu, (uint64_t)base, state.size_bytes);
	sys2(SYS_MUNMAP, (uint64_t)base, state.size_bytes);
	return result;
}

int64_t
device_set_up(uint64_t fd, const struct trace_config *config, uint32_t cpus)
{
	int64_t result = device_request(fd, TRACE_SETUP, config);

	for (uint32_t cpu = 0; result >= 0 && cpu < cpus; cpu++)
		result = name_buffer(fd, cpu);
	return result;
}

static int64_t
drain(uint32_t cpu, uint64_t from, uint64_t to)
{
	return from == to ? 0 : sys3(SYS_DRAIN, cpu, from, to - from);
}

/* Drains the buffer that is mapped at BASE. */
static int64_t
drain_mapped(const struct trace_state *state, uint64_t base)
{
	uint64_t size = state->size_bytes, written = state->written_bytes;
	int64_t result = 0;

	if (written <= size)
		return drain(state->cpu, base, base + written);
	sys2(SYS_LOST, state->cpu, written - size);
	result = drain(state->cpu, base + written % size, base + size);
	return result < 0 ? result
			  : drain(state->cpu, base, base + written % size);
}

int64_t
device_drain(uint64_t fd, uint32_t cpu, struct trace_state *state)
{
	int64_t result = read_state(fd, cpu, state);
	int64_t base = result < 0 ? result : map(fd, state);

	if (base < 0)
		return base;
	if (state->lost != 0)
		sys2(SYS_LOST, cpu, 0); /* of unknown size */
	result = drain_mapped(state, (uint64_t)base);
	sys2(SYS_MUNMAP, (uint64_t)base, state->size_bytes);
	return result;
}
