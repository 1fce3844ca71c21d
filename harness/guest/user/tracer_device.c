/*
 * The owner of a session of the device that the boot parameter device= names,
 * which has the operations of harness/kpi/native/trace.h.  It traces every CPU
 * while the workloads run, and after TRACE_STOP drains every byte of the
 * buffers to the host. harness/kpi/native/README.md lists its boot parameters.
 */
#include "harness/guest/user/device.h"

/* IA32_RTIT_CTL: SDM vol. 3, 33.2.8.2 "IA32_RTIT_CTL MSR". */
#define CTL_OS       (UINT64_C(1) << 2)
#define CTL_USER     (UINT64_C(1) << 3)
#define CTL_BRANCHEN (UINT64_C(1) << 13)

static uint64_t fd;

static void
request(
    enum trace_command command, const volatile void *argument, const char *what)
{
	int64_t result = device_request(fd, command, argument);

	if (result < 0)
		user_fail(what, result);
}

static void
open_device(const char *args)
{
	char path[64];
	int64_t result;

	if (!arg_text(args, "device", path, sizeof(path)))
		user_fail("no word device=", 0);
	result = sys2(SYS_OPEN, address(path), 0);
	if (result < 0)
		user_fail(path, result);
	fd = (uint64_t)result;
}

static void
set_up(const char *args, uint32_t cpus)
{
	uint64_t ctl = CTL_BRANCHEN;
	int64_t result;
	struct trace_config config = {
		.bytes = arg_number(args, "buf", UINT64_C(1) << 20),
	};

	if (arg_number(args, "user", 1) != 0)
		ctl |= CTL_USER;
	if (arg_number(args, "kernel", 0) != 0)
		ctl |= CTL_OS;
	config.ctl = arg_number(args, "ctl", ctl);
	result = device_set_up(fd, &config, cpus);
	if (result < 0)
		user_fail("TRACE_SETUP", result);
}

static void
read_buffer(uint32_t cpu)
{
	struct trace_state state;
	int64_t result = device_drain(fd, cpu, &state);

	if (result < 0)
		user_fail("reading a buffer", result);
	user_printf("tracer_device: CPU %u: %u bytes written to a buffer of "
		    "%u%s\n",
	    (uint64_t)cpu, state.written_bytes, state.size_bytes,
	    state.lost != 0 ? ", others are lost" : "");
}

int
user_main(const char *args)
{
	uint32_t cpus = (uint32_t)arg_number(args, "cpus", 1);
	int64_t result = sys1(SYS_SET_AFFINITY,
	    UINT64_C(1) << (arg_number(args, "drain", 0) & 63));

	if (result < 0)
		user_fail("drain=: no such CPU", result);
	open_device(args);
	set_up(args, cpus);
	request(TRACE_START, NULL, "TRACE_START");
	user_run_workloads(arg_number(args, "jobs", 0));
	request(TRACE_STOP, NULL, "TRACE_STOP");
	for (uint32_t cpu = 0; cpu < cpus; cpu++)
		read_buffer(cpu);
	return 0;
}
