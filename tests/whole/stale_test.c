/*
 * Goal: memory that a driver uses after another CPU has freed it is found wherever a
 * schedule shows it, and only there; the finding names the instruction and the object.
 * Method: a driver whose buffer one thread gives back while another one uses it, in
 * every way in which a driver can; every switch of CPUs, merged and reduced or not, in
 * every layout of the heap; one schedule run in blocks and one instruction at a time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/explore/runner/runner_pool.h"
#include "harness/explore/search/campaign.h"

#define BEGIN "load+open+take+"

static const char *drivers;
static struct build_cache *build_cache;
static struct runner_pool *runner_pool;

static int
open_all(void **state)
{
	const struct build_cache_config config = {
		.driver = "stale", .profile = "skylake", .drivers = drivers
	};
	struct tz_error err = { "" };

	(void)state;
	if (build_cache_open(&config, &build_cache, &err) != 0) {
		print_error("%s\n", err.text);
		return -1;
	}
	runner_pool = runner_pool_create(build_cache);
	return runner_pool == NULL ? -1 : 0;
}

static int
close_all(void **state)
{
	(void)state;
	runner_pool_destroy(runner_pool);
	build_cache_close(build_cache);
	return 0;
}

static void
open_trial(struct trial *trial, const char *layout, const char *steps,
    bool merge, bool reduce)
{
	const struct trial_options options = { .kinds = UINT32_C(1)
		    << DEVIATION_SWITCH,
		.merge = merge,
		.reduce = reduce };
	struct campaign_entry entry;
	struct runner *runner;
	struct token token;
	struct tz_error err = { "" };
	char subject[256];

	snprintf(
	    subject, sizeof(subject), "stale@2%s=" BEGIN "%s", layout, steps);
	if (token_parse_subject(subject, &token, &err) != 0 ||
	    campaign_entry_read(
		build_cache_manifest(build_cache), &token, &entry, &err) != 0 ||
	    runner_pool_get(runner_pool, entry.cpus, entry.layout,
		entry.settings, &runner, &err) != 0 ||
	    trial_open(trial, runner, &entry.sequence, &options, &err) != 0)
		fail_msg("%s: %s", subject, err.text);
}

/* All placements of one switch. */
static struct stats *
explore(struct trial *trial)
{
	const struct trial_share everything = { .workers = 1,
		.keep = TRIAL_KEEP_ALL };
	struct stats *stats = calloc(1, sizeof(*stats));

	assert_non_null(stats);
	trial_one(trial, &everything, stats, 0);
	assert_false(stats->overflow);
	return stats;
}

static const struct stats_group *
find_group(const struct trial *trial, const struct stats *stats,
    enum check_id id, const char *function)
{
	for (uint32_t i = 0; i < stats->group_count; i++) {
		const struct check_violation *violation =
		    &stats->group[i].violation;
		struct symbol_place place;

		symbols_find(runner_symbols(trial->runner), violation->rip,
		    NULL, &place);
		if (violation->id == id && place.name != NULL &&
		    strncmp(place.name, function, strlen(function)) == 0)
			return &stats->group[i];
	}
	return NULL;
}

static const struct use {
	const char *steps;
	enum check_id id;
	const char *function, *text;
} uses[] = {
	{ "1count-+give+unload", CHECK_STORE_FREED, "count", "8 bytes to 0x" },
	{ "1look-+give+unload", CHECK_LOAD_FREED, "look", "8 bytes from 0x" },
	{ "1clear-+give+unload", CHECK_STORE_FREED, "clear",
	    "memset: 704 bytes to 0x" },
	{ "1fill-+give+unload", CHECK_STORE_FREED, "fill", "8 bytes to 0x" },
	{ "1save-+give+unload", CHECK_STORE_FREED, "save", "192 bytes to 0x" },
	{ "1guarded-+give+unload", CHECK_STORE_FREED, "guarded",
	    "mutex_lock at 0x" },
	{ "1chase-+give+unload", CHECK_STORE_FREED, "chase", "8 bytes to 0x" },
	{ "1look+count-+1give+unload", CHECK_STORE_FREED, "count",
	    "8 bytes to 0x" },
	{ "1aim-+shoot+unload", CHECK_FOREIGN_STORE, "shoot",
	    "8 bytes to 0xffffffff8" },
};

static void
check_use(const struct use *use, bool merge, bool reduce)
{
	const struct stats_group *group;
	struct trial trial;
	struct stats *stats;

	open_trial(&trial, "", use->steps, merge, reduce);
	assert_int_equal(trial.base.count, 0);
	stats = explore(&trial);
	group = find_group(&trial, stats, use->id, use->function);
	if (group == NULL)
		fail_msg("%s, %s, %s: not found", use->steps,
		    merge ? "merged" : "whole", reduce ? "reduced" : "all");
	if (strncmp(group->violation.text, use->text, strlen(use->text)) != 0)
		fail_msg("%s: %s", use->steps, group->violation.text);
	if (use->id != CHECK_FOREIGN_STORE) {
		assert_non_null(
		    strstr(group->violation.text, "allocated by stale_ioctl+"));
		assert_non_null(
		    strstr(group->violation.text, "freed by stale_ioctl+"));
	}
	trial_close(&trial);
	free(stats);
}

static void
each_use_is_found_in_a_schedule(void **state)
{
	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(uses); i++) {
		check_use(&uses[i], true, true);
		check_use(&uses[i], false, true);
	}
	check_use(&uses[0], true, false);
	check_use(&uses[0], false, false);
}

/* What merging leaves out shows nothing that is not shown elsewhere. */
static void
merging_loses_no_use(void **state)
{
	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(uses); i++) {
		struct stats *stats[2];

		for (unsigned merge = 0; merge < 2; merge++) {
			struct trial trial;

			open_trial(&trial, "", uses[i].steps, merge != 0, true);
			stats[merge] = explore(&trial);
			trial_close(&trial);
		}
		if (stats[0]->area[0].failing != stats[1]->area[0].failing)
			fail_msg("%s: %u schedules fail, merged %u",
			    uses[i].steps, (unsigned)stats[0]->area[0].failing,
			    (unsigned)stats[1]->area[0].failing);
		assert_int_equal(stats[0]->group_count, stats[1]->group_count);
		assert_true(stats[1]->area[0].merged * 2 >
		    stats[1]->area[0].done - stats[1]->area[0].impossible);
		free(stats[0]);
		free(stats[1]);
	}
}

static void
one_after_the_other_is_right(void **state)
{
	static const char *const right[] = {
		"count+look+clear+fill+save+guarded+chase+give+unload",
		"give+take+count+look+fill+save+guarded+chase+give+unload",
		"swap+count+swap+look+clear+swap+guarded+give+unload",
		"count+give+count+take+give+take+unload",
	};
	static const char *const layouts[] = { "", ",pages", ",guard" };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(right); i++) {
		for (size_t j = 0; j < TZ_ARRAY_LEN(layouts); j++) {
			struct trial trial;

			open_trial(&trial, layouts[j], right[i], false, true);
			if (trial.base.count != 0)
				fail_msg("%s%s: %s", layouts[j], right[i],
				    trial.base.violation[0].violation.text);
			trial_close(&trial);
		}
	}
}

/* Memory of the heap's other layouts, too; the guard heap faults by itself. */
static void
each_layout_is_judged(void **state)
{
	static const struct {
		const char *layout;
		enum check_id id;
	} rows[] = {
		{ ",pages", CHECK_STORE_FREED },
		{ ",guard", CHECK_USE_AFTER_FREE },
		{ ",ndebug", CHECK_STORE_FREED },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct trial trial;
		struct stats *stats;
		bool found = false;

		open_trial(&trial, rows[i].layout, uses[0].steps, true, true);
		stats = explore(&trial);
		for (uint32_t j = 0; j < stats->group_count; j++)
			found |= stats->group[j].violation.id == rows[i].id;
		if (!found)
			fail_msg("%s: not found", rows[i].layout);
		trial_close(&trial);
		free(stats);
	}
}

/* The same violation at the same place and event, however the schedule is run. */
static void
a_use_is_the_same_however_it_is_run(void **state)
{
	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(uses); i++) {
		const struct stats_group *group;
		struct trial trial;
		struct stats *stats;
		struct outcome first, other;

		open_trial(&trial, "", uses[i].steps, false, true);
		stats = explore(&trial);
		group = find_group(&trial, stats, uses[i].id, uses[i].function);
		assert_non_null(group);
		trial_run(&trial, &group->schedule, &first);
		for (int way = STEPPING_NONE; way <= STEPPING_ALL; way++) {
			assert_true(trial_run_decoded(&trial, &group->schedule,
			    NULL, (enum machine_stepping)way, &other));
			assert_int_equal(first.count, other.count);
			for (unsigned j = 0; j < first.count; j++) {
				const struct check_violation *a =
				    &first.violation[j].violation;
				const struct check_violation *b =
				    &other.violation[j].violation;

				assert_int_equal(a->id, b->id);
				assert_int_equal(a->insns, b->insns);
				assert_int_equal(a->rip, b->rip);
				assert_int_equal(a->event, b->event);
				assert_string_equal(a->text, b->text);
			}
		}
		trial_close(&trial);
		free(stats);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_use_is_found_in_a_schedule),
		cmocka_unit_test(merging_loses_no_use),
		cmocka_unit_test(one_after_the_other_is_right),
		cmocka_unit_test(each_layout_is_judged),
		cmocka_unit_test(a_use_is_the_same_however_it_is_run),
	};

	if (argc != 2)
		return 2;
	drivers = argv[1];
	return cmocka_run_group_tests(tests, open_all, close_all);
}
