#include "tests/unit/reencode/captured_remake.h"
#include "tests/unit/reencode/remake.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

void
captured_remake(const struct captured *captured, const char *profile,
    enum compare_form form, struct reencode_result *result)
{
	struct reencode_options options = {
		.profile = profile_find(profile),
		.form = form,
		.filter_given = captured->ranges,
		.filter = { .config = 1,
		    .a = { CAPTURED_CODE },
		    .b = { CAPTURED_CODE + 0xfff } },
	};
	struct memory_image *memory_image = memory_image_create();
	struct tz_error err = { "" };
	size_t bytes;
	const uint8_t *code = captured_code(&bytes);

	assert_non_null(memory_image);
	options.signature = options.profile->signature;
	remake_put(memory_image, code, bytes, CAPTURED_CODE);
	if (reencode_trace(captured->bytes, captured->count, memory_image,
		&options, result, &err) != 0)
		fail_msg("%s", err.text);
	memory_image_destroy(memory_image);
}

void
captured_equal(const struct captured *captured, const char *profile,
    enum compare_form form)
{
	struct reencode_result result;

	captured_remake(captured, profile, form, &result);
	if (!result.equal)
		reencode_print(&result, captured->bytes, stderr);
	assert_true(result.equal);
	assert_int_equal(result.replay.gap_count, 0);
	assert_int_equal(result.replay.covered, captured->count);
	reencode_result_free(&result);
}
