#define _GNU_SOURCE
#include "harness/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/exec_log.h"
#include "emu/guest_abi.h"
#include "emu/profile/cpu_set.h"
#include "harness/build_set.h"
#include "harness/check/check.h"
#include "harness/guest/sys.h"
#include "harness/host/folder/output.h"
#include "harness/host/stop.h"
#include "harness/load/boot.h"
#include "harness/load/elf/elf.h"
#include "harness/load/elf/symbols.h"
#include "harness/manifest/manifest.h"
#include "harness/plan.h"
#include "harness/progress.h"
#include "harness/record.h"
#include "traces/bundle/bundle_write.h"

/* All resources of a run; a zero member is absent. */
struct run {
	const struct run_options *options;
	struct run_outcome *outcome;
	struct plan plan;
	struct build_set set;
	struct output *output;
	struct bundle_writer *writer;
	struct record *record;
	struct machine_observer recorder;
	struct machine *machine;
	struct script *script; /* the owner's configuration */
	struct exec_log *exec_log[MACHINE_CPUS_MAX];
	struct boot boot;
};

static bool
run_is_stopped(void *arg)
{
	(void)arg;
	return stop_requested();
}

/*
 * Passes the configuration to the owner; notes the driver's refusal if the kernel drops
 * it, and counters that stand still.
 */
static void
run_event(void *arg, const struct event *event)
{
	struct run *run = arg;
	struct run_outcome *outcome = run->outcome;

	if (event->kind == EVENT_SCRIPT && event->b >= sizeof(*run->script) &&
	    event->a <= PLAN_RAM_BYTES - sizeof(*run->script))
		memcpy(machine_ram(run->machine) + event->a, run->script,
		    sizeof(*run->script));
	if (event->kind == EVENT_DROPPED && event->a == ABI_DROPPED_CONFIGURE &&
	    outcome->refused_count++ == 0) {
		outcome->refused_error = (int)(int64_t)event->b;
		outcome->refused_cpu = event->c;
	}
	if (event->kind == EVENT_COUNTER_UNKNOWN &&
	    outcome->cpu[event->cpu].uncounted++ == 0)
		outcome->cpu[event->cpu].uncounted_select = event->b;
	outcome->cpu[event->cpu].branch_records += event->kind ==
	    EVENT_BTS_RECORD;
	run->recorder.event(run->recorder.arg, event);
}

static void
run_console(void *arg, char c)
{
	struct run *run = arg;

	run->recorder.console(run->recorder.arg, c);
}

static int
run_script(struct run *run, struct tz_error *err)
{
	const struct run_options *options = run->options;
	struct manifest *manifest;
	int error = manifest_read(options->drivers != NULL
		? options->drivers
		: run->plan.paths.drivers,
	    options->driver, &manifest, err);

	if (error != 0)
		return error;
	run->script = calloc(1, sizeof(*run->script));
	if (run->script == NULL)
		error = tz_error(err, TZ_EIO, "out of memory");
	else
		error = manifest_run_script(manifest, run->plan.cmdline,
		    options->cpu_count, run->script, err);
	manifest_free(manifest);
	return error;
}

static int
run_load(struct run *run, struct tz_error *err)
{
	const struct boot_request request = {
		.kernel = paths_kernel(&run->plan.paths, run->plan.driver.os),
		.module = run->set.part,
		.module_count = run->set.count,
		.program = run->plan.paths.program,
		.program_count = run->plan.paths.program_count,
		.cmdline = run->plan.cmdline,
		.cpu_count = run->options->cpu_count,
		.tsc_hz = profile_tsc_hz(cpu_set_of(&run->plan.cpu_set, 0)),
	};
	const struct machine_config config = {
		.cpu_set = &run->plan.cpu_set,
		.cpu_count = run->options->cpu_count,
		.ram_bytes = PLAN_RAM_BYTES,
		.single_step = run->options->single_step,
		.core_cbr = run->options->core_cbr,
		.pt_cycles = run->options->pt_cycles,
	};
	struct machine_observer observer = { .arg = run,
		.event = run_event,
		.console = run_console,
		.stop = run_is_stopped };
	int error;

	run->recorder = record_observer(run->record);
	error = machine_create(&config, &observer, &run->machine, err);
	if (error != 0)
		return error;
	record_set_ram(run->record, machine_ram(run->machine), PLAN_RAM_BYTES);
	return boot_load(&request, machine_ram(run->machine), PLAN_RAM_BYTES,
	    &run->boot, err);
}

static int
add_image(struct run *run, const struct image *image, struct tz_error *err)
{
	const uint8_t *ram = machine_ram(run->machine);
	uint8_t *bytes;
	size_t count;
	int error = record_code(run->writer, image, ram);

	if (error != 0)
		return bundle_error(run->writer, err);
	error = elf_object_bytes(image, &bytes, &count, err);
	if (error != 0)
		return error;
	error = bundle_add_object(run->writer, image->name, 0, bytes, count);
	free(bytes);
	return error != 0 ? bundle_error(run->writer, err) : 0;
}

static int
run_exec_log(struct run *run, struct tz_error *err)
{
	unsigned i;

	for (i = 0; run->options->exec_log && i < run->options->cpu_count;
	     i++) {
		run->exec_log[i] = exec_log_create(
		    bundle_exec_log_sink, bundle_exec_log_arg(run->writer, i));
		if (run->exec_log[i] == NULL)
			return tz_error(err, TZ_EIO, "out of memory");
		machine_set_exec_log(run->machine, i, run->exec_log[i]);
	}
	return 0;
}

struct frame_walk {
	struct run *run;
	struct symbols *symbols;
};

static bool
read_guest(void *arg, uint64_t va, void *bytes, size_t count)
{
	const struct frame_walk *walk = arg;

	return machine_read(walk->run->machine, walk->run->outcome->result.cpu,
	    (struct gva){ va }, bytes, count);
}

static void
keep_frame(void *arg, unsigned level, uint64_t rip)
{
	const struct frame_walk *walk = arg;
	struct run_outcome *outcome = walk->run->outcome;

	/* A return address is after the call; use an address in the call. */
	if (level != 0)
		rip--;
	symbols_format(walk->symbols, rip, NULL, outcome->frame[level],
	    sizeof(outcome->frame[level]));
	if (level == 0)
		memcpy(
		    outcome->where, outcome->frame[0], sizeof(outcome->where));
	outcome->frame_count = level + 1;
}

static void
keep_console(struct run *run)
{
	size_t bytes, last;
	const char *console = record_console(run->record, &bytes);

	/* The bundle's writer keeps an error and returns it when it finishes. */
	(void)bundle_add_text(run->writer, "console.txt", console, bytes);
	last = bytes < RUN_CONSOLE_BYTES ? bytes : RUN_CONSOLE_BYTES - 1;
	memcpy(run->outcome->console, console + bytes - last, last);
	run->outcome->console[last] = '\0';
}

/* Describes the end of the run by symbols and lines of the guest's sources. */
static void
run_explain(struct run *run)
{
	struct run_outcome *outcome = run->outcome;
	struct frame_walk walk = { .run = run };
	unsigned i;

	walk.symbols = symbols_create(run->boot.image, run->boot.image_count);
	if (walk.symbols != NULL && outcome->result.end != MACHINE_EXIT) {
		symbols_backtrace(outcome->result.rip, outcome->result.rbp,
		    RUN_FRAMES_MAX, read_guest, keep_frame, &walk);
	}
	symbols_destroy(walk.symbols);
	keep_console(run);
	outcome->cpu_count = run->options->cpu_count;
	for (i = 0; i < outcome->cpu_count; i++) {
		struct run_cpu *cpu = &outcome->cpu[i];
		const char *text = machine_pt_error_text(run->machine, i);

		machine_counters(run->machine, i, &cpu->counters);
		if (cpu->counters.unknown_cost != NULL)
			snprintf(cpu->unknown_cost, sizeof(cpu->unknown_cost),
			    "%s", cpu->counters.unknown_cost);
		cpu->counters.unknown_cost = NULL; /* it is the machine's */
		cpu->wraps = record_wraps(run->record, i);
		cpu->pt_errors = record_pt_errors(run->record, i);
		snprintf(cpu->pt_error, sizeof(cpu->pt_error), "%s",
		    text != NULL ? text : "");
	}
}

uint64_t
run_limit(const struct run_options *options)
{
	const uint64_t base = 300000000, factor = 1000, most = INT64_MAX;
	uint64_t each = factor * SYS_ROUND_INSNS * options->cpu_count;

	if (options->insns_max != RUN_LIMIT_BY_WORK)
		return options->insns_max;
	if (strstr(options->settings, "insns=") != NULL ||
	    options->rounds > (most - base) / each)
		return most;
	return base + options->rounds * each;
}

/* Executes the guest; the record gets its output, the outcome its end. */
static int
run_execute(struct run *run, struct tz_error *err)
{
	struct run_outcome *outcome = run->outcome;
	struct machine_snapshot *begin;
	size_t i;
	int error = run_exec_log(run, err);

	for (i = 0; error == 0 && i < run->boot.image_count; i++)
		error = add_image(run, &run->boot.image[i], err);
	if (error != 0)
		return error;
	machine_boot(
	    run->machine, run->boot.entry, run->boot.info_va, run->boot.cr3);
	/*
	 * From a snapshot on the machine knows which pages are written, and at a load of
	 * CR3 it compares the code of those alone.  NULL: of all.
	 */
	begin = machine_snapshot_take(run->machine, NULL);
	outcome->waits = progress_run(run->machine, run->options->cpu_count,
	    run_limit(run->options), &outcome->result);
	machine_snapshot_free(run->machine, begin);
	machine_sync_output(run->machine);
	/* Errors of the execution log and record stay in the writer until it finishes. */
	for (i = 0; i < run->options->cpu_count; i++)
		if (run->exec_log[i] != NULL)
			(void)exec_log_flush(run->exec_log[i]);
	error = record_end(run->record);
	run_explain(run);
	if (error != 0 && bundle_error(run->writer, err) == 0)
		return tz_error(err, TZ_EIO, "out of memory");
	return 0;
}

static const char *
end_name(enum machine_end end)
{
	static const char *const names[] = {
		[MACHINE_EXIT] = "exit",
		[MACHINE_PANIC] = "panic",
		[MACHINE_UNMODELLED] = "unmodelled",
		[MACHINE_TRIPLE_FAULT] = "triple fault",
		[MACHINE_DEADLOCK] = "deadlock",
		[MACHINE_LIMIT] = "limit",
		[MACHINE_STOP] = "stop",
		[MACHINE_ENGINE] = "engine",
		[MACHINE_OFF] = "power off",
		[MACHINE_RESET] = "reset",
	};

	TZ_ASSERT(end < TZ_ARRAY_LEN(names));
	return names[end];
}

static int
run_finish(struct run *run, struct tz_error *err)
{
	const struct run_outcome *outcome = run->outcome;
	const char *source = run->options->source != NULL
	    ? run->options->source
	    : run->plan.driver.source[0];
	const char *slash = strrchr(source, '/');
	struct bundle_writer *writer = run->writer;
	struct bundle_info info = { .core_cbr = run->options->core_cbr,
		.cpu_count = outcome->cpu_count,
		.code = outcome->result.code };
	unsigned i;

#define COPY(field, ...) snprintf(info.field, sizeof(info.field), __VA_ARGS__)
	COPY(driver, "%s", run->plan.driver.name);
	COPY(source, "%s", slash != NULL ? slash + 1 : source);
	COPY(sha256, "%s", outcome->sha256);
	COPY(scenario, "%.*s", BUNDLE_NAME_BYTES - 1, run->options->workload);
	COPY(cmdline, "%s", run->plan.cmdline);
	COPY(end, "%s", end_name(outcome->result.end));
	COPY(text, "%s", outcome->result.text);
#undef COPY
	record_models(&info, &run->plan.cpu_set);
	for (i = 0; i < outcome->cpu_count; i++) {
		const struct machine_counters *from = &outcome->cpu[i].counters;

		info.cpu[i] = (struct bundle_counters){ .insns = from->insns,
			.trace_bytes = from->trace_bytes,
			.pmis = from->pmis,
			.nmis = from->nmis };
	}
	run->writer = NULL;
	return bundle_finish(writer, &info, err);
}

/* Moves the complete bundle to the output path. */
static int
run_publish(struct run *run, struct tz_error *err)
{
	struct output *output = run->output;

	run->output = NULL;
	return output_publish(output, err);
}

static void
run_close(struct run *run)
{
	unsigned i;

	for (i = 0; i < MACHINE_CPUS_MAX; i++)
		exec_log_destroy(run->exec_log[i]);
	bundle_abandon(run->writer);
	output_abandon(run->output);
	boot_free(&run->boot);
	machine_destroy(run->machine);
	record_destroy(run->record);
	build_set_free(&run->set);
	free(run->script);
	plan_free(&run->plan);
}

/* There may not be more models than CPUs. */
static int
check_mix(const struct run *run, struct tz_error *err)
{
	unsigned models = run->plan.cpu_set.count;

	if (models <= run->options->cpu_count)
		return 0;
	return tz_error(err, TZ_EUSAGE,
	    "--profile %s: %u models, but --cpus %u", run->options->profile,
	    models, run->options->cpu_count);
}

static int
run_open(struct run *run, struct tz_error *err)
{
	const struct run_options *options = run->options;
	int error = plan_make(&run->plan, options, err);

	run->outcome->no_trace = error == 0 && run->plan.driver.no_trace;
	if (error == 0)
		error = check_mix(run, err);
	if (error == 0)
		error = run_script(run, err);
	if (error == 0)
		run->outcome->thread_mode = run->plan.thread_mode;
	if (error == 0)
		memcpy(run->outcome->models, run->plan.cpu_set.text,
		    sizeof(run->outcome->models));
	if (error == 0)
		error = output_claim(
		    options->output, OUTPUT_BUNDLE, &run->output, err);
	if (error == 0)
		error = bundle_create(output_new(run->output),
		    options->cpu_count, &run->writer, err);
	if (error == 0)
		error = build_set_make(&run->set, &run->plan.driver, options,
		    run->plan.paths.source, run->outcome->sha256, err);
	if (error != 0)
		return error;
	run->record = record_create(
	    run->writer, options->buffer_bytes, options->verbose);
	if (run->record == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	return run_load(run, err);
}

int
run_driver(const struct run_options *options, struct run_outcome *outcome,
    struct tz_error *err)
{
	struct run run = { .options = options, .outcome = outcome };
	int error;

	memset(outcome, 0, sizeof(*outcome));
	error = run_open(&run, err);
	if (error == 0)
		error = run_execute(&run, err);
	/* A run that was stopped ended at an arbitrary instruction: no bundle. */
	if (error == 0 && !run_was_stopped(outcome)) {
		error = run_finish(&run, err);
		if (error == 0)
			error = run_publish(&run, err);
	}
	if (error != 0 && run.output != NULL)
		output_rename(run.output, err);
	run_close(&run);
	return error;
}

bool
run_was_stopped(const struct run_outcome *outcome)
{
	return outcome->result.end == MACHINE_STOP;
}

/* The verdict on a guest that shut down by itself. */
static enum run_verdict
judge_exit(const struct run_outcome *outcome, const char **reason)
{
	uint64_t errors = 0, written = 0;

	for (unsigned i = 0; i < outcome->cpu_count; i++) {
		errors += outcome->cpu[i].pt_errors;
		written += outcome->cpu[i].counters.trace_bytes +
		    outcome->cpu[i].branch_records;
	}
	*reason = "the guest shut down with an error";
	if (outcome->result.code != 0)
		return RUN_FAILED;
	*reason = "a ToPA operational error";
	if (errors != 0)
		return RUN_FAILED;
	*reason = "the driver refused the configuration";
	if (outcome->refused_count != 0)
		return RUN_FAILED;
	*reason = "not one byte of trace was written, and no branch record";
	if (written == 0 && !outcome->no_trace)
		return RUN_NOT_JUDGED;
	*reason = "";
	return RUN_PASSED;
}

static enum run_verdict
judge(const struct run_outcome *outcome, const char **reason)
{
	bool no_memory;

	switch (outcome->result.end) {
	case MACHINE_EXIT:
		return judge_exit(outcome, reason);
	case MACHINE_PANIC:
		no_memory = check_is_memory_panic(outcome->result.text);
		*reason = no_memory ? "the guest's memory is used up" : "panic";
		return no_memory ? RUN_NOT_JUDGED : RUN_FAILED;
	case MACHINE_UNMODELLED:
		*reason = "not modelled";
		return RUN_NOT_JUDGED;
	case MACHINE_TRIPLE_FAULT:
		*reason = "triple fault";
		return RUN_FAILED;
	case MACHINE_DEADLOCK:
		*reason = "deadlock";
		return RUN_FAILED;
	case MACHINE_LIMIT:
		*reason = outcome->waits ? "an operation waits without end"
					 : "not finished within --limit";
		return outcome->waits ? RUN_FAILED : RUN_NOT_JUDGED;
	case MACHINE_STOP:
		*reason = "stopped";
		return RUN_NOT_JUDGED;
	case MACHINE_ENGINE:
		*reason = "the emulator failed";
		return RUN_NOT_JUDGED;
	case MACHINE_OFF: /* the last two: of a board only */
	case MACHINE_RESET:
		break;
	}
	TZ_ASSERT(false);
	return RUN_NOT_JUDGED;
}

enum run_verdict
run_verdict(const struct run_outcome *outcome)
{
	const char *reason;

	return judge(outcome, &reason);
}

const char *
run_reason(const struct run_outcome *outcome)
{
	const char *reason;

	(void)judge(outcome, &reason);
	return reason;
}
