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

#include "harness/explore/campaign.h"
#include "harness/explore/decoded.h"
#include "harness/explore/setups.h"

#define BEGIN "load+open+take+"

static const char *drivers;
static struct workshop *workshop;
static struct setups *setups;

static int
open_all(void **state)
{
	const struct workshop_config config = {
		.driver = "stale", .profile = "skylake", .drivers = drivers
	};
	struct tz_error err = { "" };

	(void)state;
	if (workshop_open(&config, &workshop, &err) != 0) {
		print_error("%s\n", err.text);
		return -1;
	}
	setups = setups_create(workshop);
	return setups == NULL ? -1 : 0;
}

static int
close_all(void **state)
{
	(void)state;
	setups_destroy(setups);
	workshop_close(workshop);
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
		workshop_manifest(workshop), &token, &entry, &err) != 0 ||
	    setups_get(setups, entry.cpus, entry.layout, entry.settings,
		&runner, &err) != 0 ||
	    trial_open(trial, runner, &entry.sequence, &options, &err) != 0)
		fail_msg("%s: %s", subject, err.text);
}

/* All placements of one switch. */
static struct tally *
explore(struct trial *trial)
{
	const struct trial_share everything = { .workers = 1,
		.keep = TRIAL_KEEP_ALL };
	struct tally *tally = calloc(1, sizeof(*tally));

	assert_non_null(tally);
	trial_one(trial, &everything, tally, 0);
	assert_false(tally->overflow);
	return tally;
}

static const struct tally_group *
find_group(const struct trial *trial, const struct tally *tally,
    enum check_id id, const char *function)
{
	for (uint32_t i = 0; i < tally->group_count; i++) {
		const struct check_violation *violation =
		    &tally->group[i].violation;
		struct symbol_place place;

		symbols_find(runner_symbols(trial->runner), violation->rip,
		    NULL, &place);
		if (violation->id == id && place.name != NULL &&
		    strncmp(place.name, function, strlen(function)) == 0)
			return &tally->group[i];
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
	const struct tally_group *group;
	struct trial trial;
	struct tally *tally;

	open_trial(&trial, "", use->steps, merge, reduce);
	assert_int_equal(trial.base.count, 0);
	tally = explore(&trial);
	group = find_group(&trial, tally, use->id, use->function);
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
	free(tally);
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
		struct tally *tally[2];

		for (unsigned merge = 0; merge < 2; merge++) {
			struct trial trial;

			open_trial(&trial, "", uses[i].steps, merge != 0, true);
			tally[merge] = explore(&trial);
			trial_close(&trial);
		}
		if (tally[0]->area[0].failing != tally[1]->area[0].failing)
			fail_msg("%s: %u schedules fail, merged %u",
			    uses[i].steps, (unsigned)tally[0]->area[0].failing,
			    (unsigned)tally[1]->area[0].failing);
		assert_int_equal(tally[0]->group_count, tally[1]->group_count);
		assert_true(tally[1]->area[0].merged * 2 >
		    tally[1]->area[0].done - tally[1]->area[0].impossible);
		free(tally[0]);
		free(tally[1]);
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
		struct tally *tally;
		bool found = false;

		open_trial(&trial, rows[i].layout, uses[0].steps, true, true);
		tally = explore(&trial);
		for (uint32_t j = 0; j < tally->group_count; j++)
			found |= tally->group[j].violation.id == rows[i].id;
		if (!found)
			fail_msg("%s: not found", rows[i].layout);
		trial_close(&trial);
		free(tally);
	}
}

/* The same violation at the same place and event, however the schedule is run. */
static void
a_use_is_the_same_however_it_is_run(void **state)
{
	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(uses); i++) {
		const struct tally_group *group;
		struct trial trial;
		struct tally *tally;
		struct outcome first, other;

		open_trial(&trial, "", uses[i].steps, false, true);
		tally = explore(&trial);
		group = find_group(&trial, tally, uses[i].id, uses[i].function);
		assert_non_null(group);
		trial_run(&trial, &group->schedule, &first);
		for (int way = STEPPING_NONE; way <= STEPPING_ALL; way++) {
			assert_true(decoded_run(&trial, &group->schedule, NULL,
			    (enum machine_stepping)way, &other));
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
		free(tally);
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
