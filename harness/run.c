#define _GNU_SOURCE
#include "harness/run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/abi.h"
#include "emu/profile/mix.h"
#include "emu/truth.h"
#include "harness/build_set.h"
#include "harness/load/boot.h"
#include "harness/load/elf.h"
#include "harness/load/symbols.h"
#include "harness/manifest/manifest.h"
#include "harness/plan.h"
#include "harness/record.h"
#include "traces/bundle_write.h"

/* All that a run holds; zero members are absent ones. */
struct run {
	const struct run_options *options;
	struct run_outcome *outcome;
	struct plan plan;
	struct build_set set;
	struct bundle_writer *writer;
	struct record *record;
	struct machine_observer recorder;
	struct machine *machine;
	struct script *script; /* the owner's configuration */
	struct truth *truth[MACHINE_CPUS_MAX];
	struct boot boot;
};

/* The owner asks what to hand over; what the driver says of it may go no further. */
static void
run_event(void *arg, const struct event *event)
{
	struct run *run = arg;
	struct run_outcome *outcome = run->outcome;

	if (event->kind == EVENT_SCRIPT && event->b >= sizeof(*run->script) &&
	    event->a <= PLAN_RAM_BYTES - sizeof(*run->script))
		memcpy(machine_ram(run->machine) + event->a, run->script,
		    sizeof(*run->script));
	if (event->kind == EVENT_DROPPED &&
	    event->a == ABI_DROPPED_CONFIGURE &&
	    outcome->refused_count++ == 0) {
		outcome->refused_error = (int)(int64_t)event->b;
		outcome->refused_cpu = event->c;
	}
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
		.tsc_hz = profile_tsc_hz(profile_mix_of(&run->plan.mix, 0)),
	};
	const struct machine_config config = {
		.mix = &run->plan.mix,
		.cpu_count = run->options->cpu_count,
		.ram_bytes = PLAN_RAM_BYTES,
		.single_step = run->options->single_step,
		.core_cbr = run->options->core_cbr,
		.pt_cycles = run->options->pt_cycles,
	};
	struct machine_observer observer = { .arg = run,
		.event = run_event,
		.console = run_console };
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
		return error;
	error = elf_object_bytes(image, &bytes, &count, err);
	if (error != 0)
		return error;
	error = bundle_add_object(run->writer, image->name, 0, bytes, count);
	free(bytes);
	return error;
}

static int
run_truth(struct run *run, struct tz_error *err)
{
	unsigned i;

	for (i = 0; run->options->truth && i < run->options->cpu_count; i++) {
		run->truth[i] = truth_create(
		    bundle_truth_sink, bundle_truth_arg(run->writer, i));
		if (run->truth[i] == NULL)
			return tz_error(err, TZ_EIO, "out of memory");
		machine_set_truth(run->machine, i, run->truth[i]);
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

	/* A return address stands after the call: name the call. */
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

	/* Should the bundle fail, its writer says so when it finishes. */
	(void)bundle_add_text(run->writer, "console.txt", console, bytes);
	last = bytes < RUN_CONSOLE_BYTES ? bytes : RUN_CONSOLE_BYTES - 1;
	memcpy(run->outcome->console, console + bytes - last, last);
	run->outcome->console[last] = '\0';
}

/* What ended the run, in the words of the guest's sources. */
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
		cpu->wraps = record_wraps(run->record, i);
		cpu->pt_errors = record_pt_errors(run->record, i);
		snprintf(cpu->pt_error, sizeof(cpu->pt_error), "%s",
		    text != NULL ? text : "");
	}
}

/* Executes; what it wrote is in the record, its end in the outcome. */
static int
run_execute(struct run *run, struct tz_error *err)
{
	size_t i;
	int error = run_truth(run, err);

	for (i = 0; error == 0 && i < run->boot.image_count; i++)
		error = add_image(run, &run->boot.image[i], err);
	if (error != 0)
		return error;
	machine_boot(
	    run->machine, run->boot.entry, run->boot.info_va, run->boot.cr3);
	machine_run(
	    run->machine, run->options->insns_max, &run->outcome->result);
	machine_sync_output(run->machine);
	/* Errors of truth and record stay in the writer until it finishes. */
	for (i = 0; i < run->options->cpu_count; i++)
		if (run->truth[i] != NULL)
			(void)truth_flush(run->truth[i]);
	if (record_end(run->record) == -TZ_EIO)
		snprintf(err->text, sizeof(err->text), "%s: cannot be written",
		    run->options->output);
	run_explain(run);
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
	record_models(&info, &run->plan.mix);
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

static void
run_close(struct run *run)
{
	unsigned i;

	for (i = 0; i < MACHINE_CPUS_MAX; i++)
		truth_destroy(run->truth[i]);
	bundle_abandon(run->writer);
	boot_free(&run->boot);
	machine_destroy(run->machine);
	record_destroy(run->record);
	build_set_free(&run->set);
	free(run->script);
	plan_free(&run->plan);
}

/* A model for a CPU that the machine has not is a mistake. */
static int
check_mix(const struct run *run, struct tz_error *err)
{
	unsigned models = run->plan.mix.count;

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

	if (error == 0)
		error = check_mix(run, err);
	if (error == 0)
		error = run_script(run, err);
	if (error == 0)
		memcpy(run->outcome->models, run->plan.mix.text,
		    sizeof(run->outcome->models));
	if (error == 0)
		error = bundle_create(
		    options->output, options->cpu_count, &run->writer, err);
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

	*outcome = (struct run_outcome){ .cpu_count = 0 };
	error = run_open(&run, err);
	if (error == 0)
		error = run_execute(&run, err);
	if (error == 0)
		error = run_finish(&run, err);
	run_close(&run);
	return error;
}

int
run_exit_code(const struct run_outcome *outcome)
{
	unsigned i;

	if (outcome->result.end == MACHINE_ENGINE)
		return 70;
	if (outcome->result.end == MACHINE_UNMODELLED)
		return 6;
	if (outcome->result.end != MACHINE_EXIT || outcome->result.code != 0)
		return 1;
	if (outcome->refused_count != 0)
		return 1;
	for (i = 0; i < outcome->cpu_count; i++)
		if (outcome->cpu[i].pt_errors != 0)
			return 1;
	return 0;
}
