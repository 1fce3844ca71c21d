/*
 * The clients of the profiler in `topaz run linux-ds --mode cpu`: records the branches of
 * ring 3 on every CPU, and samples its instructions, if asked to; reads the records from
 * time to time.  One thread goes from CPU to CPU.
 */
#include "harness/kpi/linux26/user/tracer_bts.h"

#include "harness/guest/user/user.h"
#include "harness/kpi/linux26/ds_abi.h"

static uint64_t fd, buffer_bytes, records_at, sample_period;

static int64_t
call(enum linux_ds_call what, uint64_t pebs, uint64_t size, uint64_t value)
{
	struct linux_ds argument = {
		.pebs = pebs, .size = size, .value = value
	};
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

/* Starts what is to be recorded on the current CPU. */
static void
enable(void)
{
	must("enable", call(LINUX_DS_ENABLE, 0, 0, 1));
	if (sample_period != 0)
		must("sample", call(LINUX_DS_ENABLE, 1, 0, sample_period));
}

static uint64_t
read_records(uint64_t pebs)
{
	int64_t count;

	must("disable", call(LINUX_DS_ENABLE, pebs, 0, 0));
	count = call(LINUX_DS_READ, pebs, buffer_bytes, records_at);
	must("read", count);
	return (uint64_t)count;
}

/* Ends recording on the current CPU, and reads what there is. */
static void
read_cpu(struct profile *sum)
{
	sum->branches += read_records(0);
	if (sample_period != 0)
		sum->samples += read_records(1);
}

void
profiler_begin(unsigned cpus, uint64_t bytes, uint64_t period)
{
	int64_t at = sys1(SYS_MAP_ANON, bytes);

	buffer_bytes = bytes;
	sample_period = period;
	must("memory", at);
	records_at = (uint64_t)at;
	fd = (uint64_t)sys2(SYS_OPEN, address("/dev/ds"), 0);
	must("/dev/ds", (int64_t)fd);
	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		go_to(cpu);
		must("request", call(LINUX_DS_REQUEST, 0, bytes, 0));
		if (period != 0)
			must("request", call(LINUX_DS_REQUEST, 1, bytes, 0));
		enable();
	}
}

void
profiler_read(unsigned cpus, struct profile *sum)
{
	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		go_to(cpu);
		read_cpu(sum);
		enable();
	}
}

void
profiler_end(unsigned cpus, struct profile *sum)
{
	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		go_to(cpu);
		read_cpu(sum);
		if (sample_period != 0)
			must("release", call(LINUX_DS_RELEASE, 1, 0, 0));
		must("release", call(LINUX_DS_RELEASE, 0, 0, 0));
	}
}
