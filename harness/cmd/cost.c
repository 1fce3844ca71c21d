/*
 * topaz cost: what the cost model says of pieces of code.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "emu/profile/profile.h"
#include "harness/cmd/cmd.h"
#include "harness/cost/code.h"
#include "harness/cost/compare.h"
#include "harness/host/input.h"

#define ITERATIONS_MAX 1000000
#define WORST          10
#define MAGIC_BYTES    4

struct cost_input {
	const char *path, *function;
	const struct profile *profile;
	enum code_mode mode;
	bool mode_given, json, csv;
	unsigned iterations;
};

enum {
	OPT_CSV = 256,
	OPT_FUNCTION,
	OPT_ITERATIONS,
	OPT_JSON,
	OPT_MODE,
	OPT_PROFILE
};

static const struct argp_option cost_argp_options[] = {
	{ "csv", OPT_CSV, NULL, 0,
	    "Compare: each line is hexadecimal code, a comma and the cycles that "
	    "were measured; prints the mean error and Kendall's tau",
	    0 },
	{ "function", OPT_FUNCTION, "NAME", 0,
	    "That function of an ELF file (all)", 0 },
	{ "iterations", OPT_ITERATIONS, "N", 0,
	    "With --csv: what was measured is N iterations of the code (1)",
	    0 },
	{ "json", OPT_JSON, NULL, 0, "Print JSON", 0 },
	{ "mode", OPT_MODE, "MODE", 0,
	    "unrolled: the code repeated without end, decoded each time (lines "
	    "of code); run: once, from the cache of micro-operations (functions)",
	    0 },
	{ "profile", OPT_PROFILE, "NAME", 0,
	    "CPU model, see: topaz list profiles (skylake)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct cost_input *input = state->input;
	uint64_t number;

	switch (key) {
	case OPT_CSV:
		input->csv = true;
		return 0;
	case OPT_FUNCTION:
		input->function = arg;
		return 0;
	case OPT_ITERATIONS:
		number = cmd_number("iterations", arg, CMD_THINGS);
		if (number < 1 || number > ITERATIONS_MAX)
			cmd_bad_value("iterations", arg, "1 to 1000000");
		input->iterations = (unsigned)number;
		return 0;
	case OPT_JSON:
		input->json = true;
		return 0;
	case OPT_MODE:
		if (strcmp(arg, "unrolled") != 0 && strcmp(arg, "run") != 0)
			cmd_bad_value("mode", arg, "unrolled or run");
		input->mode = arg[0] == 'u' ? CODE_UNROLLED : CODE_RUN;
		input->mode_given = true;
		return 0;
	case OPT_PROFILE:
		input->profile = profile_find(arg);
		if (input->profile == NULL)
			cmd_bad_value("profile", arg, "no such profile");
		return 0;
	case ARGP_KEY_ARG:
		if (input->path != NULL)
			argp_error(state, "one input at a time: %s", arg);
		input->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (input->path == NULL)
			argp_error(state, "which file?");
		if (input->iterations != 0 && !input->csv)
			argp_error(state, "--iterations needs --csv");
		if (input->function != NULL && input->csv)
			argp_error(
			    state, "--function and --csv exclude each other");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp cmd_cost_argp = { cost_argp_options, parse_one, "FILE|-",
	"Prints the cycles of each block of FILE on one processor, and what "
	"limits it: execution ports, issue, predecoding, a chain of "
	"dependencies, the divider, LOCK prefixes or instructions that execute "
	"alone.  FILE has lines of hexadecimal code (-: standard input) or is an "
	"ELF file, whose functions are cut into basic blocks.",
	NULL, NULL, NULL };

static double
cycles(uint64_t units)
{
	return (double)units / COST_UNITS;
}

/* "0156" */
static void
format_ports(uint16_t ports, char text[UOP_PORTS + 1])
{
	unsigned n = 0;

	for (unsigned port = 0; port < UOP_PORTS; port++) {
		if (ports >> port & 1)
			text[n++] = (char)('0' + port);
	}
	text[n] = '\0';
}

static void
format_place(const struct code_piece *block, char *text, size_t size)
{
	if (block->name != NULL)
		snprintf(text, size, "%s+0x%" PRIx64, block->name,
		    block->va - block->function_va);
	else
		snprintf(text, size, "line %zu", block->line);
}

static void
print_block(const struct code_piece *block, const struct code_cost *cost)
{
	const struct cost_result *result = &cost->result;
	uint64_t again = result->component[COST_CHAIN];
	char place[256], ports[UOP_PORTS + 1];

	format_place(block, place, sizeof(place));
	if (cost->reason[0] != '\0') {
		printf("%s: not judged: %s\n", place, cost->reason);
		return;
	}
	printf("%s: %.2f cycles, %s", place, cycles(result->units),
	    cost_component_name(result->binding));
	if (result->binding == COST_PORTS) {
		format_ports(result->ports, ports);
		printf(" %s", ports);
	}
	printf(", %zu instruction%s", cost->insns, cost->insns == 1 ? "" : "s");
	if (block->measured > 0)
		printf(", measured %.2f", block->measured);
	if (block->name != NULL && again > 0)
		printf(", %.2f more where it follows itself", cycles(again));
	putchar('\n');
}

static json_t *
block_json(const struct code_piece *block, const struct code_cost *cost)
{
	const struct cost_result *result = &cost->result;
	json_t *json = json_object(), *parts = json_object();
	char ports[UOP_PORTS + 1];

	if (block->name != NULL) {
		json_object_set_new(json, "function", json_string(block->name));
		json_object_set_new(json, "offset",
		    json_integer((json_int_t)(block->va - block->function_va)));
	} else {
		json_object_set_new(
		    json, "line", json_integer((json_int_t)block->line));
	}
	if (block->measured > 0)
		json_object_set_new(
		    json, "measured", json_real(block->measured));
	if (cost->reason[0] != '\0') {
		json_object_set_new(
		    json, "not_judged", json_string(cost->reason));
		json_decref(parts);
		return json;
	}
	for (unsigned i = 0; i < COST_COMPONENTS; i++)
		json_object_set_new(parts,
		    cost_component_name((enum cost_component)i),
		    json_real(cycles(result->component[i])));
	format_ports(result->ports, ports);
	json_object_set_new(json, "components", parts);
	json_object_set_new(json, "ports", json_string(ports));
	json_object_set_new(json, "cycles", json_real(cycles(result->units)));
	json_object_set_new(json, "bottleneck",
	    json_string(cost_component_name(result->binding)));
	json_object_set_new(
	    json, "instructions", json_integer((json_int_t)cost->insns));
	return json;
}

/* All blocks, their costs, and the comparison of those that have been measured. */
struct cost_report {
	struct code code;
	struct code_cost *cost;
	size_t unjudged;
	struct compare_result all, by[COST_COMPONENTS];
	size_t count[COST_COMPONENTS];
	size_t worst[WORST], worst_count; /* blocks, largest error first */
};

static bool
is_judged(const struct cost_report *report, size_t i)
{
	return report->cost[i].reason[0] == '\0';
}

static struct compare_pair
pair_of(const struct cost_report *report, size_t i)
{
	return (struct compare_pair){
		.model = cycles(report->cost[i].result.units),
		.measured = report->code.block[i].measured,
	};
}

/* Compares the blocks that COMPONENT limits; COST_COMPONENTS: all. */
static int
compare_some(const struct cost_report *report, enum cost_component component,
    struct compare_result *result, size_t *count, struct tz_error *err)
{
	struct compare_pair *pair = malloc(report->code.count * sizeof(*pair));
	size_t found = 0;
	int error = 0;

	if (pair == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	for (size_t i = 0; i < report->code.count; i++) {
		if (is_judged(report, i) &&
		    (component == COST_COMPONENTS ||
			report->cost[i].result.binding == component))
			pair[found++] = pair_of(report, i);
	}
	if (found > 0)
		error = compare(pair, found, result, err);
	*count = found;
	free(pair);
	return error;
}

static double
error_of(const struct cost_report *report, size_t i)
{
	struct compare_pair pair = pair_of(report, i);

	return compare_error(&pair);
}

static void
find_worst(struct cost_report *report)
{
	for (size_t i = 0; i < report->code.count; i++) {
		size_t at = report->worst_count;

		if (!is_judged(report, i))
			continue;
		while (at > 0 &&
		    error_of(report, report->worst[at - 1]) <
			error_of(report, i)) {
			if (at < WORST)
				report->worst[at] = report->worst[at - 1];
			at--;
		}
		if (at < WORST)
			report->worst[at] = i;
		if (report->worst_count < WORST)
			report->worst_count++;
	}
}

static int
compare_all(struct cost_report *report, struct tz_error *err)
{
	size_t all;
	int error = compare_some(
	    report, COST_COMPONENTS, &report->all, &all, err);

	for (unsigned i = 0; error == 0 && i < COST_COMPONENTS; i++)
		error = compare_some(report, (enum cost_component)i,
		    &report->by[i], &report->count[i], err);
	find_worst(report);
	return error;
}

static json_t *
compare_json(const struct compare_result *result, size_t count)
{
	return json_pack("{s:I,s:f,s:f,s:f,s:f}", "blocks", (json_int_t)count,
	    "mean_error", result->mean_error, "median_error",
	    result->median_error, "within_10_percent", result->within_tenth,
	    "tau", result->tau);
}

static void
print_comparison(const struct cost_report *report)
{
	size_t judged = report->code.count - report->unjudged;

	for (size_t i = 0; i < report->code.count; i++) {
		if (!is_judged(report, i))
			print_block(&report->code.block[i], &report->cost[i]);
	}
	printf("worst:\n");
	for (size_t i = 0; i < report->worst_count; i++) {
		printf("%6.1f %%  ", 100 * error_of(report, report->worst[i]));
		print_block(&report->code.block[report->worst[i]],
		    &report->cost[report->worst[i]]);
	}
	printf("limited by  blocks  mean error\n");
	for (unsigned i = 0; i < COST_COMPONENTS; i++) {
		if (report->count[i] > 0)
			printf("%-10s  %6zu  %8.2f %%\n",
			    cost_component_name((enum cost_component)i),
			    report->count[i], 100 * report->by[i].mean_error);
	}
	printf("%zu blocks, %zu not judged: mean error %.2f %%, median %.2f "
	       "%%, within 10 %% %.1f %%, tau %.4f\n",
	    judged, report->unjudged, 100 * report->all.mean_error,
	    100 * report->all.median_error, 100 * report->all.within_tenth,
	    report->all.tau);
}

static void
print_report(const struct cost_input *input, const struct cost_report *report)
{
	json_t *json, *blocks, *by;

	if (!input->json && input->csv) {
		print_comparison(report);
		return;
	}
	if (!input->json) {
		for (size_t i = 0; i < report->code.count; i++)
			print_block(&report->code.block[i], &report->cost[i]);
		return;
	}
	json = json_object();
	blocks = json_array();
	for (size_t i = 0; i < report->code.count; i++)
		json_array_append_new(blocks,
		    block_json(&report->code.block[i], &report->cost[i]));
	json_object_set_new(json, "blocks", blocks);
	json_object_set_new(json, "profile", json_string(input->profile->name));
	json_object_set_new(json, "mode",
	    json_string(input->mode == CODE_RUN ? "run" : "unrolled"));
	json_object_set_new(
	    json, "unjudged", json_integer((json_int_t)report->unjudged));
	if (input->csv) {
		by = json_object();
		for (unsigned i = 0; i < COST_COMPONENTS; i++) {
			if (report->count[i] > 0)
				json_object_set_new(by,
				    cost_component_name((enum cost_component)i),
				    compare_json(
					&report->by[i], report->count[i]));
		}
		json_object_set_new(json, "comparison",
		    compare_json(
			&report->all, report->code.count - report->unjudged));
		json_object_set_new(json, "by_bottleneck", by);
	}
	cmd_print_json(json);
}

/* True if PATH begins as an ELF file does. */
static bool
is_elf(const char *path)
{
	char magic[MAGIC_BYTES] = { 0 };
	FILE *file;
	struct tz_error err;
	bool elf;

	if (strcmp(path, "-") == 0 ||
	    input_open(path, INPUT_ELF, &file, &err) != 0)
		return false;
	elf = fread(magic, 1, sizeof(magic), file) == sizeof(magic) &&
	    memcmp(magic, "\177ELF", sizeof(magic)) == 0;
	fclose(file);
	return elf;
}

static int
read_text(struct cost_input *input, struct code *code, struct tz_error *err)
{
	unsigned iterations = !input->csv ? 0
	    : input->iterations != 0      ? input->iterations
					  : 1;
	FILE *file = stdin;
	int error = 0;

	if (input->function != NULL)
		return tz_error(err, TZ_EUSAGE,
		    "%s: --function needs an ELF file", input->path);
	if (strcmp(input->path, "-") != 0)
		error = input_open(input->path, INPUT_TEXT, &file, err);
	if (error != 0)
		return error;
	error = code_read_text(file,
	    file == stdin ? "standard input" : input->path, iterations, code,
	    err);
	if (file != stdin)
		fclose(file);
	return error;
}

static int
read_code(struct cost_input *input, struct code *code, struct tz_error *err)
{
	if (!is_elf(input->path))
		return read_text(input, code, err);
	if (input->csv)
		return tz_error(err, TZ_EUSAGE,
		    "%s: --csv needs a text file, and this is an ELF file",
		    input->path);
	if (!input->mode_given)
		input->mode = CODE_RUN;
	return code_read_elf(input->path, input->function, code, err);
}

static int
judge_all(const struct cost_input *input, struct cost_report *report,
    struct tz_error *err)
{
	int error = 0;

	report->cost = calloc(report->code.count, sizeof(*report->cost));
	if (report->cost == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	for (size_t i = 0; error == 0 && i < report->code.count; i++) {
		error = code_cost(input->profile->uarch->cost,
		    &report->code.block[i], input->mode, &report->cost[i], err);
		report->unjudged += report->cost[i].reason[0] != '\0';
	}
	if (error == 0 && input->csv)
		error = compare_all(report, err);
	return error;
}

int
cmd_cost(int argc, char **argv)
{
	struct cost_input input = { .profile = profile_find("skylake") };
	struct cost_report report = { .unjudged = 0 };
	struct tz_error err;
	int error, code;

	cmd_parse(&cmd_cost_argp, argc, argv, &input);
	error = read_code(&input, &report.code, &err);
	if (error == 0)
		error = judge_all(&input, &report, &err);
	if (error == 0)
		print_report(&input, &report);
	code = error != 0         ? cmd_fail(&err)
	    : report.unjudged > 0 ? CMD_UNJUDGED
				  : CMD_OK;
	code_free(&report.code);
	free(report.cost);
	return code;
}
