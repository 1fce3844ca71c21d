/*
 * topaz reencode: a trace made again by the PT unit, traces/reencode/.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cmd/cmd.h"
#include "harness/cmd/reencode_options.h"
#include "traces/bundle.h"

static const char *
form_name(enum compare_form form)
{
	static const char *const names[] = { [COMPARE_CANONICAL] = "canonical",
		[COMPARE_STRICT] = "strict",
		[COMPARE_BYTES] = "bytes" };

	return names[form];
}

/* Re-encodes and prints one trace of NAME. */
static int
reencode_bytes(const char *name, const uint8_t *bytes, uint64_t count,
    struct pieces *pieces, const struct reencode_options *options,
    struct tz_error *err)
{
	struct reencode_result *result = malloc(sizeof(*result));
	int code = CMD_OK;

	if (result == NULL) {
		(void)tz_error(err, TZ_EIO, "out of memory");
		return cmd_fail(err);
	}
	printf("%s: %llu bytes, profile %s, compared: %s\n", name,
	    (unsigned long long)count, options->profile->name,
	    form_name(options->form));
	if (reencode_trace(bytes, count, pieces, options, result, err) != 0) {
		free(result);
		return cmd_fail(err);
	}
	reencode_print(result, bytes, stdout);
	if (result->nothing)
		code = CMD_NOTHING;
	else if (!result->equal)
		code = CMD_FINDING;
	reencode_result_free(result);
	free(result);
	return code;
}

static int
reencode_file(const struct reencode_input *input, struct tz_error *err)
{
	struct pieces *pieces = pieces_create();
	uint8_t *bytes = NULL;
	uint64_t count = 0;
	int error = 0, code;

	if (pieces == NULL)
		error = tz_error(err, TZ_EIO, "out of memory");
	for (unsigned i = 0; error == 0 && i < input->image_count; i++)
		error = pieces_add(pieces, input->images[i], err);
	if (error == 0)
		error = pieces_read(input->pt, &bytes, &count, err);
	if (error == 0 && scan_find_psb(bytes, count, 0) == count)
		error = tz_error(err, TZ_EFORMAT,
		    "%s: no PSB packet in its %llu bytes", input->pt,
		    (unsigned long long)count);
	code = error != 0 ? cmd_fail(err)
			  : reencode_bytes(input->pt, bytes, count, pieces,
				&input->options, err);
	free(bytes);
	pieces_destroy(pieces);
	return code;
}

/* CTL and ranges when tracing was first enabled. */
static int
bundle_config(const struct bundle *bundle, struct reencode_options *options,
    struct tz_error *err)
{
	struct event *events;
	size_t count;
	int error = bundle_read_events(bundle, &events, &count, err);

	if (error != 0)
		return error;
	for (size_t i = 0; i < count && !options->ctl_given; i++) {
		unsigned range = (unsigned)(events[i].a - 0x580) / 2;

		if (events[i].kind == EVENT_TRACE_ON) {
			options->ctl = events[i].a;
			options->ctl_given = true;
		} else if (events[i].kind == EVENT_MSR_WRITE &&
		    events[i].a >= 0x580 && events[i].a <= 0x587) {
			if (events[i].a % 2 == 0)
				options->filter.a[range] = events[i].b;
			else
				options->filter.b[range] = events[i].b;
		}
	}
	free(events);
	options->filter.config = tz_bits(options->ctl, 47, 32);
	options->filter_given = true;
	return 0;
}

static int
bundle_pieces(
    const struct bundle *bundle, struct pieces *pieces, struct tz_error *err)
{
	int error = 0;

	for (size_t i = 0; error == 0 && i < bundle->image_count; i++) {
		const struct bundle_image *image = &bundle->images[i];
		char path[4096];

		snprintf(
		    path, sizeof(path), "%s/%s", bundle->path, image->file);
		error = pieces_add_file(
		    pieces, path, image->offset, image->bytes, image->va, err);
	}
	return error;
}

static int
reencode_streams(const struct bundle *bundle, struct pieces *pieces,
    const struct reencode_options *options, struct tz_error *err)
{
	int code = CMD_NOTHING;

	for (size_t i = 0; i < bundle->stream_count; i++) {
		uint8_t *bytes;
		size_t count;
		int one;

		if (bundle_read_stream(bundle, i, &bytes, &count, err) != 0)
			return cmd_fail(err);
		one = reencode_bytes(bundle->streams[i].file, bytes, count,
		    pieces, options, err);
		free(bytes);
		if (code == CMD_NOTHING || (one > code && one != CMD_NOTHING))
			code = one;
	}
	return code;
}

static int
reencode_bundle(struct reencode_input *input, struct tz_error *err)
{
	struct reencode_options *options = &input->options;
	struct pieces *pieces = pieces_create();
	struct bundle *bundle = NULL;
	int code, error = 0;

	if (pieces == NULL)
		error = tz_error(err, TZ_EIO, "out of memory");
	if (error == 0)
		error = bundle_open(input->bundle, &bundle, err);
	if (error == 0)
		error = bundle_config(bundle, options, err);
	if (error == 0)
		error = bundle_pieces(bundle, pieces, err);
	if (error == 0 && options->profile == NULL) {
		options->profile = profile_find(bundle->info.profile);
		if (options->profile == NULL)
			error = tz_error(err, TZ_ENOENT,
			    "%s: profile %s: no such profile", input->bundle,
			    bundle->info.profile);
	}
	if (error == 0) {
		options->signature = bundle->info.signature;
		if (!input->form_given)
			options->form = COMPARE_BYTES;
		code = reencode_streams(bundle, pieces, options, err);
	} else {
		code = cmd_fail(err);
	}
	if (bundle != NULL)
		bundle_close(bundle);
	pieces_destroy(pieces);
	return code;
}

int
cmd_reencode(int argc, char **argv)
{
	struct reencode_input input = { .pt = NULL };
	struct tz_error err;

	reencode_parse(argc, argv, &input);
	return input.bundle != NULL ? reencode_bundle(&input, &err)
				    : reencode_file(&input, &err);
}
