/*
 * JUnit, SARIF and pages from hostile findings: well-formed, complete, and the same
 * bytes each time.
 */
#include "files.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

struct all {
	struct finding_summary summary;
	struct finding_timeline timeline[FIXTURE_COUNT];
};

static struct all *
write_all(void **state)
{
	struct all *all = calloc(1, sizeof(*all));
	struct tz_error err;

	fixture_summary(&all->summary);
	for (int i = 0; i < FIXTURE_COUNT; i++)
		fixture_story((enum fixture_kind)i, &all->timeline[i]);
	if (report_write_all(*state, &all->summary, all->timeline, &err) != 0)
		fail_msg("%s", err.text);
	return all;
}

static void
free_all(struct all *all)
{
	for (int i = 0; i < FIXTURE_COUNT; i++)
		finding_timeline_free(&all->timeline[i]);
	report_summary_free(&all->summary);
	free(all);
}

static unsigned
count(const char *text, const char *part)
{
	unsigned found = 0;

	for (; (text = strstr(text, part)) != NULL; text += strlen(part))
		found++;
	return found;
}

/* Exit code of xmllint; 127: there is none. */
static int
xmllint(const char *path)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		execlp("xmllint", "xmllint", "--noout", path, (char *)NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
junit_is_well_formed(void **state)
{
	struct all *all = write_all(state);
	const char *path = files_path(state, "junit.xml");
	char *text = files_read(path);
	int lint = xmllint(path);

	assert_true(lint == 0 || lint == 127);
	for (const char *c = text; *c != '\0'; c++)
		assert_true(*c == '\n' || (unsigned char)*c >= 0x20);
	assert_int_equal(count(text, "<"), count(text, ">"));
	assert_int_equal(count(text, "<testcase"), count(text, "</testcase>"));
	assert_int_equal(count(text, "<testcase"), FIXTURE_COUNT + 2);
	assert_int_equal(count(text, "<failure type="), FIXTURE_COUNT);
	assert_non_null(strstr(text, "tests=\"7\" failures=\"5\""));
	assert_non_null(strstr(text, "name=\"smp-stop-vs-pmi[skylake]\""));
	assert_non_null(strstr(text, "name=\"smp-stop-vs-pmi[skylake] #4\""));
	assert_non_null(strstr(text,
	    "name=\"token\" value=\"tz1:smp-stop-vs-pmi:skylake:0:1@680=pmi,"
	    "1@800=cpu0:9c41\""));
	assert_non_null(strstr(text,
	    "\nreplay: topaz replay tz1:smp-stop-vs-pmi:skylake:0:1@680=pmi,"
	    "1@800=cpu0:9c41 --from &#39;it&#39;\\&#39;&#39;s here&#39;"
	    " --drivers my/drivers</failure>"));
	/* Cases have the machine's time, the suite the host's. */
	assert_non_null(strstr(text, "skipped=\"0\" time=\"12.500\">"));
	assert_int_equal(count(text, " time=\""), FIXTURE_COUNT + 1);
	assert_null(strstr(text, "<script"));
	free(text);
	free_all(all);
}

static void
check_result(json_t *result, json_t *rules)
{
	size_t index = (size_t)json_integer_value(
	    json_object_get(result, "ruleIndex"));
	json_t *rule = json_array_get(rules, index);
	json_t *location = json_array_get(
	    json_object_get(result, "locations"), 0);
	json_t *print = json_object_get(result, "partialFingerprints");
	const char *uri = json_string_value(json_object_get(
	    json_object_get(json_object_get(location, "physicalLocation"),
		"artifactLocation"),
	    "uri"));

	assert_non_null(rule);
	assert_string_equal(json_string_value(json_object_get(rule, "id")),
	    json_string_value(json_object_get(result, "ruleId")));
	assert_non_null(json_string_value(
	    json_object_get(json_object_get(result, "message"), "text")));
	assert_int_equal(
	    strlen(json_string_value(json_object_get(print, "topaz/v2"))), 16);
	assert_non_null(uri);
	assert_true(uri[0] != '/' && strncmp(uri, "../", 3) != 0);
	assert_null(strpbrk(uri, " <>\"\\\x01"));
}

/* Executed in order: each number once, from 1 on, rising within a flow. */
static void
check_flows(json_t *result, size_t flow_count)
{
	json_t *flows = json_object_get(
	    json_array_get(json_object_get(result, "codeFlows"), 0),
	    "threadFlows");
	bool seen[4096] = { false };
	json_int_t total = 0;
	json_t *flow, *step;
	size_t i, j;

	assert_int_equal(json_array_size(flows), flow_count);
	json_array_foreach(flows, i, flow)
	{
		json_int_t last = 0;

		json_array_foreach(json_object_get(flow, "locations"), j, step)
		{
			json_int_t order = json_integer_value(
			    json_object_get(step, "executionOrder"));

			assert_true(order > last && order < 4096);
			assert_false(seen[order]);
			seen[order] = true;
			last = order;
			total++;
		}
		assert_true(last > 0);
	}
	for (json_int_t order = 1; order <= total; order++)
		assert_true(seen[order]);
}

static void
sarif_has_the_required_structure(void **state)
{
	struct all *all = write_all(state);
	json_t *root = json_load_file(
	    files_path(state, "findings.sarif"), JSON_REJECT_DUPLICATES, NULL);
	json_t *run = json_array_get(json_object_get(root, "runs"), 0);
	json_t *driver = json_object_get(
	    json_object_get(run, "tool"), "driver");
	json_t *rules = json_object_get(driver, "rules");
	json_t *results = json_object_get(run, "results"), *result;
	size_t i;

	assert_non_null(root);
	assert_string_equal(
	    json_string_value(json_object_get(root, "version")), "2.1.0");
	assert_string_equal(
	    json_string_value(json_object_get(driver, "name")), "topaz");
	assert_int_equal(json_array_size(rules), CHECK_COUNT);
	assert_int_equal(json_array_size(results), FIXTURE_COUNT);
	json_array_foreach(results, i, result) check_result(result, rules);
	check_flows(json_array_get(results, FIXTURE_RACE), 2);
	check_flows(json_array_get(results, FIXTURE_EIGHT), 7);
	check_flows(json_array_get(results, FIXTURE_LARGE), 2);
	assert_null(json_object_get(
	    json_array_get(results, FIXTURE_EMPTY), "codeFlows"));
	json_decref(root);
	free_all(all);
}

/* Files beside the driver's source are below its folder, others are not. */
static void
sarif_locates_the_drivers_sources(void **state)
{
	static struct finding_summary summary;
	static const char *const file[] = { "./x.c", "./deeper/x.h", "y.c" };
	struct tz_error err;
	const char *path = files_path(state, "folder.sarif");
	char *text;

	fixture_summary(&summary);
	strcpy(summary.folder, "my drivers/pt");
	for (unsigned i = 0; i < TZ_ARRAY_LEN(file); i++)
		strcpy(summary.finding[i].place.file, file[i]);
	assert_int_equal(report_sarif(path, &summary, NULL, &err), 0);
	text = files_read(path);
	assert_non_null(strstr(text, "\"uri\": \"my%20drivers\\/pt\\/x.c\""));
	assert_non_null(strstr(text, "\"uri\": \"deeper\\/x.h\""));
	assert_non_null(strstr(text, "\"uri\": \"y.c\""));
	free(text);
	summary.folder[0] = '\0';
	assert_int_equal(report_sarif(path, &summary, NULL, &err), 0);
	text = files_read(path);
	assert_non_null(strstr(text, "\"uri\": \"x.c\""));
	free(text);
	report_summary_free(&summary);
}

static void
junit_skips_what_is_cut(void **state)
{
	static struct finding_summary summary;
	struct tz_error err;
	const char *path = files_path(state, "cut.xml");
	char *text;

	fixture_summary(&summary);
	summary.coverage[0].cut = true;
	assert_int_equal(report_junit(path, &summary, &err), 0);
	text = files_read(path);
	assert_non_null(strstr(
	    text, "tests=\"7\" failures=\"5\" errors=\"0\" skipped=\"1\""));
	assert_int_equal(count(text, "<skipped "), 1);
	free(text);
	report_summary_free(&summary);
}

/* The data in the page of NAME; nothing of it may end its script. */
static json_t *
page_data(void **state, const char *name)
{
	static const char open[] = "type=\"application/json\" id=\"data\">";
	char *text = files_read(files_path(state, name));
	char *begin = strstr(text, open), *end;
	json_t *data;

	assert_non_null(begin);
	begin += strlen(open);
	end = strstr(begin, "</script>");
	assert_non_null(end);
	*end = '\0';
	assert_null(strchr(begin, '<'));
	data = json_loads(begin, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(data);
	assert_null(strstr(end + 1, "@DATA@"));
	free(text);
	return data;
}

static void
pages_hold_the_whole_story(void **state)
{
	struct all *all = write_all(state);
	char name[REPORT_NAME_BYTES];

	for (size_t i = 0; i < FIXTURE_COUNT; i++) {
		json_t *data, *timeline, *links;

		report_name(name, i, "html");
		data = page_data(state, name);
		timeline = json_object_get(data, "story");
		links = json_object_get(data, "links");
		assert_int_equal(
		    json_array_size(json_object_get(timeline, "events")),
		    all->timeline[i].event_count);
		assert_int_equal(
		    json_array_size(json_object_get(timeline, "spans")),
		    all->timeline[i].span_count);
		assert_int_equal(
		    json_array_size(json_object_get(timeline, "ticks")),
		    all->timeline[i].tick_count);
		assert_int_equal(
		    json_is_null(json_object_get(links, "prev")), i == 0);
		assert_int_equal(json_is_null(json_object_get(links, "next")),
		    i == FIXTURE_COUNT - 1);
		json_decref(data);
	}
	assert_int_equal(
	    access(files_path(state, "finding-04.token"), R_OK), 0);
	assert_int_not_equal(
	    access(files_path(state, "finding-01.token"), R_OK), 0);
	json_decref(page_data(state, "index.html"));
	free_all(all);
}

static void
numbers_beyond_javascript_are_digits(void **state)
{
	struct all *all = write_all(state);
	json_t *data = page_data(state, "finding-04.html");
	json_t *events = json_object_get(
	    json_object_get(data, "story"), "events");
	json_t *last = json_array_get(events, FIXTURE_LARGE_EVENTS - 1);

	assert_string_equal(
	    json_string_value(json_array_get(last, 5)), "0xffffffffffffffff");
	json_decref(data);
	free_all(all);
}

static void
the_same_input_gives_the_same_bytes(void **state)
{
	static const char *const name[] = { "finding-01.html", "index.html",
		"findings.jsonl", "junit.xml", "findings.sarif" };
	char *before[TZ_ARRAY_LEN(name)];

	free_all(write_all(state));
	for (size_t i = 0; i < TZ_ARRAY_LEN(name); i++)
		before[i] = files_read(files_path(state, name[i]));
	free_all(write_all(state));
	for (size_t i = 0; i < TZ_ARRAY_LEN(name); i++) {
		char *after = files_read(files_path(state, name[i]));

		assert_string_equal(before[i], after);
		free(before[i]);
		free(after);
	}
}

static void
a_folder_that_cannot_be_is_named(void **state)
{
	static struct finding_summary summary;
	struct tz_error err = { "" };

	(void)state;
	assert_int_equal(
	    report_write_all("/dev/null/x", &summary, NULL, &err), -TZ_EIO);
	assert_non_null(strstr(err.text, "/dev/null/x: Not a directory"));
	assert_int_equal(
	    report_junit("/dev/null/a.xml", &summary, &err), -TZ_EIO);
	assert_non_null(strstr(err.text, "/dev/null/a.xml: "));
	if (access("/dev/full", W_OK) == 0) {
		assert_int_equal(
		    report_sarif("/dev/full", &summary, NULL, &err), -TZ_EIO);
		assert_non_null(strstr(err.text, "/dev/full: No space left"));
		assert_int_equal(
		    report_index("/dev/full", &summary, &err), -TZ_EIO);
		assert_non_null(strstr(err.text, "/dev/full: No space left"));
		assert_int_equal(
		    report_json_write("/dev/full", &summary, &err), -TZ_EIO);
		assert_non_null(strstr(err.text, "/dev/full: No space left"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(junit_is_well_formed),
		cmocka_unit_test(sarif_has_the_required_structure),
		cmocka_unit_test(sarif_locates_the_drivers_sources),
		cmocka_unit_test(junit_skips_what_is_cut),
		cmocka_unit_test(pages_hold_the_whole_story),
		cmocka_unit_test(numbers_beyond_javascript_are_digits),
		cmocka_unit_test(the_same_input_gives_the_same_bytes),
		cmocka_unit_test(a_folder_that_cannot_be_is_named),
	};

	return cmocka_run_group_tests(tests, files_setup, files_teardown);
}
