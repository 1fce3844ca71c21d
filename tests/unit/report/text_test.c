/*
 * Text for a terminal: the promised lines, tokens that are too long for one, and
 * nothing that a terminal obeys.
 */
#include "files.h"

#include <stdlib.h>
#include <string.h>

#include "fixture.h"

static char *
text_of(enum fixture_kind kind, const char *token_path, const char *page)
{
	const struct report_files files = { token_path, page };
	static struct finding_summary summary;
	struct tz_error err;
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	fixture_summary(&summary);
	assert_int_equal(
	    report_text_finding(file, &summary, kind, &files, &err), 0);
	fclose(file);
	report_summary_free(&summary);
	return text;
}

static void
a_finding_is_its_lines(void **state)
{
	char *text = text_of(
	    FIXTURE_RACE, "out/finding-01.token", "out/a.html");
	char head[256];

	(void)state;
	snprintf(head, sizeof(head),
	    "FAIL  ring/smp-stop-vs-pmi  skylake  %s  "
	    "ASSERT \"the unit is on\"  ring_toggle  ring.c:239  cpu1\n",
	    check_info((enum check_id)0)->name);
	assert_memory_equal(text, head, strlen(head));
	assert_string_equal(text + strlen(head),
	    "      window:  ring_pmi+0x4e..+0x97: "
	    "fails at 14 of 1180 boundaries\n"
	    "      class:   schedule (pmi+cpu): a schedule that real hardware permits\n"
	    "      cause:   called through ring_stop ring.c:291\n"
	    "      steps:   start+1stop.2-+close\n"
	    "      nearest passing: "
	    "tz1:smp-stop-vs-pmi:skylake:0:1@680=pmi,1@830=cpu0:9c41\n"
	    "      also:    trace-left-on  CPU 0 still traces  "
	    "ring_stop ring.c:290\n"
	    "               tz1:smp-stop-vs-pmi:skylake:0::9c41\n"
	    "      replay:  topaz replay "
	    "tz1:smp-stop-vs-pmi:skylake:0:1@680=pmi,1@800=cpu0:9c41"
	    " --from 'it'\\''s here' --drivers my/drivers\n"
	    "      report:  out/a.html\n");
	free(text);
}

/* The text of FIXTURE_RACE without a window, of CLASS and CHECK. */
static char *
text_without_window(enum finding_class class, enum check_id check)
{
	static struct finding_summary summary;
	struct finding *finding;
	struct tz_error err;
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	fixture_summary(&summary);
	finding = &summary.finding[FIXTURE_RACE];
	finding->class = class;
	finding->check = check;
	finding->window_failing = finding->window_count = 0;
	assert_int_equal(
	    report_text_finding(file, &summary, FIXTURE_RACE, NULL, &err), 0);
	fclose(file);
	report_summary_free(&summary);
	return text;
}

static void
without_a_window_it_says_why(void **state)
{
	char *text = text_without_window(FINDING_SCHEDULE, CHECK_DECODED);

	(void)state;
	assert_non_null(strstr(text,
	    "\n      window:  none: of a window's schedules no trace is "
	    "decoded\n"));
	free(text);
	text = text_without_window(FINDING_FAULT, CHECK_PANIC);
	assert_non_null(strstr(text,
	    "\n      window:  none: the search for it was interrupted\n"));
	free(text);
	text = text_without_window(FINDING_BASE, CHECK_PANIC);
	assert_null(strstr(text, "window:"));
	free(text);
}

static void
a_long_token_is_named_by_its_file(void **state)
{
	char *text = text_of(FIXTURE_LARGE, "out/finding-04.token", NULL);

	(void)state;
	assert_non_null(strstr(text,
	    "\n      replay:  topaz replay @out/finding-04.token"
	    " --from 'it'\\''s here' --drivers my/drivers\n"));
	assert_null(strstr(text, "report:"));
	free(text);
	text = text_of(FIXTURE_LARGE, NULL, NULL);
	assert_non_null(strstr(text, "replay tz1:"));
	free(text);
}

static void
a_terminal_gets_nothing_to_obey(void **state)
{
	char *text = text_of(FIXTURE_EMPTY, NULL, "a\x1b[2Jb");

	(void)state;
	for (const char *c = text; *c != '\0'; c++)
		assert_true(*c == '\n' || (unsigned char)*c >= 0x20);
	assert_non_null(strstr(text, "\\x1b[31m"));
	assert_non_null(strstr(text, "\xc3\xa9"));
	assert_non_null(strstr(text, "\\xff"));
	assert_non_null(strstr(text, "a\\x1b[2Jb\n"));
	free(text);
}

static void
coverage_names_what_was_not_run(void **state)
{
	static struct finding_summary summary;
	struct tz_error err;
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	(void)state;
	fixture_summary(&summary);
	assert_int_equal(report_text_coverage(file, &summary, &err), 0);
	assert_int_equal(report_text_last(file, &summary, &err), 0);
	fclose(file);
	assert_string_equal(text,
	    "depth 0, stop-vs-pmi       1 /      1  exhaustive       none fails\n"
	    "depth 1, stop-vs-pmi    1180 /   1180  exhaustive       14 fail"
	    "  (402 merged)\n"
	    "depth 2, stop-vs-pmi  236500 / 695610  sampled, seed 1  31 fail"
	    "  (227000 merged)  459110 not run\n"
	    "faults, pmi-late         212 /    212  each point       none fails\n"
	    "decoded 165 of 237893 schedules, all match\n"
	    "2 passed, 5 failed, 0 not judged\n");
	free(text);
	report_summary_free(&summary);
}

static void
what_is_cut_has_not_passed(void **state)
{
	static struct finding_summary summary;
	struct tz_error err;
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	(void)state;
	fixture_summary(&summary);
	assert_false(report_is_cut(&summary));
	/* One that fails, one that does not, one that never ran. */
	summary.coverage[1].cut = true;
	assert_true(report_is_cut(&summary));
	summary.coverage[0].cut = true;
	summary.coverage[3].cut = true;
	summary.coverage[3].done = 0;
	assert_int_equal(report_text_coverage(file, &summary, &err), 0);
	assert_int_equal(report_text_last(file, &summary, &err), 0);
	fclose(file);
	assert_non_null(strstr(text, "exhaustive       none fails so far\n"));
	assert_non_null(
	    strstr(text, "each point       none fails so far  212 not run\n"));
	assert_non_null(strstr(text,
	    "\n2 not run to the end\n0 passed, 5 failed, 0 not judged\n"));
	free(text);
	report_summary_free(&summary);
}

static void
a_full_disk_is_an_error(void **state)
{
	static struct finding_summary summary;
	struct tz_error err = { "" };
	FILE *file = fopen("/dev/full", "w");

	(void)state;
	if (file == NULL)
		skip();
	fixture_summary(&summary);
	assert_int_equal(
	    report_text_finding(file, &summary, FIXTURE_RACE, NULL, &err),
	    -TZ_EIO);
	assert_true(err.text[0] != '\0');
	fclose(file);
	report_summary_free(&summary);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_finding_is_its_lines),
		cmocka_unit_test(without_a_window_it_says_why),
		cmocka_unit_test(a_long_token_is_named_by_its_file),
		cmocka_unit_test(a_terminal_gets_nothing_to_obey),
		cmocka_unit_test(coverage_names_what_was_not_run),
		cmocka_unit_test(what_is_cut_has_not_passed),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
