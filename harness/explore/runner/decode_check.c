#include "harness/explore/runner/decode_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/exec_log.h"
#include "emu/guest_abi.h"
#include "harness/explore/runner/runner.h"
#include "harness/host/folder/scratch.h"
#include "harness/load/boot.h"
#include "harness/record.h"
#include "traces/bundle/bundle_write.h"
#include "traces/verify/verify.h"

#define READS_MAX 64

struct decode_check {
	struct runner *runner;
	/* The driver's last instruction on each CPU, if the run is stepped. */
	uint64_t last[MACHINE_CPUS_MAX];
	/* Where it was each time user space had read a counter, and the driver's log. */
	uint64_t read_at[READS_MAX], log_at;
	unsigned read_count;
	struct bundle_writer *writer;
	struct record *record;
	struct machine_observer observer;
	struct exec_log *exec_log[MACHINE_CPUS_MAX];
	struct runner_observer also; /* the caller's observer */
	char path[TREE_PATH_BYTES];  /* folder of the bundle; "": none yet */
	bool recorded;               /* the recording began without error */
};

static void
on_event(void *arg, const struct event *event)
{
	struct decode_check *check = arg;

	if (event->kind == EVENT_COUNTER && event->b == ABI_COUNTER_READ &&
	    check->read_count < READS_MAX)
		check->read_at[check->read_count++] = check->last[event->cpu];
	if (event->kind == EVENT_LOG_READ)
		check->log_at = check->last[event->cpu];
	check->observer.event(check->observer.arg, event);
	if (check->also.event != NULL)
		check->also.event(check->also.arg, event);
}

static void
on_step(void *arg, const struct machine_step *step)
{
	struct decode_check *check = arg;

	if (runner_in_driver(check->runner, step->rip))
		check->last[step->cpu] = step->rip;
	if (check->also.step != NULL)
		check->also.step(check->also.arg, step);
}

static bool
begin_recording(struct decode_check *check)
{
	struct runner *runner = check->runner;
	struct machine *machine = runner_machine(runner);
	const struct boot *boot = runner_boot(runner);
	struct tz_error err;
	int error;

	if (scratch_folder(check->path, &err) != 0) {
		check->path[0] = '\0';
		return false;
	}
	error = bundle_create(
	    check->path, runner_cpus(runner), &check->writer, &err);
	check->record = error != 0 ? NULL
				   : record_create(check->writer, 1, false);
	if (check->record == NULL)
		return false;
	record_set_ram(check->record, machine_ram(machine), RUNNER_RAM_BYTES);
	check->observer = record_observer(check->record);
	for (size_t i = 0; error == 0 && i < boot->image_count; i++)
		error = record_code(
		    check->writer, &boot->image[i], machine_ram(machine));
	for (unsigned i = 0; error == 0 && i < runner_cpus(runner); i++) {
		check->exec_log[i] = exec_log_create(bundle_exec_log_sink,
		    bundle_exec_log_arg(check->writer, i));
		if (check->exec_log[i] == NULL)
			return false;
		machine_set_exec_log(machine, i, check->exec_log[i]);
	}
	return error == 0;
}

/* Stops recording: the bundle on disk has the data. */
static void
end_recording(struct decode_check *check)
{
	for (unsigned i = 0; i < runner_cpus(check->runner); i++) {
		machine_set_exec_log(runner_machine(check->runner), i, NULL);
		if (check->exec_log[i] != NULL)
			(void)exec_log_flush(check->exec_log[i]);
		exec_log_destroy(check->exec_log[i]);
	}
}

static void
remove_recording(struct decode_check *check)
{
	bundle_abandon(check->writer);
	record_destroy(check->record);
	if (check->path[0] != '\0')
		scratch_drop(check->path);
}

bool
decode_check_differs(const struct outcome *outcome)
{
	for (unsigned i = 0; i < outcome->count; i++) {
		if (outcome->violation[i].violation.id == CHECK_DECODED)
			return true;
	}
	return false;
}

static void
add_difference(struct runner *runner, struct outcome *outcome,
    const struct verify_stream *stream)
{
	const struct verify_difference *difference = &stream->difference;
	struct check_violation violation = { .id = CHECK_DECODED,
		.step = CHECK_NO_STEP,
		.stream = CHECK_NO_STREAM };
	char executed[24] = "nothing", decoded[24] = "nothing";

	if (!difference->found || decode_check_differs(outcome))
		return;
	if (difference->has_executed)
		snprintf(executed, sizeof(executed), "%#" PRIx64,
		    difference->executed);
	if (difference->has_decoded)
		snprintf(
		    decoded, sizeof(decoded), "%#" PRIx64, difference->decoded);
	snprintf(violation.text, sizeof(violation.text),
	    "%s: %s was executed, %s is decoded, instruction %" PRIu64
	    " of the trace: %.60s",
	    stream->name, executed, decoded, difference->index,
	    difference->cause);
	outcome_add(runner, outcome, &violation);
}

/* The branch records of a process. */
static void
add_records(struct runner *runner, struct outcome *outcome,
    const struct verify_records *records)
{
	struct check_violation violation = { .id = CHECK_DECODED,
		.step = CHECK_NO_STEP,
		.stream = CHECK_NO_STREAM };

	if (records->differences == 0 || decode_check_differs(outcome))
		return;
	snprintf(violation.text, sizeof(violation.text), "%.*s",
	    (int)sizeof(violation.text) - 1, records->difference);
	outcome_add(runner, outcome, &violation);
}

/* A performance counter: what user space read of it, and whether it was on. */
static void
add_counter(const struct decode_check *check, struct outcome *outcome,
    const struct verify_counter *counter)
{
	struct check_violation violation = { .id = CHECK_DECODED,
		.step = CHECK_NO_STEP,
		.stream = CHECK_NO_STREAM };
	uint64_t at = check->log_at;

	if (counter->differences == 0 || decode_check_differs(outcome))
		return;
	if (counter->wrong_read != 0)
		at = counter->wrong_read <= check->read_count
		    ? check->read_at[counter->wrong_read - 1]
		    : 0;
	violation.blame = (struct check_site){ at, at };
	snprintf(violation.object, sizeof(violation.object), "%s",
	    counter->wrong_read != 0 ? "value of a counter"
				     : "log of counters");
	snprintf(violation.text, sizeof(violation.text), "%.*s",
	    (int)sizeof(violation.text) - 1, counter->difference);
	outcome_add(check->runner, outcome, &violation);
}

/* Reads the bundle back and compares it. */
static bool
compare(struct decode_check *check, struct outcome *outcome)
{
	/* Every row of the byte accounting has its own rows in check.def. */
	const struct verify_options options = { .rows = UINT32_MAX };
	struct bundle_info info = { .driver = "explored" };
	const struct cpu_set *cpu_set = runner_cpu_set(check->runner);
	struct verify_result result;
	struct bundle *bundle;
	struct tz_error err;
	int error = record_end(check->record);

	record_models(&info, cpu_set);
	if (error == 0)
		error = bundle_finish(check->writer, &info, &err);
	check->writer = NULL;
	if (error != 0 || bundle_open(check->path, &bundle, &err) != 0)
		return false;
	error = verify_bundle(bundle, &options, &result, &err);
	if (error == 0) {
		outcome->untraced = result.nothing;
		for (size_t i = 0; i < result.stream_count; i++)
			add_difference(
			    check->runner, outcome, &result.streams[i]);
		for (size_t i = 0; i < result.record_count; i++)
			add_records(check->runner, outcome, &result.records[i]);
		for (size_t i = 0; i < result.counter_count; i++)
			add_counter(check, outcome, &result.counters[i]);
		verify_result_free(&result);
	}
	bundle_close(bundle);
	return error == 0;
}

struct decode_check *
decode_check_begin(struct runner *runner,
    const struct runner_observer *observer, enum machine_stepping stepping)
{
	struct decode_check *check = calloc(1, sizeof(*check));
	const struct runner_observer both = { check, on_event, on_step };

	if (check == NULL)
		return NULL;
	check->runner = runner;
	if (observer != NULL)
		check->also = *observer;
	check->recorded = begin_recording(check);
	runner_observe(runner, check->recorded ? &both : observer, stepping);
	for (unsigned i = 0; check->recorded && i < runner_cpus(runner); i++)
		machine_tell_monitors(runner_machine(runner), i);
	return check;
}

bool
decode_check_end(struct decode_check *check, struct outcome *outcome)
{
	bool compared;

	runner_observe(check->runner, NULL, STEPPING_NONE);
	end_recording(check);
	compared = check->recorded && outcome->how == OUTCOME_WHOLE &&
	    outcome->end == MACHINE_EXIT && compare(check, outcome);
	remove_recording(check);
	free(check);
	return compared;
}
