/*
 * Goal: what other versions of FreeBSD's backend use is there: macros, contigmalloc(9),
 * a larger configuration, a stop that waits, kqueue(2), a position in a mapped page;
 * and a configuration that is refused is no pass.  Method: two backends of our own
 * (versions/), which use it; one header of a tree, with it and without.
 */
#include "tests/whole/whole.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/explore/search/campaign.h"

#define GUEST_EINVAL 22

static const char *folder;
static char tree[WHOLE_PATH_BYTES];

static struct run_options
version_options(const char *driver, const char *name)
{
	struct run_options options = whole_options(driver, name);

	options.drivers = folder;
	return options;
}

static void
the_newer_interfaces_trace(void **state)
{
	struct run_options options = version_options("newer", "newer");
	struct verify_result result;

	(void)state;
	options.tree = tree;
	options.settings = "stop=1 mtc_freq=3";
	whole_verify(&options, &result);
	whole_assert_match(&result, 1, 50000);
	/* Its stop leaves the last position to be read. */
	assert_true(result.streams[0].rows[ACCOUNT_REPORTED] != 0);
	assert_int_equal(result.streams[0].rows[ACCOUNT_TAIL], 0);
	verify_result_free(&result);
}

static void
the_older_interfaces_trace(void **state)
{
	struct run_options options = version_options("older", "older");
	struct verify_result result;

	(void)state;
	whole_verify(&options, &result);
	whole_assert_match(&result, 1, 50000);
	assert_true(result.streams[0].rows[ACCOUNT_REPORTED] != 0);
	verify_result_free(&result);
}

/* Without the tree's header the manifest's configuration is not the driver's. */
static void
a_refused_configuration_is_no_pass(void **state)
{
	struct run_options options = version_options("newer", "refused");
	struct run_outcome outcome;

	(void)state;
	whole_run(&options, &outcome);
	assert_int_equal(outcome.result.end, MACHINE_EXIT);
	assert_int_equal(outcome.refused_count, 1);
	assert_int_equal(outcome.refused_error, GUEST_EINVAL);
	assert_int_equal(outcome.refused_cpu, 0);
	assert_int_equal(run_verdict(&outcome), RUN_FAILED);
}

/* How many different findings of CHECK the scenario has in its default schedule. */
static unsigned
count_findings(const char *scenario, enum check_id check)
{
	const struct build_cache_config config = {
		.driver = "newer",
		.drivers = folder,
		.tree = tree,
		.profile = "skylake",
	};
	struct campaign_options options = campaign_defaults();
	struct build_cache *build_cache;
	struct campaign campaign;
	struct tz_error err = { "" };
	unsigned count = 0;

	options.subject = scenario;
	options.kinds = UINT32_C(1) << DEVIATION_NMI;
	options.budget = 1;
	if (build_cache_open(&config, &build_cache, &err) != 0 ||
	    campaign_run(&campaign, build_cache, &options, &err) != 0)
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < campaign.stats->group_count; i++)
		count += campaign.stats->group[i].violation.id == check;
	campaign_close(&campaign);
	build_cache_close(build_cache);
	return count;
}

static void
a_position_in_a_mapped_page_is_a_report(void **state)
{
	(void)state;
	assert_int_equal(count_findings("position", CHECK_UNREPORTED_TAIL), 0);
	assert_int_equal(count_findings("zero", CHECK_UNREPORTED_TAIL), 1);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newer_interfaces_trace),
		cmocka_unit_test(the_older_interfaces_trace),
		cmocka_unit_test(a_refused_configuration_is_no_pass),
		cmocka_unit_test(a_position_in_a_mapped_page_is_a_report),
	};

	whole_init(1, argv);
	if (argc != 2) {
		fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
		return 1;
	}
	folder = argv[1];
	snprintf(tree, sizeof(tree), "%s/tree", folder);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
