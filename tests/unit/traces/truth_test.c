/*
 * emu/base/exec_log.c writes, exec_log_read.c reads: what comes back is what retired, with
 * string instructions, cuts and single steps settled; damaged words are
 * refused.
 */
#include "fixture.h"

#include "traces/bundle/exec_log_read.h"
#include "traces/bundle/zfile.h"
#include "traces/verify/log_code.h"

#include <unistd.h>

#define BASE FIXTURE_CODE

struct words {
	uint32_t *words;
	size_t count;
};

static int
keep(void *arg, const uint32_t *words, size_t count)
{
	struct words *to = arg;

	to->words = realloc(to->words, (to->count + count) * sizeof(*words));
	memcpy(&to->words[to->count], words, count * sizeof(*words));
	to->count += count;
	return 0;
}

static int
refuse(void *arg, const uint32_t *words, size_t count)
{
	(void)words;
	(void)count;
	++*(int *)arg;
	return -TZ_EIO;
}

struct session {
	struct words words;
	struct exec_log *exec_log;
	struct bundle_image image;
	struct code *code;
	struct exec_log_file *log;
	uint8_t bytes[sizeof(fixture_code)];
};

static void
start(struct session *session)
{
	memset(session, 0, sizeof(*session));
	memcpy(session->bytes, fixture_code, sizeof(fixture_code));
	session->image.va = BASE;
	session->image.bytes = sizeof(fixture_code);
	session->image.code = session->bytes;
	session->code = code_create(&session->image, 1);
	session->exec_log = exec_log_create(keep, &session->words);
	assert_non_null(session->exec_log);
}

static void
finish(struct session *session)
{
	exec_log_destroy(session->exec_log);
	exec_log_file_free(session->log);
	code_destroy(session->code);
	free(session->words.words);
}

/* Reads back and compares the retired addresses, relative to BASE. */
static void
check_retired(struct session *session, const uint8_t *offsets, size_t count)
{
	const struct exec_log_file *log;
	struct tz_error err;
	size_t done = 0;

	assert_int_equal(exec_log_flush(session->exec_log), 0);
	exec_log_file_free(session->log);
	if (exec_log_read("truth", session->words.words, session->words.count,
		session->code, &session->log, &err) != 0)
		fail_msg("%s", err.text);
	log = session->log;
	for (size_t i = 0; i < log->steps.count; i++) {
		uint32_t step = step_list_at(&log->steps, i);
		const struct exec_log_block *block;

		if ((step & ((1u << EXEC_LOG_FILE_BITS) - 1)) !=
		    EXEC_LOG_FILE_BLOCK)
			continue;
		block = &log->blocks[step >> EXEC_LOG_FILE_BITS];
		for (uint32_t j = 0; j < block->count; j++, done++) {
			assert_true(done < count);
			assert_int_equal(exec_log_block_ip(log, block, j),
			    BASE + offsets[done]);
		}
	}
	assert_int_equal(done, count);
	assert_int_equal(log->insns, count);
}

static void
runs_come_back_as_their_instructions(void **state)
{
	static const uint8_t want[] = { 0x02, 0x07, 0x09, 0x07, 0x09, 0x07,
		0x09, 0x0b };
	struct session session;

	(void)state;
	start(&session);
	exec_log_run(session.exec_log, BASE + 0x02, 9);
	exec_log_run(session.exec_log, BASE + 0x07, 4);
	exec_log_run(session.exec_log, BASE + 0x07, 4);
	exec_log_run(session.exec_log, BASE + 0x0b, 5);
	check_retired(&session, want, sizeof(want));
	assert_int_equal(session.words.count, 4 + 4 + 1 + 4);
	finish(&session);
}

static void
times_and_software_interrupts_are_found_by_number(void **state)
{
	static const uint8_t want[] = { 0x02, 0x07, 0x09, 0x14 };
	struct session session;
	uint64_t cycles;

	(void)state;
	start(&session);
	session.bytes[0x14] = 0xcc; /* INT3 */
	exec_log_time(session.exec_log, 100);
	exec_log_run(session.exec_log, BASE + 0x02, 9);
	exec_log_time(session.exec_log, 110);
	exec_log_time(session.exec_log, 130);
	exec_log_run(session.exec_log, BASE + 0x14, 1);
	check_retired(&session, want, sizeof(want));
	assert_true(exec_log_file_cycles(session.log, 2, &cycles));
	assert_int_equal(cycles, 102);
	assert_true(exec_log_file_cycles(session.log, 3, &cycles));
	assert_int_equal(cycles, 130);
	assert_true(exec_log_file_moment(session.log, 3, 0, &cycles));
	assert_int_equal(cycles, 110);
	assert_true(exec_log_file_moment(session.log, 3, 1, &cycles));
	assert_int_equal(cycles, 130);
	assert_false(exec_log_file_moment(session.log, 3, 2, &cycles));
	assert_false(exec_log_file_moment(session.log, 2, 0, &cycles));
	assert_false(exec_log_file_is_soft(session.log, 3));
	assert_true(exec_log_file_is_soft(session.log, 4));
	assert_false(exec_log_file_is_soft(session.log, 5));
	finish(&session);
}

static void
entries_that_share_a_slot_of_the_dictionary_do_not_mix(void **state)
{
	static const uint8_t want[] = { 0x14, 0x15, 0x14, 0x14, 0x15 };
	struct session session;

	(void)state;
	start(&session);
	for (size_t i = 0; i < sizeof(want); i++)
		exec_log_run(session.exec_log, BASE + want[i], 1);
	check_retired(&session, want, sizeof(want));
	finish(&session);
}

static void
a_cut_run_retires_what_stands_before_the_cut(void **state)
{
	static const uint8_t want[] = { 0x02, 0x07, 0x09, 0x07 };
	struct session session;

	(void)state;
	start(&session);
	exec_log_run(session.exec_log, BASE + 0x02, 9);
	exec_log_cut(session.exec_log, BASE + 0x07);
	exec_log_run(session.exec_log, BASE + 0x02, 9);
	exec_log_cut(session.exec_log, BASE + 0x02);
	exec_log_run(session.exec_log, BASE + 0x07, 4);
	exec_log_cut(session.exec_log, BASE + 0x0b);
	exec_log_run(session.exec_log, BASE + 0x07, 4);
	exec_log_cut(session.exec_log, BASE + 0x09);
	check_retired(&session, want, sizeof(want));
	finish(&session);
}

static void
a_step_is_one_instruction(void **state)
{
	static const uint8_t want[] = { 0x00, 0x12 };
	struct session session;

	(void)state;
	start(&session);
	exec_log_msr(session.exec_log, 0x570, 1);
	exec_log_step(session.exec_log, BASE);
	exec_log_step(session.exec_log, BASE + 0x12);
	check_retired(&session, want, sizeof(want));
	finish(&session);
}

static void
a_string_instruction_retires_once_however_often_it_is_entered(void **state)
{
	static const uint8_t want[] = { 0x10, 0x14 };
	struct session session;

	(void)state;
	start(&session);
	for (unsigned i = 0; i < 5; i++)
		exec_log_run(session.exec_log, BASE + 0x10, 2);
	exec_log_run(session.exec_log, BASE + 0x14, 1);
	check_retired(&session, want, sizeof(want));
	finish(&session);
}

static void
an_interrupted_string_instruction_retires_after_it_was_resumed(void **state)
{
	static const uint8_t want[] = { 0x15, 0x15, 0x10, 0x12 };
	struct session session;

	(void)state;
	start(&session);
	exec_log_run(session.exec_log, BASE + 0x10, 2);
	exec_log_cut(session.exec_log, BASE + 0x10);
	exec_log_event(session.exec_log, 2, BASE + 0x10);
	exec_log_run(session.exec_log, BASE + 0x15, 1);
	exec_log_run(session.exec_log, BASE + 0x10, 2);
	exec_log_event(
	    session.exec_log, 2, BASE + 0x10); /* at it, without a cut */
	exec_log_run(session.exec_log, BASE + 0x15, 1);
	exec_log_run(session.exec_log, BASE + 0x10, 2);
	exec_log_run(session.exec_log, BASE + 0x10, 2);
	exec_log_step(session.exec_log, BASE + 0x12);
	check_retired(&session, want, sizeof(want));
	finish(&session);
}

static void
a_string_instruction_at_the_end_of_the_record_has_not_retired(void **state)
{
	struct session session;

	(void)state;
	start(&session);
	exec_log_run(session.exec_log, BASE + 0x10, 2);
	check_retired(&session, NULL, 0);
	finish(&session);
}

static void
many_words_pass_through_the_buffer_in_order(void **state)
{
	struct session session;
	struct exec_log_file *log;
	struct tz_error err;

	(void)state;
	start(&session);
	for (unsigned i = 0; i < 100000; i++) {
		exec_log_run(session.exec_log, BASE + 0x07, 4);
		exec_log_context(session.exec_log, i % 4, i);
	}
	assert_int_equal(exec_log_flush(session.exec_log), 0);
	assert_int_equal(exec_log_read("truth", session.words.words,
			     session.words.count, session.code, &log, &err),
	    0);
	assert_int_equal(log->insns, 200000);
	assert_int_equal(log->contexts[99999].cr3, 99999);
	exec_log_file_free(log);
	finish(&session);
}

/* The words in a packed file, which the caller closes. */
static FILE *
packed_of(const struct session *session, size_t words)
{
	char path[] = "/tmp/topaz-truth-XXXXXX";
	int fd = mkstemp(path);
	struct zfile_writer *writer;
	struct tz_error err;
	FILE *file;

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(zfile_create(path, &writer, &err), 0);
	assert_int_equal(zfile_write(writer, session->words.words,
			     words * sizeof(uint32_t), &err),
	    0);
	assert_int_equal(zfile_finish(writer, &err), 0);
	file = fopen(path, "rbe");
	assert_non_null(file);
	unlink(path);
	return file;
}

/* Piece by piece or at once: the same list, or the same error. */
static void
check_packed(struct session *session, size_t words)
{
	struct exec_log_file *whole, *pieces;
	struct tz_error whole_err = { "" }, pieces_err = { "" };
	FILE *packed = packed_of(session, words);
	int error = exec_log_read("truth", session->words.words, words,
	    session->code, &whole, &whole_err);

	assert_int_equal(exec_log_read_packed("truth", packed, session->code,
			     &pieces, &pieces_err),
	    error);
	assert_string_equal(whole_err.text, pieces_err.text);
	if (error == 0) {
		assert_int_equal(whole->steps.count, pieces->steps.count);
		for (size_t i = 0; i < whole->steps.count; i++)
			if (step_list_at(&whole->steps, i) !=
			    step_list_at(&pieces->steps, i))
				fail_msg("step %zu", i);
		assert_int_equal(whole->insns, pieces->insns);
	}
	exec_log_file_free(whole);
	exec_log_file_free(pieces);
	fclose(packed);
}

/* Records of all sizes lie across the ends of frames. */
static void
a_packed_log_is_read_piece_by_piece(void **state)
{
	static uint8_t code[60000];
	struct session session;
	size_t words;

	(void)state;
	start(&session);
	memset(code, 0x90, sizeof(code));
	exec_log_keep_code(session.exec_log);
	for (unsigned i = 0; i < 20; i++) {
		exec_log_run_code(
		    session.exec_log, BASE + i, 1 + i * 2999, code);
		for (unsigned k = 0; k < 10000; k++)
			exec_log_context(session.exec_log, k % 4, k);
	}
	assert_int_equal(exec_log_flush(session.exec_log), 0);
	words = session.words.count;
	assert_true(words * sizeof(uint32_t) > 3 * ZFILE_FRAME_BYTES);
	check_packed(&session, words);
	/* Cut off within a record, and with an error far behind. */
	for (size_t cut = 1; cut < 6; cut++)
		check_packed(&session, words - cut);
	session.words.words[words - 4] = EXEC_LOG_CUT;
	check_packed(&session, words);
	check_packed(&session, 0);
	finish(&session);
}

static void
the_first_error_of_a_sink_is_kept(void **state)
{
	struct exec_log *exec_log;
	int calls = 0;

	(void)state;
	exec_log = exec_log_create(refuse, &calls);
	for (unsigned i = 0; i < 200000; i++)
		exec_log_stopped(exec_log);
	assert_int_equal(exec_log_flush(exec_log), -TZ_EIO);
	assert_int_equal(calls, 1);
	exec_log_destroy(exec_log);
}

static void
check_bad(const uint32_t *words, size_t count, const char *text)
{
	struct session session;
	struct exec_log_file *log;
	struct tz_error err = { "" };

	start(&session);
	assert_int_equal(exec_log_read("truth-cpu0.zst", words, count,
			     session.code, &log, &err),
	    -TZ_EFORMAT);
	assert_string_equal(err.text, text);
	finish(&session);
}

/* A writer that runs for long uses no entry twice: the dictionary has no end. */
static void
entries_may_be_many(void **state)
{
	enum { ENTRIES = 20000 };
	const uint32_t va = (uint32_t)BASE + 2, high = (uint32_t)(BASE >> 32);
	uint32_t *words = calloc(ENTRIES + 1, 4 * sizeof(*words));
	struct session session;
	struct tz_error err;
	size_t count = 0;

	(void)state;
	assert_non_null(words);
	for (uint32_t n = 1; n <= ENTRIES; n++) {
		const uint32_t define[] = { n << 2 | EXEC_LOG_DEFINE, va, high,
			9 };

		memcpy(&words[count], define, sizeof(define));
		count += TZ_ARRAY_LEN(define);
	}
	words[count++] = ENTRIES << 2 | EXEC_LOG_RUN;
	start(&session);
	if (exec_log_read(
		"truth", words, count, session.code, &session.log, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(session.log->insns, 3 * (ENTRIES + 1));
	finish(&session);
	free(words);
}

/* Other code at one address, as of two processes: each run has its own. */
static void
a_log_that_keeps_code_needs_no_image(void **state)
{
	static const uint8_t two[] = { 0x90, 0x90 }, one[] = { 0x66, 0x90 };
	static const uint8_t rep[] = { 0xf3, 0xa4 }; /* REP MOVSB */
	static const uint8_t wrmsr[] = { 0x0f, 0x30, 0xcc };
	static const uint8_t want[] = { 0, 1, 0, 0, 1, 0, 0, 0 };
	struct session session;

	(void)state;
	start(&session);
	session.image.va = 0; /* it is not asked */
	exec_log_keep_code(session.exec_log);
	exec_log_run_code(session.exec_log, BASE, 2, two);
	exec_log_run_code(session.exec_log, BASE, 2, one);
	exec_log_run_code(session.exec_log, BASE, 2, two);
	exec_log_run_code(session.exec_log, BASE, 2, rep);
	/* Entered again, it is the same instruction; its CODE settles nothing. */
	exec_log_run_code(session.exec_log, BASE, 2, rep);
	exec_log_code(session.exec_log, wrmsr, sizeof(wrmsr));
	exec_log_step(session.exec_log, BASE);
	exec_log_run_code(session.exec_log, BASE, 2, one);
	check_retired(&session, want, sizeof(want));
	finish(&session);
}

/* A kernel puts INT3 into its code and then other code: each is decoded where it ran. */
static void
code_is_that_of_its_place_with_int3(void **state)
{
	static const uint8_t wrmsr[] = { 0x0f, 0x30 }, int3[] = { 0xcc };
	static const uint8_t nop[] = { 0x90 }, two[] = { 0x66, 0x90 };
	struct account_interval interval = { .cpu = 0 };
	struct account account = { .intervals = &interval,
		.interval_count = 1 };
	struct flow_source source = { .account = &account };
	const size_t intervals[] = { 0 };
	struct log_code code = { .used = true };
	struct session session;
	struct flow_cpu cpu;
	struct flow flow;
	struct tz_error err;
	uint8_t bytes[4];
	uint64_t ip;

	(void)state;
	start(&session);
	exec_log_keep_code(session.exec_log);
	exec_log_context(session.exec_log, 0, 0);
	exec_log_msr(session.exec_log, 0x570, 0x2005);
	exec_log_code(session.exec_log, wrmsr, sizeof(wrmsr));
	exec_log_step(session.exec_log, BASE + 8);
	exec_log_run_code(session.exec_log, BASE + 16, 1, nop);
	exec_log_code(session.exec_log, int3, sizeof(int3));
	exec_log_step(session.exec_log, BASE);
	exec_log_event(session.exec_log, 3, BASE + 1);
	exec_log_run_code(session.exec_log, BASE + 17, 1, nop);
	exec_log_run_code(session.exec_log, BASE, 2, two);
	assert_int_equal(exec_log_flush(session.exec_log), 0);
	if (exec_log_read("truth", session.words.words, session.words.count,
		session.code, &session.log, &err) != 0 ||
	    flow_cpu_create(session.log, &cpu, &err) != 0)
		fail_msg("%s", err.text);
	source.cpus = &cpu;
	flow_start(&flow, &source, intervals, 0, 1);
	log_code_aim(&code, &flow);
	assert_true(flow_next(&flow, &ip));
	assert_int_equal(ip, BASE + 16);
	assert_int_equal(log_code_read(&code, BASE + 16, bytes, 4), 1);
	assert_int_equal(log_code_read(&code, BASE, bytes, 4), 1);
	assert_int_equal(bytes[0], 0xcc);
	/* No decoder lists it. */
	assert_true(flow_next(&flow, &ip));
	assert_int_equal(ip, BASE + 17);
	log_code_aim(&code, &flow);
	assert_int_equal(log_code_read(&code, BASE, bytes, 4), 2);
	assert_memory_equal(bytes, two, 2);
	flow_cpu_destroy(&cpu);
	finish(&session);
}

static void
a_gap_says_how_many_instructions_have_retired(void **state)
{
	static const uint8_t nop[] = { 0x90 };
	struct session session;
	struct tz_error err;

	(void)state;
	start(&session);
	exec_log_keep_code(session.exec_log);
	exec_log_run_code(session.exec_log, BASE, 1, nop);
	exec_log_retired(session.exec_log, 1000);
	exec_log_time(session.exec_log, 5000);
	exec_log_run_code(session.exec_log, BASE, 1, nop);
	assert_int_equal(exec_log_flush(session.exec_log), 0);
	if (exec_log_read("truth", session.words.words, session.words.count,
		session.code, &session.log, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(session.log->insns, 1001);
	assert_int_equal(session.log->gaps[0], 1000);
	assert_int_equal(session.log->times[0].insns, 1000);
	finish(&session);
}

static void
words_that_are_no_log_are_refused_with_their_place(void **state)
{
	const uint32_t base = (uint32_t)BASE, high = (uint32_t)(BASE >> 32);
	const uint32_t undefined[] = { 7 << 2 };
	const uint32_t alone[] = { 2, base, high };
	const uint32_t skips[] = { 16384 << 2 | 1, base, high, 1 };
	const uint32_t half[] = { 1, base, high };
	const uint32_t inside[] = { 1, base + 2, high, 3 };
	const uint32_t nowhere[] = { 1, base + 0x1000, high, 3 };
	const uint32_t unknown[] = { 9 << 2 | 3 };
	const uint32_t code = EXEC_LOG_CODE << 2 | EXEC_LOG_EXTRA;
	const uint32_t cut_code[] = { code, 9, 0, 0 };
	const uint32_t no_code[] = { code, 0, 4 | 1, base, high, 1 };
	const uint32_t lonely[] = { code, 1, 0x90, 2, base, high };
	const uint32_t other[] = { code, 2, 0x9090, 4 | 1, base, high, 1 };
	const uint32_t outside[] = { 1, base, high, 2, 2, base + 9, high };

	(void)state;
	check_bad(skips, TZ_ARRAY_LEN(skips),
	    "truth-cpu0.zst: word 1: DEFINE skips entries");
	check_bad(undefined, TZ_ARRAY_LEN(undefined),
	    "truth-cpu0.zst: word 1: RUN of an undefined entry");
	check_bad(alone, TZ_ARRAY_LEN(alone),
	    "truth-cpu0.zst: word 1: CUT does not follow a run");
	check_bad(half, TZ_ARRAY_LEN(half),
	    "truth-cpu0.zst: word 1: DEFINE is truncated");
	check_bad(inside, TZ_ARRAY_LEN(inside),
	    "truth-cpu0.zst: word 4: run or cut ends within an instruction");
	check_bad(nowhere, TZ_ARRAY_LEN(nowhere),
	    "truth-cpu0.zst: word 4: no code image has an instruction at "
	    "0xffffffff80201000");
	check_bad(unknown, TZ_ARRAY_LEN(unknown),
	    "truth-cpu0.zst: word 1: unknown kind of EXTRA");
	check_bad(cut_code, TZ_ARRAY_LEN(cut_code),
	    "truth-cpu0.zst: word 1: CODE is truncated, or of a bad size");
	check_bad(no_code, TZ_ARRAY_LEN(no_code),
	    "truth-cpu0.zst: word 1: CODE is truncated, or of a bad size");
	check_bad(lonely, TZ_ARRAY_LEN(lonely),
	    "truth-cpu0.zst: word 3: CODE is not followed by DEFINE or STEP");
	check_bad(other, TZ_ARRAY_LEN(other),
	    "truth-cpu0.zst: word 4: CODE has another size than its DEFINE");
	check_bad(outside, TZ_ARRAY_LEN(outside),
	    "truth-cpu0.zst: word 7: CUT outside its run");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_come_back_as_their_instructions),
		cmocka_unit_test(
		    times_and_software_interrupts_are_found_by_number),
		cmocka_unit_test(
		    entries_that_share_a_slot_of_the_dictionary_do_not_mix),
		cmocka_unit_test(a_cut_run_retires_what_stands_before_the_cut),
		cmocka_unit_test(a_step_is_one_instruction),
		cmocka_unit_test(
		    a_string_instruction_retires_once_however_often_it_is_entered),
		cmocka_unit_test(
		    an_interrupted_string_instruction_retires_after_it_was_resumed),
		cmocka_unit_test(
		    a_string_instruction_at_the_end_of_the_record_has_not_retired),
		cmocka_unit_test(many_words_pass_through_the_buffer_in_order),
		cmocka_unit_test(a_packed_log_is_read_piece_by_piece),
		cmocka_unit_test(the_first_error_of_a_sink_is_kept),
		cmocka_unit_test(entries_may_be_many),
		cmocka_unit_test(a_log_that_keeps_code_needs_no_image),
		cmocka_unit_test(code_is_that_of_its_place_with_int3),
		cmocka_unit_test(a_gap_says_how_many_instructions_have_retired),
		cmocka_unit_test(
		    words_that_are_no_log_are_refused_with_their_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
