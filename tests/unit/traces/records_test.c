/*
 * Goal: branch records that user space read are judged by the execution log alone: whatever
 * is wrong, missing, too many or another's is a finding, and whole rounds of a buffer that
 * nobody read are counted.  Method: bundles made by hand, with one thing wrong in each.
 */
#include "fixture.h"

#include "emu/guest_abi.h"

#define USER_CODE UINT64_C(0x400000)
#define USER_CR3  UINT64_C(0x5000)
#define AREA      UINT64_C(0xffff800000001000)
#define PID       7
#define ROOM      4
#define DEBUGCTL  0x1d9u
#define DS_AREA   0x600u
#define ON        UINT64_C(0x2c0) /* TR, BTS, BTS_OFF_OS */

/*
 *   00 jnz 04
 *   02 nop; nop
 *   04 jmp 00
 *   06 jz 08       taken or not: the log does not say
 *   08 nop
 *   09 int 30h
 */
static const uint8_t user_code[] = { 0x75, 0x02, 0x90, 0x90, 0xeb, 0xfa, 0x74,
	0x00, 0x90, 0xcd, 0x30 };

struct tape {
	struct fixture fixture;
};

static struct fixture_cpu *
cpu_of(struct tape *tape)
{
	return &tape->fixture.cpu[tape->fixture.at];
}

static void
event(
    struct tape *tape, enum event_kind kind, uint64_t a, uint64_t b, uint64_t c)
{
	fixture_event(&tape->fixture, kind, a, b, c);
}

/* The kernel writes an MSR. */
static void
write_msr(struct tape *tape, uint32_t msr, uint64_t value)
{
	struct fixture_cpu *cpu = cpu_of(tape);

	exec_log_context(cpu->exec_log, 0, FIXTURE_CR3);
	exec_log_msr(cpu->exec_log, msr, value);
	exec_log_step(cpu->exec_log, FIXTURE_CODE);
	cpu->insns++;
}

static void
arrive(struct tape *tape, uint64_t control)
{
	write_msr(tape, DS_AREA, AREA);
	write_msr(tape, DEBUGCTL, control);
}

static void
depart(struct tape *tape)
{
	write_msr(tape, DEBUGCTL, 0);
	write_msr(tape, DS_AREA, 0);
}

static void
start(struct tape *tape)
{
	memset(tape, 0, sizeof(*tape));
	fixture_start(&tape->fixture);
	assert_int_equal(bundle_add_image(tape->fixture.writer, "user/text",
			     USER_CODE, user_code, sizeof(user_code)),
	    0);
	event(tape, EVENT_SPACE, PID, USER_CR3, 0);
	event(tape, EVENT_RECORDS, PID, AREA, ROOM);
	event(tape, EVENT_RECORDING, PID, 1, 0);
}

static void
user_run(struct tape *tape, uint64_t cr3, uint64_t offset, uint32_t bytes,
    unsigned insns)
{
	struct fixture_cpu *cpu = cpu_of(tape);

	exec_log_context(cpu->exec_log, 3, cr3);
	(void)exec_log_run(cpu->exec_log, USER_CODE + offset, bytes);
	cpu->insns += insns;
}

static void
stored(struct tape *tape, uint64_t from, uint64_t to)
{
	event(tape, EVENT_BTS_RECORD, USER_CODE + from, USER_CODE + to, 0);
}

/* COUNT times: jnz taken, jmp; two records. */
static void
loop(struct tape *tape, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		user_run(tape, USER_CR3, 0, 2, 1);
		stored(tape, 0, 4);
		user_run(tape, USER_CR3, 4, 2, 1);
		stored(tape, 4, 0);
	}
	/* Where the last jump went: not taken this time. */
	user_run(tape, USER_CR3, 0, 2, 1);
	user_run(tape, USER_CR3, 2, 2, 2);
}

static void
reading(struct tape *tape)
{
	event(tape, EVENT_RECORDS_READ, PID, 0, 0);
}

static void
read_record(struct tape *tape, uint64_t from, uint64_t to)
{
	event(tape, EVENT_RECORD_READ, USER_CODE + from, USER_CODE + to, 0);
}

static void
verdict(struct tape *tape, struct verify_result *result)
{
	fixture_finish(&tape->fixture);
	fixture_verify(&tape->fixture, 0, result);
	fixture_remove(&tape->fixture);
}

/* Demands one finding, with TEXT in it. */
static void
assert_finding(struct tape *tape, const char *text)
{
	struct verify_result result;

	verdict(tape, &result);
	assert_false(result.match);
	assert_int_equal(result.finding_count, 1);
	if (strstr(result.findings[0].text, text) == NULL)
		fail_msg("'%s' is not in '%s'", text, result.findings[0].text);
	verify_result_free(&result);
}

static void
what_was_executed_matches(void **state)
{
	struct verify_result result;
	struct tape tape;

	(void)state;
	start(&tape);
	arrive(&tape, ON);
	loop(&tape, 1);
	depart(&tape);
	reading(&tape);
	read_record(&tape, 0, 4);
	read_record(&tape, 4, 0);
	verdict(&tape, &result);
	assert_true(result.match);
	assert_false(result.nothing);
	assert_int_equal(result.record_count, 1);
	assert_string_equal(result.records[0].name, "pid7");
	assert_int_equal(result.records[0].stored, 2);
	assert_int_equal(result.records[0].read, 2);
	assert_int_equal(result.records[0].matched, 2);
	verify_result_free(&result);
}

static void
whole_rounds_may_be_missing(void **state)
{
	struct verify_result result;
	struct tape tape;

	(void)state;
	start(&tape);
	arrive(&tape, ON);
	loop(&tape, 5); /* two rounds of 4, and 2 */
	depart(&tape);
	reading(&tape);
	read_record(&tape, 0, 4);
	read_record(&tape, 4, 0);
	verdict(&tape, &result);
	assert_true(result.match);
	assert_int_equal(result.records[0].overwritten, 8);
	verify_result_free(&result);
}

static void
a_part_of_a_round_may_not(void **state)
{
	struct tape tape;

	(void)state;
	start(&tape);
	arrive(&tape, ON);
	loop(&tape, 2);
	depart(&tape);
	reading(&tape);
	read_record(&tape, 0, 4);
	read_record(&tape, 4, 0);
	assert_finding(&tape, "pid7: 2 records are missing in a reading");
}

/* A reading without records, where the buffer has some. */
static void
a_reading_of_nothing_is_judged(void **state)
{
	struct verify_result result;
	struct tape tape;

	(void)state;
	start(&tape);
	reading(&tape);
	arrive(&tape, ON);
	loop(&tape, 1);
	depart(&tape);
	reading(&tape);
	verdict(&tape, &result);
	assert_int_equal(result.finding_count, 1);
	assert_non_null(strstr(result.findings[0].text,
	    "pid7: 2 records are missing in a reading"));
	verify_result_free(&result);
}

static void
a_wrong_record_is_named(void **state)
{
	struct tape tape;

	(void)state;
	start(&tape);
	arrive(&tape, ON);
	loop(&tape, 1);
	depart(&tape);
	reading(&tape);
	read_record(&tape, 0, 4);
	read_record(&tape, 4, 2);
	assert_finding(&tape,
	    "pid7: record 1 of a reading of 2 is 0x400004 -> 0x400002, executed "
	    "was 0x400004 -> 0x400000");
}

static void
more_than_was_stored_is_found(void **state)
{
	struct tape tape;

	(void)state;
	start(&tape);
	arrive(&tape, ON);
	loop(&tape, 1);
	depart(&tape);
	reading(&tape);
	for (unsigned i = 0; i < 3; i++)
		read_record(&tape, 0, 4);
	assert_finding(&tape, "pid7: 3 records were read, but 2 stored");
}

static void
the_processor_is_compared_with_the_log(void **state)
{
	struct tape tape;

	(void)state;
	start(&tape);
	arrive(&tape, ON);
	user_run(&tape, USER_CR3, 4, 2, 1);
	stored(&tape, 4, 2);
	user_run(&tape, USER_CR3, 0, 2, 1);
	assert_finding(&tape,
	    "cpu0: branch record 1 is 0x400004 -> 0x400002, "
	    "the execution log has 0x400004 -> 0x400000");
}

static void
a_record_that_no_cpu_stored_is_found(void **state)
{
	struct tape tape;

	(void)state;
	start(&tape);
	arrive(&tape, ON);
	user_run(&tape, USER_CR3, 4, 2, 1);
	user_run(&tape, USER_CR3, 0, 2, 1);
	user_run(&tape, USER_CR3, 2, 2, 2);
	assert_finding(
	    &tape, "cpu0: 0x400004 -> 0x400000 must have been recorded");
}

static void
another_process_may_not_be_in_the_buffer(void **state)
{
	struct tape tape;

	(void)state;
	start(&tape);
	arrive(&tape, ON);
	user_run(&tape, 0x9000, 4, 2, 1);
	stored(&tape, 4, 0);
	user_run(&tape, 0x9000, 0, 2, 1);
	user_run(&tape, 0x9000, 2, 2, 2);
	assert_finding(
	    &tape, "pid7: its buffer has a branch of another process");
}

static void
recording_that_is_off_is_found(void **state)
{
	struct tape tape;

	(void)state;
	start(&tape);
	arrive(&tape, 0);
	user_run(&tape, USER_CR3, 4, 2, 1);
	user_run(&tape, USER_CR3, 0, 2, 1);
	user_run(&tape, USER_CR3, 2, 2, 2);
	assert_finding(
	    &tape, "pid7: recording was on for it, but off at 0x400004");
}

static void
a_branch_to_the_next_instruction_is_recorded_or_not(void **state)
{
	(void)state;
	for (unsigned taken = 0; taken < 2; taken++) {
		struct verify_result result;
		struct tape tape;

		start(&tape);
		arrive(&tape, ON);
		user_run(&tape, USER_CR3, 6, 2, 1);
		if (taken)
			stored(&tape, 6, 8);
		user_run(&tape, USER_CR3, 8, 1, 1);
		depart(&tape);
		verdict(&tape, &result);
		assert_int_equal(result.finding_count, 0);
		assert_int_equal(result.records[0].stored, taken);
		verify_result_free(&result);
	}
}

/* The kernel calls, with BTS_OFF_OS. */
static void
a_ring_that_is_filtered_has_no_records(void **state)
{
	struct verify_result result;
	struct tape tape;

	(void)state;
	start(&tape);
	arrive(&tape, ON);
	(void)exec_log_run(cpu_of(&tape)->exec_log, FIXTURE_CODE + 0xb, 5);
	(void)exec_log_run(cpu_of(&tape)->exec_log, FIXTURE_CODE + 0x15, 1);
	cpu_of(&tape)->insns += 2;
	depart(&tape);
	verdict(&tape, &result);
	assert_int_equal(result.finding_count, 0);
	verify_result_free(&result);
}

/* The source is INT n itself, not the address behind it. */
static void
a_software_interrupt_has_its_own_address(void **state)
{
	struct verify_result result;
	struct tape tape;

	(void)state;
	start(&tape);
	arrive(&tape, ON);
	user_run(&tape, USER_CR3, 9, 2, 1);
	exec_log_event(cpu_of(&tape)->exec_log, 0x30, USER_CODE + 0xb);
	event(&tape, EVENT_BTS_RECORD, USER_CODE + 9, FIXTURE_CODE, 0);
	depart(&tape);
	verdict(&tape, &result);
	assert_int_equal(result.finding_count, 0);
	assert_int_equal(result.records[0].stored, 1);
	verify_result_free(&result);
}

/* On the fixture's model nothing is recorded while TraceEn is 1. */
static void
tracing_excludes_records(void **state)
{
	struct verify_result result;
	struct tape tape;

	(void)state;
	start(&tape);
	event(&tape, EVENT_RECORDING, PID, 0, 0);
	arrive(&tape, ON);
	write_msr(&tape, 0x570, FIXTURE_CTL);
	user_run(&tape, USER_CR3, 4, 2, 1);
	user_run(&tape, USER_CR3, 0, 2, 1);
	user_run(&tape, USER_CR3, 2, 2, 2);
	verdict(&tape, &result);
	for (size_t i = 0; i < result.finding_count; i++)
		assert_null(strstr(result.findings[i].text, "recorded"));
	verify_result_free(&result);
}

/* The records of switches come between the branches, and fill the buffer, too. */
static void
switches_have_their_place(void **state)
{
	struct verify_result result;
	struct tape tape;

	(void)state;
	start(&tape);
	event(&tape, EVENT_RECORDING, PID, 1, 1);
	arrive(&tape, ON);
	loop(&tape, 1);
	depart(&tape);
	tape.fixture.at = 1;
	reading(&tape);
	event(&tape, EVENT_RECORD_READ, UINT64_MAX, 2, 99);
	read_record(&tape, 0, 4);
	read_record(&tape, 4, 0);
	event(&tape, EVENT_RECORD_READ, UINT64_MAX, 3, 100);
	verdict(&tape, &result);
	assert_true(result.match);
	assert_int_equal(result.records[0].matched, 4);
	verify_result_free(&result);
}

/* The same for CPU 0, whatever runs on it. */
static void
start_cpu(struct tape *tape)
{
	start(tape);
	event(tape, EVENT_RECORDS, PID, 0, 0);
	event(tape, EVENT_RECORDING, PID, 0, 0);
	event(tape, EVENT_RECORDS, ABI_RECORDS_CPU, AREA, ROOM);
	arrive(tape, ON);
	event(tape, EVENT_RECORDING, ABI_RECORDS_CPU, 1, 0);
}

static void
a_cpu_has_records_of_all_processes(void **state)
{
	struct verify_result result;
	struct tape tape;

	(void)state;
	start_cpu(&tape);
	loop(&tape, 1);
	user_run(&tape, 0x9000, 4, 2, 1);
	stored(&tape, 4, 0);
	user_run(&tape, 0x9000, 0, 2, 1);
	user_run(&tape, 0x9000, 2, 2, 2);
	event(&tape, EVENT_RECORDING, ABI_RECORDS_CPU, 0, 0);
	depart(&tape);
	event(&tape, EVENT_RECORDS_READ, ABI_RECORDS_CPU, 0, 0);
	read_record(&tape, 0, 4);
	read_record(&tape, 4, 0);
	read_record(&tape, 4, 0);
	verdict(&tape, &result);
	assert_true(result.match);
	assert_int_equal(result.record_count, 2);
	assert_string_equal(result.records[1].name, "cpu0");
	assert_int_equal(result.records[1].matched, 3);
	verify_result_free(&result);
}

static void
a_cpu_that_does_not_record_is_found(void **state)
{
	struct tape tape;

	(void)state;
	start_cpu(&tape);
	write_msr(&tape, DEBUGCTL, 0);
	user_run(&tape, 0x9000, 4, 2, 1);
	user_run(&tape, 0x9000, 0, 2, 1);
	user_run(&tape, 0x9000, 2, 2, 2);
	assert_finding(
	    &tape, "cpu0: recording was on for it, but off at 0x400004");
}

static void
another_cpu_may_not_be_in_the_buffer(void **state)
{
	struct tape tape;

	(void)state;
	start_cpu(&tape);
	tape.fixture.at = 1;
	arrive(&tape, ON);
	user_run(&tape, USER_CR3, 4, 2, 1);
	stored(&tape, 4, 0);
	user_run(&tape, USER_CR3, 0, 2, 1);
	user_run(&tape, USER_CR3, 2, 2, 2);
	assert_finding(&tape, "cpu0: its buffer has a branch of another CPU");
}

static void
records_without_a_buffer_are_found(void **state)
{
	struct tape tape;

	(void)state;
	start(&tape);
	event(&tape, EVENT_RECORDS, PID, 0, 0);
	event(&tape, EVENT_RECORDING, PID, 0, 0);
	arrive(&tape, ON);
	loop(&tape, 1);
	depart(&tape);
	assert_finding(&tape, "2 records went where no buffer is");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_executed_matches),
		cmocka_unit_test(whole_rounds_may_be_missing),
		cmocka_unit_test(a_part_of_a_round_may_not),
		cmocka_unit_test(a_reading_of_nothing_is_judged),
		cmocka_unit_test(a_wrong_record_is_named),
		cmocka_unit_test(more_than_was_stored_is_found),
		cmocka_unit_test(the_processor_is_compared_with_the_log),
		cmocka_unit_test(a_record_that_no_cpu_stored_is_found),
		cmocka_unit_test(another_process_may_not_be_in_the_buffer),
		cmocka_unit_test(recording_that_is_off_is_found),
		cmocka_unit_test(
		    a_branch_to_the_next_instruction_is_recorded_or_not),
		cmocka_unit_test(a_ring_that_is_filtered_has_no_records),
		cmocka_unit_test(a_software_interrupt_has_its_own_address),
		cmocka_unit_test(tracing_excludes_records),
		cmocka_unit_test(switches_have_their_place),
		cmocka_unit_test(a_cpu_has_records_of_all_processes),
		cmocka_unit_test(a_cpu_that_does_not_record_is_found),
		cmocka_unit_test(another_cpu_may_not_be_in_the_buffer),
		cmocka_unit_test(records_without_a_buffer_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
