/*
 * The predicate "must decode", on truths written by hand: enables, CPL, CR3,
 * ranges, stops, and tracing toggled by XSAVES and XRSTORS.  Code is NOPs, so
 * that an address is an instruction and what runs where is the test's choice.
 */
#include "fixture.h"

#include "traces/expect.h"

#define BASE       UINT64_C(0x400000)
#define NOPS       256u
#define CTL_OS     UINT64_C(0x2005) /* TraceEn, OS, BranchEn */
#define CTL_USER   UINT64_C(0x2009) /* TraceEn, User, BranchEn */
#define CTL_RANGE0 (UINT64_C(1) << 32)
#define CTL_CR3    UINT64_C(0x80)

struct words {
	uint32_t words[4096];
	size_t count;
};

static int
keep(void *arg, const uint32_t *words, size_t count)
{
	struct words *to = arg;

	assert_true(to->count + count <= TZ_ARRAY_LEN(to->words));
	memcpy(&to->words[to->count], words, count * sizeof(*words));
	to->count += count;
	return 0;
}

static struct words words;

static struct truth *
start(void)
{
	struct truth *truth;

	words.count = 0;
	truth = truth_create(keep, &words);
	assert_non_null(truth);
	return truth;
}

/* Runs the predicate; "+" and "-" stand for TraceEn, "!" for a stop, ranges of
 * addresses relative to BASE for instructions. */
static void
check(struct truth *truth, const char *want)
{
	static uint8_t nops[NOPS];
	struct bundle_image image = { .va = BASE, .bytes = NOPS };
	char text[512] = "";
	struct expect_item item;
	struct expect expect;
	struct truth_log *log;
	struct tz_error err;
	struct code *code;

	memset(nops, 0x90, sizeof(nops));
	image.code = nops;
	code = code_create(&image, 1);
	assert_int_equal(truth_flush(truth), 0);
	if (truth_read("t", words.words, words.count, code, &log, &err) != 0)
		fail_msg("%s", err.text);
	expect_start(&expect, log);
	for (expect_next(&expect, &item); item.kind != EXPECT_END;
	     expect_next(&expect, &item)) {
		size_t length = strlen(text);
		uint64_t first;

		if (item.kind != EXPECT_RUN) {
			text[length] = item.kind == EXPECT_ON ? '+'
			    : item.kind == EXPECT_OFF         ? '-'
							      : '!';
			text[length + 1] = '\0';
			continue;
		}
		first = truth_block_ip(log, item.block, item.first) - BASE;
		snprintf(&text[length], sizeof(text) - length, " %u..%u ",
		    (unsigned)first, (unsigned)first + item.count - 1);
	}
	assert_string_equal(text, want);
	truth_log_free(log);
	code_destroy(code);
	truth_destroy(truth);
}

static void
neither_the_instruction_that_sets_trace_en_nor_the_one_that_clears_it(
    void **state)
{
	struct truth *truth = start();

	(void)state;
	truth_run(truth, BASE, 4);
	truth_msr(truth, 0x570, CTL_OS);
	truth_step(truth, BASE + 4);
	truth_run(truth, BASE + 5, 3);
	truth_msr(truth, 0x570, CTL_OS & ~UINT64_C(1));
	truth_step(truth, BASE + 8);
	truth_run(truth, BASE + 9, 3);
	check(truth, "+ 5..7 -");
}

static void
xsaves_and_xrstors_toggle_tracing(void **state)
{
	static const uint32_t order[] = { 0x560, 0x561, 0x571, 0x572, 0x580,
		0x581, 0x582, 0x583 };
	struct truth *truth = start();

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		for (size_t j = 0; j < TZ_ARRAY_LEN(order); j++)
			truth_msr(truth, order[j], 0);
		truth_msr(truth, 0x570, CTL_OS);
		truth_step(truth, BASE);
		truth_run(truth, BASE + 1, 2);
		truth_event(truth, 2, BASE + 3);
		truth_run(truth, BASE + 50, 4);
		truth_msr(truth, 0x570, CTL_OS & ~UINT64_C(1));
		truth_step(truth, BASE + 54);
		truth_run(truth, BASE + 55, 9);
	}
	check(truth, "+ 1..2  50..53 -+ 1..2  50..53 -");
}

static void
os_and_user_choose_by_cpl(void **state)
{
	struct truth *truth = start();

	(void)state;
	truth_msr(truth, 0x570, CTL_USER);
	truth_step(truth, BASE);
	truth_run(truth, BASE + 1, 2);
	truth_context(truth, 3, 0);
	truth_run(truth, BASE + 100, 5);
	truth_context(truth, 0, 0);
	truth_run(truth, BASE + 10, 2);
	truth_msr(truth, 0x570, 0);
	truth_step(truth, BASE + 12);
	truth_msr(truth, 0x570, CTL_OS);
	truth_step(truth, BASE + 13);
	truth_run(truth, BASE + 14, 1);
	truth_context(truth, 3, 0);
	truth_run(truth, BASE + 100, 5);
	check(truth, "+ 100..104 -+ 14..14 ");
}

static void
cr3_filter_compares_the_page_of_the_table(void **state)
{
	struct truth *truth = start();

	(void)state;
	truth_msr(truth, 0x572, 0x5000);
	truth_step(truth, BASE);
	truth_context(truth, 0, 0x5018);
	truth_msr(truth, 0x570, CTL_OS | CTL_CR3);
	truth_step(truth, BASE + 1);
	truth_run(truth, BASE + 2, 1);
	truth_context(truth, 0, 0x6000);
	truth_run(truth, BASE + 3, 1);
	truth_context(truth, 0, 0x5000);
	truth_run(truth, BASE + 4, 1);
	check(truth, "+ 2..2  4..4 ");
}

static void
ranges_are_looked_at_where_control_is_transferred(void **state)
{
	struct truth *truth = start();

	(void)state;
	truth_msr(truth, 0x580, BASE + 20);
	truth_step(truth, BASE);
	truth_msr(truth, 0x581, BASE + 29);
	truth_step(truth, BASE + 1);
	truth_msr(truth, 0x570, CTL_OS | CTL_RANGE0);
	truth_step(truth, BASE + 2);
	truth_run(truth, BASE + 3, 17); /* falls through into the range */
	truth_run(truth, BASE + 20, 5);
	truth_run(truth, BASE + 40, 2); /* jumps */
	truth_run(truth, BASE + 29, 1); /* jumps to its last byte */
	truth_run(truth, BASE + 30, 5); /* falls through out of it */
	truth_run(truth, BASE + 30, 5); /* jumps */
	truth_run(truth, BASE + 20, 2); /* jumps */
	truth_event(truth, 2, BASE + 22);
	truth_run(truth, BASE + 22, 2); /* a handler that is the next address */
	truth_event(truth, 2, BASE + 24);
	truth_run(truth, BASE + 60, 2);
	check(truth, "+ 29..29  30..34  20..21  22..23 ");
}

static void
filter_en_is_looked_at_anew_when_tracing_is_enabled(void **state)
{
	struct truth *truth = start();

	(void)state;
	truth_msr(truth, 0x580, BASE + 20);
	truth_msr(truth, 0x581, BASE + 29);
	truth_msr(truth, 0x570, CTL_OS | CTL_RANGE0);
	truth_step(truth, BASE + 25);
	truth_run(truth, BASE + 26, 2);
	truth_msr(truth, 0x570, 0);
	truth_step(truth, BASE + 28);
	truth_msr(truth, 0x570, CTL_OS | CTL_RANGE0);
	truth_step(truth, BASE + 29);
	truth_run(truth, BASE + 30, 2);
	check(truth, "+ 26..27 -+");
}

static void
without_branch_en_nothing_must_decode(void **state)
{
	struct truth *truth = start();

	(void)state;
	truth_msr(truth, 0x570, 0x5);
	truth_step(truth, BASE);
	truth_run(truth, BASE + 1, 2);
	check(truth, "+");
}

static void
a_stop_lasts_until_trace_en_is_set_with_stopped_clear(void **state)
{
	struct truth *truth = start();

	(void)state;
	truth_msr(truth, 0x570, CTL_OS);
	truth_step(truth, BASE);
	truth_run(truth, BASE + 1, 2);
	truth_stopped(truth);
	truth_run(truth, BASE + 3, 2);
	truth_msr(truth, 0x570, 0);
	truth_step(truth, BASE + 5);
	truth_msr(truth, 0x570, CTL_OS);
	truth_step(truth, BASE + 6);
	truth_run(truth, BASE + 7, 2);
	truth_msr(truth, 0x570, 0);
	truth_step(truth, BASE + 9);
	truth_msr(truth, 0x571, 0);
	truth_step(truth, BASE + 10);
	truth_msr(truth, 0x570, CTL_OS);
	truth_step(truth, BASE + 11);
	truth_run(truth, BASE + 12, 2);
	check(truth, "+ 1..2 !-+-+ 12..13 ");
}

static void
an_error_while_trace_en_is_set_lets_nothing_decode(void **state)
{
	struct truth *truth = start();

	(void)state;
	truth_msr(truth, 0x570, CTL_OS);
	truth_stopped(truth);
	truth_step(truth, BASE);
	truth_run(truth, BASE + 1, 2);
	check(truth, "!+");
}

static void
a_write_of_the_same_value_is_an_instruction_as_any(void **state)
{
	struct truth *truth = start();

	(void)state;
	truth_msr(truth, 0x570, CTL_OS);
	truth_step(truth, BASE);
	truth_msr(truth, 0x570, CTL_OS);
	truth_step(truth, BASE + 1);
	truth_run(truth, BASE + 2, 1);
	check(truth, "+ 1..1  2..2 ");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    neither_the_instruction_that_sets_trace_en_nor_the_one_that_clears_it),
		cmocka_unit_test(xsaves_and_xrstors_toggle_tracing),
		cmocka_unit_test(os_and_user_choose_by_cpl),
		cmocka_unit_test(cr3_filter_compares_the_page_of_the_table),
		cmocka_unit_test(
		    ranges_are_looked_at_where_control_is_transferred),
		cmocka_unit_test(
		    filter_en_is_looked_at_anew_when_tracing_is_enabled),
		cmocka_unit_test(without_branch_en_nothing_must_decode),
		cmocka_unit_test(
		    a_stop_lasts_until_trace_en_is_set_with_stopped_clear),
		cmocka_unit_test(
		    an_error_while_trace_en_is_set_lets_nothing_decode),
		cmocka_unit_test(
		    a_write_of_the_same_value_is_an_instruction_as_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
