/*
 * Goal: what user space read of performance counters is judged by the execution log alone:
 * values, registers, overflows, NMIs and samples that are wrong, missing or too many are
 * findings, and losses are counted.  Method: bundles made by hand, with one thing wrong
 * in each.
 */
#include "fixture.h"

#include "emu/guest_abi.h"
#include "emu/profile/profile.h"

#define USER_CODE   UINT64_C(0x400000)
#define USER_CR3    UINT64_C(0x5000)
#define KERNEL_CODE UINT64_C(0xffffffff80300000)
#define PID         7
#define COUNTS      UINT64_C(0x10701) /* row 1 of CPU 0, counts */
#define SAMPLES     UINT64_C(0x00701) /* row 1 of CPU 0, samples */
#define PROCESS     UINT64_C(0xff030701)
#define VALUE       0xc1u
#define SELECT      0x186u
#define CONTROL     0x38fu
#define DEBUGCTL    0x1d9u
#define OVF_CTRL    0x390u
#define PEBS_ENABLE 0x3f1u
#define ON          UINT64_C(0x5100c0) /* EN, INT, USR; instructions */
#define ON_ALL      UINT64_C(0x5300c0) /* the same and OS */
#define UNCOMPARED  UINT64_C(0x51013c) /* the same; reference cycles */
#define PERIOD      10u
#define SKID        4u

/* 00 nop 16 times; 10 jmp 00; 12 rep stosb; 14 nop; 15 nop */
static const uint8_t user_code[] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
	0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xeb, 0xee, 0xf3,
	0xaa, 0x90, 0x90 };
/* 00 wrmsr; 02 iretq; 04 hlt */
static const uint8_t kernel_code[] = { 0x0f, 0x30, 0x48, 0xcf, 0xf4 };

struct tape {
	struct fixture fixture;
	uint64_t id;
	uint8_t log[4096];
	size_t log_bytes;
};

/* What is wrong with the one sample of a run. */
enum wrong {
	NOTHING,
	NO_OVERFLOW_EVENT,
	LATE_OVERFLOW_EVENT,
	LATE_NMI,
	EARLY_NMI,
	NO_NMI,
	SURPLUS_NMI,
	NO_SAMPLE,
	OTHER_ADDRESS,
	OTHER_PID,
	OTHER_RING,
	NO_ROOM,
	NO_ROOM_UNTOLD,
	DROPPED,
	NOT_TAKEN,
	FROZEN, /* nothing: but PMIs freeze the counters */
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

static void
tell(struct tape *tape, enum abi_counter what, uint64_t value)
{
	event(tape, EVENT_COUNTER, tape->id, what, value);
}

static void
kernel_step(struct tape *tape, uint64_t offset)
{
	struct fixture_cpu *cpu = cpu_of(tape);

	exec_log_context(cpu->exec_log, 0, USER_CR3);
	exec_log_step(cpu->exec_log, KERNEL_CODE + offset);
	cpu->insns++;
}

static void
write_msr(struct tape *tape, uint32_t msr, uint64_t value)
{
	event(tape, EVENT_MSR_WRITE, msr, value, 0);
	kernel_step(tape, 0);
}

static void
read_msr(struct tape *tape, uint32_t msr, uint64_t value)
{
	event(tape, EVENT_MSR_READ, msr, value, 0);
	kernel_step(tape, 0);
}

/* COUNT instructions from OFFSET on. */
static void
user_run(struct tape *tape, uint64_t offset, unsigned count)
{
	struct fixture_cpu *cpu = cpu_of(tape);

	exec_log_context(cpu->exec_log, 3, USER_CR3);
	for (unsigned i = 0; i < count; i++)
		exec_log_step(cpu->exec_log, USER_CODE + offset + i);
	cpu->insns += count;
}

static void
ask(struct tape *tape, uint64_t select)
{
	tell(tape, ABI_COUNTER_ASKED, select);
	tell(tape, ABI_COUNTER_TARGET, PID);
	tell(tape, ABI_COUNTER_STARTED, 0);
}

static void
start(struct tape *tape, uint64_t id)
{
	memset(tape, 0, sizeof(*tape));
	tape->id = id;
	fixture_start(&tape->fixture);
	assert_int_equal(bundle_add_image(tape->fixture.writer, "user/text",
			     USER_CODE, user_code, sizeof(user_code)),
	    0);
	assert_int_equal(bundle_add_image(tape->fixture.writer, "kernel/text",
			     KERNEL_CODE, kernel_code, sizeof(kernel_code)),
	    0);
	event(tape, EVENT_SPACE, PID, USER_CR3, 0);
	ask(tape, 0x100c0);
}

static void
put(struct tape *tape, const void *bytes, size_t count)
{
	memcpy(tape->log + tape->log_bytes, bytes, count);
	tape->log_bytes += count;
}

static void
put_head(struct tape *tape, uint32_t type, uint32_t bytes)
{
	uint32_t head[3] = { UINT32_C(0xee) << 24 | type << 16 | bytes };

	put(tape, head, sizeof(head));
}

static void
put_sample(struct tape *tape, uint64_t rip, uint32_t pid, bool user)
{
	uint32_t words[3] = { pid, (uint32_t)tape->id, user };

	put_head(tape, 17, 32);
	put(tape, words, sizeof(words));
	put(tape, &rip, sizeof(rip));
}

static void
put_events(struct tape *tape, uint32_t type, uint64_t value)
{
	uint32_t id = (uint32_t)tape->id, pid = PID;

	put_head(tape, type, 28);
	put(tape, &id, sizeof(id));
	put(tape, &value, sizeof(value));
	put(tape, &pid, sizeof(pid));
}

static void
verdict(struct tape *tape, struct verify_result *result)
{
	if (tape->log_bytes != 0) {
		assert_int_equal(bundle_add_log(tape->fixture.writer, 0,
				     tape->log, tape->log_bytes),
		    0);
		event(tape, EVENT_LOG_READ, 0, 0, tape->log_bytes);
	}
	fixture_finish(&tape->fixture);
	fixture_verify(&tape->fixture, 0, result);
	fixture_remove(&tape->fixture);
}

/* Demands a finding, with TEXT in it. */
static void
assert_finding(struct tape *tape, const char *text)
{
	struct verify_result result;

	verdict(tape, &result);
	assert_false(result.match);
	assert_true(result.finding_count >= 1);
	if (strstr(result.findings[0].text, text) == NULL)
		fail_msg("'%s' is not in '%s'", text, result.findings[0].text);
	verify_result_free(&result);
}

/* Demands that nothing is found. */
static void
assert_right(struct tape *tape, struct verify_result *result)
{
	verdict(tape, result);
	if (result->finding_count != 0)
		fail_msg("%s", result->findings[0].text);
	assert_true(result->match);
}

/* COUNT instructions are counted on the tape's counter. */
static void
count(struct tape *tape, unsigned instructions)
{
	write_msr(tape, VALUE, 0);
	write_msr(tape, SELECT, ON);
	write_msr(tape, CONTROL, 1);
	user_run(tape, 0, instructions);
	exec_log_event(cpu_of(tape)->exec_log, 0x20, USER_CODE + instructions);
	write_msr(tape, CONTROL, 0);
}

static void
a_value_is_what_was_executed(void **state)
{
	static const struct {
		uint64_t reg, value;
		const char *finding;
	} rows[] = {
		{ 12, 12, NULL },
		{ 12, 13,
		    "counter 10701: value 1 of it is 13, executed were "
		    "12 events" },
		{ 11, 12, "cpu0: counter 0 was read as 0xb" },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct verify_result result;
		struct tape tape;

		start(&tape, COUNTS);
		user_run(&tape, 0, 3); /* it is not on yet */
		count(&tape, 12);
		read_msr(&tape, VALUE, rows[i].reg);
		tell(&tape, ABI_COUNTER_READ, rows[i].value);
		if (rows[i].finding != NULL) {
			assert_finding(&tape, rows[i].finding);
			continue;
		}
		verdict(&tape, &result);
		assert_true(result.match);
		assert_false(result.nothing);
		assert_int_equal(result.counter_count, 1);
		assert_int_equal(result.counters[0].events, 12);
		assert_int_equal(result.counters[0].values, 1);
		assert_int_equal(result.counters[0].equal, 1);
		assert_int_equal(result.counter_registers, 1);
		verify_result_free(&result);
	}
}

/* A value is of the time at which the driver read the register. */
static void
a_counter_may_be_read_while_it_runs(void **state)
{
	struct verify_result result;
	struct tape tape;

	(void)state;
	start(&tape, COUNTS);
	write_msr(&tape, SELECT, ON);
	write_msr(&tape, CONTROL, 1);
	user_run(&tape, 0, 5);
	read_msr(&tape, VALUE, 5);
	user_run(&tape, 5, 4);
	tell(&tape, ABI_COUNTER_READ, 5);
	verdict(&tape, &result);
	assert_true(result.match);
	assert_int_equal(result.counters[0].events, 9);
	verify_result_free(&result);
}

/* Two slices of a process: switches and the exit are in the log. */
static void
slices_of_a_process_are_compared(void **state)
{
	static const struct {
		uint64_t first, second, all;
		const char *finding;
	} rows[] = {
		{ 12, 5, 17, NULL },
		{ 12, 6, 17,
		    "the log has 6 events of pid 7 at a switch, "
		    "executed were 5" },
		{ 12, 5, 16,
		    "the log has 16 events of pid 7 at its exit, "
		    "executed were 17" },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct verify_result result;
		struct tape tape;

		start(&tape, PROCESS);
		count(&tape, 12);
		read_msr(&tape, VALUE, 12);
		count(&tape, 5);
		read_msr(&tape, VALUE, 5);
		tell(&tape, ABI_COUNTER_READ, 17);
		put_events(&tape, 9, rows[i].first);
		put_events(&tape, 9, rows[i].second);
		put_events(&tape, 11, rows[i].all);
		if (rows[i].finding != NULL) {
			assert_finding(&tape, rows[i].finding);
			continue;
		}
		verdict(&tape, &result);
		assert_true(result.match);
		assert_int_equal(result.counters[0].entries, 3);
		assert_int_equal(result.counters[0].entries_equal, 3);
		verify_result_free(&result);
	}
}

/* Slices that end, and a reading of the register, while user space reads the value. */
static void
a_value_is_of_a_moment_of_its_reading(void **state)
{
	static const struct {
		uint64_t value;
		bool live; /* the driver reads the register */
		const char *finding;
	} rows[] = {
		{ 12, false, NULL },
		{ 17, false, NULL },
		{ 21, false, NULL },
		{ 0, false, "value 1 of it is 0, executed were 21 events" },
		{ 16, false, "value 1 of it is 16, executed were 21 events" },
		{ 24, true, NULL },
		{ 21, true, "value 1 of it is 21, executed were 21 events" },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct verify_result result;
		struct tape tape;

		start(&tape, PROCESS);
		count(&tape, 12);
		read_msr(&tape, VALUE, 12);
		tell(&tape, ABI_COUNTER_READS, 0);
		count(&tape, 5);
		read_msr(&tape, VALUE, 5);
		count(&tape, 4);
		read_msr(&tape, VALUE, 4);
		if (rows[i].live) {
			write_msr(&tape, VALUE, 0);
			write_msr(&tape, CONTROL, 1);
			user_run(&tape, 0, 3);
			read_msr(&tape, VALUE, 3);
			write_msr(&tape, CONTROL, 0);
		}
		tell(&tape, ABI_COUNTER_READ, rows[i].value);
		if (rows[i].finding != NULL) {
			assert_finding(&tape, rows[i].finding);
			continue;
		}
		assert_right(&tape, &result);
		assert_true(result.match);
		verify_result_free(&result);
	}
}

/* One that was released; the next one has its ID, and counts from 0. */
static void
an_id_may_be_used_again(void **state)
{
	struct verify_result result;
	struct tape tape;

	(void)state;
	start(&tape, PROCESS);
	count(&tape, 12);
	read_msr(&tape, VALUE, 12);
	tell(&tape, ABI_COUNTER_READ, 12);
	tell(&tape, ABI_COUNTER_STOPS, 0);
	tell(&tape, ABI_COUNTER_ASKED, 0x100c0);
	tell(&tape, ABI_COUNTER_TARGET, PID);
	tell(&tape, ABI_COUNTER_STARTED, 0);
	count(&tape, 5);
	read_msr(&tape, VALUE, 5);
	tell(&tape, ABI_COUNTER_READ, 5);
	assert_right(&tape, &result);
	assert_int_equal(result.counter_count, 2);
	assert_int_equal(result.counters[0].events, 12);
	assert_int_equal(result.counters[1].events, 5);
	assert_int_equal(result.counters[1].equal, 1);
	verify_result_free(&result);
}

/* A process that was counted executes while its counter is off. */
static void
a_process_that_is_not_counted_is_found(void **state)
{
	struct tape tape;

	(void)state;
	start(&tape, PROCESS);
	count(&tape, 12);
	read_msr(&tape, VALUE, 12);
	user_run(&tape, 12, 1);
	tell(&tape, ABI_COUNTER_READ, 12);
	assert_finding(&tape,
	    "executed in ring 3 at 0x40000c while the "
	    "counter was not on the CPU");
}

/* One overflow with its NMI and its sample, but for what is WRONG. */
static void
sample(struct tape *tape, enum wrong wrong)
{
	struct fixture_cpu *cpu;
	unsigned skid = SKID + (wrong == LATE_NMI) - (wrong == EARLY_NMI);
	uint64_t rip = USER_CODE + PERIOD + skid;

	start(tape, SAMPLES);
	cpu = cpu_of(tape);
	if (wrong == FROZEN)
		write_msr(tape, DEBUGCTL, TZ_BIT(12));
	write_msr(tape, VALUE, -(uint64_t)PERIOD);
	write_msr(tape, SELECT, ON);
	write_msr(tape, CONTROL, 1);
	user_run(tape, 0, PERIOD);
	if (wrong == LATE_OVERFLOW_EVENT)
		user_run(tape, PERIOD, 1);
	if (wrong != NO_OVERFLOW_EVENT)
		event(tape, EVENT_COUNTER_OVERFLOW, 0, 1, 0);
	user_run(tape, PERIOD + (wrong == LATE_OVERFLOW_EVENT),
	    skid - (wrong == LATE_OVERFLOW_EVENT));
	if (wrong != NO_NMI) {
		exec_log_event(cpu->exec_log, 2, rip);
		write_msr(tape, CONTROL, 0);
	} else {
		kernel_step(tape, 0);
	}
	write_msr(tape, OVF_CTRL, 1);
	if (wrong != NOT_TAKEN)
		write_msr(tape, VALUE, -(uint64_t)PERIOD);
	if (wrong == NO_ROOM || wrong == NO_ROOM_UNTOLD)
		write_msr(tape, SELECT, 0);
	write_msr(tape, CONTROL, 1);
	kernel_step(tape, 2);
	user_run(tape, rip - USER_CODE, 1);
	if (wrong == SURPLUS_NMI) {
		exec_log_event(cpu->exec_log, 2, rip + 1);
		kernel_step(tape, 2);
	}
	write_msr(tape, CONTROL, 0);
	if (wrong == DROPPED) {
		put_head(tape, 2, 12);
	} else if (wrong != NO_SAMPLE && wrong != NO_ROOM &&
	    wrong != NO_ROOM_UNTOLD) {
		put_sample(tape, rip + (wrong == OTHER_ADDRESS),
		    PID + (wrong == OTHER_PID), wrong != OTHER_RING);
	}
	event(tape, EVENT_COUNTER, 0, ABI_COUNTER_NO_ROOM, wrong == NO_ROOM);
}

/*
 * Reference cycles, which are not counted again, overflow once if TOLD; the NMI comes SKID
 * instructions later, the sample is at OFFSET.
 */
static void
uncompared(struct tape *tape, bool told, unsigned skid, unsigned offset)
{
	const unsigned at = 6;

	start(tape, SAMPLES);
	tell(tape, ABI_COUNTER_STOPS, 0);
	ask(tape, UNCOMPARED);
	write_msr(tape, VALUE, -UINT64_C(1000));
	write_msr(tape, SELECT, UNCOMPARED);
	write_msr(tape, CONTROL, 1);
	user_run(tape, 0, at);
	if (told)
		event(tape, EVENT_COUNTER_OVERFLOW, 0, 1, 0);
	user_run(tape, at, skid);
	exec_log_event(cpu_of(tape)->exec_log, 2, USER_CODE + at + skid);
	write_msr(tape, CONTROL, 0);
	write_msr(tape, OVF_CTRL, 1);
	write_msr(tape, VALUE, -UINT64_C(1000));
	write_msr(tape, CONTROL, 1);
	kernel_step(tape, 2);
	user_run(tape, at + skid, 1);
	write_msr(tape, CONTROL, 0);
	put_sample(tape, USER_CODE + offset, PID, true);
}

/* When it overflows only the CPU says; its NMI and its sample are judged all the same. */
static void
an_event_that_is_not_compared_has_its_sample(void **state)
{
	struct verify_result result;
	struct tape tape;

	(void)state;
	uncompared(&tape, true, SKID, 6 + SKID);
	assert_right(&tape, &result);
	assert_true(result.counters[1].reported);
	assert_false(result.counters[1].unknown);
	assert_int_equal(result.counters[1].overflows, 1);
	assert_int_equal(result.counters[1].matched, 1);
	assert_false(result.nothing);
	verify_result_free(&result);
	uncompared(&tape, false, SKID, 6 + SKID);
	assert_finding(&tape, "without an overflow");
	uncompared(&tape, true, 0, 6);
	assert_finding(&tape, "an NMI came before the skid");
	uncompared(&tape, true, SKID + 1, 6 + SKID + 1);
	assert_finding(&tape, "the NMI of an overflow came after");
	uncompared(&tape, true, SKID, 6 + SKID - 1);
	assert_finding(&tape, "no overflow was there");
}

/* Counts, or one that has not overflowed, have nothing to compare. */
static void
an_event_that_is_not_compared_has_no_value(void **state)
{
	static const uint64_t ids[] = { COUNTS, SAMPLES };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(ids); i++) {
		struct verify_result result;
		struct tape tape;

		start(&tape, ids[i]);
		tell(&tape, ABI_COUNTER_STOPS, 0);
		ask(&tape, UNCOMPARED);
		count(&tape, 12);
		tell(&tape, ABI_COUNTER_READ, 5);
		assert_right(&tape, &result);
		assert_true(result.counters[1].unknown);
		verify_result_free(&result);
	}
}

/*
 * An interrupt ends HLT; the counter overflows with its delivery, or, if EARLY, with HLT,
 * which is the skid then.
 */
static void
overflow_after_halt(struct tape *tape, bool early, unsigned skid)
{
	start(tape, SAMPLES);
	write_msr(tape, SELECT, UNCOMPARED | TZ_BIT(17));
	write_msr(tape, CONTROL, 1);
	kernel_step(tape, 4);
	if (early)
		event(tape, EVENT_COUNTER_OVERFLOW, 0, 1, 0);
	else {
		exec_log_event(cpu_of(tape)->exec_log, 0x20, KERNEL_CODE + 5);
		event(tape, EVENT_COUNTER_OVERFLOW, 0, 1, 0);
	}
	for (unsigned i = 0; i < skid; i++)
		kernel_step(tape, 0);
	exec_log_event(cpu_of(tape)->exec_log, 2, KERNEL_CODE);
	write_msr(tape, CONTROL, 0);
	write_msr(tape, OVF_CTRL, 1);
	write_msr(tape, VALUE, -UINT64_C(1000));
	kernel_step(tape, 2);
	kernel_step(tape, 0);
	tell(tape, ABI_COUNTER_STOPS, 0);
}

static void
an_interrupt_ends_a_halt(void **state)
{
	static const struct {
		bool early;
		unsigned skid;
		const char *finding;
	} rows[] = {
		{ true, 0, NULL },
		{ true, SKID, "the NMI of an overflow came after" },
		{ false, SKID, NULL },
		{ false, SKID + 1, "the NMI of an overflow came after" },
		{ false, 0, "an NMI came before the skid" },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct verify_result result;
		struct tape tape;

		overflow_after_halt(&tape, rows[i].early, rows[i].skid);
		if (rows[i].finding != NULL) {
			assert_finding(&tape, rows[i].finding);
			continue;
		}
		assert_right(&tape, &result);
		verify_result_free(&result);
	}
}

/*
 * Two counters of events that are not counted again overflow at once, in a REP whose rounds
 * are the skid: one NMI.  In its handler one overflows while the PMI is masked.  The next
 * overflow has its own NMI.
 */
static void
one_nmi_is_of_two_overflows(void **state)
{
	struct verify_result result;
	struct tape tape;

	(void)state;
	start(&tape, SAMPLES);
	write_msr(&tape, SELECT, UNCOMPARED);
	write_msr(&tape, SELECT + 1, UNCOMPARED);
	for (unsigned i = 0; i < 2; i++) {
		write_msr(&tape, CONTROL, 3);
		user_run(&tape, 0x11 + i, 1);
		exec_log_event(
		    cpu_of(&tape)->exec_log, 2, USER_CODE + 0x12 + 2 * i);
		event(&tape, EVENT_COUNTER_OVERFLOW, 0, 1, 0);
		event(&tape, EVENT_COUNTER_OVERFLOW, 1, 1, 0);
		kernel_step(&tape, 0);
		event(&tape, EVENT_COUNTER_OVERFLOW, 1, 1, 0);
		write_msr(&tape, CONTROL, 0);
		write_msr(&tape, OVF_CTRL, 3);
		write_msr(&tape, VALUE, -UINT64_C(1000));
		kernel_step(&tape, 2);
		user_run(&tape, 0x12, 1);
	}
	tell(&tape, ABI_COUNTER_STOPS, 0);
	assert_right(&tape, &result);
	verify_result_free(&result);
}

/* The core clock is at CYCLES. */
static void
clock_at(struct tape *tape, uint64_t cycles)
{
	cpu_of(tape)->cycles = cycles;
	exec_log_time(cpu_of(tape)->exec_log, cycles);
}

static void
start_clock(struct tape *tape, uint64_t select, uint64_t value)
{
	start(tape, COUNTS);
	tape->fixture.cost = true;
	tell(tape, ABI_COUNTER_STOPS, 0);
	ask(tape, select);
	write_msr(tape, VALUE, value);
	write_msr(tape, SELECT, select | TZ_BIT(22));
	clock_at(tape, 100);
	write_msr(tape, CONTROL, 1);
}

/* What is wrong with the times of a run with the cost model. */
enum wrong_clock { CLOCK_RIGHT, NO_RING_TIME, NO_HALT_TIME };

/* 60 cycles in ring 3, of which 10 are an interrupt's delivery. */
static void
clock_user(struct tape *tape, enum wrong_clock wrong)
{
	if (wrong != NO_RING_TIME)
		clock_at(tape, 130);
	user_run(tape, 0, 12);
	clock_at(tape, 180);
	clock_at(tape, 190);
	exec_log_event(cpu_of(tape)->exec_log, 0x20, USER_CODE + 12);
	clock_at(tape, 190);
	kernel_step(tape, 0);
}

/* 70 cycles in ring 0, while not halted: HLT takes 10, the delivery 40. */
static void
clock_halted(struct tape *tape, enum wrong_clock wrong)
{
	kernel_step(tape, 4);
	if (wrong != NO_HALT_TIME) {
		clock_at(tape, 110);
		clock_at(tape, 500);
		clock_at(tape, 500);
		clock_at(tape, 540);
	}
	exec_log_event(cpu_of(tape)->exec_log, 0x20, KERNEL_CODE + 5);
	kernel_step(tape, 0);
	clock_at(tape, 560);
}

/* The log has the core clock where the ring changes, and where the CPU sleeps. */
static void
cycles_are_those_of_the_clock(void **state)
{
	static const struct {
		bool halted;
		enum wrong_clock wrong;
		uint64_t value;
		const char *finding;
	} rows[] = {
		{ false, CLOCK_RIGHT, 60, NULL },
		{ false, CLOCK_RIGHT, 61, "executed was 0x3c" },
		{ true, CLOCK_RIGHT, 70, NULL },
		{ true, CLOCK_RIGHT, 71, "executed was 0x46" },
		/* Then nobody knows. */
		{ false, NO_RING_TIME, 61, NULL },
		{ true, NO_HALT_TIME, 71, NULL },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct verify_result result;
		struct tape tape;

		start_clock(&tape, rows[i].halted ? 0x2003c : 0x1003c, 0);
		(rows[i].halted ? clock_halted : clock_user)(
		    &tape, rows[i].wrong);
		write_msr(&tape, CONTROL, 0);
		read_msr(&tape, VALUE, rows[i].value);
		tell(&tape, ABI_COUNTER_READ, rows[i].value);
		if (rows[i].finding != NULL) {
			assert_finding(&tape, rows[i].finding);
			continue;
		}
		assert_right(&tape, &result);
		assert_int_equal(
		    result.counters[1].unknown, rows[i].wrong != CLOCK_RIGHT);
		verify_result_free(&result);
	}
}

/* The counter overflows with cycle 170, within a block: the CPU says it AT another one. */
static void
an_overflow_is_in_its_cycle(void **state)
{
	static const struct {
		uint64_t at;
		const char *finding;
	} rows[] = {
		{ 170, NULL },
		{ 169, "counter 0 overflowed in cycle 169" },
		{ 0, "counter 0 must have overflowed" },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		struct verify_result result;
		struct tape tape;

		start_clock(&tape, 0x1003c, -UINT64_C(40));
		clock_at(&tape, 130);
		user_run(&tape, 0, 12);
		if (rows[i].at != 0) {
			cpu_of(&tape)->cycles = rows[i].at;
			event(&tape, EVENT_COUNTER_OVERFLOW, 0, 0, 0);
		}
		user_run(&tape, 12, 1);
		clock_at(&tape, 190);
		exec_log_event(cpu_of(&tape)->exec_log, 0x20, USER_CODE + 13);
		clock_at(&tape, 190);
		write_msr(&tape, CONTROL, 0);
		read_msr(&tape, VALUE, 20);
		if (rows[i].finding != NULL) {
			assert_finding(&tape, rows[i].finding);
			continue;
		}
		assert_right(&tape, &result);
		assert_int_equal(result.counter_overflows, 1);
		verify_result_free(&result);
	}
}

/*
 * A PMI of PEBS, if RAISED, comes in the handler of an NMI, whose IRET is the instruction
 * of a counter's overflow.  The NMI after that IRET is of the first.
 */
static void
overflow_at_iret(struct tape *tape, bool raised)
{
	const unsigned steps = SKID + 1;

	start(tape, SAMPLES);
	write_msr(tape, SELECT, ON_ALL);
	event(tape, EVENT_PEBS_PMI, 0, 0, 0);
	user_run(tape, 0, SKID);
	exec_log_event(cpu_of(tape)->exec_log, 2, USER_CODE + SKID);
	/* IA32_PERF_GLOBAL_CTRL has it on from reset: two writes, STEPS, IRET. */
	write_msr(tape, VALUE, -(uint64_t)(2 + steps + 1));
	write_msr(tape, CONTROL, 1);
	if (raised)
		event(tape, EVENT_PEBS_PMI, 0, 0, 0);
	for (unsigned i = 0; i < steps; i++)
		write_msr(tape, OVF_CTRL, 1);
	kernel_step(tape, 2);
	event(tape, EVENT_COUNTER_OVERFLOW, 0, 1, 0);
	exec_log_event(cpu_of(tape)->exec_log, 2, USER_CODE + SKID);
	write_msr(tape, CONTROL, 0);
	write_msr(tape, OVF_CTRL, 1);
	kernel_step(tape, 2);
	user_run(tape, SKID, 1);
}

static void
an_nmi_that_waited_for_an_iret_is_not_early(void **state)
{
	struct verify_result result;
	struct tape tape;

	(void)state;
	overflow_at_iret(&tape, true);
	assert_right(&tape, &result);
	verify_result_free(&result);
	overflow_at_iret(&tape, false);
	assert_finding(&tape, "an NMI came before the skid");
}

/* An overflow that is right, elsewhere than sample()'s; then the counter is off. */
static void
overflow(struct tape *tape)
{
	const unsigned at = 1 + PERIOD;

	write_msr(tape, VALUE, -(uint64_t)PERIOD);
	write_msr(tape, CONTROL, 1);
	user_run(tape, 1, PERIOD);
	event(tape, EVENT_COUNTER_OVERFLOW, 0, 1, 0);
	user_run(tape, at, SKID);
	exec_log_event(cpu_of(tape)->exec_log, 2, USER_CODE + at + SKID);
	write_msr(tape, CONTROL, 0);
	write_msr(tape, OVF_CTRL, 1);
	write_msr(tape, VALUE, -(uint64_t)PERIOD);
	write_msr(tape, CONTROL, 1);
	kernel_step(tape, 2);
	user_run(tape, at + SKID, 1);
	write_msr(tape, CONTROL, 0);
}

/* The first sample is not in the log: a stop before the second may discard it. */
static void
a_stop_may_discard_samples(void **state)
{
	(void)state;
	for (unsigned stops = 0; stops < 3; stops++) {
		struct verify_result result;
		struct tape tape;

		sample(&tape, NO_SAMPLE);
		if (stops == 1) {
			tell(&tape, ABI_COUNTER_STOPS, 0);
			tell(&tape, ABI_COUNTER_STARTED, 0);
		}
		overflow(&tape);
		put_sample(&tape, USER_CODE + 1 + PERIOD + SKID, PID, true);
		if (stops == 2)
			tell(&tape, ABI_COUNTER_STOPS, 0);
		if (stops != 1) {
			assert_finding(&tape, "is not in the log");
			continue;
		}
		assert_right(&tape, &result);
		assert_int_equal(result.counters[0].matched, 1);
		assert_int_equal(result.counters[0].discarded, 1);
		verify_result_free(&result);
	}
}

/* An overflow of counters 0 and 1 at once, with their samples; !GOES: the ring is full. */
static void
overflow_of_two(struct tape *tape, bool goes)
{
	write_msr(tape, VALUE, -(uint64_t)PERIOD);
	write_msr(tape, VALUE + 1, -(uint64_t)PERIOD);
	write_msr(tape, CONTROL, 3);
	user_run(tape, 0, PERIOD);
	event(tape, EVENT_COUNTER_OVERFLOW, 0, 1, 0);
	event(tape, EVENT_COUNTER_OVERFLOW, 1, 1, 0);
	user_run(tape, PERIOD, SKID);
	exec_log_event(cpu_of(tape)->exec_log, 2, USER_CODE + PERIOD + SKID);
	write_msr(tape, CONTROL, 0);
	write_msr(tape, OVF_CTRL, 3);
	write_msr(tape, VALUE, -(uint64_t)PERIOD);
	write_msr(tape, VALUE + 1, -(uint64_t)PERIOD);
	if (goes)
		write_msr(tape, CONTROL, 3);
	kernel_step(tape, 2);
	user_run(tape, PERIOD + SKID, 1);
	write_msr(tape, CONTROL, 0);
	for (unsigned i = 0; goes && i < 2; i++) {
		tape->id = SAMPLES + i;
		put_sample(tape, USER_CODE + PERIOD + SKID, PID, true);
	}
}

/*
 * Each of two counters overflows three times, always at the same address.  The
 * first and the third sample find no room, the second is in the log.  SURPLUS:
 * the log has the third one, too, so it has found room.
 */
static void
sample_of_two(struct tape *tape, bool surplus)
{
	start(tape, SAMPLES);
	tape->id = SAMPLES + 1;
	ask(tape, 0x100c0);
	write_msr(tape, SELECT, ON);
	write_msr(tape, SELECT + 1, ON);
	overflow_of_two(tape, false);
	overflow_of_two(tape, true);
	overflow_of_two(tape, false);
	if (surplus)
		put_sample(tape, USER_CODE + PERIOD + SKID, PID, true);
}

static void
a_sample_may_be_like_one_without_room(void **state)
{
	struct verify_result result;
	struct tape tape;

	(void)state;
	sample_of_two(&tape, true);
	assert_finding(&tape, "stands still");
	sample_of_two(&tape, false);
	event(&tape, EVENT_COUNTER, 0, ABI_COUNTER_NO_ROOM, 4);
	assert_right(&tape, &result);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(result.counters[i].matched, 1);
		assert_int_equal(result.counters[i].no_room, 2);
	}
	verify_result_free(&result);
}

/*
 * The NMI comes early, in a REP, or, if DONE, when one of the skid has retired.  FAULTS:
 * the REP goes on after a page fault.
 */
static void
rep_in_skid(struct tape *tape, bool done, bool faults)
{
	const uint64_t at = done ? 0x15 : 0x12;

	start(tape, SAMPLES);
	write_msr(tape, VALUE, -(uint64_t)PERIOD);
	write_msr(tape, SELECT, ON);
	write_msr(tape, CONTROL, 1);
	user_run(tape, 0, PERIOD);
	event(tape, EVENT_COUNTER_OVERFLOW, 0, 1, 0);
	if (done) {
		user_run(tape, 0x12, 1);
		user_run(tape, 0x14, 1);
	} else {
		user_run(tape, PERIOD, 1);
	}
	exec_log_event(cpu_of(tape)->exec_log, 2, USER_CODE + at);
	write_msr(tape, CONTROL, 0);
	write_msr(tape, OVF_CTRL, 1);
	write_msr(tape, VALUE, -(uint64_t)PERIOD);
	write_msr(tape, CONTROL, 1);
	kernel_step(tape, 2);
	if (faults) {
		exec_log_event(cpu_of(tape)->exec_log, 14, USER_CODE + at);
		kernel_step(tape, 2);
	}
	user_run(tape, at, 1);
	write_msr(tape, CONTROL, 0);
	put_sample(tape, USER_CODE + at, PID, true);
	event(tape, EVENT_COUNTER, 0, ABI_COUNTER_NO_ROOM, 0);
}

static void
rounds_of_a_rep_are_skid(void **state)
{
	(void)state;
	for (unsigned way = 0; way < 4; way++) {
		struct verify_result result;
		struct tape tape;

		rep_in_skid(&tape, (way & 1) != 0, (way & 2) != 0);
		assert_right(&tape, &result);
		assert_int_equal(result.counters[0].matched, 1);
		verify_result_free(&result);
	}
}

static void
a_sample_is_that_of_its_overflow(void **state)
{
	struct verify_result result;
	struct tape tape;

	(void)state;
	assert_int_equal(profile_find("skylake")->uarch->pmi_skid_insns, SKID);
	for (unsigned frozen = 0; frozen < 2; frozen++) {
		sample(&tape, frozen ? FROZEN : NOTHING);
		assert_right(&tape, &result);
		assert_int_equal(result.counters[0].overflows, 1);
		assert_int_equal(result.counters[0].read, 1);
		assert_int_equal(result.counters[0].matched, 1);
		assert_int_equal(result.counter_overflows, frozen ? 0u : 1u);
		verify_result_free(&result);
	}
}

static void
losses_are_counted(void **state)
{
	struct verify_result result;
	struct tape tape;

	(void)state;
	sample(&tape, NO_ROOM);
	verdict(&tape, &result);
	assert_true(result.match);
	assert_int_equal(result.counters[0].overflows, 1);
	assert_int_equal(result.counters[0].no_room, 1);
	verify_result_free(&result);
	sample(&tape, DROPPED);
	verdict(&tape, &result);
	assert_true(result.match);
	assert_int_equal(result.counters[0].lost, 1);
	verify_result_free(&result);
	sample(&tape, NO_SAMPLE);
	tell(&tape, ABI_COUNTER_STOPS, 0);
	verdict(&tape, &result);
	assert_true(result.match);
	assert_int_equal(result.counters[0].discarded, 1);
	verify_result_free(&result);
}

static void
what_is_wrong_with_a_sample_is_found(void **state)
{
	static const struct {
		enum wrong wrong;
		const char *text;
	} rows[] = {
		{ NO_OVERFLOW_EVENT, "must have overflowed after" },
		{ LATE_OVERFLOW_EVENT, "which it must not" },
		{ LATE_NMI, "the NMI of an overflow came after" },
		{ EARLY_NMI, "an NMI came before the skid" },
		{ SURPLUS_NMI, "an NMI at instruction" },
		{ NO_NMI, "no NMI came for its overflow" },
		{ NO_SAMPLE, "is not in the log" },
		{ OTHER_ADDRESS, "no overflow was there" },
		{ OTHER_PID, "is of pid 8, executed was pid 7" },
		{ OTHER_RING, "no overflow was there" },
		{ NO_ROOM_UNTOLD,
		    "the driver says that 0 samples found no room" },
		{ NOT_TAKEN, "no sample was taken of its overflow" },
	};
	struct tape tape;

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		sample(&tape, rows[i].wrong);
		assert_finding(&tape, rows[i].text);
	}
}

/* What is wrong with the two PEBS records of a run. */
enum wrong_record {
	RECORDS_RIGHT,
	RECORD_MISSING,
	RECORD_LATE,
	RECORD_OF_ANOTHER,
	RECORD_OF_OTHER_COUNTERS,
	RECORD_SURPLUS,
	RECORD_UNREAD,
	RECORD_READ_WRONG,
	RECORD_LOST,
	RECORD_OF_ANOTHER_RESET,
	RECORDS_UNTOLD, /* right: but the event is not counted again */
	RECORD_UNTOLD_OF_ANOTHER,
};

static void
pebs_record(
    struct tape *tape, enum event_kind kind, uint64_t offset, uint64_t counters)
{
	event(tape, kind, USER_CODE + offset, counters, 0);
}

/*
 * Counter 0 overflows with instruction 3, so instruction 4 makes a record; it starts again
 * at -3, so instruction 7 overflows it and instruction 8 makes the second record.
 */
static void
record(struct tape *tape, enum wrong_record wrong)
{
	const uint64_t id = ABI_RECORDS_PEBS;
	bool lost = wrong == RECORD_LOST;
	bool untold = wrong >= RECORDS_UNTOLD;
	unsigned first = wrong == RECORD_OF_ANOTHER ||
		wrong == RECORD_UNTOLD_OF_ANOTHER
	    ? 5
	    : 4;

	start(tape, SAMPLES);
	event(tape, EVENT_RECORDS, id, 0x1000, 16);
	event(tape, EVENT_COUNTER, id, ABI_COUNTER_RESET, -UINT64_C(3));
	write_msr(tape, PEBS_ENABLE, 1);
	write_msr(tape, VALUE, -UINT64_C(4));
	write_msr(tape, SELECT, (untold ? UNCOMPARED : ON) & ~TZ_BIT(20));
	write_msr(tape, CONTROL, 1);
	user_run(tape, 0, 4);
	event(tape, EVENT_COUNTER_OVERFLOW, 0, 0, 0);
	user_run(tape, 4, 1);
	if (wrong == RECORD_LATE)
		user_run(tape, 5, 1);
	if (!lost)
		event(tape, EVENT_PEBS_RESET, 0,
		    -UINT64_C(3) - (wrong == RECORD_OF_ANOTHER_RESET), 0);
	if (wrong != RECORD_MISSING)
		pebs_record(tape, lost ? EVENT_PEBS_LOST : EVENT_PEBS_RECORD,
		    first, 1 + (wrong == RECORD_OF_OTHER_COUNTERS));
	user_run(tape, 5 + (wrong == RECORD_LATE), 3 - (wrong == RECORD_LATE));
	if (!lost) {
		event(tape, EVENT_COUNTER_OVERFLOW, 0, 0, 0);
		user_run(tape, 8, 1);
		pebs_record(tape, EVENT_PEBS_RECORD, 8, 1);
	}
	user_run(tape, 9, 1);
	if (wrong == RECORD_SURPLUS)
		pebs_record(tape, EVENT_PEBS_RECORD, 9, 1);
	write_msr(tape, CONTROL, 0);
	event(tape, EVENT_RECORDS_READ, id, 0, 0);
	if (!lost && wrong != RECORD_MISSING)
		event(tape, EVENT_RECORD_READ,
		    USER_CODE + first + (wrong == RECORD_READ_WRONG), 0, 0);
	if (!lost && wrong != RECORD_UNREAD)
		event(tape, EVENT_RECORD_READ, USER_CODE + 8, 0, 0);
	if (wrong == RECORD_SURPLUS)
		event(tape, EVENT_RECORD_READ, USER_CODE + 9, 0, 0);
	event(tape, EVENT_COUNTER, 0, ABI_COUNTER_NO_ROOM, 0);
}

static void
a_pebs_record_is_of_the_event_after_the_overflow(void **state)
{
	struct verify_result result;
	struct tape tape;

	(void)state;
	for (unsigned untold = 0; untold < 2; untold++) {
		record(&tape, untold ? RECORDS_UNTOLD : RECORDS_RIGHT);
		assert_right(&tape, &result);
		assert_int_equal(result.pebs_records, 2);
		assert_int_equal(result.counter_overflows, untold ? 0u : 2u);
		assert_int_equal(result.record_count, 1);
		assert_true(result.records[0].pebs);
		assert_int_equal(result.records[0].stored, 2);
		assert_int_equal(result.records[0].read, 2);
		assert_int_equal(result.records[0].matched, 2);
		verify_result_free(&result);
	}
	/* Its counter goes on from where it was. */
	record(&tape, RECORD_LOST);
	verdict(&tape, &result);
	assert_true(result.match);
	assert_int_equal(result.pebs_records, 0);
	assert_int_equal(result.records[0].unstored, 1);
	verify_result_free(&result);
}

static void
what_is_wrong_with_a_pebs_record_is_found(void **state)
{
	static const struct {
		enum wrong_record wrong;
		const char *text;
	} rows[] = {
		{ RECORD_MISSING, "counter 0 overflowed after" },
		{ RECORD_OF_ANOTHER_RESET,
		    "starts again from 0xfffffffffffffffc, the guest says" },
		{ RECORD_LATE, "a PEBS record of" },
		{ RECORD_OF_ANOTHER, "a PEBS record of 0x400005" },
		{ RECORD_OF_OTHER_COUNTERS, "(counters 0x2); executed was" },
		{ RECORD_UNTOLD_OF_ANOTHER, "a PEBS record of 0x400005" },
		{ RECORD_SURPLUS, "where none is due" },
		{ RECORD_UNREAD, "1 records are missing in a reading" },
		{ RECORD_READ_WRONG, "record 0 of a reading of 2 is 0x400005" },
	};
	struct tape tape;

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		record(&tape, rows[i].wrong);
		assert_finding(&tape, rows[i].text);
	}
}

static void
a_truncated_log_is_an_error(void **state)
{
	struct verify_options options = { .rows = VERIFY_ROWS_DEFAULT };
	struct verify_result result;
	struct bundle *bundle;
	struct tz_error err;
	struct tape tape;

	(void)state;
	sample(&tape, NOTHING);
	assert_int_equal(bundle_add_log(tape.fixture.writer, 0, tape.log,
			     tape.log_bytes - 1),
	    0);
	event(&tape, EVENT_LOG_READ, 0, 0, tape.log_bytes - 1);
	fixture_finish(&tape.fixture);
	assert_int_equal(bundle_open(tape.fixture.dir, &bundle, &err), 0);
	assert_int_equal(
	    verify_bundle(bundle, &options, &result, &err), -TZ_EFORMAT);
	assert_non_null(strstr(err.text, "pmclog0: byte 0"));
	bundle_close(bundle);
	fixture_remove(&tape.fixture);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_is_what_was_executed),
		cmocka_unit_test(a_counter_may_be_read_while_it_runs),
		cmocka_unit_test(slices_of_a_process_are_compared),
		cmocka_unit_test(a_value_is_of_a_moment_of_its_reading),
		cmocka_unit_test(an_id_may_be_used_again),
		cmocka_unit_test(a_process_that_is_not_counted_is_found),
		cmocka_unit_test(a_stop_may_discard_samples),
		cmocka_unit_test(rounds_of_a_rep_are_skid),
		cmocka_unit_test(an_nmi_that_waited_for_an_iret_is_not_early),
		cmocka_unit_test(an_event_that_is_not_compared_has_its_sample),
		cmocka_unit_test(an_event_that_is_not_compared_has_no_value),
		cmocka_unit_test(an_interrupt_ends_a_halt),
		cmocka_unit_test(cycles_are_those_of_the_clock),
		cmocka_unit_test(one_nmi_is_of_two_overflows),
		cmocka_unit_test(an_overflow_is_in_its_cycle),
		cmocka_unit_test(a_sample_may_be_like_one_without_room),
		cmocka_unit_test(a_sample_is_that_of_its_overflow),
		cmocka_unit_test(losses_are_counted),
		cmocka_unit_test(what_is_wrong_with_a_sample_is_found),
		cmocka_unit_test(
		    a_pebs_record_is_of_the_event_after_the_overflow),
		cmocka_unit_test(what_is_wrong_with_a_pebs_record_is_found),
		cmocka_unit_test(a_truncated_log_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
