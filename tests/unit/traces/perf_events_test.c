/*
 * Goal: samples, counts and branch records that perf got are judged by the execution log:
 * what is wrong, missing or too many is a finding, and what perf says it lost is counted.
 * Method: bundles with a perf.data, both made by hand, with one thing wrong in each.
 */
#include "fixture.h"

#define USER_CODE   UINT64_C(0x400000)
#define USER_CR3    UINT64_C(0x5000)
#define KERNEL_CODE UINT64_C(0xffffffff80300000)
#define VALUE       0xc1u
#define SELECT      0x186u
#define DEBUGCTL    0x1d9u
#define CONTROL     0x38fu
#define OVF_CTRL    0x390u
#define ON          UINT64_C(0x5100c0) /* EN, INT, USR; instructions */
#define PERIOD      10u
#define SKID        4u
#define UNTOLD      UINT64_MAX
#define ID          5u
#define CPU         0u

/* enum perf_event_type and others of Linux, written here again. */
#define LOST           2u
#define SAMPLE         9u
#define AUX            11u
#define AUXTRACE_INFO  70u
#define AUXTRACE       71u
#define STAT           76u
#define TRUNCATED      1u
#define EXCLUDE_KERNEL TZ_BIT(5)

/* 00 nop 16 times; 10 jmp 00 */
static const uint8_t user_code[] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
	0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xeb, 0xee };
/* 00 wrmsr; 02 iretq */
static const uint8_t kernel_code[] = { 0x0f, 0x30, 0x48, 0xcf };

struct tape {
	struct fixture fixture;
	uint8_t records[4096];
	size_t bytes;
};

static void
event(
    struct tape *tape, enum event_kind kind, uint64_t a, uint64_t b, uint64_t c)
{
	fixture_event(&tape->fixture, kind, a, b, c);
}

static void
kernel_step(struct tape *tape, uint64_t offset)
{
	struct fixture_cpu *cpu = &tape->fixture.cpu[CPU];

	exec_log_context(cpu->exec_log, 0, USER_CR3);
	exec_log_step(cpu->exec_log, KERNEL_CODE + offset);
	cpu->insns++;
}

static void
write_msr(struct tape *tape, uint32_t msr, uint64_t value)
{
	event(tape, EVENT_MSR_WRITE, msr, value, 0);
	if (msr == DEBUGCTL)
		exec_log_msr(tape->fixture.cpu[CPU].exec_log, msr, value);
	kernel_step(tape, 0);
}

static void
user_run(struct tape *tape, uint64_t offset, unsigned count)
{
	struct fixture_cpu *cpu = &tape->fixture.cpu[CPU];

	exec_log_context(cpu->exec_log, 3, USER_CR3);
	for (unsigned i = 0; i < count; i++)
		exec_log_step(cpu->exec_log, USER_CODE + offset + i);
	cpu->insns += count;
}

/* SELECTED: what counter 0 counts when the recording begins. */
static void
start(struct tape *tape, uint64_t selected)
{
	memset(tape, 0, sizeof(*tape));
	fixture_start(&tape->fixture);
	assert_int_equal(bundle_add_image(tape->fixture.writer, "user/text",
			     USER_CODE, user_code, sizeof(user_code)),
	    0);
	assert_int_equal(bundle_add_image(tape->fixture.writer, "kernel/text",
			     KERNEL_CODE, kernel_code, sizeof(kernel_code)),
	    0);
	/* The recording begins with the controls as they are. */
	if (selected == UNTOLD) {
		event(tape, EVENT_NOTE, 0, 0, 0);
		return;
	}
	event(tape, EVENT_MSR_WRITE, SELECT, selected, 0);
	event(tape, EVENT_MSR_WRITE, CONTROL, 0, 0);
}

static void
put(struct tape *tape, const void *bytes, size_t count)
{
	assert_true(tape->bytes + count <= sizeof(tape->records));
	memcpy(tape->records + tape->bytes, bytes, count);
	tape->bytes += count;
}

/* A record of the 8-byte WORDS. */
static void
put_record(
    struct tape *tape, uint32_t type, const uint64_t *words, size_t count)
{
	uint64_t head = type | (uint64_t)(8 + 8 * count) << 48;

	put(tape, &head, sizeof(head));
	put(tape, words, 8 * count);
}

/*
 * The perf.data: one event of TYPE, CONFIG and PERIOD, with the bits EXCLUDED of its
 * flags, and the records of TAPE.
 */
static void
add_perf_data(struct tape *tape, uint32_t type, uint64_t config,
    uint64_t period, uint64_t excluded)
{
	const uint64_t entry = 128 + 16, ids = 104, attrs = ids + 8;
	const uint64_t data = attrs + entry;
	/* IP, TID, TIME, CPU; sample_id_all. */
	const uint64_t attr[] = { type | UINT64_C(128) << 32, config, period,
		0x87, 0, excluded | 1 << 18 };
	const uint64_t header[] = { 104, entry, attrs, entry, data,
		tape->bytes };
	const uint64_t id = ID, id_section[] = { ids, 8 };
	uint8_t file[8192] = { 0 };

	memcpy(file, "PERFILE2", 8);
	memcpy(file + 8, header, sizeof(header));
	memcpy(file + ids, &id, sizeof(id));
	memcpy(file + attrs, attr, sizeof(attr));
	memcpy(file + attrs + 128, id_section, sizeof(id_section));
	memcpy(file + data, tape->records, tape->bytes);
	assert_int_equal(bundle_add_text(tape->fixture.writer, "perf.data",
			     (const char *)file, (size_t)data + tape->bytes),
	    0);
}

static void
verdict(struct tape *tape, struct verify_result *result)
{
	fixture_finish(&tape->fixture);
	fixture_verify(&tape->fixture, 0, result);
	fixture_remove(&tape->fixture);
}

/* Demands a finding with TEXT in it, or, if it is NULL, none. */
static void
assert_verdict(
    struct tape *tape, const char *text, struct verify_result *result)
{
	verdict(tape, result);
	if (text == NULL) {
		if (result->finding_count != 0)
			fail_msg("%s", result->findings[0].text);
		assert_true(result->match);
		return;
	}
	assert_false(result->match);
	assert_true(result->finding_count >= 1);
	if (strstr(result->findings[0].text, text) == NULL)
		fail_msg("'%s' is not in '%s'", text, result->findings[0].text);
}

/* The counter overflows; its NMI comes after the skid, in ring 0 if KERNEL. */
static void
overflow(struct tape *tape, bool kernel)
{
	struct exec_log *exec_log = tape->fixture.cpu[CPU].exec_log;

	user_run(tape, 0, PERIOD);
	event(tape, EVENT_COUNTER_OVERFLOW, 0, 1, 0);
	for (unsigned i = 0; kernel && i < SKID; i++)
		kernel_step(tape, 0);
	if (!kernel)
		user_run(tape, PERIOD, SKID);
	exec_log_event(exec_log, 2, kernel ? KERNEL_CODE : USER_CODE + 14);
	write_msr(tape, CONTROL, 0);
	write_msr(tape, OVF_CTRL, 1);
	write_msr(tape, VALUE, -(uint64_t)PERIOD);
	write_msr(tape, CONTROL, 1);
	kernel_step(tape, 2);
}

static void
put_sample(struct tape *tape, uint64_t ip, uint32_t cpu)
{
	static uint64_t time = 1;
	const uint64_t words[] = { ip, 0x700000007, time++, cpu };

	put_record(tape, SAMPLE, words, 4);
}

/* What is wrong with the three samples of a run, whose second NMI comes in ring 0. */
enum wrong {
	NOTHING,
	ANOTHER_ADDRESS,
	NO_SAMPLE,
	SURPLUS,
	KERNEL_SAMPLE, /* older kernels keep it */
	SAID_LOST,
	SAID_FEWER_LOST,
	NO_CPU,
	ANOTHER_EVENT, /* cycles: no counter counts them */
	ANOTHER_CLOCK, /* the same of reference cycles */
	TWO_COUNTERS,
	OLD,    /* the recording does not tell the controls */
	BEFORE, /* the counter runs when the recording begins */
};

static void
sample(struct tape *tape, enum wrong wrong)
{
	const uint32_t cpu = wrong == NO_CPU ? UINT32_MAX : CPU;
	const uint64_t lost[] = { ID, 1, 0x700000007, 0, CPU };

	start(tape, wrong == BEFORE ? ON : wrong == OLD ? UNTOLD : 0);
	write_msr(tape, VALUE, -(uint64_t)PERIOD);
	write_msr(tape, SELECT, ON);
	if (wrong == TWO_COUNTERS)
		write_msr(tape, SELECT + 1, ON & ~TZ_BIT(20));
	write_msr(tape, CONTROL, wrong == TWO_COUNTERS ? 3 : 1);
	overflow(tape, false);
	overflow(tape, true);
	overflow(tape, false);
	if (wrong != SAID_FEWER_LOST)
		put_sample(
		    tape, USER_CODE + 14 + (wrong == ANOTHER_ADDRESS), cpu);
	if (wrong == KERNEL_SAMPLE)
		put_sample(tape, KERNEL_CODE, cpu);
	if (wrong == SAID_LOST || wrong == SAID_FEWER_LOST)
		put_record(tape, LOST, lost, 5);
	if (wrong != NO_SAMPLE && wrong != SAID_LOST &&
	    wrong != SAID_FEWER_LOST)
		put_sample(tape, USER_CODE + 14, cpu);
	if (wrong == SURPLUS)
		put_sample(tape, USER_CODE + 14, cpu);
	write_msr(tape, CONTROL, 0);
	add_perf_data(tape, 0,
	    wrong == ANOTHER_EVENT       ? 0
		: wrong == ANOTHER_CLOCK ? 9
					 : 1,
	    PERIOD, EXCLUDE_KERNEL);
}

static void
samples_are_at_the_nmis_of_overflows(void **state)
{
	static const struct {
		enum wrong wrong;
		const char *text;
		uint64_t read, matched, skidded, lost;
	} rows[] = {
		{ NOTHING, NULL, 2, 2, 1, 0 },
		{ KERNEL_SAMPLE, NULL, 3, 3, 0, 0 },
		{ SAID_LOST, NULL, 1, 1, 1, 1 },
		{ SAID_FEWER_LOST, "no sample of its overflow", 0, 0, 1, 1 },
		{ ANOTHER_ADDRESS,
		    "is at 0x40000f on cpu0, executed was 0x40000e", 2, 0, 0,
		    0 },
		{ NO_SAMPLE, "no sample of its overflow after instruction", 1,
		    1, 1, 0 },
		{ SURPLUS, "on cpu0: no overflow was there", 3, 2, 1, 0 },
		{ ANOTHER_EVENT, "on cpu0: no overflow was there", 2, 0, 0, 0 },
		{ ANOTHER_CLOCK, "on cpu0: no overflow was there", 2, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		const struct verify_counter *counter;
		struct verify_result result;
		struct tape tape;

		sample(&tape, rows[i].wrong);
		assert_verdict(&tape, rows[i].text, &result);
		assert_int_equal(result.counter_count, 1);
		counter = &result.counters[0];
		assert_false(counter->unknown);
		assert_int_equal(counter->read, rows[i].read);
		assert_int_equal(counter->matched, rows[i].matched);
		assert_int_equal(counter->skidded, rows[i].skidded);
		assert_int_equal(counter->lost, rows[i].lost);
		verify_result_free(&result);
	}
}

static void
what_cannot_be_told_is_not_compared(void **state)
{
	static const struct {
		enum wrong wrong;
		const char *reason;
	} rows[] = {
		{ NO_CPU, "its samples do not name their CPU" },
		{ TWO_COUNTERS, "two counters of a CPU count it" },
		{ OLD, "does not say how it found the counters" },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct verify_result result;
		struct tape tape;

		sample(&tape, rows[i].wrong);
		assert_verdict(&tape, NULL, &result);
		assert_true(result.counters[0].unknown);
		assert_non_null(
		    strstr(result.counters[0].reason, rows[i].reason));
		assert_true(result.nothing);
		verify_result_free(&result);
	}
}

/* A counter that ran before perf did is somebody else's, like the NMI watchdog's. */
static void
a_counter_that_ran_before_is_not_perfs(void **state)
{
	struct verify_result result;
	struct tape tape;

	(void)state;
	sample(&tape, BEFORE);
	assert_verdict(&tape, "no overflow was there", &result);
	assert_int_equal(result.counters[0].events, 0);
	verify_result_free(&result);
}

/* An NMI of the PT unit's PMI, at OFFSET in ring 3. */
static void
other_nmi(struct tape *tape, uint64_t offset)
{
	event(tape, EVENT_TOPA_PMI, 0, 0, 0);
	user_run(tape, offset, SKID);
	exec_log_event(
	    tape->fixture.cpu[CPU].exec_log, 2, USER_CODE + offset + SKID);
	write_msr(tape, CONTROL, 0);
}

/*
 * The counter overflows; if MASKED, in an NMI's handler.  The task is switched out and
 * in; the next NMI finds the status.
 */
static void
no_nmi(struct tape *tape, bool masked)
{
	const uint64_t on_all = ON | TZ_BIT(17);

	start(tape, 0);
	write_msr(tape, SELECT, on_all);
	other_nmi(tape, 0);
	write_msr(tape, VALUE, -(uint64_t)(masked ? 3 : 4));
	write_msr(tape, CONTROL, 1);
	kernel_step(tape, 0);
	if (masked)
		kernel_step(tape, 0);
	else {
		kernel_step(tape, 2);
		user_run(tape, SKID, 1);
	}
	event(tape, EVENT_COUNTER_OVERFLOW, 0, 1, 0);
	if (masked) {
		kernel_step(tape, 2);
		user_run(tape, SKID, 1);
	}
	user_run(tape, SKID + 1, 2 * SKID - 1);
	exec_log_event(tape->fixture.cpu[CPU].exec_log, 0x20,
	    USER_CODE + UINT64_C(3) * SKID);
	write_msr(tape, CONTROL, 0);
	write_msr(tape, VALUE, -UINT64_C(100));
	write_msr(tape, CONTROL, 1);
	kernel_step(tape, 2);
	other_nmi(tape, 0);
	write_msr(tape, OVF_CTRL, 1);
	write_msr(tape, VALUE, -UINT64_C(100));
	kernel_step(tape, 2);
	user_run(tape, SKID, 1);
	add_perf_data(tape, 0, 1, PERIOD, 0);
}

static void
an_overflow_without_an_nmi_is_found(void **state)
{
	struct verify_result result;
	struct tape tape;

	(void)state;
	no_nmi(&tape, true);
	assert_verdict(&tape, NULL, &result);
	assert_int_equal(result.counters[0].overflows, 1);
	assert_int_equal(result.counters[0].masked, 1);
	verify_result_free(&result);
	no_nmi(&tape, false);
	assert_verdict(&tape, "no NMI came for its overflow", &result);
	assert_int_equal(result.counters[0].off, 1);
	verify_result_free(&result);
}

/* perf stat: the sum over CPUs and threads, of each the last value. */
static void
counts_are_what_was_executed(void **state)
{
	static const uint64_t values[][3] = { { 4, 12, 0 }, { 4, 12, 1 } };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(values); i++) {
		struct verify_result result;
		struct tape tape;

		start(&tape, 0);
		user_run(&tape, 0, 3); /* it is not on yet */
		write_msr(&tape, SELECT, ON);
		write_msr(&tape, CONTROL, 1);
		user_run(&tape, 0, 12);
		write_msr(&tape, CONTROL, 0);
		user_run(&tape, 0, 3);
		for (unsigned n = 0; n < 3; n++) {
			/* An interval's value, the last one, another CPU's. */
			const uint64_t words[] = { ID, n == 2 ? 1 : 0,
				values[i][n], 1, 1 };

			put_record(&tape, STAT, words, 5);
		}
		add_perf_data(&tape, 0, 1, 0, EXCLUDE_KERNEL);
		assert_verdict(&tape,
		    i == 0 ? NULL : "perf stat has 13, executed were 12 events",
		    &result);
		assert_int_equal(result.counters[0].events, 12);
		assert_int_equal(result.counters[0].values, 2);
		assert_int_equal(result.counters[0].equal, i == 0 ? 2 : 0);
		verify_result_free(&result);
	}
}

/* What is wrong with the three branch records of a run. */
enum wrong_branch {
	BRANCHES_RIGHT,
	BRANCH_CHANGED,
	BRANCH_MISSING,
	BRANCH_SURPLUS,
	BRANCH_UNNAMED,
	BRANCH_LOST,
	BRANCH_LOST_UNTOLD,
	BRANCH_TRUNCATED,
	BRANCH_NO_CPU,
	BRANCH_SNAPSHOT,
	BRANCH_RECORDS_LOST,
	BRANCH_CUT,
	BRANCH_ODD,
};

/*
 * An AUX area of 4096 bytes, at whose end is room for one record and 16 bytes: two chunks,
 * of which the first goes on at the area's begin, where perf has left out those 16 bytes.
 */
#define WRAP UINT64_C(0x1000)
#define PAD  16u

static void
put_chunk(struct tape *tape, uint64_t offset, uint64_t bytes)
{
	/* Size and offset; reference; index, thread; CPU. */
	const uint64_t words[] = { bytes, offset, 0, UINT64_C(7) << 32,
		UINT32_MAX };

	put_record(tape, AUXTRACE, words, 5);
}

static void
put_branch(struct tape *tape, unsigned change)
{
	const uint64_t record[3] = { USER_CODE + 16 + change, USER_CODE, 0 };

	put(tape, record, sizeof(record));
}

static void
put_aux(struct tape *tape, uint64_t offset, uint64_t bytes, bool truncated,
    uint32_t cpu)
{
	static uint64_t time = 1;
	const uint64_t words[] = { offset, bytes, truncated ? TRUNCATED : 0,
		0x700000007, time++, cpu };

	put_record(tape, AUX, words, 6);
}

static void
put_branches(struct tape *tape, enum wrong_branch wrong)
{
	const uint64_t info[] = { 2, 9, 0, 0, 0, 0, wrong == BRANCH_SNAPSHOT };
	const uint32_t cpu = wrong == BRANCH_NO_CPU ? UINT32_MAX : CPU;
	const uint64_t lost[] = { ID, 1, 0x700000007, 1, CPU };
	const uint64_t first = WRAP - PAD - 24;
	unsigned count = wrong == BRANCH_MISSING || wrong == BRANCH_LOST ||
		wrong == BRANCH_LOST_UNTOLD
	    ? 1
	    : 2 + (wrong == BRANCH_SURPLUS);
	unsigned named = wrong == BRANCH_UNNAMED ? count - 1 : count;

	put_record(tape, AUXTRACE_INFO, info, 7);
	put_chunk(tape, first, 24 + 24 * count - (wrong == BRANCH_CUT ? 8 : 0));
	put_branch(tape, 0);
	for (unsigned i = 0; i < count; i++)
		put_branch(tape, wrong == BRANCH_CHANGED && i == 0);
	if (wrong == BRANCH_CUT)
		tape->bytes -= 8;
	put_aux(tape, first, 24, wrong == BRANCH_TRUNCATED, cpu);
	put_aux(tape, WRAP, 24 * named + (wrong == BRANCH_ODD ? 8 : 0),
	    wrong == BRANCH_LOST, cpu);
	if (wrong == BRANCH_RECORDS_LOST)
		put_record(tape, LOST, lost, 5);
}

static void
branch_records(struct tape *tape, enum wrong_branch wrong)
{
	start(tape, 0);
	write_msr(tape, DEBUGCTL, 0x3c0);
	for (unsigned i = 0; i < 3; i++) {
		bool lost = i == 2 &&
		    (wrong == BRANCH_LOST || wrong == BRANCH_LOST_UNTOLD);

		user_run(tape, 16, 1);
		event(tape, lost ? EVENT_BTS_LOST : EVENT_BTS_RECORD,
		    USER_CODE + 16, USER_CODE, 0x1000);
		user_run(tape, 0, 1);
	}
	write_msr(tape, DEBUGCTL, 0);
	put_branches(tape, wrong);
	add_perf_data(tape, 9, 0, 1, EXCLUDE_KERNEL);
}

static void
branch_records_are_those_that_were_stored(void **state)
{
	static const struct {
		enum wrong_branch wrong;
		const char *text;
		uint64_t read, matched, unstored;
	} rows[] = {
		{ BRANCHES_RIGHT, NULL, 3, 3, 0 },
		{ BRANCH_LOST, NULL, 2, 2, 1 },
		{ BRANCH_CHANGED,
		    "record 2 is 0x400011 -> 0x400000, executed was 0x400010",
		    2, 1, 0 },
		{ BRANCH_MISSING, "1 records of the CPU are missing", 2, 2, 0 },
		{ BRANCH_SURPLUS, "but the CPU has stored no more", 4, 3, 0 },
		{ BRANCH_UNNAMED, "record 2 is 0x0", 2, 1, 0 },
		{ BRANCH_CUT, "48 bytes of the AUX record at byte", 1, 1, 0 },
		{ BRANCH_ODD, "are not in the file", 1, 1, 0 },
		{ BRANCH_LOST_UNTOLD,
		    "does not say TRUNCATED, but the CPU found no room", 2, 2,
		    1 },
		{ BRANCH_TRUNCATED, NULL, 3, 3, 0 }, /* the buffer was full */
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct verify_result result;
		struct tape tape;

		branch_records(&tape, rows[i].wrong);
		assert_verdict(&tape, rows[i].text, &result);
		assert_int_equal(
		    result.record_count, 2); /* a row for each CPU */
		assert_int_equal(result.records[0].read, rows[i].read);
		assert_int_equal(result.records[0].matched, rows[i].matched);
		assert_int_equal(result.records[0].unstored, rows[i].unstored);
		verify_result_free(&result);
	}
}

static void
branch_records_that_are_not_compared_are_refused(void **state)
{
	static const struct {
		enum wrong_branch wrong;
		const char *text;
	} rows[] = {
		{ BRANCH_NO_CPU, "do not name their CPU" },
		{ BRANCH_SNAPSHOT, "snapshots of branch records" },
		{ BRANCH_RECORDS_LOST, "perf has lost records" },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct verify_options options = { .rows = VERIFY_ROWS_DEFAULT };
		struct verify_result result;
		struct bundle *bundle;
		struct tz_error err;
		struct tape tape;

		branch_records(&tape, rows[i].wrong);
		fixture_finish(&tape.fixture);
		assert_int_equal(
		    bundle_open(tape.fixture.dir, &bundle, &err), 0);
		assert_int_equal(
		    verify_bundle(bundle, &options, &result, &err), -TZ_EUSAGE);
		assert_non_null(strstr(err.text, rows[i].text));
		bundle_close(bundle);
		fixture_remove(&tape.fixture);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_at_the_nmis_of_overflows),
		cmocka_unit_test(what_cannot_be_told_is_not_compared),
		cmocka_unit_test(a_counter_that_ran_before_is_not_perfs),
		cmocka_unit_test(an_overflow_without_an_nmi_is_found),
		cmocka_unit_test(counts_are_what_was_executed),
		cmocka_unit_test(branch_records_are_those_that_were_stored),
		cmocka_unit_test(
		    branch_records_that_are_not_compared_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
