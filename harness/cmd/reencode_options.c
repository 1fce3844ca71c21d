#include "harness/cmd/reencode_options.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmd/cmd.h"

enum {
	OPT_PT = 256,
	OPT_CPU,
	OPT_IMAGE,
	OPT_CTL,
	OPT_RANGE,
	OPT_PROFILE,
	OPT_STRICT,
	OPT_BYTES,
};

static const struct argp_option reencode_argp_options[] = {
	{ "pt", OPT_PT, "FILE", 0, "The trace, as it was captured", 0 },
	{ "cpu", OPT_CPU, "F/M/S", 0,
	    "Family, model and stepping of the processor: 6/94/3, 0x6/0x5e/3",
	    0 },
	{ "image", OPT_IMAGE, "SPEC", 0,
	    "Memory it ran in: DUMP@ADDR, PAGES@ADDRLIST, ELF or ELF@BIAS "
	    "(again, or more after it, for each further one)",
	    0 },
	{ "ctl", OPT_CTL, "HEX", 0,
	    "IA32_RTIT_CTL (default: what the packets show)", 0 },
	{ "range", OPT_RANGE, "A-B", 0,
	    "Filter range, both ends in it (again for each further one; "
	    "default: what the packets show)",
	    0 },
	{ "profile", OPT_PROFILE, "NAME", 0,
	    "CPU model (default: the one nearest to --cpu)", 0 },
	{ "strict", OPT_STRICT, NULL, 0,
	    "Compare IP compression, TNT grouping and places of PSB, too", 0 },
	{ "bytes", OPT_BYTES, NULL, 0,
	    "Compare every byte (default for bundles)", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

/* Says what is wrong with the value of an option and ends the process. */
static _Noreturn void
refuse(const char *option, const char *arg, const char *text)
{
	fprintf(stderr, "topaz: %s %s: %s\n", option, arg, text);
	exit(CMD_USAGE);
}

/* A number at *TEXT that ends at STOP; *TEXT moves behind it. */
static bool
parse_number(const char **text, int base, char stop, uint64_t *value)
{
	char *end;

	errno = 0;
	if (**text == '-' || **text == '+' || **text == ' ')
		return false;
	*value = strtoull(*text, &end, base);
	if (end == *text || errno != 0 || *end != stop)
		return false;
	*text = end + (stop != '\0');
	return true;
}

static void
parse_cpu(struct reencode_input *input, const char *arg)
{
	uint64_t family, model, stepping;
	const char *text = arg;
	uint64_t extended;

	if (!parse_number(&text, 0, '/', &family) ||
	    !parse_number(&text, 0, '/', &model) ||
	    !parse_number(&text, 0, '\0', &stepping))
		refuse("--cpu", arg, "not FAMILY/MODEL/STEPPING");
	if (family > 0xf + 0xff || model > 0xff || stepping > 0xf)
		refuse("--cpu", arg, "no processor has such a signature");
	/* SDM vol. 2, "CPUID", figure "Version Information Returned by". */
	extended = family > 0xf ? family - 0xf : 0;
	input->cpu_given = true;
	input->options.signature = (uint32_t)(extended << 20 |
	    (model >> 4) << 16 | (family - extended) << 8 | (model & 0xf) << 4 |
	    stepping);
}

static void
parse_range(struct reencode_input *input, const char *arg)
{
	struct decode_filter *filter = &input->options.filter;
	const char *text = arg;
	unsigned n = 0;

	while (n < TZ_ARRAY_LEN(filter->a) &&
	    (filter->config >> (4 * n) & 0xf) != 0)
		n++;
	if (n == TZ_ARRAY_LEN(filter->a))
		refuse("--range", arg, "no processor has more than 4 ranges");
	if (!parse_number(&text, 16, '-', &filter->a[n]) ||
	    !parse_number(&text, 16, '\0', &filter->b[n]))
		refuse("--range", arg, "not two hexadecimal addresses, A-B");
	if (filter->b[n] < filter->a[n])
		refuse("--range", arg, "it ends before it begins");
	filter->config |= UINT64_C(1) << (4 * n);
	input->options.filter_given = true;
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

static void
parse_end(struct reencode_input *input, struct argp_state *state)
{
	if (input->pt == NULL && input->image_count == 0)
		argp_error(state, "which trace (--pt) or bundle?");
	if (input->pt == NULL) {
		if (input->image_count != 1)
			argp_error(state, "images, but no trace: --pt FILE");
		input->bundle = input->images[0];
		if (input->cpu_given || input->options.ctl_given ||
		    input->options.filter_given)
			argp_error(state,
			    "--cpu, --ctl and --range are for --pt: a bundle "
			    "knows them");
		return;
	}
	if (input->image_count == 0)
		argp_error(state, "which memory (--image) did it run in?");
	if (!input->cpu_given)
		argp_error(state, "which processor (--cpu)?");
	if (input->options.profile == NULL)
		input->options.profile = reencode_nearest(
		    input->options.signature);
}

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct reencode_input *input = state->input;
	const char *text = arg;

	switch (key) {
	case OPT_PT:
		input->pt = arg;
		return 0;
	case OPT_CPU:
		parse_cpu(input, arg);
		return 0;
	case OPT_IMAGE:
	case ARGP_KEY_ARG:
		parse_image(input, state, arg);
		return 0;
	case OPT_CTL:
		if (!parse_number(&text, 16, '\0', &input->options.ctl))
			refuse("--ctl", arg, "not a hexadecimal number");
		input->options.ctl_given = true;
		return 0;
	case OPT_RANGE:
		parse_range(input, arg);
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
	case ARGP_KEY_END:
		parse_end(input, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void
reencode_parse(int argc, char **argv, struct reencode_input *input)
{
	static const struct argp argp = { reencode_argp_options, parse_one,
		"--pt FILE --cpu F/M/S --image SPEC...\nDIR",
		"Recovers the flow of a trace captured anywhere, or of the "
		"streams of the bundle DIR, makes its packets again and "
		"compares them.",
		NULL, NULL, NULL };

	cmd_parse(&argp, argc, argv, input);
}
