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

#include "harness/explore/parts/workers.h"
#include "harness/explore/search/faults.h"
#include "harness/host/stop.h"

#define JOBS    3
#define LOOKS   100000 /* of 1 ms each: far longer than any of these tests */
#define LOOK_US 1000

static void
count_one(
    void *arg, unsigned worker, const volatile bool *stop, struct stats *stats)
{
	(void)arg;
	(void)stop;
	stats->area[worker].done = worker + 1;
	stats->area[JOBS].done = 1;
}

/* What worker 1 does to itself, and the others wait. */
static void
raise_one(
    void *arg, unsigned worker, const volatile bool *stop, struct stats *stats)
{
	const int *signal = arg;

	stats->area[worker].done = 1;
	if (worker == 1)
		raise(*signal);
	for (int i = 0; i < LOOKS && !*stop; i++)
		usleep(LOOK_US);
	stats->area[JOBS].done = *stop ? 1 : 0;
}

static void
leave_one(
    void *arg, unsigned worker, const volatile bool *stop, struct stats *stats)
{
	(void)arg;
	(void)stop;
	(void)stats;
	if (worker == 0)
		_exit(3);
}

static void
interrupt_here(void *arg, const struct stats *stats_list, unsigned jobs)
{
	(void)arg;
	for (unsigned i = 0; i < jobs; i++) {
		if (stats_list[i].area[i].done == 0)
			return;
	}
	raise(SIGINT);
}

struct run {
	struct stats *stats;
	bool interrupted;
	int error;
	struct tz_error err;
};

static struct run
run(workers_work work, workers_progress progress, void *arg)
{
	struct run run = { .stats = calloc(1, sizeof(struct stats)) };

	assert_non_null(run.stats);
	run.error = workers_run(
	    JOBS, work, progress, arg, run.stats, &run.interrupted, &run.err);
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
		assert_int_equal(all.stats->area[i].done, i + 1);
	assert_int_equal(all.stats->area[JOBS].done, JOBS);
	free(all.stats);
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
	assert_int_equal(all.stats->area[0].done, 1);
	assert_int_equal(all.stats->area[JOBS].done, JOBS - 1);
	free(all.stats);
}

static void
a_worker_that_leaves_is_told(void **state)
{
	struct run all = run(leave_one, NULL, NULL);

	(void)state;
	assert_int_equal(all.error, -TZ_EBUG);
	assert_non_null(strstr(all.err.text, "a worker ended with 3"));
	free(all.stats);
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
all_were_interrupted(workers_progress progress, int signal)
{
	struct run all = run(raise_one, progress, &signal);
	bool good = all.error == 0 && all.interrupted;

	for (unsigned i = 0; i < JOBS; i++)
		good = good && all.stats->area[i].done == 1;
	good = good && all.stats->area[JOBS].done == JOBS;
	free(all.stats);
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

	free(all.stats);
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
