/*
 * topaz run: options, the run, its summary.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "harness/cmd/cmd.h"
#include "harness/cmd/driver_options.h"
#include "harness/host/stop.h"
#include "harness/host/terminal.h"
#include "harness/report/report.h"
#include "harness/run.h"

#define SETTINGS_BYTES 512

struct run_input {
	struct driver_input from;
	struct run_options options;
	char settings[SETTINGS_BYTES];
	bool driver_named;
	bool json;
};

enum {
	OPT_CPUS = 256,
	OPT_MODE,
	OPT_BUFFER,
	OPT_WORKLOAD,
	OPT_ROUNDS,
	OPT_LIMIT,
	OPT_KERNEL,
	OPT_NO_KERNEL,
	OPT_USER,
	OPT_NO_USER,
	OPT_NO_INVARIANTS,
	OPT_NO_EXEC_LOG,
	OPT_PROFILE,
	OPT_ERRATA,
	OPT_SET,
	OPT_SINGLE_STEP,
	OPT_CORE_RATIO,
	OPT_COST,
	OPT_PT_BUFFER,
	OPT_JSON,
};

static const struct argp_option run_argp_options[] = {
	{ "output", 'o', "DIR", 0, "Folder for the bundle (topaz.out)", 0 },
	{ "cpus", OPT_CPUS, "N", 0, "Logical CPUs, 1 to 8 (1)", 0 },
	{ "mode", OPT_MODE, "cpu|thread", 0,
	    "Trace CPUs, or the first workload's threads (cpu, if the driver can)",
	    0 },
	{ "buffer", OPT_BUFFER, "BYTES", 0,
	    "Size of each trace buffer; suffixes K, M and G (1M)", 0 },
	{ "workload", OPT_WORKLOAD, "LIST", 0,
	    "Comma-separated names, see: topaz list workloads (mix)", 0 },
	{ "rounds", OPT_ROUNDS, "N", 0,
	    "Rounds of each workload, 100,000 instructions or so each (1)", 0 },
	{ "limit", OPT_LIMIT, "N", 0,
	    "End the run after N instructions (300 million, and 1000 "
	    "times those of the workloads)",
	    0 },
	{ "kernel", OPT_KERNEL, NULL, 0, "Trace ring 0 (default)", 0 },
	{ "no-kernel", OPT_NO_KERNEL, NULL, 0, "Do not trace ring 0", 0 },
	{ "user", OPT_USER, NULL, 0, "Trace ring 3 (default)", 0 },
	{ "no-user", OPT_NO_USER, NULL, 0, "Do not trace ring 3", 0 },
	{ "no-invariants", OPT_NO_INVARIANTS, NULL, 0,
	    "Compile the driver without INVARIANTS: KASSERT does nothing", 0 },
	{ "no-exec-log", OPT_NO_EXEC_LOG, NULL, 0,
	    "Keep no execution log: faster, cannot be verified", 0 },
	{ "no-truth", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0 },
	{ "profile", OPT_PROFILE, "LIST", 0,
	    CMD_PROFILE_HELP " (the driver's, or skylake)", 0 },
	{ "errata", OPT_ERRATA, "LIST", 0, CMD_ERRATA_HELP, 0 },
	{ "set", OPT_SET, "KEY=VALUE", 0,
	    "A guest boot parameter, see: topaz list words (repeatable)", 0 },
	{ "single-step", OPT_SINGLE_STEP, NULL, 0,
	    "One instruction at a time: slow, same traces", 0 },
	{ "core-ratio", OPT_CORE_RATIO, "N", 0,
	    "Core:bus ratio, 1 to 255 (the profile's: a cycle is a TSC tick)",
	    0 },
	{ "cost", OPT_COST, "1|model", 0, CMD_COST_HELP, 0 },
	{ "pt-buffer", OPT_PT_BUFFER, "BYTES,DRAIN,LATENCY[,PMI]", 0,
	    "Bound the unit's internal buffer: its size, bytes drained in a "
	    "cycle (N or N/CYCLES), cycles from there into memory, and from a "
	    "filled INT region to the PMI (none: every byte is in memory at "
	    "once)",
	    0 },
	{ "json", OPT_JSON, NULL, 0, "Print the summary as JSON", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static void
parse_mode(struct run_options *options, const char *text)
{
	if (strcmp(text, "thread") == 0)
		options->mode = RUN_MODE_THREAD;
	else if (strcmp(text, "cpu") == 0)
		options->mode = RUN_MODE_CPU;
	else
		cmd_bad_value("mode", text, "cpu or thread");
}

static void
parse_set(struct run_input *input, const char *text)
{
	size_t used = strlen(input->settings);
	const char *equals = strchr(text, '=');

	if (equals == NULL || equals == text || strchr(text, ' ') != NULL ||
	    used + strlen(text) + 2 > sizeof(input->settings)) {
		fprintf(stderr,
		    "topaz: --set '%s': not KEY=VALUE, or too long\n", text);
		exit(CMD_USAGE);
	}
	snprintf(input->settings + used, sizeof(input->settings) - used, "%s%s",
	    used != 0 ? " " : "", text);
}

/* BYTES,N[/CYCLES],LATENCY[,PMI]. */
static void
parse_pt_buffer(struct run_options *options, const char *text)
{
	struct pt_cycles *cycles = &options->pt_cycles;
	struct tz_error err;
	int drain = 0, end = 0;

	*cycles = (struct pt_cycles){ .drain_cycles = 1 };
	if (strspn(text, "0123456789,/") == strlen(text) &&
	    sscanf(text, "%9" SCNu32 ",%9" SCNu32 "%n", &cycles->buffer_bytes,
		&cycles->drain_bytes, &drain) == 2) {
		(void)sscanf(text + drain, "/%9" SCNu32 "%n",
		    &cycles->drain_cycles, &end);
		drain += end;
		end = 0;
		(void)sscanf(text + drain, ",%9" SCNu32 "%n,%9" SCNu32 "%n",
		    &cycles->latency_cycles, &end, &cycles->pmi_cycles, &end);
	}
	if (end == 0 || text[drain + end] != '\0' || cycles->buffer_bytes == 0)
		cmd_bad_value("pt-buffer", text,
		    "BYTES,DRAIN,LATENCY or BYTES,DRAIN,LATENCY,PMI");
	if (pt_cycles_check(cycles, &err) != 0) {
		fprintf(stderr, "topaz: --pt-buffer %s: %s\n", text, err.text);
		exit(CMD_USAGE);
	}
}

/* Options whose value is a name or a switch. */
static bool
parse_plain(int key, const char *arg, struct run_input *input)
{
	struct run_options *options = &input->options;

	switch (key) {
	case 'o':
		options->output = arg;
		return true;
	case OPT_WORKLOAD:
		options->workload = arg;
		return true;
	case OPT_PROFILE:
		options->profile = arg;
		return true;
	case OPT_PT_BUFFER:
		parse_pt_buffer(options, arg);
		return true;
	case OPT_ERRATA:
		options->errata = arg;
		return true;
	case OPT_KERNEL:
	case OPT_NO_KERNEL:
		options->trace_kernel = key == OPT_KERNEL;
		return true;
	case OPT_USER:
	case OPT_NO_USER:
		options->trace_user = key == OPT_USER;
		return true;
	case OPT_NO_INVARIANTS:
		options->invariants = false;
		return true;
	case OPT_NO_EXEC_LOG:
		options->exec_log = false;
		return true;
	case OPT_SINGLE_STEP:
		options->single_step = true;
		return true;
	case OPT_JSON:
		input->json = true;
		return true;
	default:
		return false;
	}
}

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct run_input *input = state->input;
	struct run_options *options = &input->options;
	uint64_t value;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &input->from;
		return 0;
	case OPT_CPUS:
		value = cmd_number("cpus", arg, CMD_THINGS);
		options->cpu_count = value > UINT32_MAX ? UINT32_MAX
							: (unsigned)value;
		return 0;
	case OPT_MODE:
		parse_mode(options, arg);
		return 0;
	case OPT_BUFFER:
		options->buffer_bytes = cmd_number("buffer", arg, CMD_BYTES);
		return 0;
	case OPT_ROUNDS:
		options->rounds = cmd_number("rounds", arg, CMD_THINGS);
		return 0;
	case OPT_LIMIT:
		options->insns_max = cmd_number("limit", arg, CMD_THINGS);
		return 0;
	case OPT_CORE_RATIO:
		value = cmd_number("core-ratio", arg, CMD_THINGS);
		if (value == 0 || value > UINT8_MAX) {
			fprintf(
			    stderr, "topaz: --core-ratio %s: 1 to 255\n", arg);
			exit(CMD_USAGE);
		}
		options->core_cbr = (uint32_t)value;
		return 0;
	case OPT_COST:
		options->cost = cmd_cost_model(arg);
		return 0;
	case OPT_SET:
		parse_set(input, arg);
		return 0;
	case ARGP_KEY_ARG:
		if (input->driver_named)
			argp_error(state, "one driver at a time: %s", arg);
		options->driver = arg;
		input->driver_named = true;
		return 0;
	default:
		return parse_plain(key, arg, input) ? 0 : ARGP_ERR_UNKNOWN;
	}
}

/* The exit code of each verdict. */
static int
exit_code(const struct run_outcome *outcome)
{
	if (run_was_stopped(outcome))
		return CMD_BUDGET;
	switch (run_verdict(outcome)) {
	case RUN_PASSED:
		return CMD_OK;
	case RUN_FAILED:
		return CMD_FINDING;
	case RUN_NOT_JUDGED:
		return outcome->result.end == MACHINE_ENGINE ? CMD_BUG
							     : CMD_UNJUDGED;
	}
	return CMD_BUG;
}

static const char *
verdict_word(const struct run_outcome *outcome)
{
	static const char *const words[] = {
		[RUN_PASSED] = "PASS",
		[RUN_FAILED] = "FAIL",
		[RUN_NOT_JUDGED] = "NOT JUDGED",
	};

	return run_was_stopped(outcome) ? "STOP" : words[run_verdict(outcome)];
}

/* True if the run failed by an operational error, which is printed with its CPU. */
static bool
has_pt_error(const struct run_outcome *outcome)
{
	uint64_t errors = 0;

	for (unsigned i = 0; i < outcome->cpu_count; i++)
		errors += outcome->cpu[i].pt_errors;
	return errors != 0 && outcome->result.end == MACHINE_EXIT &&
	    outcome->result.code == 0;
}

/* For a run that did not pass: prints the reason and the place of its end. */
static void
print_end(const struct run_outcome *outcome)
{
	const struct machine_result *result = &outcome->result;
	unsigned i;

	if (run_verdict(outcome) == RUN_PASSED || has_pt_error(outcome))
		return;
	terminal_put_verdict(stdout, verdict_word(outcome));
	printf("  %s", run_reason(outcome));
	if (result->end == MACHINE_EXIT) {
		if (result->code != 0)
			printf(": code %d", result->code);
		putchar('\n');
		return;
	}
	printf(" on cpu%u at %s%s%s\n", result->cpu, outcome->where,
	    result->text[0] != '\0' ? ": " : "", result->text);
	for (i = 0; i < outcome->frame_count; i++)
		printf("      #%-2u %s\n", i, outcome->frame[i]);
}

/* Prints the driver's errors that the kernel dropped. */
static void
print_refused(const struct run_outcome *outcome)
{
	if (outcome->refused_count != 0)
		printf("      error %d on cpu%" PRIu64 " is dropped by the "
		       "kernel (%" PRIu64 " in all)\n",
		    outcome->refused_error, outcome->refused_cpu,
		    outcome->refused_count);
}

/* The console has the messages of a program that failed. */
static void
print_console(const struct run_outcome *outcome)
{
	if (run_verdict(outcome) != RUN_PASSED && outcome->console[0] != '\0')
		printf("last words on the guest's console:\n%s\n",
		    outcome->console);
}

static void
print_pt_error(unsigned number, const struct run_cpu *cpu)
{
	terminal_put_verdict(stdout, "FAIL");
	printf("  ToPA operational error on cpu%u (%" PRIu64 "): %s\n", number,
	    cpu->pt_errors, cpu->pt_error);
}

static void
print_uncounted(unsigned number, const struct run_cpu *cpu)
{
	printf("not counted: event 0x%02x, unit mask 0x%02x has no model, a "
	       "counter of cpu%u stands still (%" PRIu64 ")\n",
	    (unsigned)(cpu->uncounted_select & 0xff),
	    (unsigned)(cpu->uncounted_select >> 8 & 0xff), number,
	    cpu->uncounted);
}

static void
print_unknown_cost(unsigned number, const struct run_cpu *cpu)
{
	printf("no cost: \"%s\" is not in the cost model, nor may others be; "
	       "on cpu%u each takes one cycle\n",
	    cpu->unknown_cost, number);
}

static void
print_text(const struct run_options *options, const struct run_outcome *outcome)
{
	enum run_verdict verdict = run_verdict(outcome);
	unsigned i;

	terminal_put_verdict(stdout, verdict_word(outcome));
	printf("  %s  %s  %s mode  %u CPU%s\n", options->driver,
	    outcome->models, outcome->thread_mode ? "thread" : "cpu",
	    outcome->cpu_count, outcome->cpu_count == 1 ? "" : "s");
	for (i = 0; i < outcome->cpu_count; i++) {
		const struct run_cpu *cpu = &outcome->cpu[i];

		printf("cpu%u  %12" PRIu64 " insns  %7" PRIu64
		       " PMIs  %10" PRIu64 " trace bytes  %5" PRIu64 " wraps\n",
		    i, cpu->counters.insns, cpu->counters.pmis,
		    cpu->counters.trace_bytes, cpu->wraps);
		if (cpu->branch_records != 0)
			printf("cpu%u  %12" PRIu64 " branch records\n", i,
			    cpu->branch_records);
		if (cpu->pt_errors != 0)
			print_pt_error(i, cpu);
		if (cpu->uncounted != 0)
			print_uncounted(i, cpu);
		if (cpu->unknown_cost[0] != '\0')
			print_unknown_cost(i, cpu);
	}
	print_end(outcome);
	print_refused(outcome);
	print_console(outcome);
	printf("source sha256 %s\n", outcome->sha256);
	if (run_was_stopped(outcome))
		puts("no bundle: the run was stopped");
	else
		printf("bundle %s   (topaz verify %s)\n", options->output,
		    options->output);
	report_text_counts(stdout, verdict == RUN_PASSED, verdict == RUN_FAILED,
	    verdict == RUN_NOT_JUDGED);
}

static void
print_json(const struct run_options *options, const struct run_outcome *outcome)
{
	json_t *cpus = json_array(), *frames = json_array();
	unsigned i;

	for (i = 0; i < outcome->cpu_count; i++) {
		const struct run_cpu *cpu = &outcome->cpu[i];

		json_array_append_new(cpus,
		    json_pack(
			"{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:s}",
			"branch_records", (json_int_t)cpu->branch_records,
			"insns", (json_int_t)cpu->counters.insns, "nmis",
			(json_int_t)cpu->counters.nmis, "pmis",
			(json_int_t)cpu->counters.pmis, "uncounted",
			(json_int_t)cpu->uncounted, "pt_errors",
			(json_int_t)cpu->pt_errors, "trace_bytes",
			(json_int_t)cpu->counters.trace_bytes, "wraps",
			(json_int_t)cpu->wraps, "pt_error", cpu->pt_error,
			"unknown_cost", cpu->unknown_cost));
	}
	for (i = 0; i < outcome->frame_count; i++)
		json_array_append_new(frames, json_string(outcome->frame[i]));
	cmd_print_json(json_pack(
	    "{s:i, s:s?, s:s, s:s, s:b, s:s, s:s, s:i, s:s, s:s, s:s, s:o, s:o, "
	    "s:I, s:i}",
	    "schema", 1, "bundle",
	    run_was_stopped(outcome) ? NULL : options->output, "driver",
	    options->driver, "profile", outcome->models, "passed",
	    run_verdict(outcome) == RUN_PASSED, "verdict",
	    verdict_word(outcome), "end",
	    run_verdict(outcome) == RUN_PASSED ? "exit" : run_reason(outcome),
	    "code", outcome->result.code, "text", outcome->result.text, "where",
	    outcome->where, "sha256", outcome->sha256, "cpus", cpus,
	    "backtrace", frames, "refused", (json_int_t)outcome->refused_count,
	    "refused_error", outcome->refused_error));
}

static const struct argp_child children[] = { { &driver_argp, 0, NULL, 0 },
	{ NULL, 0, NULL, 0 } };

const struct argp cmd_run_argp = { run_argp_options, parse_one, "[DRIVER]",
	"Compiles DRIVER (insntrace) for the guest, boots the emulated "
	"machine, traces programs with it and writes a bundle.  topaz run "
	"linux-pt is topaz record: the driver of a stock Linux kernel.",
	children, NULL, NULL };

int
cmd_run(int argc, char **argv)
{
	struct run_input input = { .options = run_defaults() };
	struct run_outcome *outcome = calloc(1, sizeof(*outcome));
	struct tz_error err = { "out of memory" };
	int code, error;

	/* A stock kernel's driver: other options, and nothing to compile. */
	if (argc > 1 && strcmp(argv[1], "linux-pt") == 0) {
		free(outcome);
		return cmd_record(argc, argv);
	}
	cmd_parse(&cmd_run_argp, argc, argv, &input);
	input.options.settings = input.settings;
	input.options.source = input.from.source;
	input.options.tree = input.from.tree;
	input.options.cc = input.from.cc;
	input.options.cc_seconds = input.from.cc_seconds;
	input.options.drivers = input.from.drivers;
	input.options.verbose = input.from.verbose;
	stop_gently();
	error = outcome == NULL ? -TZ_EIO
				: run_driver(&input.options, outcome, &err);
	if (error != 0) {
		free(outcome);
		return cmd_fail_of(error, &err);
	}
	if (input.json)
		print_json(&input.options, outcome);
	else
		print_text(&input.options, outcome);
	code = exit_code(outcome);
	free(outcome);
	return code;
}
