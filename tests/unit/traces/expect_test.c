/*
 * The predicate "must decode", on exec_logs written by hand: enables, CPL, CR3,
 * ranges, stops, and tracing toggled by XSAVES and XRSTORS.  Code is NOPs and one
 * INT3, so that an address is an instruction and what runs where is the test's choice.
 */
#include "fixture.h"

#include "traces/verify/expect.h"

#define BASE       UINT64_C(0x400000)
#define NOPS       256u
#define INT3_AT    200u
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

static struct exec_log *
start(void)
{
	struct exec_log *exec_log;

	words.count = 0;
	exec_log = exec_log_create(keep, &words);
	assert_non_null(exec_log);
	return exec_log;
}

/* Runs the predicate; "+" and "-" stand for TraceEn, "!" for a stop, ranges of
 * addresses relative to BASE for instructions. */
static void
check(struct exec_log *exec_log, const char *want)
{
	static uint8_t nops[NOPS];
	struct bundle_image image = { .va = BASE, .bytes = NOPS };
	char text[512] = "";
	struct expect_item item;
	struct expect expect;
	struct exec_log_file *log;
	struct tz_error err;
	struct code *code;

	memset(nops, 0x90, sizeof(nops));
	nops[INT3_AT] = 0xcc;
	image.code = nops;
	code = code_create(&image, 1);
	assert_int_equal(exec_log_flush(exec_log), 0);
	if (exec_log_read("t", words.words, words.count, code, &log, &err) != 0)
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
		if (item.listed == 0)
			continue;
		first = exec_log_block_ip(log, item.block, item.first) - BASE;
		snprintf(&text[length], sizeof(text) - length, " %u..%u ",
		    (unsigned)first, (unsigned)first + item.listed - 1);
	}
	assert_string_equal(text, want);
	exec_log_file_free(log);
	code_destroy(code);
	exec_log_destroy(exec_log);
}

static void
neither_the_instruction_that_sets_trace_en_nor_the_one_that_clears_it(
    void **state)
{
	struct exec_log *exec_log = start();

	(void)state;
	exec_log_run(exec_log, BASE, 4);
	exec_log_msr(exec_log, 0x570, CTL_OS);
	exec_log_step(exec_log, BASE + 4);
	exec_log_run(exec_log, BASE + 5, 3);
	exec_log_msr(exec_log, 0x570, CTL_OS & ~UINT64_C(1));
	exec_log_step(exec_log, BASE + 8);
	exec_log_run(exec_log, BASE + 9, 3);
	check(exec_log, "+ 5..7 -");
}

static void
xsaves_and_xrstors_toggle_tracing(void **state)
{
	static const uint32_t order[] = { 0x560, 0x561, 0x571, 0x572, 0x580,
		0x581, 0x582, 0x583 };
	struct exec_log *exec_log = start();

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		for (size_t j = 0; j < TZ_ARRAY_LEN(order); j++)
			exec_log_msr(exec_log, order[j], 0);
		exec_log_msr(exec_log, 0x570, CTL_OS);
		exec_log_step(exec_log, BASE);
		exec_log_run(exec_log, BASE + 1, 2);
		exec_log_event(exec_log, 2, BASE + 3);
		exec_log_run(exec_log, BASE + 50, 4);
		exec_log_msr(exec_log, 0x570, CTL_OS & ~UINT64_C(1));
		exec_log_step(exec_log, BASE + 54);
		exec_log_run(exec_log, BASE + 55, 9);
	}
	check(exec_log, "+ 1..2  50..53 -+ 1..2  50..53 -");
}

static void
os_and_user_choose_by_cpl(void **state)
{
	struct exec_log *exec_log = start();

	(void)state;
	exec_log_msr(exec_log, 0x570, CTL_USER);
	exec_log_step(exec_log, BASE);
	exec_log_run(exec_log, BASE + 1, 2);
	exec_log_context(exec_log, 3, 0);
	exec_log_run(exec_log, BASE + 100, 5);
	exec_log_context(exec_log, 0, 0);
	exec_log_run(exec_log, BASE + 10, 2);
	exec_log_msr(exec_log, 0x570, 0);
	exec_log_step(exec_log, BASE + 12);
	exec_log_msr(exec_log, 0x570, CTL_OS);
	exec_log_step(exec_log, BASE + 13);
	exec_log_run(exec_log, BASE + 14, 1);
	exec_log_context(exec_log, 3, 0);
	exec_log_run(exec_log, BASE + 100, 5);
	check(exec_log, "+ 100..104 -+ 14..14 ");
}

static void
cr3_filter_compares_the_page_of_the_table(void **state)
{
	struct exec_log *exec_log = start();

	(void)state;
	exec_log_msr(exec_log, 0x572, 0x5000);
	exec_log_step(exec_log, BASE);
	exec_log_context(exec_log, 0, 0x5018);
	exec_log_msr(exec_log, 0x570, CTL_OS | CTL_CR3);
	exec_log_step(exec_log, BASE + 1);
	exec_log_run(exec_log, BASE + 2, 1);
	exec_log_context(exec_log, 0, 0x6000);
	exec_log_run(exec_log, BASE + 3, 1);
	exec_log_context(exec_log, 0, 0x5000);
	exec_log_run(exec_log, BASE + 4, 1);
	check(exec_log, "+ 2..2  4..4 ");
}

static void
ranges_are_looked_at_where_control_is_transferred(void **state)
{
	struct exec_log *exec_log = start();

	(void)state;
	exec_log_msr(exec_log, 0x580, BASE + 20);
	exec_log_step(exec_log, BASE);
	exec_log_msr(exec_log, 0x581, BASE + 29);
	exec_log_step(exec_log, BASE + 1);
	exec_log_msr(exec_log, 0x570, CTL_OS | CTL_RANGE0);
	exec_log_step(exec_log, BASE + 2);
	exec_log_run(exec_log, BASE + 3, 17); /* falls through into the range */
	exec_log_run(exec_log, BASE + 20, 5);
	exec_log_run(exec_log, BASE + 40, 2); /* jumps */
	exec_log_run(exec_log, BASE + 29, 1); /* jumps to its last byte */
	exec_log_run(exec_log, BASE + 30, 5); /* falls through out of it */
	exec_log_run(exec_log, BASE + 30, 5); /* jumps */
	exec_log_run(exec_log, BASE + 20, 2); /* jumps */
	exec_log_event(exec_log, 2, BASE + 22);
	exec_log_run(
	    exec_log, BASE + 22, 2); /* a handler that is the next address */
	exec_log_event(exec_log, 2, BASE + 24);
	exec_log_run(exec_log, BASE + 60, 2);
	check(exec_log, "+ 29..29  30..34  20..21  22..23 ");
}

static void
filter_en_is_looked_at_anew_when_tracing_is_enabled(void **state)
{
	struct exec_log *exec_log = start();

	(void)state;
	exec_log_msr(exec_log, 0x580, BASE + 20);
	exec_log_msr(exec_log, 0x581, BASE + 29);
	exec_log_msr(exec_log, 0x570, CTL_OS | CTL_RANGE0);
	exec_log_step(exec_log, BASE + 25);
	exec_log_run(exec_log, BASE + 26, 2);
	exec_log_msr(exec_log, 0x570, 0);
	exec_log_step(exec_log, BASE + 28);
	exec_log_msr(exec_log, 0x570, CTL_OS | CTL_RANGE0);
	exec_log_step(exec_log, BASE + 29);
	exec_log_run(exec_log, BASE + 30, 2);
	check(exec_log, "+ 26..27 -+");
}

static void
without_branch_en_nothing_must_decode(void **state)
{
	struct exec_log *exec_log = start();

	(void)state;
	exec_log_msr(exec_log, 0x570, 0x5);
	exec_log_step(exec_log, BASE);
	exec_log_run(exec_log, BASE + 1, 2);
	check(exec_log, "+");
}

static void
a_stop_lasts_until_trace_en_is_set_with_stopped_clear(void **state)
{
	struct exec_log *exec_log = start();

	(void)state;
	exec_log_msr(exec_log, 0x570, CTL_OS);
	exec_log_step(exec_log, BASE);
	exec_log_run(exec_log, BASE + 1, 2);
	exec_log_stopped(exec_log);
	exec_log_run(exec_log, BASE + 3, 2);
	exec_log_msr(exec_log, 0x570, 0);
	exec_log_step(exec_log, BASE + 5);
	exec_log_msr(exec_log, 0x570, CTL_OS);
	exec_log_step(exec_log, BASE + 6);
	exec_log_run(exec_log, BASE + 7, 2);
	exec_log_msr(exec_log, 0x570, 0);
	exec_log_step(exec_log, BASE + 9);
	exec_log_msr(exec_log, 0x571, 0);
	exec_log_step(exec_log, BASE + 10);
	exec_log_msr(exec_log, 0x570, CTL_OS);
	exec_log_step(exec_log, BASE + 11);
	exec_log_run(exec_log, BASE + 12, 2);
	check(exec_log, "+ 1..2 !-+-+ 12..13 ");
}

static void
an_error_while_trace_en_is_set_lets_nothing_decode(void **state)
{
	struct exec_log *exec_log = start();

	(void)state;
	exec_log_msr(exec_log, 0x570, CTL_OS);
	exec_log_stopped(exec_log);
	exec_log_step(exec_log, BASE);
	exec_log_run(exec_log, BASE + 1, 2);
	check(exec_log, "!+");
}

static void
a_write_of_the_same_value_is_an_instruction_as_any(void **state)
{
	struct exec_log *exec_log = start();

	(void)state;
	exec_log_msr(exec_log, 0x570, CTL_OS);
	exec_log_step(exec_log, BASE);
	exec_log_msr(exec_log, 0x570, CTL_OS);
	exec_log_step(exec_log, BASE + 1);
	exec_log_run(exec_log, BASE + 2, 1);
	check(exec_log, "+ 1..1  2..2 ");
}

static void
the_fup_of_a_software_interrupt_stands_for_it(void **state)
{
	struct exec_log *exec_log = start();

	(void)state;
	exec_log_msr(exec_log, 0x570, CTL_OS);
	exec_log_step(exec_log, BASE);
	for (unsigned i = 0; i < 2; i++) {
		exec_log_run(exec_log, BASE + INT3_AT - 2 + 2 * i, 3 - 2 * i);
		exec_log_event(exec_log, 3, BASE + INT3_AT + 1);
		exec_log_run(exec_log, BASE + 50, 4);
	}
	check(exec_log, "+ 198..199  50..53  50..53 ");
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
		cmocka_unit_test(the_fup_of_a_software_interrupt_stands_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
