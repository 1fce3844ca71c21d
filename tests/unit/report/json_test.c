/*
 * JSON lines: what is written reads back the same, broken files are one error with
 * file and line, shards merge in any order, baselines tell new from fixed.
 */
#include "files.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"

static void
assert_same(
    const struct finding_summary *one, const struct finding_summary *two)
{
	assert_string_equal(one->driver, two->driver);
	assert_string_equal(one->command, two->command);
	assert_string_equal(one->folder, two->folder);
	assert_string_equal(one->from, two->from);
	assert_string_equal(one->drivers, two->drivers);
	assert_int_equal(one->tsc_hz, two->tsc_hz);
	assert_int_equal(one->exit_code, two->exit_code);
	assert_string_equal(one->sha256, two->sha256);
	assert_int_equal(one->schedules, two->schedules);
	assert_int_equal(one->decoded, two->decoded);
	assert_int_equal(one->coverage_count, two->coverage_count);
	for (size_t i = 0; i < one->coverage_count; i++) {
		assert_string_equal(
		    one->coverage[i].what, two->coverage[i].what);
		assert_int_equal(one->coverage[i].cut, two->coverage[i].cut);
	}
	assert_memory_equal(&one->coverage[2].done, &two->coverage[2].done, 32);
	assert_int_equal(one->finding_count, two->finding_count);
	for (size_t i = 0; i < one->finding_count; i++)
		assert_memory_equal(
		    &one->finding[i], &two->finding[i], sizeof(struct finding));
}

static void
what_is_written_reads_back(void **state)
{
	static struct finding_summary summary, back, again;
	struct tz_error err;
	char path[FILES_PATH_BYTES];
	char *first, *second;

	fixture_summary(&summary);
	summary.coverage[1].cut = true;
	strcpy(summary.folder, "my drivers/pt");
	snprintf(path, sizeof(path), "%s", files_path(state, "a.jsonl"));
	assert_int_equal(report_json_write(path, &summary, &err), 0);
	assert_int_equal(report_read(path, &back, &err), 0);
	/* The hostile one has bytes that no JSON carries: once replaced they
	 * stay. */
	assert_string_equal(back.finding[FIXTURE_RACE].token,
	    summary.finding[FIXTURE_RACE].token);
	assert_int_equal(back.finding[FIXTURE_EMPTY].state_hash, UINT64_MAX);
	first = files_read(path);
	assert_int_equal(report_json_write(path, &back, &err), 0);
	second = files_read(path);
	assert_string_equal(first, second);
	assert_int_equal(report_read(path, &again, &err), 0);
	assert_same(&back, &again);
	summary.finding_count = FIXTURE_EMPTY;
	back.finding_count = FIXTURE_EMPTY;
	assert_same(&summary, &back);
	free(first);
	free(second);
	report_summary_free(&summary);
	report_summary_free(&back);
	report_summary_free(&again);
}

static void
each_line_is_an_object_with_sorted_keys(void **state)
{
	static struct finding_summary summary;
	struct tz_error err;
	const char *path = files_path(state, "a.jsonl");
	char *text, *line, *rest;
	unsigned lines = 0;

	fixture_summary(&summary);
	assert_int_equal(report_json_write(path, &summary, &err), 0);
	text = files_read(path);
	for (line = strtok_r(text, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		json_t *json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
		char *sorted = json_dumps(
		    json, JSON_COMPACT | JSON_SORT_KEYS | JSON_ESCAPE_SLASH);

		assert_string_equal(line, sorted);
		assert_int_equal(
		    json_integer_value(json_object_get(json, "schema")),
		    REPORT_SCHEMA);
		lines++;
		free(sorted);
		json_decref(json);
	}
	assert_int_equal(lines, FIXTURE_COUNT + 1);
	free(text);
	report_summary_free(&summary);
}

static void
expect_refused(void **state, const char *content, const char *part)
{
	static struct finding_summary summary;
	struct tz_error err = { "" };
	const char *path = files_path(state, "bad.jsonl");

	files_write(path, content);
	assert_int_equal(report_read(path, &summary, &err), -TZ_EFORMAT);
	if (strstr(err.text, "bad.jsonl:") == NULL ||
	    strstr(err.text, part) == NULL)
		fail_msg("%s: does not say %s", err.text, part);
	report_summary_free(&summary);
}

static void
a_broken_file_is_one_error(void **state)
{
	static struct finding_summary summary;
	struct tz_error err;
	const char *path = files_path(state, "a.jsonl");
	char *text, *end;

	fixture_summary(&summary);
	assert_int_equal(report_json_write(path, &summary, &err), 0);
	report_summary_free(&summary);
	text = files_read(path);
	expect_refused(state, "", ":1: the summary is missing");
	expect_refused(state, "{", ":1:");
	expect_refused(state, "[]\n", ":1: no \"schema\"");
	expect_refused(
	    state, "{\"schema\":1,\"kind\":\"summary\"}\n", "another version");
	expect_refused(state, "{\"schema\":2,\"kind\":\"other\"}\n", "neither");
	expect_refused(
	    state, "{\"schema\":2,\"kind\":\"finding\"}\n", "no finding");
	/* Cut at every place: never accepted, never a crash. */
	for (size_t length = strlen(text) - 2; length > 0;
	     length = length > 97 ? length - 97 : 0) {
		text[length] = '\0';
		expect_refused(state, text, "");
	}
	free(text);
	path = files_path(state, "a.jsonl");
	text = files_read(path);
	end = strchr(text, '\n');
	expect_refused(state, end + 1, "findings are missing");
	free(text);
	assert_int_equal(
	    report_read(files_path(state, "absent"), &summary, &err),
	    -TZ_ENOENT);
	assert_non_null(strstr(err.text, "absent: No such file"));
}

/* Makes SUMMARY's findings what shard INDEX of COUNT found, each of one group. */
static void
be_shard(struct finding_summary *summary, unsigned index, unsigned count)
{
	summary->shards = count;
	summary->shard[0] = (uint8_t)(1u << index);
	summary->group_count = summary->made_count = summary->finding_count;
	summary->group = calloc(summary->group_count, sizeof(*summary->group));
	summary->made = calloc(summary->made_count, sizeof(*summary->made));
	assert_non_null(summary->group);
	assert_non_null(summary->made);
	for (size_t i = 0; i < summary->group_count; i++) {
		const struct finding *finding = &summary->finding[i];
		struct finding_group *group = &summary->group[i];

		summary->made[i] = *finding;
		*group = (struct finding_group){ .cause = finding->own,
			.own = finding->own,
			.kinds = (uint32_t)strlen(finding->kinds),
			.check = finding->check,
			.event = finding->event,
			.mistake = finding->cause,
			.symptom.check = finding->check,
			.made = (int)i };
		strcpy(group->symptom.kinds, finding->kinds);
		memcpy(
		    group->symptom.rank, finding->rank, sizeof(finding->rank));
	}
}

/* SUMMARY as it is after it was written and read. */
static void
write_and_read(void **state, struct finding_summary *summary)
{
	const char *path = files_path(state, "shard.jsonl");
	struct tz_error err;

	assert_int_equal(report_json_write(path, summary, &err), 0);
	report_summary_free(summary);
	if (report_read(path, summary, &err) != 0)
		fail_msg("%s", err.text);
}

static void
shards_merge_in_any_order(void **state)
{
	static struct finding_summary one, two, other;
	struct tz_error err;

	fixture_summary(&one);
	fixture_summary(&two);
	fixture_summary(&other);
	two.shard_cut[0] = 2;
	/* One shard found a later schedule of the same cause, and less. */
	one.finding_count = one.judged_count = 1;
	one.finding[0].rank[1] = 7;
	strcpy(one.finding[0].token, "late");
	memcpy(&two.finding[1], &other.finding[0], sizeof(struct finding));
	two.finding[1].cause++;
	two.finding[1].own++;
	strcpy(two.finding[1].steps, "open");
	two.finding_count = two.judged_count = 2;
	two.coverage_count = 1;
	two.coverage[0].cut = true;
	strcpy(two.coverage[0].how, "interrupted");
	be_shard(&one, 0, 2);
	be_shard(&two, 1, 2);
	write_and_read(state, &two);
	assert_int_equal(two.group_count, 2);
	if (report_merge(&one, &two, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(one.finding_count, 2);
	assert_string_equal(one.finding[0].token, other.finding[0].token);
	assert_int_equal(one.coverage_count, 5);
	assert_int_equal(one.coverage[0].done, 2);
	/* A shard that counts its own only: no fewer in all than were done. */
	assert_int_equal(one.coverage[0].total, 2);
	assert_true(one.coverage[0].cut);
	assert_string_equal(one.coverage[0].how, "interrupted");
	assert_int_equal(one.coverage[1].done, 1180);
	assert_int_equal(one.shard[0], 3);
	assert_int_equal(one.shard_cut[0], 2);
	assert_int_equal(one.schedules, 2 * other.schedules);
	assert_int_equal(one.decoded, 2 * other.decoded);
	/* A shard of a version that wrote no groups. */
	other.shards = 2;
	assert_int_equal(report_merge(&two, &other, &err), -TZ_EUSAGE);
	assert_non_null(strstr(err.text, "older version"));
	other.profile[0] = 'x';
	assert_int_equal(report_merge(&one, &other, &err), -TZ_EUSAGE);
	assert_non_null(strstr(err.text, "not of one exploration"));
	report_summary_free(&one);
	report_summary_free(&two);
	report_summary_free(&other);
}

/* Of two shards, in either order, the simpler run represents the mistake. */
static void
findings_of_one_mistake_merge(void **state)
{
	static struct finding_summary shard[2];
	struct tz_error err;

	for (unsigned turn = 0; turn < 2; turn++) {
		struct finding_summary *one = &shard[turn];
		struct finding_summary *two = &shard[1 - turn];

		for (unsigned i = 0; i < 2; i++) {
			fixture_summary(&shard[i]);
			shard[i].finding_count = shard[i].judged_count = 1;
			shard[i].finding[0].check = CHECK_PMI_LOST;
			shard[i].finding[0].symptom_count = 0;
			shard[i].finding[0].rank[1] = 10 - i;
			if (i == 1)
				strcpy(shard[i].finding[0].kinds, "nmi");
			be_shard(&shard[i], i, 3);
			write_and_read(state, &shard[i]);
		}
		assert_int_equal(report_merge(one, two, &err), 0);
		assert_int_equal(one->finding_count, 1);
		assert_string_equal(one->finding[0].kinds, "nmi");
		assert_int_equal(one->finding[0].symptom_count, 1);
		assert_string_equal(
		    one->finding[0].symptom[0].kinds, "pmi+cpu");
		assert_int_equal(report_shards_missing(one), 1);
		assert_int_equal(report_merge(one, two, &err), -TZ_EUSAGE);
		assert_non_null(strstr(err.text, "given twice"));
		report_summary_free(one);
		report_summary_free(two);
	}
}

/* What needs a race is another mistake than what does not, where the kernel ends. */
static void
a_race_is_told_from_an_order_of_operations(void **state)
{
	static struct finding base, race;

	(void)state;
	fixture_finding(FIXTURE_RACE, &base);
	base.check = CHECK_PANIC;
	race = base;
	base.class = FINDING_BASE;
	base.kinds[0] = '\0';
	strcpy(base.steps, "open+start+stop");
	strcpy(race.steps, "open+2start.5+work+close");
	assert_false(finding_is_same(&base, &race));
	assert_false(finding_is_same(&race, &base));
	strcpy(race.steps, "open+2start.5+1stop-+close");
	assert_true(finding_is_same(&base, &race));
	assert_true(finding_is_same(&race, &base));
	/* "startx" is no "start". */
	strcpy(race.steps, "open+startx+stop");
	assert_false(finding_is_same(&base, &race));
	base.check = race.check = CHECK_PMI_LOST;
	assert_true(finding_is_same(&base, &race));
	race.judged = false;
	assert_false(finding_is_same(&base, &race));
}

static void
a_baseline_tells_new_from_fixed(void **state)
{
	static struct finding_summary summary;
	struct report_baseline baseline;
	struct report_comparison comparison;
	struct tz_error err;
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);
	const char *path = files_path(state, "baseline.jsonl");

	fixture_summary(&summary);
	assert_int_equal(report_baseline_write(path, &summary, &err), 0);
	assert_int_equal(report_baseline_read(path, &baseline, &err), 0);
	assert_int_equal(baseline.count, FIXTURE_COUNT);
	report_baseline_compare(&baseline, &summary, &comparison);
	assert_int_equal(comparison.still_count, FIXTURE_COUNT);
	assert_int_equal(comparison.new_count, 0);
	assert_int_equal(comparison.fixed_count, 0);

	strcpy(summary.finding[2].fingerprint, "fedcba9876543210");
	assert_false(report_baseline_has(&baseline, &summary.finding[2]));
	assert_int_equal(
	    report_text_comparison(file, &baseline, &summary, &err), 0);
	fclose(file);
	assert_non_null(strstr(text, "new    fedcba9876543210"));
	assert_non_null(strstr(text, "fixed  "));
	assert_non_null(strstr(text, "new 1   fixed 1   still failing 4\n"));
	free(text);
	report_baseline_free(&baseline);
	report_summary_free(&summary);

	files_write(path, "{\"schema\":1,\"fingerprint\":\"12\"}\n");
	assert_int_equal(
	    report_baseline_read(path, &baseline, &err), -TZ_EFORMAT);
	assert_non_null(strstr(err.text, "baseline.jsonl:1:"));
	report_baseline_free(&baseline);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_reads_back),
		cmocka_unit_test(each_line_is_an_object_with_sorted_keys),
		cmocka_unit_test(a_broken_file_is_one_error),
		cmocka_unit_test(shards_merge_in_any_order),
		cmocka_unit_test(findings_of_one_mistake_merge),
		cmocka_unit_test(a_race_is_told_from_an_order_of_operations),
		cmocka_unit_test(a_baseline_tells_new_from_fixed),
	};

	return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
