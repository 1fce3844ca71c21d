/*
 * Goal: what is not a regular file of a sensible size is refused at once, by name; the
 * rest is read whole.  Method: each kind of file that a path can name, and sizes around
 * the limit.
 */
#include "fixture.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "harness/host/input.h"

static void
check_refused(const char *path, int error, const char *text)
{
	uint8_t *bytes;
	size_t count;
	FILE *file;
	struct tz_error err = { "" };

	if (input_read(path, INPUT_TOKEN, &bytes, &count, &err) != error ||
	    strncmp(err.text, path, strlen(path)) != 0 ||
	    strstr(err.text, text) == NULL)
		fail_msg("%s: \"%s\" is not %s", path, err.text, text);
	assert_null(bytes);
	assert_int_equal(input_open(path, INPUT_TOKEN, &file, &err), error);
	assert_null(file);
	assert_int_equal(input_check(path, INPUT_TOKEN, &err), error);
}

/* alarm(2) ends the test if one of them waits. */
static void
only_regular_files_are_read(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	alarm(20);
	strcpy(address.sun_path, "socket");
	assert_int_equal(
	    bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(symlink("fifo", "link"), 0);
	assert_int_equal(symlink("loop", "loop"), 0);
	check_refused("absent", -TZ_ENOENT, "No such file");
	check_refused("fifo", -TZ_EUSAGE, "not a regular file");
	check_refused("link", -TZ_EUSAGE, "not a regular file");
	check_refused("socket", -TZ_EUSAGE, "not a regular file");
	check_refused(".", -TZ_EUSAGE, "not a regular file");
	check_refused("/dev/zero", -TZ_EUSAGE, "not a regular file");
	check_refused("/dev/tty", -TZ_EUSAGE, "not a regular file");
	check_refused("loop", -TZ_EIO, "symbolic links");
	check_refused("absent/x", -TZ_ENOENT, "No such file");
	close(fd);
	alarm(0);
}

static void
each_kind_has_a_limit(void **state)
{
	uint64_t most = input_bytes_max(INPUT_TOKEN);
	struct tz_error err;
	uint8_t *bytes;
	size_t count;

	(void)state;
	for (unsigned kind = 0; kind < INPUT_KIND_COUNT; kind++) {
		FILE *file = fopen("sparse", "w");

		assert_non_null(file);
		most = input_bytes_max((enum input_kind)kind);
		assert_true(most != 0);
		assert_int_equal(ftruncate(fileno(file), (off_t)most), 0);
		assert_int_equal(
		    input_check("sparse", (enum input_kind)kind, &err), 0);
		assert_int_equal(ftruncate(fileno(file), (off_t)most + 1), 0);
		assert_int_equal(
		    input_check("sparse", (enum input_kind)kind, &err),
		    -TZ_EUSAGE);
		assert_non_null(strstr(err.text, " has at most "));
		fclose(file);
	}
	assert_int_equal(truncate("sparse", 64 << 10), 0);
	assert_int_equal(
	    input_read("sparse", INPUT_TOKEN, &bytes, &count, &err), 0);
	assert_int_equal(count, 64 << 10);
	free(bytes);
	assert_int_equal(truncate("sparse", (64 << 10) + 1), 0);
	check_refused("sparse", -TZ_EUSAGE,
	    "65537 bytes: a file with a token "
	    "has at most 64 KiB");
}

static void
a_file_is_read_whole(void **state)
{
	struct tz_error err;
	uint8_t *bytes;
	size_t count;
	FILE *file;

	(void)state;
	fixture_write("text", "two\nlines\n");
	assert_int_equal(
	    input_read("text", INPUT_TOKEN, &bytes, &count, &err), 0);
	assert_int_equal(count, 10);
	assert_string_equal((char *)bytes, "two\nlines\n");
	free(bytes);
	assert_int_equal(input_open("text", INPUT_TOKEN, &file, &err), 0);
	assert_int_equal(getc(file), 't');
	fclose(file);
	fixture_write("empty", "");
	assert_int_equal(
	    input_read("empty", INPUT_TOKEN, &bytes, &count, &err), 0);
	assert_int_equal(count, 0);
	assert_string_equal((char *)bytes, "");
	free(bytes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_regular_files_are_read),
		cmocka_unit_test(each_kind_has_a_limit),
		cmocka_unit_test(a_file_is_read_whole),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
