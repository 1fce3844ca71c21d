#include "tests/unit/reencode/remake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

void
remake_put(struct memory_image *memory_image, const uint8_t *code, size_t bytes,
    uint64_t va)
{
	char path[] = "/tmp/topaz-reencode-XXXXXX";
	struct tz_error err;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, code, bytes), bytes);
	assert_int_equal(
	    memory_image_add_file(memory_image, path, 0, bytes, va, &err), 0);
	close(fd);
	unlink(path);
}

/* The program of tests/unit/pt/stroll.c, but for its last CUT bytes. */
static struct memory_image *
program(size_t cut)
{
	struct memory_image *memory_image = memory_image_create();
	size_t bytes;
	const uint8_t *code = stroll_code(&bytes);

	assert_non_null(memory_image);
	remake_put(memory_image, code, bytes - cut, FAKE_CLIP);
	return memory_image;
}

static bool
remake_with(struct fake *fake, const struct reencode_options *options,
    size_t cut, uint64_t from, struct reencode_result *result,
    struct tz_error *err)
{
	struct memory_image *memory_image = program(cut);
	int error;

	pt_unit_sync_output(fake->unit);
	error = reencode_trace(fake->stream + from, fake->stream_bytes - from,
	    memory_image, options, result, err);
	memory_image_destroy(memory_image);
	return error == 0;
}

bool
try_remake(struct fake *fake, uint64_t ctl, uint64_t from,
    enum compare_form form, struct reencode_result *result,
    struct tz_error *err)
{
	struct reencode_options options = { .profile = &fake->profile,
		.signature = fake->profile.signature,
		.form = form,
		.ctl_given = ctl != 0,
		.ctl = ctl };

	if (ctl & REMAKE_FILTER) {
		options.filter_given = true;
		options.filter.config = 1;
		options.filter.a[0] = fake_rdmsr(fake, 0x580);
		options.filter.b[0] = fake_rdmsr(fake, 0x581);
	}
	return remake_with(fake, &options, 0, from, result, err);
}

void
remake_set(struct fake *fake, const struct setting *settings, size_t count,
    enum compare_form form, struct reencode_result *result)
{
	const struct reencode_options options = { .profile = &fake->profile,
		.signature = fake->profile.signature,
		.errata = fake->profile.errata_on,
		.errata_given = true,
		.form = form,
		.ctl_given = true,
		.filter_given = true,
		.ctl = settings->ctl,
		.filter = settings->filter,
		.settings = settings,
		.setting_count = count };
	struct tz_error err = { "" };

	if (!remake_with(fake, &options, 0, 0, result, &err))
		fail_msg("%s", err.text);
}

void
remake_short(
    struct fake *fake, uint64_t ctl, size_t cut, struct reencode_result *result)
{
	const struct reencode_options options = { .profile = &fake->profile,
		.signature = fake->profile.signature,
		.ctl_given = true,
		.ctl = ctl };
	struct tz_error err = { "" };

	if (!remake_with(fake, &options, cut, 0, result, &err))
		fail_msg("%s", err.text);
}

void
remake(struct fake *fake, uint64_t ctl, uint64_t from, enum compare_form form,
    struct reencode_result *result)
{
	struct tz_error err = { "" };

	if (!try_remake(fake, ctl, from, form, result, &err))
		fail_msg("%s", err.text);
}

void
remake_equal(struct fake *fake, uint64_t ctl, enum compare_form form)
{
	struct reencode_result result;

	remake(fake, ctl, 0, form, &result);
	if (!result.equal)
		reencode_print(&result, fake->stream, stderr);
	assert_true(result.equal);
	assert_int_equal(result.replay.gap_count, 0);
	assert_int_equal(result.replay.covered, fake->stream_bytes);
	reencode_result_free(&result);
}
