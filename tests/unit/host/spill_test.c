/*
 * Goal: memory in a file keeps what is stored to it, and leaves RAM.  Method: a pattern;
 * the process's resident pages from /proc/self/statm.
 */
#include "harness/host/folder/spill.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#define PAGE_BYTES 4096

static uint8_t
pattern(size_t at)
{
	return (uint8_t)(at * 0x9e3779b97f4a7c15 >> 56);
}

static size_t
resident_pages(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	size_t all, resident;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%zu %zu", &all, &resident), 2);
	fclose(file);
	return resident;
}

static void
what_is_left_can_be_read_again(void **state)
{
	static const size_t counts[] = { 0, 1, SPILL_MIN, SPILL_MIN + 1,
		3 * SPILL_MIN + 5 };

	(void)state;
	for (size_t n = 0; n < TZ_ARRAY_LEN(counts); n++) {
		struct spill spill;
		size_t count = counts[n], before;

		assert_int_equal(spill_make(&spill, count, NULL), 0);
		for (size_t at = 0; at < count; at++) {
			assert_int_equal(spill.bytes[at], 0);
			spill.bytes[at] = pattern(at);
		}
		before = resident_pages();
		spill_leave(&spill, count);
		if (count > SPILL_MIN)
			assert_in_range(resident_pages(), 0,
			    before - count / PAGE_BYTES / 2);
		for (size_t at = 0; at < count; at++)
			assert_int_equal(spill.bytes[at], pattern(at));
		spill_free(&spill);
		assert_null(spill.bytes);
		spill_free(&spill);
	}
}

static void
no_room_is_an_error(void **state)
{
	struct tz_error err = { "" };
	struct spill spill;

	(void)state;
	setenv("TMPDIR", "/nowhere", 1);
	assert_int_equal(spill_make(&spill, SPILL_MIN + 1, &err), -TZ_EIO);
	assert_non_null(strstr(err.text, "/nowhere"));
	assert_null(spill.bytes);
	spill_free(&spill);
	unsetenv("TMPDIR");
}

static void
a_file_that_may_not_be_so_large_is_an_error(void **state)
{
	const struct rlimit small = { SPILL_MIN, SPILL_MIN };
	struct tz_error err = { "" };
	struct spill spill;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(spill_make(&spill, SPILL_MIN + 1, &err), -TZ_EIO);
	assert_non_null(
	    strstr(err.text, "a temporary file of 16777217 bytes: "));
	assert_null(spill.bytes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		/* First: the process has one folder for its temporary files. */
		cmocka_unit_test(no_room_is_an_error),
		cmocka_unit_test(what_is_left_can_be_read_again),
		/* Last: the limit stays. */
		cmocka_unit_test(a_file_that_may_not_be_so_large_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
