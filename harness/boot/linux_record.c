#include "harness/boot/linux_record.h"

#include <stdlib.h>

#include "emu/base/exec_log.h"
#include "harness/boot/linux_guest.h"
#include "harness/record.h"
#include "traces/bundle/bundle_write.h"

struct linux_record {
	struct bundle_writer *writer;
	struct record *record;
	struct machine_observer observer; /* of .record */
	struct linux_guest *guest;        /* NULL: not begun */
	unsigned cpu_count;
	struct exec_log *exec_log[MACHINE_CPUS_MAX];
};

int
linux_record_create(const char *path, unsigned cpu_count,
    struct linux_record **result, struct tz_error *err)
{
	struct linux_record *record = calloc(1, sizeof(*record));
	int error;

	if (record == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	record->cpu_count = cpu_count;
	error = bundle_create(path, cpu_count, &record->writer, err);
	if (error == 0) {
		record->record = record_create(record->writer, 0, false);
		if (record->record == NULL)
			error = tz_error(err, TZ_EIO, "out of memory");
	}
	if (error != 0) {
		linux_record_destroy(record);
		return error;
	}
	record->observer = record_observer(record->record);
	*result = record;
	return 0;
}

void
linux_record_destroy(struct linux_record *record)
{
	if (record == NULL)
		return;
	for (unsigned i = 0; i < MACHINE_CPUS_MAX; i++)
		exec_log_destroy(record->exec_log[i]);
	record_destroy(record->record);
	bundle_abandon(record->writer);
	free(record);
}

void
linux_record_event(void *arg, const struct event *event)
{
	struct linux_record *record = arg;

	if (record->guest != NULL)
		record->observer.event(record->observer.arg, event);
}

int
linux_record_begin(struct linux_record *record, struct linux_guest *guest,
    struct tz_error *err)
{
	struct machine *machine = linux_guest_machine(guest);

	record->guest = guest;
	for (unsigned i = 0; i < record->cpu_count; i++) {
		record->exec_log[i] = exec_log_create(bundle_exec_log_sink,
		    bundle_exec_log_arg(record->writer, i));
		if (record->exec_log[i] == NULL)
			return tz_error(err, TZ_EIO, "out of memory");
		exec_log_keep_code(record->exec_log[i]);
		exec_log_allow_gaps(record->exec_log[i]);
		machine_set_exec_log(machine, i, record->exec_log[i]);
	}
	record_set_ram(
	    record->record, machine_ram(machine), linux_guest_memory(guest));
	return 0;
}

void
linux_record_add(struct linux_record *record, const char *name,
    const void *bytes, size_t count)
{
	/* The writer keeps an error until it finishes. */
	(void)bundle_add_text(record->writer, name, bytes, count);
}

void
linux_record_trace(struct linux_record *record, uint64_t stream,
    const void *bytes, size_t count)
{
	(void)bundle_add_stream(record->writer, stream, bytes, count);
}

int
linux_record_finish(
    struct linux_record *record, struct bundle_info *info, struct tz_error *err)
{
	struct machine *machine = linux_guest_machine(record->guest);
	struct bundle_writer *writer = record->writer;
	size_t count;
	const char *console = linux_guest_console_text(record->guest, &count);
	int error;

	machine_sync_output(machine);
	for (unsigned i = 0; i < record->cpu_count; i++) {
		struct machine_counters counters;

		/* The writer keeps an error of the log until it finishes. */
		(void)exec_log_flush(record->exec_log[i]);
		machine_counters(machine, i, &counters);
		info->cpu[i] = (struct bundle_counters){ counters.insns,
			counters.trace_bytes, counters.pmis, counters.nmis };
	}
	error = record_end(record->record);
	if (error != 0 && bundle_error(writer, err) == 0)
		return tz_error(err, TZ_EIO, "out of memory");
	(void)bundle_add_text(writer, "console.txt", console, count);
	info->cpu_count = record->cpu_count;
	record->writer = NULL;
	return bundle_finish(writer, info, err);
}
