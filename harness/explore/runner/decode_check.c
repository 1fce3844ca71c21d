#include "harness/explore/runner/decode_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "emu/base/exec_log.h"
#include "harness/explore/runner/runner_internal.h"
#include "harness/host/scratch.h"
#include "harness/load/boot.h"
#include "harness/record.h"
#include "traces/bundle/bundle_write.h"
#include "traces/verify/verify.h"

/* A run that is being recorded. */
struct recording {
	struct runner *runner;
	struct bundle_writer *writer;
	struct record *record;
	struct machine_observer observer;
	struct exec_log *exec_log[MACHINE_CPUS_MAX];
	struct runner_observer also; /* the caller's observer */
	char path[TREE_PATH_BYTES];  /* folder of the bundle; "": none yet */
};

static void
hear_event(void *arg, const struct event *event)
{
	struct recording *recording = arg;

	recording->observer.event(recording->observer.arg, event);
	if (recording->also.event != NULL)
		recording->also.event(recording->also.arg, event);
}

static void
hear_step(void *arg, const struct machine_step *step)
{
	struct recording *recording = arg;

	if (recording->also.step != NULL)
		recording->also.step(recording->also.arg, step);
}

static bool
begin_recording(struct recording *recording)
{
	struct runner *runner = recording->runner;
	struct machine *machine = runner_machine(runner);
	const struct boot *boot = runner_boot(runner);
	struct tz_error err;
	int error;

	if (scratch_folder(recording->path, &err) != 0) {
		recording->path[0] = '\0';
		return false;
	}
	error = bundle_create(
	    recording->path, runner_cpus(runner), &recording->writer, &err);
	recording->record = error != 0
	    ? NULL
	    : record_create(recording->writer, 1, false);
	if (recording->record == NULL)
		return false;
	record_set_ram(
	    recording->record, machine_ram(machine), RUNNER_RAM_BYTES);
	recording->observer = record_observer(recording->record);
	for (size_t i = 0; error == 0 && i < boot->image_count; i++)
		error = record_code(
		    recording->writer, &boot->image[i], machine_ram(machine));
	for (unsigned i = 0; error == 0 && i < runner_cpus(runner); i++) {
		recording->exec_log[i] = exec_log_create(bundle_exec_log_sink,
		    bundle_exec_log_arg(recording->writer, i));
		if (recording->exec_log[i] == NULL)
			return false;
		machine_set_exec_log(machine, i, recording->exec_log[i]);
	}
	return error == 0;
}

/* Stops recording: the bundle on disk has the data. */
static void
end_recording(struct recording *recording)
{
	for (unsigned i = 0; i < runner_cpus(recording->runner); i++) {
		machine_set_exec_log(
		    runner_machine(recording->runner), i, NULL);
		if (recording->exec_log[i] != NULL)
			(void)exec_log_flush(recording->exec_log[i]);
		exec_log_destroy(recording->exec_log[i]);
	}
}

static void
remove_recording(struct recording *recording)
{
	bundle_abandon(recording->writer);
	record_destroy(recording->record);
	if (recording->path[0] != '\0')
		scratch_drop(recording->path);
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

/* Reads the bundle back and compares it. */
static bool
compare(struct recording *recording, struct outcome *outcome)
{
	/* Every row of the byte accounting has its own rows in check.def. */
	const struct verify_options options = { .rows = UINT32_MAX };
	struct bundle_info info = { .driver = "explored" };
	const struct cpu_set *cpu_set = runner_cpu_set(recording->runner);
	struct verify_result result;
	struct bundle *bundle;
	struct tz_error err;
	int error = record_end(recording->record);

	record_models(&info, cpu_set);
	if (error == 0)
		error = bundle_finish(recording->writer, &info, &err);
	recording->writer = NULL;
	if (error != 0 || bundle_open(recording->path, &bundle, &err) != 0)
		return false;
	error = verify_bundle(bundle, &options, &result, &err);
	if (error == 0) {
		for (size_t i = 0; i < result.stream_count; i++)
			add_difference(
			    recording->runner, outcome, &result.streams[i]);
		verify_result_free(&result);
	}
	bundle_close(bundle);
	return error == 0;
}

bool
decode_check_run(struct trial *trial, const struct schedule *schedule,
    const struct runner_observer *observer, enum machine_stepping stepping,
    struct outcome *outcome)
{
	struct recording *recording = calloc(1, sizeof(*recording));
	const struct runner_observer both = { recording, hear_event,
		hear_step };
	bool compared = false;

	if (recording == NULL)
		return false;
	recording->runner = trial->runner;
	if (observer != NULL)
		recording->also = *observer;
	compared = begin_recording(recording);
	runner_observe(trial->runner, compared ? &both : observer, stepping);
	trial_run(trial, schedule, outcome);
	runner_observe(trial->runner, NULL, STEPPING_NONE);
	end_recording(recording);
	compared = compared && outcome->how == OUTCOME_WHOLE &&
	    outcome->end == MACHINE_EXIT && compare(recording, outcome);
	remove_recording(recording);
	free(recording);
	return compared;
}

void
decode_check_sample(struct trial *trial, struct rank rank,
    const struct schedule *schedule, struct stats *stats)
{
	const uint32_t key[3] = { rank.area, rank.first, rank.second };
	struct outcome outcome;

	if (XXH3_64bits(key, sizeof(key)) % DECODER_LINE_EVERY != 0 ||
	    !decode_check_run(trial, schedule, NULL, STEPPING_NONE, &outcome))
		return;
	stats->area[rank.area].decoded++;
	if (decode_check_differs(&outcome))
		stats_add(stats, rank, schedule, &outcome, &trial->base);
}
