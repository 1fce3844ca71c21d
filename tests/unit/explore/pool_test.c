/* Workers: what they count is joined, also when one dies or the user interrupts. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/explore/faults.h"
#include "harness/explore/pool.h"
#include "harness/host/stop.h"

#define JOBS    3
#define LOOKS   100000 /* of 1 ms each: far longer than any of these tests */
#define LOOK_US 1000

static void
count_one(
    void *arg, unsigned worker, const volatile bool *stop, struct tally *tally)
{
	(void)arg;
	(void)stop;
	tally->area[worker].done = worker + 1;
	tally->area[JOBS].done = 1;
}

/* What worker 1 does to itself, and the others wait. */
static void
raise_one(
    void *arg, unsigned worker, const volatile bool *stop, struct tally *tally)
{
	const int *signal = arg;

	tally->area[worker].done = 1;
	if (worker == 1)
		raise(*signal);
	for (int i = 0; i < LOOKS && !*stop; i++)
		usleep(LOOK_US);
	tally->area[JOBS].done = *stop ? 1 : 0;
}

static void
leave_one(
    void *arg, unsigned worker, const volatile bool *stop, struct tally *tally)
{
	(void)arg;
	(void)stop;
	(void)tally;
	if (worker == 0)
		_exit(3);
}

static void
interrupt_here(void *arg, const struct tally *tallies, unsigned jobs)
{
	(void)arg;
	for (unsigned i = 0; i < jobs; i++) {
		if (tallies[i].area[i].done == 0)
			return;
	}
	raise(SIGINT);
}

struct run {
	struct tally *tally;
	bool interrupted;
	int error;
	struct tz_error err;
};

static struct run
run(pool_work work, pool_progress progress, void *arg)
{
	struct run run = { .tally = calloc(1, sizeof(struct tally)) };

	assert_non_null(run.tally);
	run.error = pool_run(
	    JOBS, work, progress, arg, run.tally, &run.interrupted, &run.err);
	return run;
}

static void
all_that_workers_count_is_joined(void **state)
{
	struct run all = run(count_one, NULL, NULL);

	(void)state;
	assert_int_equal(all.error, 0);
	assert_false(all.interrupted);
	for (unsigned i = 0; i < JOBS; i++)
		assert_int_equal(all.tally->area[i].done, i + 1);
	assert_int_equal(all.tally->area[JOBS].done, JOBS);
	free(all.tally);
}

static void
a_worker_that_dies_is_named_by_its_signal(void **state)
{
	int signal = SIGKILL;
	struct run all = run(raise_one, NULL, &signal);

	(void)state;
	assert_int_equal(all.error, -TZ_EBUG);
	assert_non_null(strstr(all.err.text, "signal 9"));
	assert_non_null(strstr(all.err.text, strsignal(SIGKILL)));
	assert_false(all.interrupted);
	/* The others ended soon, and what they have is there. */
	assert_int_equal(all.tally->area[0].done, 1);
	assert_int_equal(all.tally->area[JOBS].done, JOBS - 1);
	free(all.tally);
}

static void
a_worker_that_leaves_is_told(void **state)
{
	struct run all = run(leave_one, NULL, NULL);

	(void)state;
	assert_int_equal(all.error, -TZ_EBUG);
	assert_non_null(strstr(all.err.text, "a worker ended with 3"));
	free(all.tally);
}

/* A signal is heard for good: what hears one is done in a child. */
static void
in_child(bool (*check)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		stop_listen();
		stop_gently();
		_exit(check() ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static bool
all_were_interrupted(pool_progress progress, int signal)
{
	struct run all = run(raise_one, progress, &signal);
	bool good = all.error == 0 && all.interrupted;

	for (unsigned i = 0; i < JOBS; i++)
		good = good && all.tally->area[i].done == 1;
	good = good && all.tally->area[JOBS].done == JOBS;
	free(all.tally);
	return good;
}

static bool
interrupt_worker(void)
{
	return all_were_interrupted(NULL, SIGINT);
}

static void
an_interrupted_worker_ends_them_all(void **state)
{
	(void)state;
	in_child(interrupt_worker);
}

static bool
interrupt_waiting(void)
{
	return all_were_interrupted(interrupt_here, 0);
}

static void
an_interrupt_of_the_one_that_waits_ends_them_all(void **state)
{
	(void)state;
	in_child(interrupt_waiting);
}

/* What is done between two calls is done whole; from then on all end early. */
static bool
interrupt_between(void)
{
	struct run all = run(count_one, NULL, NULL);
	bool good = !all.interrupted;

	free(all.tally);
	raise(SIGTERM);
	good = good && all_were_interrupted(NULL, 0);
	return good && all_were_interrupted(NULL, 0);
}

static void
an_interrupt_between_two_pools_ends_the_second(void **state)
{
	(void)state;
	in_child(interrupt_between);
}

/* Belongs to the campaign of faults: what it consists of. */
static void
faults_are_many_and_each_is_cited(void **state)
{
	struct fault_row row, other;
	size_t count = 0;

	(void)state;
	for (; fault_at(count, &row); count++) {
		assert_true(row.name[0] != '\0');
		assert_true(row.point[0] != '\0');
		assert_true(row.text[0] != '\0');
		assert_true(strlen(row.citation) > 5);
		for (size_t i = 0; i < count; i++) {
			assert_true(fault_at(i, &other));
			assert_string_not_equal(row.name, other.name);
		}
	}
	assert_true(count >= 25);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_workers_count_is_joined),
		cmocka_unit_test(a_worker_that_dies_is_named_by_its_signal),
		cmocka_unit_test(a_worker_that_leaves_is_told),
		cmocka_unit_test(an_interrupted_worker_ends_them_all),
		cmocka_unit_test(
		    an_interrupt_of_the_one_that_waits_ends_them_all),
		cmocka_unit_test(
		    an_interrupt_between_two_pools_ends_the_second),
		cmocka_unit_test(faults_are_many_and_each_is_cited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
