/*
 * Goal: a cache keeps what was stored last, within its size, and touches no file of
 * others; a file that could not be made leaves nothing.  Method: files of known sizes and
 * ages, and a maker that fails.
 */
#include "fixture.h"

#include <fcntl.h>
#include <time.h>

#include "harness/host/folder/cache.h"

#define KEY(c)  c "000000000000000000000000000000" c
#define PATH(c) "cache/deep/" KEY(c) ".cached"

static struct cache cache;

static void
set(uint64_t bytes_max)
{
	struct tz_error err;

	assert_int_equal(
	    cache_set(&cache, "cache/deep", "unused", bytes_max, &err), 0);
}

/* ARG: the content; NULL: the maker fails after it has begun. */
static int
make(void *arg, const char *path, struct tz_error *err)
{
	fixture_write(path, arg != NULL ? arg : "half");
	return arg != NULL ? 0 : tz_error(err, TZ_EUSAGE, "as told");
}

static void
store(const char *key, const char *content)
{
	struct tz_error err;

	if (cache_store(&cache, key, make, (void *)(uintptr_t)content, &err) !=
	    0)
		fail_msg("%s", err.text);
}

/* FILE was used AGE seconds ago. */
static void
age(const char *file, int seconds)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
		{ .tv_sec = time(NULL) - seconds } };

	assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
}

static void
oldest_goes_first(void **state)
{
	(void)state;
	set(10);
	store(KEY("a"), "1234");
	store(KEY("b"), "1234");
	age(PATH("a"), 200);
	age(PATH("b"), 100);
	fixture_write("cache/deep/user", "a file of the user's");
	cache_used(&cache, KEY("a"));
	store(KEY("c"), "1234");
	assert_true(fixture_has(PATH("a")));
	assert_false(fixture_has(PATH("b")));
	assert_true(fixture_has(PATH("c")));
	assert_true(fixture_has("cache/deep/user"));
	/* One that is larger than all may be is kept until the next. */
	store(KEY("d"), "123456789012345");
	assert_false(fixture_has(PATH("a")));
	assert_false(fixture_has(PATH("c")));
	assert_true(fixture_has(PATH("d")));
}

static void
failure_leaves_what_was_there(void **state)
{
	struct tz_error err;
	char text[16];

	(void)state;
	set(1000);
	store(KEY("a"), "old");
	/* What a killed process has left. */
	fixture_write("cache/deep/new", "half");
	assert_int_equal(
	    cache_store(&cache, KEY("a"), make, NULL, &err), -TZ_EUSAGE);
	fixture_read(PATH("a"), text, sizeof(text));
	assert_string_equal(text, "old");
	assert_false(fixture_has("cache/deep/new"));
	fixture_write("file", "");
	assert_int_equal(cache_set(&cache, "file/below", "", 1, &err), 0);
	assert_int_equal(
	    cache_store(&cache, KEY("a"), make, NULL, &err), -TZ_EIO);
}

static void
path_is_that_of_the_user(void **state)
{
	char path[TREE_PATH_BYTES];
	struct tz_error err;

	(void)state;
	assert_int_equal(setenv("HOME", "/home/u", 1), 0);
	assert_int_equal(setenv("XDG_CACHE_HOME", "relative", 1), 0);
	assert_int_equal(cache_set(&cache, NULL, "boot", 1, &err), 0);
	cache_file(&cache, KEY("a"), path);
	assert_string_equal(
	    path, "/home/u/.cache/topaz/boot/" KEY("a") ".cached");
	assert_int_equal(setenv("XDG_CACHE_HOME", "/c", 1), 0);
	assert_int_equal(cache_set(&cache, NULL, "boot", 1, &err), 0);
	assert_string_equal(cache.path, "/c/topaz/boot");
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	assert_int_equal(cache_set(&cache, NULL, "boot", 1, &err), -TZ_EUSAGE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oldest_goes_first),
		cmocka_unit_test(failure_leaves_what_was_there),
		cmocka_unit_test(path_is_that_of_the_user),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
