/*
 * topaz decode: the packets or instructions of a bundle's streams, or the packets
 * of a file of raw trace.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/cmd/cmd.h"
#include "harness/cmd/trace/bundle_symbols.h"
#include "harness/host/input.h"
#include "traces/bundle/image.h"
#include "traces/decode/decode.h"
#include "traces/decode/packets.h"

#define DECODE_BATCH 256

struct decode_input {
	const char *path;
	const char *stream; /* NULL: all */
	bool insns;
	bool pads;
};

enum { OPT_PACKETS = 256, OPT_INSNS, OPT_PADS, OPT_STREAM };

static const struct argp_option decode_argp_options[] = {
	{ "packets", OPT_PACKETS, NULL, 0, "Print packets (default)", 0 },
	{ "insns", OPT_INSNS, NULL, 0,
	    "Print instructions with symbols (bundles only)", 0 },
	{ "pads", OPT_PADS, NULL, 0, "Print PAD packets too", 0 },
	{ "stream", OPT_STREAM, "NAME", 0,
	    "One stream of the bundle only: cpu0, thread1 ...", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t
parse_one(int key, char *arg, struct argp_state *state)
{
	struct decode_input *input = state->input;

	switch (key) {
	case OPT_PACKETS:
	case OPT_INSNS:
		input->insns = key == OPT_INSNS;
		return 0;
	case OPT_PADS:
		input->pads = true;
		return 0;
	case OPT_STREAM:
		input->stream = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (input->path != NULL)
			argp_error(state, "one input at a time: %s", arg);
		input->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (input->path == NULL)
			argp_error(state, "which file or bundle?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int
print_packets(const struct decode_input *input, const uint8_t *bytes,
    size_t count, const struct bundle_model *model, struct tz_error *err)
{
	int refused = packets_print(
	    bytes, count, model->signature, model->errata, input->pads, stdout);

	if (refused < 0) {
		(void)tz_error(err, TZ_EIO, "out of memory");
		return cmd_fail(err);
	}
	return refused == 0 ? CMD_OK : CMD_FINDING;
}

static void
print_insns(const uint64_t *ips, size_t count, struct bundle_symbols *symbols)
{
	char text[192];
	size_t i;

	for (i = 0; i < count; i++) {
		if (!bundle_symbols_name(symbols, ips[i], text, sizeof(text)))
			text[0] = '\0';
		printf("%016" PRIx64 "%s%s\n", ips[i],
		    text[0] != '\0' ? "  " : "", text);
	}
}

/* Prints the instructions, synchronising at PSBs; true: libipt reported an error. */
static bool
print_decoded(struct decode *decode, struct bundle_symbols *symbols)
{
	uint64_t ips[DECODE_BATCH];
	enum decode_state state;
	struct decode_info info;
	bool refused = false;
	size_t count;

	while (decode_sync(decode)) {
		do {
			state = decode_next(decode, ips, DECODE_BATCH, &count);
			print_insns(ips, count, symbols);
		} while (state == DECODE_MORE || state == DECODE_OVERFLOW);
		if (state != DECODE_ERROR)
			continue;
		info = decode_info(decode);
		printf("[%08" PRIx64 ": %s]\n", info.offset, info.text);
		refused = true;
	}
	return refused;
}

static int
print_stream_insns(const struct bundle *bundle,
    const struct bundle_model *model, const uint8_t *bytes, size_t count,
    struct bundle_symbols *symbols, struct tz_error *err)
{
	struct decode_config config = { .bytes = bytes,
		.count = count,
		.signature = model->signature,
		.errata = model->errata };
	struct code_image image;
	struct decode *decode;
	bool refused;

	if (image_create(bundle, &image, err) != 0)
		return cmd_fail(err);
	config.image = image.image;
	decode = decode_create(&config);
	if (decode == NULL) {
		image_destroy(&image);
		(void)tz_error(err, TZ_EIO, "out of memory");
		return cmd_fail(err);
	}
	refused = print_decoded(decode, symbols);
	decode_destroy(decode);
	image_destroy(&image);
	return refused ? CMD_FINDING : CMD_OK;
}

static int
decode_stream(const struct decode_input *input, const struct bundle *bundle,
    size_t index, struct bundle_symbols *symbols, struct tz_error *err)
{
	const struct bundle_stream *stream = &bundle->streams[index];
	const struct bundle_model model = bundle_model_of(
	    bundle, bundle_stream_cpus(stream));
	uint8_t *bytes;
	size_t count;
	int code;

	if (bundle_read_stream(bundle, index, &bytes, &count, err) != 0)
		return cmd_fail(err);
	printf("%s: %zu bytes\n", stream->file, count);
	if (input->insns)
		code = print_stream_insns(
		    bundle, &model, bytes, count, symbols, err);
	else
		code = print_packets(input, bytes, count, &model, err);
	free(bytes);
	return code;
}

static bool
selected(const struct decode_input *input, const struct bundle_stream *stream)
{
	size_t bytes;

	if (input->stream == NULL)
		return true;
	bytes = strlen(input->stream);
	return strncmp(stream->file, input->stream, bytes) == 0 &&
	    (stream->file[bytes] == '\0' || stream->file[bytes] == '.');
}

static int
decode_bundle(const struct decode_input *input, struct tz_error *err)
{
	struct bundle_symbols *symbols;
	struct bundle *bundle;
	int code = CMD_NOTHING;
	size_t i;

	if (bundle_open(input->path, &bundle, err) != 0)
		return cmd_fail(err);
	if (bundle_symbols_open(bundle, &symbols, err) != 0) {
		bundle_close(bundle);
		return cmd_fail(err);
	}
	for (i = 0; i < bundle->stream_count; i++) {
		int one;

		if (!selected(input, &bundle->streams[i]))
			continue;
		one = decode_stream(input, bundle, i, symbols, err);
		if (code == CMD_NOTHING || one > code)
			code = one;
	}
	if (code == CMD_NOTHING)
		fprintf(
		    stderr, "topaz: %s: no such stream in it\n", input->path);
	bundle_symbols_close(symbols);
	bundle_close(bundle);
	return code;
}

static int
decode_file(const struct decode_input *input, struct tz_error *err)
{
	const struct bundle_model unknown = { .signature = 0 };
	uint8_t *bytes;
	size_t count;
	int code;

	if (input->insns || input->stream != NULL) {
		(void)tz_error(err, TZ_EUSAGE,
		    "%s: --insns and --stream need a bundle: a file has no "
		    "code",
		    input->path);
		return cmd_fail(err);
	}
	if (input_read(input->path, INPUT_TRACE, &bytes, &count, err) != 0)
		return cmd_fail(err);
	if (decode_count_psbs(bytes, count) == 0) {
		(void)tz_error(err, TZ_EFORMAT,
		    "%s: no PSB packet in its %zu bytes", input->path, count);
		code = cmd_fail(err);
	} else {
		code = print_packets(input, bytes, count, &unknown, err);
	}
	free(bytes);
	return code;
}

const struct argp cmd_decode_argp = { decode_argp_options, parse_one,
	"FILE|DIR",
	"Prints the packets of the raw trace FILE or of the streams of "
	"the bundle DIR, or the instructions they lead to.",
	NULL, NULL, NULL };

int
cmd_decode(int argc, char **argv)
{
	struct decode_input input = { .path = NULL };
	struct tz_error err;
	struct stat st;

	cmd_parse(&cmd_decode_argp, argc, argv, &input);
	if (stat(input.path, &st) != 0) {
		(void)tz_error(
		    &err, TZ_EUSAGE, "%s: %s", input.path, strerror(errno));
		return cmd_fail(&err);
	}
	return S_ISDIR(st.st_mode) ? decode_bundle(&input, &err)
				   : decode_file(&input, &err);
}
