/*
 * Goal: an output folder is replaced whole, and never anything that is not topaz's.
 * Method: folders with each kind of thing in them that could be a user's; processes
 * that write at the same time or are killed; things that appear meanwhile.
 */
#define _GNU_SOURCE
#include "fixture.h"

#include "harness/host/folder/marker.h"
#include "harness/host/folder/output.h"
#include "harness/host/folder/scratch.h"

static struct output *
claim(const char *path)
{
	struct output *output;
	struct tz_error err;

	if (output_claim(path, OUTPUT_FINDINGS, &output, &err) != 0)
		fail_msg("%s", err.text);
	return output;
}

static void
put(const struct output *output, const char *name, const char *text)
{
	char path[TREE_PATH_BYTES];

	snprintf(path, sizeof(path), "%s/%s", output_new(output), name);
	if (text == NULL)
		assert_int_equal(mkdir(path, 0777), 0);
	else
		fixture_write(path, text);
}

static void
publish(struct output *output)
{
	struct tz_error err;

	if (output_publish(output, &err) != 0)
		fail_msg("%s", err.text);
}

/* A folder of findings with one file in it and one in a folder. */
static void
make(const char *path, const char *text)
{
	struct output *output = claim(path);

	put(output, "index.html", text);
	put(output, "objects", NULL);
	put(output, "objects/sha256", text);
	publish(output);
}

static void
check_text(const char *path, const char *want)
{
	char text[64];

	fixture_read(path, text, sizeof(text));
	assert_string_equal(text, want);
}

/* PATH is refused for that reason, and nothing is left beside it. */
static void
check_refused(const char *path, const char *reason)
{
	struct output *output = NULL;
	struct tz_error err = { "" };
	int error = output_claim(path, OUTPUT_FINDINGS, &output, &err);

	if (error != -TZ_EUSAGE || strstr(err.text, reason) == NULL ||
	    strstr(err.text, path) == NULL || strchr(err.text, '\n') != NULL)
		fail_msg(
		    "%s: %d \"%s\", not: %s", path, error, err.text, reason);
	assert_null(output);
	assert_int_equal(fixture_count(".", "."), 0);
}

static void
a_folder_of_topaz_is_replaced_whole(void **state)
{
	struct output *output;
	struct stat st;

	(void)state;
	make("out", "first");
	check_text("out/index.html", "first");
	assert_true(fixture_has("out/" MARKER_NAME));
	output = claim("out/");
	/* Until it is whole, the old one is there. */
	put(output, "findings.jsonl", "second");
	check_text("out/index.html", "first");
	assert_false(fixture_has("out/findings.jsonl"));
	assert_int_equal(chmod("out", 0750), 0);
	output_abandon(output);
	check_text("out/index.html", "first");
	output = claim("./out");
	put(output, "findings.jsonl", "second");
	publish(output);
	check_text("out/findings.jsonl", "second");
	assert_false(fixture_has("out/index.html"));
	assert_false(fixture_has("out/objects"));
	assert_int_equal(stat("out", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0750);
	assert_int_equal(fixture_count(".", "."), 0);
	/* One of which the user has removed something is still topaz's. */
	assert_int_equal(unlink("out/findings.jsonl"), 0);
	make("out", "third");
	/* And an empty one is nobody's. */
	assert_int_equal(mkdir("empty", 0777), 0);
	make("empty", "text");
	check_text("empty/index.html", "text");
}

static void
what_is_the_users_is_never_replaced(void **state)
{
	(void)state;
	assert_int_equal(mkdir("plain", 0777), 0);
	fixture_write("plain/index.html", "mine");
	check_refused("plain", "was not made by topaz");
	fixture_write("plain/manifest.json", "{}");
	check_refused("plain", "was not made by topaz");
	fixture_write("plain/" MARKER_NAME, "");
	check_refused("plain", "is not as topaz wrote it");
	fixture_write("plain/" MARKER_NAME, "topaz 1 findings\n");
	check_refused("plain", "is not as topaz wrote it");
	fixture_write("file", "mine");
	check_refused("file", "exists and is no directory");
	make("out", "first");
	assert_int_equal(symlink("out", "link"), 0);
	check_refused("link", "is a symbolic link");
	fixture_write("out/notes", "mine");
	check_refused("out", "notes in it was not written by topaz");
	assert_int_equal(unlink("out/notes"), 0);
	fixture_write("out/objects/notes", "mine");
	check_refused("out", "objects/notes in it was not written");
	assert_int_equal(unlink("out/objects/notes"), 0);
	assert_int_equal(mkdir("out/new", 0777), 0);
	check_refused("out", "new in it was not written by topaz");
	assert_int_equal(rmdir("out/new"), 0);
	/* The same name and size is not the same file. */
	fixture_write("out/index.html", "fir5t");
	check_refused("out", "index.html in it has changed");
	assert_int_equal(unlink("out/index.html"), 0);
	assert_int_equal(symlink("../plain/index.html", "out/index.html"), 0);
	check_refused("out", "index.html in it was not written");
	assert_int_equal(unlink("out/index.html"), 0);
	assert_int_equal(mkdir("out/index.html", 0777), 0);
	check_refused("out", "index.html in it was not written");
	assert_int_equal(rmdir("out/index.html"), 0);
	fixture_write("out/index.html", "first");
	make("out", "second");
	check_text("plain/index.html", "mine");
	check_text("file", "mine");
}

static void
a_folder_of_another_kind_is_not_replaced(void **state)
{
	struct output *output;
	struct tz_error err;

	(void)state;
	make("out", "first");
	assert_int_equal(
	    output_claim("out", OUTPUT_BUNDLE, &output, &err), -TZ_EUSAGE);
	assert_non_null(strstr(err.text, "out: holds findings"));
}

static void
names_that_cannot_be_replaced_are_refused(void **state)
{
	struct output *output;
	struct tz_error err;
	char name[300];

	(void)state;
	check_refused(".", "name one in it");
	check_refused("..", "name one in it");
	check_refused("/", "not the name");
	check_refused("", "not the name");
	check_refused("/proc", "mount point");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	check_refused(name, "not the name");
	assert_int_equal(
	    output_claim("absent/out", OUTPUT_FINDINGS, &output, &err),
	    -TZ_EIO);
	assert_string_equal(err.text, "absent/out: No such file or directory");
	/* The name that topaz uses itself. */
	assert_int_equal(mkdir(".out.topaz", 0777), 0);
	fixture_write(".out.topaz/file", "mine");
	assert_int_equal(
	    output_claim("out", OUTPUT_FINDINGS, &output, &err), -TZ_EUSAGE);
	assert_non_null(strstr(err.text, "was not made by topaz"));
	check_text(".out.topaz/file", "mine");
}

static void
one_process_at_a_time_writes_it(void **state)
{
	char pid[32], path[128];
	struct output *output;
	struct tz_error err;
	int fd[2];
	pid_t child;

	(void)state;
	assert_int_equal(pipe(fd), 0);
	child = fork();
	if (child == 0) {
		put(claim("out"), "index.html", "half");
		if (write(fd[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	fixture_await(fd[0]);
	/* By whatever name. */
	snprintf(path, sizeof(path), "%s/./out//", fixture_dir());
	assert_int_equal(
	    output_claim(path, OUTPUT_FINDINGS, &output, &err), -TZ_EUSAGE);
	snprintf(pid, sizeof(pid), "process %d", (int)child);
	assert_non_null(strstr(err.text, "another topaz writes to it"));
	assert_non_null(strstr(err.text, pid));
	fixture_kill(child);
	close(fd[0]);
	close(fd[1]);
	assert_true(fixture_has(".out.topaz"));
	/* What it left goes, and was never in its place. */
	assert_false(fixture_has("out"));
	make("out", "whole");
	check_text("out/index.html", "whole");
	assert_int_equal(fixture_count(".", "."), 0);
}

static void
what_comes_meanwhile_is_kept_and_so_is_the_work(void **state)
{
	struct output *output = claim("out");
	struct tz_error err;

	(void)state;
	put(output, "index.html", "new");
	assert_int_equal(mkdir("out", 0777), 0);
	fixture_write("out/file", "mine");
	fixture_write("out.1", "mine too");
	assert_int_equal(output_publish(output, &err), -TZ_EUSAGE);
	assert_non_null(strstr(err.text, "what was written is in out.2"));
	check_text("out/file", "mine");
	check_text("out.1", "mine too");
	check_text("out.2/index.html", "new");
	assert_int_equal(fixture_count(".", "."), 0);
}

static void
publish_text(const char *path, const char *text)
{
	struct output *output;
	struct tz_error err;

	if (output_claim_file(path, &output, &err) != 0)
		fail_msg("%s", err.text);
	fixture_write(output_new(output), text);
	publish(output);
}

/* A file is the user's choice; it is replaced whole, too, where that is possible. */
static void
a_file_is_replaced_whole(void **state)
{
	struct output *output, *other;
	char path[64], text[8];
	struct tz_error err;
	struct stat st;
	int fd[2];

	(void)state;
	publish_text("file", "first");
	check_text("file", "first");
	assert_int_equal(chmod("file", 0640), 0);
	assert_int_equal(symlink("file", "link"), 0);
	assert_int_equal(output_claim_file("link", &output, &err), 0);
	fixture_write(output_new(output), "seco");
	check_text("file", "first");
	output_abandon(output);
	check_text("file", "first");
	publish_text("link", "second");
	check_text("file", "second");
	assert_int_equal(stat("file", &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(lstat("link", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(output_claim_file("link", &output, &err), 0);
	assert_int_equal(output_claim_file("file", &other, &err), -TZ_EUSAGE);
	output_abandon(output);
	assert_int_equal(output_claim_file(".", &output, &err), -TZ_EUSAGE);
	assert_string_equal(err.text, ".: is a directory");
	assert_int_equal(
	    output_claim_file("absent/file", &output, &err), -TZ_EIO);
	publish_text("/dev/null", "text");
	/* It leads to a pipe or a terminal that has no path. */
	assert_int_equal(pipe(fd), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd[1]);
	publish_text(path, "text");
	assert_int_equal(read(fd[0], text, sizeof(text)), 4);
	close(fd[0]);
	close(fd[1]);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(fixture_count(".", "."), 0);
}

static void
messages_have_the_users_name(void **state)
{
	struct output *output = claim("out");
	struct tz_error err;

	(void)state;
	(void)tz_error(
	    &err, TZ_EIO, "%s/index.html: no room", output_new(output));
	output_rename(output, &err);
	assert_string_equal(err.text, "out/index.html: no room");
	output_abandon(output);
	output_abandon(NULL);
	assert_false(fixture_has("out"));
}

#define TEST(name) \
 cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_folder_of_topaz_is_replaced_whole),
		TEST(what_is_the_users_is_never_replaced),
		TEST(a_folder_of_another_kind_is_not_replaced),
		TEST(names_that_cannot_be_replaced_are_refused),
		TEST(one_process_at_a_time_writes_it),
		TEST(what_comes_meanwhile_is_kept_and_so_is_the_work),
		TEST(a_file_is_replaced_whole),
		TEST(messages_have_the_users_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
