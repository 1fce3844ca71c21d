/* The calls on a device with the operations of harness/kpi/native/trace.h. */
#include "harness/guest/user/actor.h"
#include "harness/guest/user/device.h"

static int64_t
set_up(uint64_t fd, uint64_t config_at, uint64_t cpus)
{
	return device_set_up(fd,
	    (const struct trace_config *)(uintptr_t)config_at, (uint32_t)cpus);
}

/* Continues after an error; returns the last error. */
static int64_t
read_all(uint64_t fd, uint64_t cpus)
{
	struct trace_state state;
	int64_t worst = 0;

	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		int64_t result = device_drain(fd, cpu, &state);

		if (result < 0)
			worst = result;
	}
	return worst;
}

bool
actor_call(uint32_t call, const uint64_t *args, int64_t *result)
{
	switch (call) {
	case SCRIPT_TRACE_SETUP:
		*result = set_up(args[0], args[1], args[2]);
		return true;
	case SCRIPT_TRACE_READ:
		*result = read_all(args[0], args[1]);
		return true;
	default:
		return false;
	}
}
