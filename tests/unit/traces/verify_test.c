/*
 * The verdict on whole bundles made by hand: a program of nine instructions,
 * its packets from libipt's encoder, its execution log.  A good bundle matches; each of
 * them changed in one place is a mismatch at that place.
 */
#include "fixture.h"

static void
check_counts(
    const struct verify_stream *stream, uint64_t expected, uint64_t matched)
{
	assert_int_equal(stream->expected, expected);
	assert_int_equal(stream->matched, matched);
}

static void
a_drained_trace_matches(void **state)
{
	struct verify_result result;
	struct fixture fixture;
	char *json;

	(void)state;
	fixture_start(&fixture);
	fixture_session(&fixture, true, FIXTURE_GOOD);
	fixture_drain(&fixture, 0, 0, fixture.cpu[0].written);
	fixture_session(&fixture, false, FIXTURE_GOOD);
	fixture_drain(&fixture, 0, fixture.cpu[0].written / 2 + 9,
	    fixture.cpu[0].written - fixture.cpu[0].written / 2 - 9);
	fixture_finish(&fixture);
	fixture_verify(&fixture, 0, &result);
	verify_print(&result, stdout);
	assert_true(result.match);
	assert_int_equal(result.stream_count, 1);
	check_counts(&result.streams[0], 20, 20);
	assert_int_equal(result.streams[0].segments, 2);
	assert_int_equal(result.streams[0].psbs, 1);
	json = verify_json(&result);
	assert_non_null(strstr(json, "\"verdict\": \"MATCH\""));
	free(json);
	verify_result_free(&result);
	fixture_remove(&fixture);
}

static void
what_was_not_drained_is_the_tail_at_stop_and_is_decoded_too(void **state)
{
	struct verify_result result;
	struct fixture fixture;
	uint64_t first;

	(void)state;
	fixture_start(&fixture);
	fixture_session(&fixture, true, FIXTURE_GOOD);
	first = fixture.cpu[0].written;
	fixture_drain(&fixture, 0, 0, first - 10);
	fixture_session(&fixture, false, FIXTURE_GOOD);
	fixture_finish(&fixture);
	fixture_verify(&fixture, 0, &result);
	assert_true(result.match);
	check_counts(&result.streams[0], 20, 20);
	assert_int_equal(result.streams[0].rows[ACCOUNT_REPORTED], first - 10);
	assert_int_equal(result.streams[0].rows[ACCOUNT_TAIL],
	    fixture.cpu[0].written - first + 10);
	verify_result_free(&result);
	fixture_remove(&fixture);
}

static void
check_fault(enum fixture_fault fault, uint64_t index, const uint64_t *executed,
    const uint64_t *decoded)
{
	const struct verify_difference *difference;
	struct verify_result result;
	struct fixture fixture;

	fixture_start(&fixture);
	fixture_session(&fixture, true, FIXTURE_GOOD);
	fixture_session(&fixture, false, fault);
	fixture_drain(&fixture, 0, 0, fixture.cpu[0].written);
	fixture_finish(&fixture);
	fixture_verify(&fixture, 0, &result);
	verify_print(&result, stdout);
	assert_false(result.match);
	difference = &result.streams[0].difference;
	assert_true(difference->found);
	assert_int_equal(difference->index, index);
	assert_int_equal(difference->has_executed, executed != NULL);
	assert_int_equal(difference->has_decoded, decoded != NULL);
	if (executed != NULL)
		assert_int_equal(difference->executed, *executed);
	if (decoded != NULL)
		assert_int_equal(difference->decoded, *decoded);
	assert_true(difference->offset > fixture.cpu[0].written / 2 &&
	    difference->offset <= fixture.cpu[0].written);
	verify_result_free(&result);
	fixture_remove(&fixture);
}

static void
a_dropped_tnt_bit_is_found_where_the_paths_part(void **state)
{
	const uint64_t executed = FIXTURE_CODE + 0x07;
	const uint64_t decoded = FIXTURE_CODE + 0x0b;

	(void)state;
	check_fault(FIXTURE_DROP_BIT, 15, &executed, &decoded);
}

static void
an_inverted_tnt_bit_is_found_where_the_paths_part(void **state)
{
	const uint64_t executed = FIXTURE_CODE + 0x0b;
	const uint64_t decoded = FIXTURE_CODE + 0x07;

	(void)state;
	check_fault(FIXTURE_WRONG_BIT, 17, &executed, &decoded);
}

static void
an_instruction_missing_in_the_log_is_found(void **state)
{
	const uint64_t executed = FIXTURE_CODE + 0x10;
	const uint64_t decoded = FIXTURE_CODE + 0x15;

	(void)state;
	check_fault(FIXTURE_DROP_INSN, 18, &executed, &decoded);
}

static void
an_instruction_that_did_not_decode_is_found(void **state)
{
	const uint64_t executed = FIXTURE_CODE + 0x14;
	const uint64_t decoded = FIXTURE_CODE + 0x0b;

	(void)state;
	check_fault(FIXTURE_EXTRA_INSN, 17, &executed, &decoded);
}

static void
a_trace_that_lacks_its_end_is_a_mismatch(void **state)
{
	struct verify_result result;
	struct fixture fixture;

	(void)state;
	fixture_start(&fixture);
	fixture_exec_log(&fixture, FIXTURE_GOOD);
	fixture_on(&fixture);
	fixture_psb(&fixture, 0);
	fixture_mode(&fixture);
	fixture_pge(&fixture, FIXTURE_CODE + 0x02);
	fixture_tnt(&fixture, 6, 3);
	fixture_off(&fixture);
	fixture_drain(&fixture, 0, 0, fixture.cpu[0].written);
	fixture_finish(&fixture);
	fixture_verify(&fixture, 0, &result);
	assert_false(result.match);
	assert_string_equal(
	    result.streams[0].difference.cause, "the trace ends");
	assert_true(result.streams[0].difference.has_executed);
	assert_false(result.streams[0].difference.has_decoded);
	verify_result_free(&result);
	fixture_remove(&fixture);
}

static void
a_stopped_unit_leaves_instructions_beyond_the_trace(void **state)
{
	struct verify_result result;
	struct fixture fixture;

	(void)state;
	fixture_start(&fixture);
	fixture_exec_log(&fixture, FIXTURE_GOOD);
	fixture_on(&fixture);
	fixture_psb(&fixture, 0);
	fixture_mode(&fixture);
	fixture_pge(&fixture, FIXTURE_CODE + 0x02);
	fixture_tnt(&fixture, 6, 3);
	fixture_event(&fixture, EVENT_STOPPED, 0, 0, fixture.cpu[0].written);
	fixture_off(&fixture);
	fixture_drain(&fixture, 0, 0, fixture.cpu[0].written);
	fixture_finish(&fixture);
	fixture_verify(&fixture, 0, &result);
	assert_true(result.match);
	assert_int_equal(
	    result.streams[0].matched + result.streams[0].beyond, 10);
	assert_in_range(result.streams[0].beyond, 1, 4);
	verify_result_free(&result);
	fixture_remove(&fixture);
}

/* Bits that say nothing of the flow: reserved ones, and MODE.Exec's IF. */
static bool
matches_with_a_flipped_bit(uint64_t at, unsigned bit)
{
	struct verify_result result;
	struct fixture fixture;
	bool match;

	fixture_start(&fixture);
	fixture.flip_at = at;
	fixture.flip_mask = (uint8_t)(1u << bit);
	fixture_session(&fixture, true, FIXTURE_GOOD);
	fixture_session(&fixture, false, FIXTURE_GOOD);
	fixture_drain(&fixture, 0, 0, fixture.cpu[0].written);
	fixture_finish(&fixture);
	fixture_verify(&fixture, 0, &result);
	match = result.match;
	verify_result_free(&result);
	fixture_remove(&fixture);
	return match;
}

static void
hardly_any_flipped_bit_of_a_trace_still_matches(void **state)
{
	unsigned matches = 0;

	(void)state;
	for (uint64_t at = 0; at < 68; at++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			if (!matches_with_a_flipped_bit(at, bit))
				continue;
			print_message("byte %u bit %u\n", (unsigned)at, bit);
			matches++;
		}
	}
	assert_in_range(matches, 0, 8);
}

/* Many sessions in one ring that nobody reads until the end. */
static void
a_wrapped_ring_is_decoded_from_its_first_whole_psb(void **state)
{
	const struct verify_stream *stream;
	struct verify_result result;
	struct fixture fixture;
	uint64_t written;

	(void)state;
	fixture_start(&fixture);
	for (unsigned i = 0; i < 400; i++) {
		fixture_session(&fixture, i % 10 == 0, FIXTURE_GOOD);
	}
	written = fixture.cpu[0].written;
	fixture_drain(
	    &fixture, 0, written - FIXTURE_RING_BYTES, FIXTURE_RING_BYTES);
	fixture_finish(&fixture);
	fixture_verify(&fixture, 1u << ACCOUNT_OVERWRITTEN, &result);
	verify_print(&result, stdout);
	stream = &result.streams[0];
	assert_true(result.match);
	assert_int_equal(stream->expected, 4000);
	assert_int_equal(
	    stream->rows[ACCOUNT_OVERWRITTEN], written - FIXTURE_RING_BYTES);
	assert_int_equal(
	    stream->rows[ACCOUNT_PREFIX] + stream->rows[ACCOUNT_REPORTED],
	    FIXTURE_RING_BYTES);
	assert_in_range(stream->rows[ACCOUNT_PREFIX], 1, 400);
	assert_int_equal(stream->matched + stream->beyond, 4000);
	assert_int_equal(stream->matched % 10, 0);
	assert_true(stream->matched > 900);
	verify_result_free(&result);
	fixture_verify(&fixture, 0, &result);
	assert_false(result.match);
	assert_int_equal(result.finding_count, 1);
	verify_result_free(&result);
	fixture_remove(&fixture);
}

/* The only PSB comes when nothing is traced any more, in the middle of TraceEn = 1. */
static void
what_was_executed_before_the_first_psb_is_not_asked_for(void **state)
{
	struct verify_result result;
	struct fixture fixture;

	(void)state;
	fixture_start(&fixture);
	fixture_exec_log(&fixture, FIXTURE_GOOD);
	fixture_on(&fixture);
	fixture_mode(&fixture);
	fixture_pge(&fixture, FIXTURE_CODE + 0x02);
	fixture_tnt(&fixture, 6, 3);
	fixture_pgd(&fixture);
	fixture.cpu[0].insns = 20;
	fixture_psb(&fixture, 0);
	fixture_off(&fixture);
	fixture_drain(&fixture, 0, 0, fixture.cpu[0].written);
	fixture_finish(&fixture);
	fixture_verify(&fixture, UINT32_MAX, &result);
	assert_true(result.match);
	assert_int_equal(result.streams[0].matched, 0);
	assert_true(result.streams[0].rows[ACCOUNT_PREFIX] != 0);
	verify_result_free(&result);
	fixture_remove(&fixture);
}

/* The hole is in a long interval: PSBs in its middle, periodic code. */
static void
after_a_hole_decoding_is_aligned_by_the_psb_event(void **state)
{
	const uint64_t loop = FIXTURE_CODE + 0x07;
	struct verify_result result;
	struct fixture fixture;
	struct exec_log *exec_log;
	uint64_t hole = 0, after = 0;

	(void)state;
	fixture_start(&fixture);
	exec_log = fixture.cpu[0].exec_log;
	exec_log_msr(exec_log, 0x570, FIXTURE_CTL);
	exec_log_step(exec_log, FIXTURE_CODE);
	fixture_on(&fixture);
	fixture.cpu[0].insns = 1;
	fixture_psb(&fixture, 0);
	fixture_mode(&fixture);
	fixture_pge(&fixture, loop);
	for (unsigned i = 0; i < 2400; i++) {
		if (i == 1200)
			hole = fixture.cpu[0].written;
		if (i % 600 == 0 && i != 0)
			fixture_psb(&fixture, loop);
		if (i % 6 == 0)
			fixture_tnt(&fixture, 0x3f, 6);
		exec_log_run(exec_log, loop, 4);
		fixture.cpu[0].insns += 2;
	}
	after = hole + 8; /* the PSB there is damaged */
	exec_log_run(exec_log, loop, 4);
	exec_log_run(exec_log, FIXTURE_CODE + 0x0b, 5);
	exec_log_run(exec_log, FIXTURE_CODE + 0x15, 1);
	exec_log_run(exec_log, FIXTURE_CODE + 0x10, 2);
	exec_log_msr(exec_log, 0x570, 0);
	exec_log_step(exec_log, FIXTURE_CODE + 0x12);
	fixture_tnt(&fixture, 0, 1);
	fixture_tip(&fixture, FIXTURE_CODE + 0x10);
	fixture_fup(&fixture, FIXTURE_CODE + 0x12);
	fixture_pgd(&fixture);
	fixture_off(&fixture);
	fixture_drain(&fixture, 0, 0, hole);
	fixture_drain(&fixture, 0, after, fixture.cpu[0].written - after);
	fixture_event(&fixture, EVENT_LOST, 0, 0, after - hole);
	fixture_finish(&fixture);
	fixture_verify(&fixture, 0, &result);
	verify_print(&result, stdout);
	assert_true(result.match);
	assert_int_equal(result.streams[0].parts, 2);
	assert_int_equal(result.streams[0].rows[ACCOUNT_LOST], 8);
	assert_int_equal(result.streams[0].expected, 4805);
	assert_int_equal(result.streams[0].beyond, 1200);
	verify_result_free(&result);
	fixture_remove(&fixture);
}

static void
a_thread_that_migrates_is_compared_with_each_cpu_it_ran_on(void **state)
{
	const uint64_t thread = EVENT_STREAM_THREAD | 7;
	struct verify_result result;
	struct fixture fixture;
	uint64_t first;

	(void)state;
	fixture_start(&fixture);
	fixture_session(&fixture, true, FIXTURE_GOOD);
	first = fixture.cpu[0].written;
	fixture_drain(&fixture, thread, 0, first);
	fixture.at = 1;
	fixture_session(&fixture, false, FIXTURE_GOOD);
	fixture_drain(&fixture, thread, 0, fixture.cpu[1].written);
	fixture.at = 0;
	fixture_session(&fixture, false, FIXTURE_GOOD);
	fixture_drain(&fixture, thread, first, fixture.cpu[0].written - first);
	fixture_finish(&fixture);
	fixture_verify(&fixture, 0, &result);
	assert_true(result.match);
	assert_int_equal(result.stream_count, 1);
	assert_string_equal(result.streams[0].name, "thread7");
	assert_int_equal(result.streams[0].matched, 30);
	assert_int_equal(result.streams[0].parts, 1);
	verify_result_free(&result);
	fixture_remove(&fixture);
}

static void
streams_that_nobody_read_appear_too(void **state)
{
	struct verify_result result;
	struct fixture fixture;

	(void)state;
	fixture_start(&fixture);
	fixture_event(&fixture, EVENT_BUFFER, EVENT_STREAM_THREAD | 3,
	    FIXTURE_RING_PA(0), FIXTURE_RING_BYTES);
	fixture_event(
	    &fixture, EVENT_BUFFER, 1, FIXTURE_RING_PA(1), FIXTURE_RING_BYTES);
	fixture_session(&fixture, true, FIXTURE_GOOD);
	fixture_finish(&fixture);
	fixture_verify(&fixture, 0, &result);
	assert_true(result.match);
	assert_int_equal(result.stream_count, 2);
	assert_string_equal(result.streams[0].name, "cpu1");
	assert_int_equal(result.streams[0].rows[ACCOUNT_WRITTEN], 0);
	assert_string_equal(result.streams[1].name, "thread3");
	assert_int_equal(result.streams[1].rows[ACCOUNT_TAIL],
	    result.streams[1].rows[ACCOUNT_WRITTEN]);
	check_counts(&result.streams[1], FIXTURE_INSNS, FIXTURE_INSNS);
	verify_result_free(&result);
	fixture_remove(&fixture);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_drained_trace_matches),
		cmocka_unit_test(
		    what_was_not_drained_is_the_tail_at_stop_and_is_decoded_too),
		cmocka_unit_test(
		    a_dropped_tnt_bit_is_found_where_the_paths_part),
		cmocka_unit_test(
		    an_inverted_tnt_bit_is_found_where_the_paths_part),
		cmocka_unit_test(an_instruction_missing_in_the_log_is_found),
		cmocka_unit_test(an_instruction_that_did_not_decode_is_found),
		cmocka_unit_test(a_trace_that_lacks_its_end_is_a_mismatch),
		cmocka_unit_test(
		    a_stopped_unit_leaves_instructions_beyond_the_trace),
		cmocka_unit_test(
		    hardly_any_flipped_bit_of_a_trace_still_matches),
		cmocka_unit_test(
		    a_wrapped_ring_is_decoded_from_its_first_whole_psb),
		cmocka_unit_test(
		    what_was_executed_before_the_first_psb_is_not_asked_for),
		cmocka_unit_test(
		    after_a_hole_decoding_is_aligned_by_the_psb_event),
		cmocka_unit_test(
		    a_thread_that_migrates_is_compared_with_each_cpu_it_ran_on),
		cmocka_unit_test(streams_that_nobody_read_appear_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
