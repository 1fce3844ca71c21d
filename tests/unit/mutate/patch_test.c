/*
 * Goal: a mutant's source and its diff are the change and nothing else.  Method: edits of
 * a small text; the diff is what patch(1) takes, which is asked where it is there.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/mutate/patch.h"

static const char source[] = "1\n2\n3\n4\ncall(\n    x);\n7\n8\n9\n10\n11\n12\n"
			     "13\n14\n15\n16\n17\nlast";

static struct edit
edit_of(const char *old, const char *text)
{
	const char *at = strstr(source, old);
	uint32_t begin;

	assert_non_null(at);
	begin = (uint32_t)(at - source);
	return (struct edit){ { begin, begin + (uint32_t)strlen(old) },
		(char *)(uintptr_t)text };
}

static void
expect_diff(const struct mutant *mutant, const char *expected)
{
	char *diff = patch_diff("f.c", source, strlen(source), mutant);

	assert_string_equal(diff, expected);
	free(diff);
}

static void
edits_are_applied_in_their_places(void **state)
{
	const struct mutant mutant = { .edit_count = 2,
		.edit = {
		    edit_of("call(\n    x);", ";\n"), edit_of("17", "18") } };
	size_t bytes;
	char *text = patch_apply(source, strlen(source), &mutant, &bytes);

	(void)state;
	assert_string_equal(text,
	    "1\n2\n3\n4\n;\n\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n18\nlast");
	assert_int_equal(bytes, strlen(text));
	free(text);
}

static void
a_diff_has_three_lines_around_a_change(void **state)
{
	const struct mutant mutant = { .edit_count = 1,
		.edit = { edit_of("call(\n    x);", ";\n") } };

	(void)state;
	expect_diff(&mutant,
	    "--- a/f.c\n+++ b/f.c\n@@ -2,8 +2,8 @@\n 2\n 3\n 4\n-call(\n"
	    "-    x);\n+;\n+\n 7\n 8\n 9\n");
}

static void
changes_that_are_near_share_a_hunk(void **state)
{
	const struct mutant near = { .edit_count = 2,
		.edit = { edit_of("2", "a"), edit_of("8", "b") } };
	const struct mutant far = { .edit_count = 2,
		.edit = { edit_of("1\n", "a\n"), edit_of("14", "b") } };

	(void)state;
	expect_diff(&near,
	    "--- a/f.c\n+++ b/f.c\n@@ -1,11 +1,11 @@\n 1\n-2\n+a\n 3\n 4\n "
	    "call(\n     x);\n 7\n-8\n+b\n 9\n 10\n 11\n");
	expect_diff(&far,
	    "--- a/f.c\n+++ b/f.c\n@@ -1,4 +1,4 @@\n-1\n+a\n 2\n 3\n 4\n"
	    "@@ -11,7 +11,7 @@\n 11\n 12\n 13\n-14\n+b\n 15\n 16\n 17\n");
}

static void
a_last_line_without_a_newline_says_so(void **state)
{
	const struct mutant mutant = { .edit_count = 1,
		.edit = { edit_of("last", "end") } };

	(void)state;
	expect_diff(&mutant,
	    "--- a/f.c\n+++ b/f.c\n@@ -15,4 +15,4 @@\n 15\n 16\n 17\n-last\n"
	    "\\ No newline at end of file\n+end\n"
	    "\\ No newline at end of file\n");
}

static void
a_change_fits_a_line(void **state)
{
	const struct mutant call = { .edit_count = 2,
		.edit = {
		    edit_of("call(\n    x);", ""), edit_of("last", "") } };
	const struct mutant all = { .edit_count = 1,
		.edit = { edit_of(source, "0") } };
	char *line = patch_line(source, &call);

	(void)state;
	assert_string_equal(line, "call( x); -> nothing ...");
	free(line);
	line = patch_line(source, &all);
	assert_string_equal(
	    line, "1 2 3 4 call( x); 7 8 9 10 11 12 13 14 15 16... -> 0");
	free(line);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edits_are_applied_in_their_places),
		cmocka_unit_test(a_diff_has_three_lines_around_a_change),
		cmocka_unit_test(changes_that_are_near_share_a_hunk),
		cmocka_unit_test(a_last_line_without_a_newline_says_so),
		cmocka_unit_test(a_change_fits_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
