#include "harness/cmd/reencode/reencode_options.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness/cmd/cmd.h"
#include "harness/cmd/reencode/reencode_text.h"
#include "traces/perf_data/perf_file.h"

enum {
	OPT_PT = 256,
	OPT_CPU,
	OPT_IMAGE,
	OPT_CTL,
	OPT_RANGE,
	OPT_STOP,
	OPT_PROFILE,
	OPT_STRICT,
	OPT_BYTES,
	OPT_JSON,
	OPT_PAGE,
	OPT_PROGRESS,
	OPT_TID,
	OPT_SYMFS,
};

static const struct argp_option reencode_argp_options[] = {
	{ "pt", OPT_PT, "FILE", 0, "The captured trace", 0 },
	{ "cpu", OPT_CPU, "F/M/S|N", 0,
	    "Family, model and stepping of the processor: 6/94/3, 0x6/0x5e; "
	    "or, of a perf.data, re-encode only the trace of CPU N",
	    0 },
	{ "tid", OPT_TID, "N", 0,
	    "Of a perf.data, re-encode only the trace of thread N", 0 },
	{ "symfs", OPT_SYMFS, "DIR", 0,
	    "Where the files lie that a perf.data says were mapped: a root, or "
	    "a folder with .build-id (repeatable; default: /)",
	    0 },
	{ "image", OPT_IMAGE, "SPEC", 0,
	    "Memory of the traced code: DUMP@ADDR, PAGES@ADDRLIST, ELF or "
	    "ELF@BIAS (repeatable, or several SPECs after one --image)",
	    0 },
	{ "ctl", OPT_CTL, "HEX", 0,
	    "IA32_RTIT_CTL (default: inferred from the packets)", 0 },
	{ "range", OPT_RANGE, "A-B", 0,
	    "Filter range, both ends included (repeatable; default: inferred "
	    "from the packets)",
	    0 },
	{ "stop", OPT_STOP, "A-B", 0,
	    "TraceStop range, both ends included (repeatable); with it, each "
	    "filter range has to be given, too",
	    0 },
	{ "profile", OPT_PROFILE, "NAME", 0,
	    "CPU model (default: that of --cpu)", 0 },
	{ "strict", OPT_STRICT, NULL, 0,
	    "Also compare IP compression, TNT grouping and positions of PSB",
	    0 },
	{ "bytes", OPT_BYTES, NULL, 0,
	    "Compare every byte (default for bundles)", 0 },
	{ "json", OPT_JSON, NULL, 0,
	    "Print a line of JSON for each trace instead of text", 0 },
	{ "page", OPT_PAGE, "FILE", 0,
	    "Write a page in HTML, too, with more packets and instructions "
	    "around the first difference of each trace",
	    0 },
	{ "progress", OPT_PROGRESS, "auto|bar|lines|none", 0,
	    "Progress on standard error, of traces that take more than a "
	    "second: a bar, or a line for each tenth (auto: a bar on a "
	    "terminal)",
	    0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

/* Prints why the value of an option is refused, and ends the process. */
static _Noreturn void
refuse(const char *option, const char *arg, const char *text)
{
	fprintf(stderr, "topaz: %s %s: %s\n", option, arg, text);
	exit(CMD_USAGE);
}

static void
require(const char *option, const char *arg, const char *refused)
{
	if (refused != NULL)
		refuse(option, arg, refused);
}

static void
parse_image(
    struct reencode_input *input, struct argp_state *state, const char *arg)
{
	if (input->image_count == REENCODE_IMAGES_MAX)
		argp_error(
		    state, "more than %d images: %s", REENCODE_IMAGES_MAX, arg);
	input->images[input->image_count++] = arg;
}

static void
parse_form(struct reencode_input *input, struct argp_state *state,
    enum compare_form form)
{
	if (input->form_given && input->options.form != form)
		argp_error(state, "--strict or --bytes, not both");
	input->form_given = true;
	input->options.form = form;
}

/* Options that only a perf.data has. */
static void
parse_no_perf(const struct reencode_input *input, struct argp_state *state)
{
	char number[16];

	if (input->queue_cpu_given) {
		snprintf(number, sizeof(number), "%u", input->queue_cpu);
		refuse("--cpu", number,
		    "not FAMILY/MODEL/STEPPING; a CPU's number is for a "
		    "perf.data");
	}
	if (input->queue_tid_given || input->symfs_count != 0)
		argp_error(state, "--tid and --symfs are for a perf.data");
}

/* A bundle of topaz record: its trace is in its perf.data. */
static void
find_recorded(struct reencode_input *input)
{
	char path[sizeof(input->recorded)];

	if (input->pt != NULL || input->image_count == 0)
		return;
	snprintf(path, sizeof(path), "%.4000s/manifest.json", input->images[0]);
	snprintf(input->recorded, sizeof(input->recorded), "%.4000s/perf.data",
	    input->images[0]);
	if (access(path, F_OK) != 0 || !perf_file_is(input->recorded))
		return;
	input->recorded_in = input->images[0];
	input->images[0] = input->recorded;
}

static void
parse_end(struct reencode_input *input, struct argp_state *state)
{
	find_recorded(input);
	if (input->pt == NULL && input->image_count != 0 &&
	    perf_file_is(input->images[0])) {
		input->perf = input->images[0];
		if (input->queue_cpu_given && input->queue_tid_given)
			argp_error(state, "--cpu N or --tid N, not both");
		return;
	}
	parse_no_perf(input, state);
	if (input->pt == NULL && input->image_count == 0)
		argp_error(state, "which trace (--pt) or bundle?");
	if (input->pt == NULL) {
		if (input->image_count != 1)
			argp_error(state, "images, but no trace: --pt FILE");
		input->bundle = input->images[0];
		if (input->cpu_given || input->options.ctl_given ||
		    input->options.filter_given)
			argp_error(state,
			    "--cpu, --ctl, --range and --stop are for --pt: a bundle "
			    "contains them");
		return;
	}
	if (input->image_count == 0)
		argp_error(state, "which memory (--image) did it run in?");
	if (!input->cpu_given)
		argp_error(state, "which processor (--cpu)?");
	if (input->options.profile == NULL)
		input->options.profile = profile_of_signature(
		    input->options.signature);
	if (input->options.profile == NULL)
		argp_error(
		    state, REENCODE_UNKNOWN_CPU, input->options.signature);
}

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct reencode_input *input = state->input;

	switch (key) {
	case OPT_PT:
		input->pt = arg;
		return 0;
	case OPT_TID:
		require("--tid", arg, reencode_id(arg, &input->queue_tid));
		input->queue_tid_given = true;
		return 0;
	case OPT_SYMFS:
		if (input->symfs_count == REENCODE_SYMFS_MAX)
			argp_error(state, "more than %d folders: %s",
			    REENCODE_SYMFS_MAX, arg);
		input->symfs[input->symfs_count++] = arg;
		return 0;
	case OPT_CPU:
		if (reencode_id(arg, &input->queue_cpu) == NULL) {
			input->queue_cpu_given = true;
			return 0;
		}
		require(
		    "--cpu", arg, reencode_cpu(arg, &input->options.signature));
		input->cpu_given = true;
		return 0;
	case OPT_IMAGE:
	case ARGP_KEY_ARG:
		parse_image(input, state, arg);
		return 0;
	case OPT_CTL:
		require("--ctl", arg, reencode_hex(arg, &input->options.ctl));
		input->options.ctl_given = true;
		return 0;
	case OPT_RANGE:
	case OPT_STOP:
		require(key == OPT_RANGE ? "--range" : "--stop", arg,
		    reencode_range(arg,
			key == OPT_RANGE ? REENCODE_FILTER : REENCODE_STOP,
			&input->options.filter));
		input->options.filter_given = true;
		return 0;
	case OPT_PROFILE:
		input->options.profile = profile_find(arg);
		if (input->options.profile == NULL)
			refuse("--profile", arg, "no such profile");
		return 0;
	case OPT_STRICT:
		parse_form(input, state, COMPARE_STRICT);
		return 0;
	case OPT_BYTES:
		parse_form(input, state, COMPARE_BYTES);
		return 0;
	case OPT_JSON:
		input->output.json = true;
		return 0;
	case OPT_PAGE:
		input->page = arg;
		return 0;
	case OPT_PROGRESS:
		input->output.progress = cmd_progress(arg);
		return 0;
	case ARGP_KEY_END:
		parse_end(input, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp cmd_reencode_argp = { reencode_argp_options, parse_one,
	"--pt FILE --cpu F/M/S --image SPEC...\nDIR\nPERF.DATA [SPEC...]",
	"Recovers the control flow of a captured trace, of the streams of "
	"the bundle DIR (of topaz record: its perf.data, with the code that "
	"its execution logs have) or of the traces of a perf.data, re-encodes "
	"it and compares the packets.",
	NULL, NULL, NULL };

void
reencode_parse(int argc, char **argv, struct reencode_input *input)
{
	cmd_parse(&cmd_reencode_argp, argc, argv, input);
}
