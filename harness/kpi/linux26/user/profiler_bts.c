/*
 * The clients of the profiler in `topaz run linux-ds --mode cpu`: records the branches of
 * ring 3 on every CPU, and reads them from time to time.  One thread goes from CPU to CPU.
 */
#include "harness/kpi/linux26/user/tracer_bts.h"

#include "harness/guest/user/user.h"
#include "harness/kpi/linux26/ds_abi.h"

#define RECORD_BYTES 24

static uint64_t fd, buffer_bytes, records_at;

static int64_t
call(enum linux_ds_call what, uint64_t size, uint64_t value)
{
	struct linux_ds argument = { .size = size, .value = value };
	int64_t result = sys3(SYS_IOCTL, fd, what, address(&argument));

	return result < 0 ? result : argument.result;
}

static void
must(const char *what, int64_t result)
{
	if (result < 0)
		user_fail(what, result);
}

static void
go_to(unsigned cpu)
{
	must("cpu", sys1(SYS_SET_AFFINITY, UINT64_C(1) << cpu));
}

static uint64_t
read_cpu(void)
{
	int64_t count;

	must("disable", call(LINUX_DS_ENABLE, 0, 0));
	count = call(LINUX_DS_READ, buffer_bytes, records_at);
	must("read", count);
	return (uint64_t)count;
}

void
profiler_begin(unsigned cpus, uint64_t bytes)
{
	int64_t at = sys1(SYS_MAP_ANON, bytes);

	buffer_bytes = bytes;
	must("memory", at);
	records_at = (uint64_t)at;
	fd = (uint64_t)sys2(SYS_OPEN, address("/dev/ds"), 0);
	must("/dev/ds", (int64_t)fd);
	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		go_to(cpu);
		must("request", call(LINUX_DS_REQUEST, bytes, 0));
		must("enable", call(LINUX_DS_ENABLE, 0, 1));
	}
}

uint64_t
profiler_read(unsigned cpus)
{
	uint64_t count = 0;

	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		go_to(cpu);
		count += read_cpu();
		must("enable", call(LINUX_DS_ENABLE, 0, 1));
	}
	return count;
}

uint64_t
profiler_end(unsigned cpus)
{
	uint64_t count = 0;

	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		go_to(cpu);
		count += read_cpu();
		must("release", call(LINUX_DS_RELEASE, 0, 0));
	}
	return count;
}
