/*
 * Goal: whatever a captured trace and the memory that it ran in hold, re-encoding it
 * ends in a result or in a message. Method: the input is options, code, packets.
 */
#include "tests/fuzz/parsers/parsers.h"
#include "traces/memory/memory_image.h"
#include "traces/reencode/reencode.h"

#include <stdlib.h>
#include <string.h>

#define TRACE_VA 0x400000

/* What an input says of options; a range is often at the code. */
static void
take_options(struct fuzz_input *input, struct reencode_options *options)
{
	unsigned how = fuzz_below(input, 256), n = fuzz_below(input, 256);
	size_t profiles = 0;

	while (profile_at(profiles) != NULL && profile_at(profiles)->pt)
		profiles++;
	options->profile = profile_at(n % profiles);
	options->signature = how & 1 ? options->profile->signature : 0;
	options->form = how >> 1 & 3;
	if (options->form > COMPARE_BYTES)
		options->form = COMPARE_BYTES;
	if (how & 8) {
		options->ctl_given = true;
		options->ctl = fuzz_take(input, 8);
		if (how & 0x80)
			options->ctl &= 0x80003fff;
	}
	for (unsigned i = 0; i < (how >> 4 & 3); i++) {
		options->filter_given = true;
		options->filter.a[i] = TRACE_VA + fuzz_take(input, 2);
		options->filter.b[i] = how & 0x40
		    ? options->filter.a[i] + fuzz_take(input, 1)
		    : fuzz_take(input, 8);
		options->filter.config |= UINT64_C(1) << (4 * i);
	}
}

void
read_trace(const uint8_t *data, size_t bytes)
{
	static const uint8_t psb[16] = { 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2,
		0x82, 2, 0x82, 2, 0x82, 2, 0x82 };
	struct fuzz_input input = { data, bytes, 0 };
	struct reencode_options options = { .profile = NULL };
	struct reencode_result *result = calloc(1, sizeof(*result));
	struct memory_image *memory_image = memory_image_create();
	struct tz_error err = { "" };
	FILE *null = fopen("/dev/null", "we");
	const char *code = parsers_path("code");
	size_t code_bytes, count;
	uint8_t *stream;
	int error;

	TZ_ASSERT(result != NULL && memory_image != NULL && null != NULL);
	take_options(&input, &options);
	code_bytes = fuzz_below(&input, 256);
	if (code_bytes > bytes - input.at)
		code_bytes = bytes - input.at;
	parsers_write(code, data + input.at, code_bytes);
	input.at += code_bytes;
	/* Code may look like a file that zstd compressed. */
	error = memory_image_add_file(
	    memory_image, code, 0, code_bytes, TRACE_VA, &err);
	count = sizeof(psb) + bytes - input.at;
	stream = malloc(count);
	TZ_ASSERT(stream != NULL);
	memcpy(stream, psb, sizeof(psb));
	memcpy(stream + sizeof(psb), data + input.at, bytes - input.at);
	if (error == 0)
		error = reencode_trace(
		    stream, count, memory_image, &options, result, &err);
	parsers_check(error, &err, NULL);
	if (error == 0) {
		FUZZ_CHECK(!result->equal || !result->replay.difference.found,
		    "equal, and a difference");
		FUZZ_CHECK(result->replay.covered <= count, "covers too much");
		reencode_print(result, stream, null);
		reencode_result_free(result);
	}
	fclose(null);
	free(stream);
	free(result);
	memory_image_destroy(memory_image);
}
