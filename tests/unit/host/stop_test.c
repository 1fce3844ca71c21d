/*
 * Goal: the first signal is noted or ends the process, the second ends it, and nothing
 * temporary is left either way.  Method: children that are sent signals.
 */
#define _GNU_SOURCE
#include "fixture.h"

#include <signal.h>

#include "harness/host/folder/scratch.h"
#include "harness/host/stop.h"

static const int all[] = { SIGINT, SIGTERM, SIGHUP };

enum uarch { AT_ONCE, GENTLE, IGNORES };

/* What the child does in GENTLE: exit code 42 once it has been told. */
static _Noreturn void
child_of(enum uarch uarch, int fd)
{
	char made[TREE_PATH_BYTES];
	struct tz_error err;

	if (scratch_folder(made, &err) != 0)
		_exit(1);
	stop_listen();
	if (uarch != AT_ONCE)
		stop_gently();
	if (write(fd, "", 1) != 1)
		_exit(1);
	while (uarch == IGNORES || !stop_requested())
		usleep(1000);
	scratch_end();
	_exit(stop_name()[0] != '\0' ? 42 : 43);
}

static pid_t
start(enum uarch uarch)
{
	int fd[2];
	pid_t child;

	assert_int_equal(pipe(fd), 0);
	child = fork();
	if (child == 0)
		child_of(uarch, fd[1]);
	close(fd[1]);
	fixture_await(fd[0]);
	close(fd[0]);
	return child;
}

static int
end_of(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(fixture_count(".", "topaz-"), 0);
	return status;
}

static void
each_signal_is_heard_alike(void **state)
{
	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(all); i++) {
		pid_t child = start(AT_ONCE);

		kill(child, all[i]);
		assert_int_equal(end_of(child), STOP_EXIT << 8);
		child = start(GENTLE);
		kill(child, all[i]);
		assert_int_equal(end_of(child), 42 << 8);
	}
}

static void
the_second_ends_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(all); i++) {
		pid_t child = start(IGNORES);
		int status;

		kill(child, SIGTERM);
		usleep(200000);
		assert_int_equal(waitpid(child, &status, WNOHANG), 0);
		kill(child, all[i]);
		assert_int_equal(end_of(child), all[i]);
	}
}

/* timeout(1) sends one to the process and one to its group. */
static void
two_at_once_are_one(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		pid_t child = start(GENTLE);

		kill(child, SIGTERM);
		kill(child, SIGINT);
		kill(child, SIGTERM);
		assert_int_equal(end_of(child), 42 << 8);
	}
}

static void
a_hangup_that_is_ignored_stays_ignored(void **state)
{
	pid_t child;
	int status;

	(void)state;
	signal(SIGHUP, SIG_IGN);
	child = start(GENTLE);
	signal(SIGHUP, SIG_DFL);
	kill(child, SIGHUP);
	usleep(50000);
	assert_int_equal(waitpid(child, &status, WNOHANG), 0);
	kill(child, SIGINT);
	assert_int_equal(end_of(child), 42 << 8);
}

/* A process group with a child of its own, as a compiler is. */
static pid_t
start_group(void)
{
	pid_t group = fork();

	if (group == 0) {
		setpgid(0, 0);
		signal(SIGTERM, SIG_DFL);
		(void)!fork();
		for (;;)
			pause();
	}
	setpgid(group, group);
	return group;
}

static void
children_end_with_it(void **state)
{
	int fd[2], status;
	pid_t group, child;

	(void)state;
	assert_int_equal(pipe(fd), 0);
	child = fork();
	if (child == 0) {
		close(fd[0]);
		stop_listen();
		stop_gently();
		group = start_group();
		stop_add_child(-group);
		if (write(fd[1], &group, sizeof(group)) != sizeof(group))
			_exit(1);
		close(fd[1]);
		_exit(waitpid(group, &status, 0) == group &&
			    WTERMSIG(status) == SIGTERM
			? 0
			: 1);
	}
	close(fd[1]);
	assert_int_equal(read(fd[0], &group, sizeof(group)), sizeof(group));
	usleep(50000);
	kill(child, SIGTERM);
	assert_int_equal(end_of(child), 0);
	/* All of the group had the pipe: none of them lives. */
	assert_int_equal(read(fd[0], &status, 1), 0);
	close(fd[0]);
}

static void
an_assertion_leaves_nothing(void **state)
{
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		char made[TREE_PATH_BYTES];
		struct tz_error err;

		stop_listen();
		if (scratch_folder(made, &err) != 0)
			_exit(1);
		fclose(stderr);
		abort();
	}
	assert_int_equal(end_of(child), STOP_BUG << 8);
}

/* A forked process sees what its parent is told, and does not remove its files. */
static void
what_one_is_told_all_know(void **state)
{
	volatile bool flag = false;
	int status;
	pid_t child;

	(void)state;
	stop_listen();
	stop_gently();
	stop_share(&flag);
	child = fork();
	if (child == 0) {
		stop_forked();
		for (unsigned i = 0; i < 10000 && !stop_requested(); i++)
			usleep(1000);
		_exit(stop_requested() && stop_is_forked() ? 0 : 1);
	}
	assert_false(stop_requested());
	raise(SIGHUP);
	assert_true(stop_requested());
	assert_true(flag);
	assert_string_equal(stop_name(), "SIGHUP");
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

#define TEST(name) \
 cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_signal_is_heard_alike),
		TEST(the_second_ends_it),
		TEST(two_at_once_are_one),
		TEST(a_hangup_that_is_ignored_stays_ignored),
		TEST(children_end_with_it),
		TEST(an_assertion_leaves_nothing),
		/* Last: this process listens from then on. */
		TEST(what_one_is_told_all_know),
	};

	/* Under nohup it is ignored. */
	(void)signal(SIGHUP, SIG_DFL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
