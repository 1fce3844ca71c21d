/*
 * topaz reencode: the PT unit re-encodes a trace (traces/reencode/).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "harness/cmd/cmd.h"
#include "harness/cmd/reencode/reencode_one.h"
#include "harness/cmd/reencode/reencode_options.h"
#include "harness/cmd/reencode/reencode_perf.h"
#include "traces/bundle/bundle.h"
#include "traces/reencode/input/settings.h"

#define COMMAND_BYTES        8192
#define REENCODE_STACK_BYTES (UINT64_C(64) << 20)

static int
reencode_file(const struct reencode_input *input, struct tz_error *err)
{
	struct memory_image *memory_image = memory_image_create();
	uint8_t *bytes = NULL;
	uint64_t count = 0;
	int error = 0, code;

	if (memory_image == NULL)
		error = tz_error(err, TZ_EIO, "out of memory");
	for (unsigned i = 0; error == 0 && i < input->image_count; i++)
		error = memory_image_add(memory_image, input->images[i], err);
	if (error == 0)
		error = memory_image_read(input->pt, &bytes, &count, err);
	if (error == 0 && pkt_find_psb(bytes, count, 0) == count)
		error = tz_error(err, TZ_EFORMAT,
		    "%s: no PSB packet in its %llu bytes", input->pt,
		    (unsigned long long)count);
	code = error != 0 ? cmd_fail(err)
			  : reencode_one(input->pt, bytes, count, memory_image,
				&input->options, &input->output, err);
	free(bytes);
	memory_image_destroy(memory_image);
	return code;
}

/* The parts of a bundle that are read before its traces. */
struct reencode_bundle {
	struct bundle *bundle;
	struct memory_image *memory_image;
	struct event *events;
	size_t event_count;
	struct account account; /* the CPUs and the settings of each stream */
	struct reencode_options options;
	const struct reencode_output *output;
};

static int
bundle_events(struct reencode_bundle *from, struct tz_error *err)
{
	int error = bundle_read_events(
	    from->bundle, &from->events, &from->event_count, err);

	return error != 0 ? error
			  : account_replay(from->events, from->event_count,
				false, &from->account, err);
}

static int
bundle_pieces(const struct bundle *bundle, struct memory_image *memory_image,
    struct tz_error *err)
{
	int error = 0;

	for (size_t i = 0; error == 0 && i < bundle->image_count; i++) {
		const struct bundle_image *image = &bundle->images[i];
		char path[4096];

		snprintf(
		    path, sizeof(path), "%s/%s", bundle->path, image->file);
		error = memory_image_add_file(memory_image, path, image->offset,
		    image->bytes, image->va, err);
	}
	return error;
}

/* The index of STREAM in the account; ACCOUNT_NONE: the account does not have it. */
static size_t
stream_index(
    const struct reencode_bundle *from, const struct bundle_stream *stream)
{
	const struct account *account = &from->account;
	uint64_t key = stream->id |
	    (stream->thread ? EVENT_STREAM_THREAD : UINT64_C(0));

	for (size_t i = 0; i < account->stream_count; i++)
		if (account->streams[i].key == key)
			return i;
	return ACCOUNT_NONE;
}

static uint32_t
stream_cpus(
    const struct reencode_bundle *from, const struct bundle_stream *stream)
{
	size_t index = stream_index(from, stream);

	return stream->thread && index != ACCOUNT_NONE
	    ? account_cpus(&from->account, index)
	    : bundle_stream_cpus(stream);
}

/* The trace settings of STREAM and where they changed; the caller frees *SETTINGS. */
static int
stream_settings(const struct reencode_bundle *from,
    const struct bundle_stream *stream, struct reencode_options *options,
    struct setting **settings, struct tz_error *err)
{
	size_t index = stream_index(from, stream);
	int error = 0;

	*settings = NULL;
	if (index != ACCOUNT_NONE)
		error = settings_read(from->events, from->event_count,
		    &from->account, index, settings, &options->setting_count,
		    err);
	if (error != 0 || options->setting_count == 0)
		return error;
	options->settings = *settings;
	options->ctl_given = options->filter_given = true;
	options->ctl = (*settings)->ctl;
	options->filter = (*settings)->filter;
	return 0;
}

/* The processor model of STREAM, unless --profile names one. */
static int
stream_model(const struct reencode_bundle *from,
    const struct bundle_stream *stream, struct reencode_options *options,
    struct tz_error *err)
{
	struct bundle_model model = bundle_model_of(
	    from->bundle, stream_cpus(from, stream));

	options->signature = model.signature;
	options->errata = model.errata;
	options->errata_given = true;
	if (options->profile != NULL)
		return 0;
	if (model.profile[0] == '\0')
		return tz_error(err, TZ_EUSAGE,
		    "%s: %s: CPUs of several models wrote it, one after the "
		    "other, and only the trace of one can be re-encoded; "
		    "--profile NAME selects the model for all of it",
		    from->bundle->path, stream->file);
	options->profile = profile_find(model.profile);
	if (options->profile == NULL)
		return tz_error(err, TZ_ENOENT,
		    "%s: profile %s: no such profile", from->bundle->path,
		    model.profile);
	return 0;
}

static int
reencode_streams(const struct reencode_bundle *from, struct tz_error *err)
{
	int code = CMD_NOTHING;

	if (from->bundle->stream_count == 0)
		fprintf(
		    stderr, "topaz: %s: no trace in it\n", from->bundle->path);
	for (size_t i = 0; i < from->bundle->stream_count; i++) {
		const struct bundle_stream *stream = &from->bundle->streams[i];
		struct reencode_options options = from->options;
		struct setting *settings;
		uint8_t *bytes = NULL;
		size_t count;
		int one;

		if (stream_model(from, stream, &options, err) != 0 ||
		    stream_settings(from, stream, &options, &settings, err) !=
			0)
			return cmd_fail(err);
		one = bundle_read_stream(
			  from->bundle, i, &bytes, &count, err) != 0
		    ? cmd_fail(err)
		    : reencode_one(stream->file, bytes, count,
			  from->memory_image, &options, from->output, err);
		free(bytes);
		free(settings);
		code = reencode_worse(code, one);
	}
	return code;
}

static int
reencode_bundle(struct reencode_input *input, struct tz_error *err)
{
	struct reencode_bundle from = { .memory_image = memory_image_create(),
		.options = input->options,
		.output = &input->output };
	int code, error = 0;

	if (!input->form_given)
		from.options.form = COMPARE_BYTES;
	if (from.memory_image == NULL)
		error = tz_error(err, TZ_EIO, "out of memory");
	if (error == 0)
		error = bundle_open(input->bundle, &from.bundle, err);
	if (error == 0)
		error = bundle_events(&from, err);
	if (error == 0)
		error = bundle_pieces(from.bundle, from.memory_image, err);
	code = error == 0 ? reencode_streams(&from, err) : cmd_fail(err);
	account_free(&from.account);
	free(from.events);
	if (from.bundle != NULL)
		bundle_close(from.bundle);
	memory_image_destroy(from.memory_image);
	return code;
}

/*
 * libipt recurses for each jump in a block, which has up to 65535 of them: a ring of jumps
 * needs more than the usual stack.
 */
static void
reencode_deepen_stack(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) != 0 ||
	    limit.rlim_cur >= REENCODE_STACK_BYTES)
		return;
	limit.rlim_cur = limit.rlim_max < REENCODE_STACK_BYTES
	    ? limit.rlim_max
	    : REENCODE_STACK_BYTES;
	(void)setrlimit(RLIMIT_STACK, &limit);
}

static int
reencode_all(struct reencode_input *input, struct tz_error *err)
{
	if (input->perf != NULL)
		return reencode_perf(input, err);
	return input->bundle != NULL ? reencode_bundle(input, err)
				     : reencode_file(input, err);
}

int
cmd_reencode(int argc, char **argv)
{
	struct reencode_input input = { .pt = NULL };
	struct reencode_page page = { .output = NULL };
	char command[COMMAND_BYTES];
	struct tz_error err;
	int code, error;

	reencode_deepen_stack();
	/* With hundreds of images it is too long to be shown. */
	if (cmd_quote(argc, argv, command, sizeof(command), &err) != 0)
		snprintf(command, sizeof(command), "topaz reencode ...");
	reencode_parse(argc, argv, &input);
	if (input.page == NULL)
		return reencode_all(&input, &err);
	error = reencode_page_begin(&page, input.page, &err);
	if (error != 0)
		return cmd_fail_of(error, &err);
	input.output.page = &page;
	code = reencode_all(&input, &err);
	error = reencode_page_end(&page, command, &err);
	return error != 0 ? cmd_fail_of(error, &err) : code;
}
