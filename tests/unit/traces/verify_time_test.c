/*
 * The verdict on time, of bundles made by hand: tracing that begins and ends where
 * no instruction says when.
 */
#include "fixture.h"

/* TSCEn, too. */
#define CTL (FIXTURE_CTL | UINT64_C(1) << 10)

/* User in place of OS. */
#define CTL_USER (CTL ^ 0xc)

/* TraceEn rises by the first instruction, as CTL says, at 1000. */
static struct exec_log *
begin(struct fixture *fixture, uint64_t ctl)
{
	struct exec_log *exec_log;

	fixture_start(fixture);
	exec_log = fixture->cpu[0].exec_log;
	exec_log_time(exec_log, 1000);
	exec_log_msr(exec_log, 0x570, ctl);
	exec_log_step(exec_log, FIXTURE_CODE);
	return exec_log;
}

/* The packets of that. */
static void
enable_packets(struct fixture *fixture)
{
	fixture_on(fixture);
	fixture_psb(fixture, 0);
	fixture_tsc(fixture, 1001);
	fixture_mode(fixture);
	fixture_pge(fixture, FIXTURE_CODE + 0x02);
}

/* The same, and those of the first turn of the loop. */
static void
begin_packets(struct fixture *fixture)
{
	enable_packets(fixture);
	fixture_tnt(fixture, 1, 1);
}

/* All has been written; the verdict is a MATCH. */
static void
end(struct fixture *fixture, struct verify_result *result)
{
	fixture_off(fixture);
	fixture_drain(fixture, 0, 0, fixture->cpu[0].written);
	fixture_finish(fixture);
	fixture_verify(fixture, 0, result);
	verify_print(result, stdout);
	assert_true(result->match);
}

/* The same after INSNS instructions: so many of them MATCHED, so many times COMPARED. */
static void
end_with(struct fixture *fixture, uint64_t insns, uint64_t matched,
    uint64_t compared)
{
	struct verify_result result;

	fixture_pgd(fixture);
	fixture->cpu[0].insns = insns;
	end(fixture, &result);
	assert_int_equal(result.streams[0].matched, matched);
	assert_int_equal(result.streams[0].time.compared, compared);
	verify_result_free(&result);
	fixture_remove(fixture);
}

/* What ran while packets were lost took long, and nothing ran after that. */
static void
tracing_that_ends_with_an_overflow_ends_at_its_time(void **state)
{
	struct verify_result result;
	struct fixture fixture;
	struct exec_log *exec_log;

	(void)state;
	exec_log = begin(&fixture, CTL);
	exec_log_run(exec_log, FIXTURE_CODE + 0x02, 9);
	exec_log_run(exec_log, FIXTURE_CODE + 0x07, 4);
	exec_log_run(exec_log, FIXTURE_CODE + 0x07, 4);
	exec_log_run(exec_log, FIXTURE_CODE + 0x0b, 5);
	exec_log_run(exec_log, FIXTURE_CODE + 0x15, 1);
	exec_log_run(exec_log, FIXTURE_CODE + 0x10, 2);
	exec_log_time(exec_log, 9000);
	exec_log_msr(exec_log, 0x570, 0);
	exec_log_step(exec_log, FIXTURE_CODE + 0x12);
	begin_packets(&fixture);
	fixture.cpu[0].insns = 4;
	fixture_event(&fixture, EVENT_OVERFLOW, 1, 0, fixture.cpu[0].written);
	fixture.cpu[0].insns = 1 + FIXTURE_INSNS;
	fixture_event(&fixture, EVENT_OVERFLOW, 0, 0, fixture.cpu[0].written);
	fixture_ovf(&fixture);
	fixture_tsc(&fixture, 9000);
	fixture_fup(&fixture, FIXTURE_CODE + 0x12);
	fixture_fup(&fixture, FIXTURE_CODE + 0x12);
	fixture_pgd(&fixture);
	end(&fixture, &result);
	assert_int_equal(result.streams[0].matched, 3);
	assert_int_equal(result.streams[0].overflown, FIXTURE_INSNS - 3);
	assert_int_equal(result.streams[0].time.compared, 2);
	verify_result_free(&result);
	fixture_remove(&fixture);
}

/* The first instruction of user space is interrupted before it retires. */
static void
tracing_without_an_instruction_has_a_time_of_its_own(void **state)
{
	struct fixture fixture;
	struct exec_log *exec_log;

	(void)state;
	exec_log = begin(&fixture, CTL_USER);
	exec_log_context(exec_log, 3, FIXTURE_CR3);
	exec_log_run(exec_log, FIXTURE_CODE + 0x02, 9);
	exec_log_event(exec_log, 32, FIXTURE_CODE + 0x07);
	exec_log_context(exec_log, 0, FIXTURE_CR3);
	exec_log_time(exec_log, 9000);
	exec_log_step(exec_log, FIXTURE_CODE + 0x14);
	exec_log_context(exec_log, 3, FIXTURE_CR3);
	exec_log_event(exec_log, 32, FIXTURE_CODE + 0x07);
	exec_log_context(exec_log, 0, FIXTURE_CR3);
	exec_log_time(exec_log, 20000);
	exec_log_step(exec_log, FIXTURE_CODE + 0x14);
	exec_log_context(exec_log, 3, FIXTURE_CR3);
	exec_log_run(exec_log, FIXTURE_CODE + 0x07, 4);
	exec_log_run(exec_log, FIXTURE_CODE + 0x07, 4);
	exec_log_event(exec_log, 32, FIXTURE_CODE + 0x0b);
	exec_log_context(exec_log, 0, FIXTURE_CR3);
	exec_log_msr(exec_log, 0x570, 0);
	exec_log_step(exec_log, FIXTURE_CODE + 0x12);
	begin_packets(&fixture);
	fixture_fup(&fixture, FIXTURE_CODE + 0x07);
	fixture_pgd(&fixture);
	fixture_tsc(&fixture, 9001);
	fixture_pge(&fixture, FIXTURE_CODE + 0x07);
	fixture_fup(&fixture, FIXTURE_CODE + 0x07);
	fixture_pgd(&fixture);
	fixture_tsc(&fixture, 20001);
	fixture_pge(&fixture, FIXTURE_CODE + 0x07);
	fixture_tnt(&fixture, 2, 2);
	fixture_fup(&fixture, FIXTURE_CODE + 0x0b);
	end_with(&fixture, 11, 7, 6);
}

/* The same where no instruction was traced at all: nothing says when that was. */
static void
a_time_beside_no_instruction_is_not_compared(void **state)
{
	struct fixture fixture;
	struct exec_log *exec_log;

	(void)state;
	exec_log = begin(&fixture, CTL_USER);
	exec_log_context(exec_log, 3, FIXTURE_CR3);
	exec_log_event(exec_log, 32, FIXTURE_CODE + 0x02);
	exec_log_context(exec_log, 0, FIXTURE_CR3);
	exec_log_msr(exec_log, 0x570, 0);
	exec_log_step(exec_log, FIXTURE_CODE + 0x12);
	enable_packets(&fixture);
	fixture_fup(&fixture, FIXTURE_CODE + 0x02);
	end_with(&fixture, 2, 0, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    tracing_that_ends_with_an_overflow_ends_at_its_time),
		cmocka_unit_test(
		    tracing_without_an_instruction_has_a_time_of_its_own),
		cmocka_unit_test(a_time_beside_no_instruction_is_not_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
