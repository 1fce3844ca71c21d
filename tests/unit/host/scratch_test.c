/*
 * Goal: nothing temporary is left, however a process ends, and nothing else is ever
 * removed.  Method: processes that end by themselves, are killed, race; and folders
 * that only look like temporary ones.
 */
#define _GNU_SOURCE
#include "fixture.h"

#include <fcntl.h>
#include <sys/file.h>

#include "harness/host/folder/scratch.h"

#define RACERS 8
#define ROUNDS 20

static char made[TREE_PATH_BYTES];

static void
make(void)
{
	struct tz_error err;

	if (scratch_folder(made, &err) != 0)
		fail_msg("%s", err.text);
}

/* A child that has a scratch folder and tells so, and then waits to be killed. */
static pid_t
start_owner(const struct scratch_place *place)
{
	struct owned *beside;
	struct tz_error err;
	int fd[2];
	pid_t child;

	assert_int_equal(pipe(fd), 0);
	child = fork();
	if (child == 0) {
		if (scratch_folder(made, &err) != 0 ||
		    (place != NULL &&
			scratch_beside(place, &beside, &err) != 0))
			_exit(1);
		if (write(fd[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(fd[1]);
	fixture_await(fd[0]);
	close(fd[0]);
	return child;
}

static void
what_is_temporary_goes_at_the_end(void **state)
{
	char inner[TREE_PATH_BYTES + 16];

	(void)state;
	make();
	assert_int_equal(fixture_count(".", "topaz-"), 1);
	snprintf(inner, sizeof(inner), "%s/a", made);
	assert_int_equal(mkdir(inner, 0700), 0);
	snprintf(inner, sizeof(inner), "%s/a/file", made);
	fixture_write(inner, "text");
	snprintf(inner, sizeof(inner), "%s/a/link", made);
	assert_int_equal(symlink("/etc", inner), 0);
	scratch_drop(made);
	assert_false(fixture_has(made));
	make();
	scratch_end();
	assert_int_equal(fixture_count(".", "topaz-"), 0);
	assert_true(fixture_has("/etc/passwd"));
	/* Again, in the same process; and what is not there is no harm. */
	make();
	scratch_end();
	scratch_end();
	assert_int_equal(fixture_count(".", "topaz-"), 0);
}

static void
a_forked_process_neither_keeps_nor_removes_it(void **state)
{
	char theirs[TREE_PATH_BYTES];
	struct tz_error err;
	int status, lock;
	pid_t child;

	(void)state;
	make();
	child = fork();
	if (child == 0) {
		scratch_forked();
		if (scratch_folder(theirs, &err) != 0)
			_exit(1);
		scratch_end();
		_exit(fixture_has(theirs) && fixture_has(made) ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(fixture_has(made));
	/* A child that lives on does not hold the lock of a parent that is gone. */
	child = fork();
	if (child == 0) {
		scratch_forked();
		pause();
	}
	strcpy(theirs, made);
	strcpy(strrchr(theirs, '/'), "/" OWNED_LOCK);
	lock = open(theirs, O_RDWR);
	usleep(100000);
	assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), -1);
	scratch_end();
	assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
	close(lock);
	fixture_kill(child);
}

static void
the_next_start_cleans_after_a_kill(void **state)
{
	pid_t child = start_owner(NULL);

	(void)state;
	assert_int_equal(fixture_count(".", "topaz-"), 1);
	/* It lives: it is left alone. */
	make();
	assert_int_equal(fixture_count(".", "topaz-"), 2);
	scratch_end();
	assert_int_equal(fixture_count(".", "topaz-"), 1);
	fixture_kill(child);
	make();
	assert_int_equal(fixture_count(".", "topaz-"), 1);
	scratch_end();
	assert_int_equal(fixture_count(".", "topaz-"), 0);
}

/* What was moved away goes back, and nothing comes in the place of a new one. */
static void
also_what_stands_beside_an_output(void **state)
{
	char path[128], target[128], text[16];
	const struct scratch_place place = { path, target, "out" };

	(void)state;
	snprintf(path, sizeof(path), "%s/.out.topaz", fixture_dir());
	snprintf(target, sizeof(target), "%s/out", fixture_dir());
	for (unsigned i = 0; i < 2; i++) {
		pid_t child = start_owner(&place);

		assert_int_equal(mkdir(".out.topaz/old", 0700), 0);
		fixture_write(".out.topaz/old/file", "old");
		if (i == 1) {
			assert_int_equal(mkdir("out", 0700), 0);
			fixture_write("out/file", "new");
		}
		fixture_kill(child);
		make();
		assert_false(fixture_has(".out.topaz"));
		fixture_read("out/file", text, sizeof(text));
		assert_string_equal(text, i == 0 ? "old" : "new");
		assert_true(tree_remove("out"));
		scratch_end();
	}
}

static void
what_only_looks_like_it_stays(void **state)
{
	(void)state;
	assert_int_equal(mkdir("topaz-mine01", 0700), 0);
	fixture_write("topaz-mine01/file", "mine");
	assert_int_equal(mkdir("topaz-mine02", 0700), 0);
	fixture_write("topaz-mine02/lock", "mine");
	assert_int_equal(mkdir("topaz-mine03", 0700), 0);
	fixture_write("topaz-mine03/lock", "");
	fixture_write("topaz-mine03/file", "mine");
	assert_int_equal(mkdir("topaz-mine04", 0777), 0);
	assert_int_equal(chmod("topaz-mine04", 0777), 0);
	fixture_write("topaz-mine04/lock", "topaz lock 1\n1\n");
	assert_int_equal(mkdir("topaz-longer", 0700), 0);
	assert_int_equal(mkdir("elsewhere", 0700), 0);
	fixture_write("elsewhere/lock", "topaz lock 1\n1\n");
	assert_int_equal(symlink("elsewhere", "topaz-mine05"), 0);
	fixture_write("topaz-mine06", "mine");
	assert_int_equal(mkdir("topaz-mine07", 0700), 0);
	assert_int_equal(mkfifo("topaz-mine07/lock", 0600), 0);
	/* These are what a process leaves that is killed at its very start. */
	assert_int_equal(mkdir("topaz-gone01", 0700), 0);
	assert_int_equal(mkdir("topaz-gone02", 0700), 0);
	fixture_write("topaz-gone02/lock", "");
	alarm(20);
	make();
	scratch_end();
	alarm(0);
	assert_int_equal(fixture_count(".", "topaz-mine"), 7);
	assert_true(fixture_has("topaz-mine01/file"));
	assert_true(fixture_has("topaz-mine03/file"));
	assert_true(fixture_has("elsewhere/lock"));
	assert_false(fixture_has("topaz-gone01"));
	assert_false(fixture_has("topaz-gone02"));
}

static void
many_that_start_at_once_do_no_harm(void **state)
{
	(void)state;
	for (unsigned round = 0; round < ROUNDS; round++) {
		int status, bad = 0;

		for (unsigned i = 0; i < RACERS; i++) {
			struct tz_error err;

			if (fork() != 0)
				continue;
			if (scratch_folder(made, &err) != 0)
				_exit(1);
			usleep(i * 100);
			if (!fixture_has(made))
				_exit(2);
			/* Every second one is as if it were killed. */
			if (i % 2 == 0)
				scratch_end();
			_exit(0);
		}
		for (unsigned i = 0; i < RACERS; i++) {
			assert_true(wait(&status) > 0);
			bad |= status;
		}
		assert_int_equal(bad, 0);
	}
	make();
	scratch_end();
	assert_int_equal(fixture_count(".", "topaz-"), 0);
}

static void
a_bad_temporary_folder_is_named(void **state)
{
	struct tz_error err;

	(void)state;
	assert_int_equal(setenv("TMPDIR", "/none/such", 1), 0);
	assert_int_equal(scratch_folder(made, &err), -TZ_EIO);
	assert_non_null(strstr(err.text, "/none/such: No such file"));
	assert_non_null(strstr(err.text, "TMPDIR"));
	assert_int_equal(setenv("TMPDIR", "/proc", 1), 0);
	assert_int_equal(scratch_folder(made, &err), -TZ_EIO);
	assert_non_null(strstr(err.text, "/proc: "));
}

#define TEST(name) \
 cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_temporary_goes_at_the_end),
		TEST(a_forked_process_neither_keeps_nor_removes_it),
		TEST(the_next_start_cleans_after_a_kill),
		TEST(also_what_stands_beside_an_output),
		TEST(what_only_looks_like_it_stays),
		TEST(many_that_start_at_once_do_no_harm),
		TEST(a_bad_temporary_folder_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
