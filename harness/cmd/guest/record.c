/*
 * topaz record, and topaz run linux-pt: perf record in a stock Linux kernel, with the
 * ground truth.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/profile/cpu_set.h"
#include "harness/boot/image/kernel_package.h"
#include "harness/boot/linux_record.h"
#include "harness/cmd/cmd.h"
#include "harness/cmd/guest/guest_options.h"
#include "harness/cmd/guest/guest_run.h"
#include "harness/host/folder/output.h"
#include "harness/host/stop.h"
#include "harness/load/build.h"
#include "harness/record.h"
#include "traces/bundle/bundle.h"

#define EVENT_DEFAULT "intel_pt//u"
#define GUEST_FILE    "/tmp/perf.data"
#define TEXT_BYTES    4096

enum {
	OPT_KERNEL = 0x100,
	OPT_WORKLOAD,
	OPT_PERF,
	OPT_STAT,
	OPT_SCRIPT,
	OPT_TRACE,
};

/* A file of the guest with what user space has of a stream (emu/base/event.h). */
struct trace_file {
	uint64_t stream;
	const char *path;
};

struct record_input {
	struct guest_options options;
	const char *output, *workload;
	const char *perf, *stat; /* the latter: NULL, or what to count */
	struct trace_file trace[LINUX_GUEST_FILES_MAX];
	size_t trace_count;
	bool named; /* "linux-pt" of topaz run */
	char kernel[TREE_PATH_BYTES];
	char program[PATH_MAX]; /* of .workload, with its whole path */
	char text[TEXT_BYTES];  /* the guest's script */
};

static const struct argp_option record_options[] = {
	{ "kernel", OPT_KERNEL, "FILE", 0,
	    "The kernel, as of topaz boot " KERNEL_PACKAGE_HELP, 0 },
	{ "workload", OPT_WORKLOAD, "COMMAND", 0,
	    "Trace COMMAND, whose first word is a program of this host, found as "
	    "a shell finds it: it is copied into the guest with the shared "
	    "objects that it needs",
	    0 },
	{ "perf", OPT_PERF, "EVENT", 0,
	    "What to record (intel_pt//u), or, beginning with '-', options of "
	    "perf record",
	    0 },
	{ "stat", OPT_STAT, "EVENTS", 0,
	    "Count EVENTS by perf stat record instead (instructions:u,branches:u)",
	    0 },
	{ "run", OPT_SCRIPT, "SCRIPT", 0,
	    "Run SCRIPT in the guest instead; it writes /tmp/perf.data, or what "
	    "--trace names",
	    0 },
	{ "trace", OPT_TRACE, "STREAM=FILE", 0,
	    "With --run: SCRIPT writes the trace of STREAM, cpuN or threadN, "
	    "into the guest's FILE, as another driver than the kernel's own gave "
	    "it",
	    0 },
	{ "output", 'o', "DIR", 0, "Folder for the bundle (topaz.out)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

/* "cpu0=/tmp/trace"; false: TEXT is something else. */
static bool
parse_trace(char *text, struct trace_file *file)
{
	static const char *const kinds[] = { "cpu", "thread" };
	char *end;

	for (size_t i = 0; i < TZ_ARRAY_LEN(kinds); i++) {
		size_t length = strlen(kinds[i]);
		unsigned long id;

		if (strncmp(text, kinds[i], length) != 0 ||
		    text[length] < '0' || text[length] > '9')
			continue;
		id = strtoul(text + length, &end, 10);
		file->stream = id | (i != 0 ? EVENT_STREAM_THREAD : 0);
		file->path = end + 1;
		return end[0] == '=' && end[1] == '/' &&
		    id < (i != 0 ? UINT32_MAX : MACHINE_CPUS_MAX);
	}
	return false;
}

static void
take_trace(struct record_input *input, char *arg, struct argp_state *state)
{
	struct linux_guest_options *options = &input->options.guest;

	/* One of the files is perf.data. */
	if (options->get_count == LINUX_GUEST_FILES_MAX - 1)
		argp_error(state, "--trace: more than %d files",
		    LINUX_GUEST_FILES_MAX - 1);
	if (!parse_trace(arg, &input->trace[input->trace_count]))
		argp_error(state,
		    "--trace %s: neither cpuN=/FILE nor threadN=/FILE", arg);
	for (size_t i = 0; i < input->trace_count; i++)
		if (input->trace[i].stream ==
		    input->trace[input->trace_count].stream)
			argp_error(state,
			    "--trace %s: its stream has another file", arg);
	options->get[options->get_count++] =
	    input->trace[input->trace_count++].path;
}

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct record_input *input = state->input;
	struct linux_guest_options *options = &input->options.guest;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &input->options;
		return 0;
	case 'o':
		input->output = arg;
		return 0;
	case OPT_KERNEL:
		options->kernel = arg;
		return 0;
	case OPT_WORKLOAD:
		input->workload = arg;
		return 0;
	case OPT_PERF:
		input->perf = arg;
		return 0;
	case OPT_STAT:
		input->stat = arg;
		return 0;
	case OPT_SCRIPT:
		options->script = arg;
		return 0;
	case OPT_TRACE:
		take_trace(input, arg, state);
		return 0;
	case ARGP_KEY_ARG:
		if (strcmp(arg, "linux-pt") != 0 || input->named)
			argp_error(
			    state, "%s: --workload names the program", arg);
		input->named = true;
		return 0;
	case ARGP_KEY_END:
		if ((options->script == NULL) == (input->workload == NULL))
			argp_error(state,
			    "--workload COMMAND, or --run SCRIPT: what shall "
			    "it trace?");
		if (input->stat != NULL && input->perf != NULL)
			argp_error(state, "--perf or --stat, not both");
		for (size_t i = 0; i < input->trace_count; i++)
			if (!(input->trace[i].stream & EVENT_STREAM_THREAD) &&
			    input->trace[i].stream >= options->cpu_count)
				argp_error(state,
				    "--trace cpu%u: the guest has %u CPUs",
				    EVENT_STREAM_ID(input->trace[i].stream),
				    options->cpu_count);
		if (options->script == NULL && input->trace_count != 0)
			argp_error(state,
			    "--trace is for --run: the script writes the file");
		if (options->script != NULL &&
		    (input->stat != NULL || input->perf != NULL))
			argp_error(state,
			    "--perf and --stat are for --workload: with --run, "
			    "the script calls perf");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp cmd_record_argp = { record_options, parse_one, "[linux-pt]",
	"Boots a stock Linux kernel on the emulated machine, runs perf record "
	"in it, and writes a bundle: perf.data as perf wrote it, what every "
	"CPU executed and what its PT unit wrote.",
	guest_options_children, NULL, NULL };

/* The default of --kernel. */
static int
find_kernel(struct record_input *input, struct tz_error *err)
{
	int error = 0;

	if (input->options.guest.kernel == NULL) {
		error = kernel_package_find(input->kernel, err);
		input->options.guest.kernel = input->kernel;
	}
	return error;
}

/* The whole path of WORD, which is looked for as a shell does; false: errno says why. */
static bool
find_program(const char *word, char path[PATH_MAX])
{
	const char *folders = getenv("PATH");
	char name[PATH_MAX];

	if (strchr(word, '/') != NULL)
		return realpath(word, path) != NULL;
	for (const char *at = folders; at != NULL && *at != '\0';) {
		int length = (int)strcspn(at, ":");

		if ((size_t)snprintf(name, sizeof(name), "%.*s/%s", length, at,
			word) < sizeof(name) &&
		    access(name, X_OK) == 0)
			return realpath(name, path) != NULL;
		at += length + (at[length] == ':');
	}
	errno = ENOENT;
	return false;
}

/* TEXT may be NULL. */
static bool
has_line_break(const char *text)
{
	return text != NULL && strchr(text, '\n') != NULL;
}

/* The guest's command, without its output and workload.  False: it is too long. */
static bool
make_perf(const struct record_input *input, char text[TEXT_BYTES])
{
	const char *perf = input->perf != NULL ? input->perf : EVENT_DEFAULT;
	bool event = perf[0] != '-';

	if (input->stat != NULL)
		return (size_t)snprintf(text, TEXT_BYTES,
			   "perf stat record -e '%s'",
			   input->stat) < TEXT_BYTES;
	/* Of several CPUs, each sample and AUX record must name its own. */
	return (size_t)snprintf(text, TEXT_BYTES, "perf record %s%s%s%s",
		   input->options.guest.cpu_count > 1 ? "--sample-cpu " : "",
		   event ? "-e '" : "", perf, event ? "'" : "") < TEXT_BYTES;
}

/* The script of the guest: perf record of the workload. */
static int
make_script(struct record_input *input, struct tz_error *err)
{
	struct linux_guest_options *options = &input->options.guest;
	char word[PATH_MAX];
	size_t length;
	char perf[TEXT_BYTES];

	if (input->trace_count == 0)
		options->get[options->get_count++] = GUEST_FILE;
	if (options->script != NULL)
		return 0;
	length = strcspn(input->workload, " ");
	snprintf(word, sizeof(word), "%.*s", (int)length, input->workload);
	/* The same path in the guest, so that perf finds the file on this host, too. */
	if (!find_program(word, input->program))
		return tz_error(err, TZ_ENOENT, "--workload: %s: %s", word,
		    strerror(errno));
	if (has_line_break(input->workload) || has_line_break(input->perf) ||
	    has_line_break(input->stat))
		return tz_error(err, TZ_EUSAGE,
		    "--workload, --perf, --stat: a line break in it ends the "
		    "command");
	/* The watchdog's counter would have all that the guest does in the log. */
	if (options->put_count == LINUX_GUEST_FILES_MAX ||
	    !make_perf(input, perf) ||
	    (size_t)snprintf(input->text, sizeof(input->text),
		"#!/bin/sh\n"
		"echo 0 2>/dev/null >/proc/sys/kernel/nmi_watchdog\n"
		"cd /tmp\n%s -o " GUEST_FILE " -- '%s'%s\n",
		perf, input->program,
		input->workload + length) >= sizeof(input->text))
		return tz_error(err, TZ_EUSAGE,
		    "--workload, --perf, --stat: more than %d characters",
		    TEXT_BYTES);
	options->put[options->put_count++] =
	    (struct linux_guest_file){ input->program, input->program };
	options->script_text = input->text;
	return 0;
}

struct record_run {
	const struct record_input *input;
	struct linux_record *record;
	struct linux_guest *guest;
	struct bundle_info info;
};

static int
on_booted(void *arg, struct linux_guest *guest, struct tz_error *err)
{
	struct record_run *run = arg;

	return linux_record_begin(run->record, guest, err);
}

static int
describe(struct record_run *run, int code, struct tz_error *err)
{
	const struct record_input *input = run->input;
	const struct linux_guest_options *options = &input->options.guest;
	const char *slash = strrchr(options->kernel, '/');
	char kernel[PATH_MAX];
	char *paths[] = { kernel, NULL };
	struct bundle_info *info = &run->info;
	struct cpu_set cpu_set;
	int error;

	snprintf(kernel, sizeof(kernel), "%s", options->kernel);
	snprintf(info->driver, sizeof(info->driver), "linux-pt");
	snprintf(info->source, sizeof(info->source), "%.*s",
	    BUNDLE_NAME_BYTES - 1, slash != NULL ? slash + 1 : options->kernel);
	snprintf(info->scenario, sizeof(info->scenario), "%.*s",
	    BUNDLE_NAME_BYTES - 1,
	    input->workload != NULL ? input->workload : options->script);
	snprintf(info->cmdline, sizeof(info->cmdline), "%.*s",
	    (int)sizeof(info->cmdline) - 1,
	    input->stat != NULL           ? input->stat
		: input->perf != NULL     ? input->perf
		: options->script == NULL ? EVENT_DEFAULT
					  : "");
	snprintf(info->end, sizeof(info->end), "exit");
	info->code = code;
	error = linux_guest_cpu_set(options, &cpu_set, err);
	if (error != 0)
		return error;
	record_models(info, &cpu_set);
	return build_sha256(paths, info->sha256, err);
}

/* The file PATH as the guest sent it, or NULL. */
static const struct window_file *
find_file(const struct linux_guest *guest, const char *path)
{
	const struct window *window = linux_guest_window(guest);

	for (size_t i = 0; i < window->file_count; i++)
		if (strcmp(window->file[i].path, path) == 0 &&
		    !window->file[i].absent)
			return &window->file[i];
	return NULL;
}

static void
print_summary(const struct record_run *run, int code)
{
	if (code != 0)
		printf("the guest's script ended with %d\n", code);
	for (unsigned i = 0; i < run->info.cpu_count; i++)
		printf("cpu%u  %12" PRIu64 " insns  %7" PRIu64
		       " PMIs  %10" PRIu64 " trace bytes\n",
		    i, run->info.cpu[i].insns, run->info.cpu[i].pmis,
		    run->info.cpu[i].trace_bytes);
	printf("bundle %s   (topaz verify %s)\n", run->input->output,
	    run->input->output);
}

/* The file PATH that the guest's script has to have written; NULL: it has not. */
static const struct window_file *
require_file(const struct record_run *run, const char *path, int code,
    struct tz_error *err)
{
	const struct window_file *file = find_file(run->guest, path);

	if (file == NULL)
		(void)tz_error(err, TZ_EUSAGE,
		    "the guest has written no %s: its script ended with %d",
		    path, code);
	return file;
}

/* What user space has of the trace: the files of --trace, or perf.data. */
static int
add_trace(struct record_run *run, int code, struct tz_error *err)
{
	const struct record_input *input = run->input;
	const struct window_file *file;

	for (size_t i = 0; i < input->trace_count; i++) {
		file = require_file(run, input->trace[i].path, code, err);
		if (file == NULL)
			return -TZ_EUSAGE;
		linux_record_trace(run->record, input->trace[i].stream,
		    file->content.at, file->content.count);
	}
	if (input->trace_count != 0)
		return 0;
	file = require_file(run, GUEST_FILE, code, err);
	if (file == NULL)
		return -TZ_EUSAGE;
	linux_record_add(
	    run->record, "perf.data", file->content.at, file->content.count);
	return 0;
}

/* Writes the bundle of a guest that has ended with CODE. */
static int
finish(struct record_run *run, int code, struct tz_error *err)
{
	char *unknowns;
	size_t count;
	int error = add_trace(run, code, err);

	if (error != 0)
		return error;
	unknowns = guest_run_unknowns(run->guest, &count);
	if (unknowns == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	linux_record_add(run->record, "unknown.txt", unknowns, count);
	free(unknowns);
	error = describe(run, code, err);
	return error != 0 ? error
			  : linux_record_finish(run->record, &run->info, err);
}

static int
record(struct record_input *input, int *code, struct tz_error *err)
{
	struct machine_observer observer = { .event = linux_record_event };
	struct record_run run = { .input = input };
	struct output *output = NULL;
	int error = find_kernel(input, err);

	if (error == 0)
		error = make_script(input, err);
	if (error == 0)
		error = output_claim(
		    input->output, OUTPUT_BUNDLE, &output, err);
	if (error == 0)
		error = linux_record_create(output_new(output),
		    input->options.guest.cpu_count, &run.record, err);
	if (error == 0)
		error = linux_guest_create(
		    &input->options.guest, &run.guest, err);
	observer.arg = run.record;
	if (error == 0)
		linux_guest_observe(run.guest, &observer);
	if (error == 0)
		error = guest_run_all(run.guest, on_booted, &run, code, err);
	if (error == 0 && !stop_requested())
		error = finish(&run, *code, err);
	if (error == 0 && !stop_requested()) {
		error = output_publish(output, err);
		output = NULL;
		print_summary(&run, *code);
	}
	if (error != 0 && output != NULL)
		output_rename(output, err);
	output_abandon(output);
	linux_record_destroy(run.record);
	linux_guest_destroy(run.guest);
	return error;
}

int
cmd_record(int argc, char **argv)
{
	/* Large for a stack. */
	static struct record_input input = { .output = "topaz.out" };
	struct tz_error err;
	int code = CMD_BUG, error;

	input.options = guest_options_defaults();
	cmd_parse(&cmd_record_argp, argc, argv, &input);
	stop_gently();
	error = record(&input, &code, &err);
	guest_options_free(&input.options);
	return error != 0 ? cmd_fail_of(error, &err) : code;
}
