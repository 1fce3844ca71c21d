/*
 * Goal: each deviation does what deviation.def says, at once and nothing else.  Method:
 * guests are stopped in the middle of traced work, acted on, and what follows is read
 * off the events and the machine's state.
 */
#include "tests/unit/emu/guest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BIT55      TZ_BIT(55)
#define LVT_MASKED TZ_BIT(16)
#define AT         6000 /* instructions: in traced work of "pmi" */

static void
go_to(struct guest *guest, unsigned cpu, uint64_t insns)
{
	machine_set_stop(guest->machine, cpu, insns);
	machine_run(guest->machine, guest->options.insns_max, &guest->result);
	assert_int_equal(guest->result.end, MACHINE_STOP);
}

/* "pmi" in the middle of its work, events forgotten. */
static void
load_pmi(struct guest *guest)
{
	struct guest_options options = { .param = 5, .no_exec_log = true };
	struct machine_pt pt;

	guest_load("pmi", &options, guest);
	go_to(guest, 0, AT);
	machine_pt(guest->machine, 0, &pt);
	assert_true(pt.trigger_en);
	assert_false(pt.in_nmi);
	guest->event_count = 0;
}

/* The INDEX-th event of that kind; NULL: there are not so many. */
static const struct event *
find(const struct guest *guest, enum event_kind kind, size_t index)
{
	for (size_t i = 0; i < guest->event_count; i++) {
		if (guest->event[i].kind == kind && index-- == 0)
			return &guest->event[i];
	}
	return NULL;
}

/* The same; fails if there is none. */
static struct event
event_at(const struct guest *guest, enum event_kind kind, size_t index)
{
	const struct event *event = find(guest, kind, index);

	if (event == NULL) {
		fail_msg("no %s", event_info(kind)->name);
		return (struct event){ 0 };
	}
	return *event;
}

static void
assert_event(const struct guest *guest, enum event_kind kind, size_t index,
    uint64_t insns)
{
	assert_int_equal(event_at(guest, kind, index).insns, insns);
}

/* An NMI after LATEST instructions at the most: turns of a REP count as well. */
static void
assert_nmi(const struct guest *guest, uint64_t after, uint64_t latest)
{
	assert_in_range(event_at(guest, EVENT_NMI, 0).insns, after, latest);
}

/* The rows of deviation.def that a test has done. */
static bool row_seen[DEVIATION_COUNT];

static bool
inject(
    struct guest *guest, unsigned cpu, enum deviation_kind what, uint64_t param)
{
	bool done = machine_inject(guest->machine, cpu, what, param);

	row_seen[what] |= done;
	return done;
}

static void
kind(struct guest *guest, enum deviation_kind what, uint64_t param)
{
	size_t before = guest->event_count;

	assert_true(inject(guest, 0, what, param));
	assert_true(guest->event_count > before);
	assert_int_equal(guest->event[before].kind, EVENT_DEVIATION);
	assert_int_equal(guest->event[before].a, what);
	assert_int_equal(guest->event[before].b, param);
	assert_int_equal(
	    guest->event[before].c, machine_rip(guest->machine, 0));
}

static void
refuse(struct guest *guest, enum deviation_kind what, uint64_t param)
{
	size_t before = guest->event_count;

	assert_false(inject(guest, 0, what, param));
	assert_int_equal(guest->event_count, before);
}

static struct machine_pt
pt_of(struct guest *guest)
{
	struct machine_pt pt;

	machine_pt(guest->machine, 0, &pt);
	return pt;
}

static void
a_pmi_and_its_faults(void **state)
{
	struct guest guest;

	(void)state;
	load_pmi(&guest);
	kind(&guest, DEVIATION_PMI, 0);
	assert_event(&guest, EVENT_TOPA_PMI, 0, AT);
	assert_true(pt_of(&guest).global_status & BIT55);
	assert_true(pt_of(&guest).lvt_pc & LVT_MASKED);
	go_to(&guest, 0, AT + 30);
	assert_event(&guest, EVENT_NMI, 0, AT + 4);
	guest_free(&guest);

	load_pmi(&guest);
	kind(&guest, DEVIATION_LATE, 100);
	kind(&guest, DEVIATION_PMI, 0);
	go_to(&guest, 0, AT + 200);
	assert_nmi(&guest, AT + 40, AT + 104);
	guest_free(&guest);

	load_pmi(&guest);
	kind(&guest, DEVIATION_LOST, 0);
	refuse(&guest, DEVIATION_LOST, 0);
	kind(&guest, DEVIATION_PMI, 0);
	go_to(&guest, 0, AT + 30);
	assert_null(find(&guest, EVENT_NMI, 0));
	assert_true(pt_of(&guest).global_status & BIT55);
	assert_false(pt_of(&guest).lvt_pc & LVT_MASKED);
	kind(&guest, DEVIATION_PMI, 0);
	go_to(&guest, 0, AT + 60);
	assert_nmi(&guest, AT + 30, AT + 34);
	guest_free(&guest);
}

static void
twice_and_merged(void **state)
{
	struct event iret;
	struct guest guest;

	(void)state;
	load_pmi(&guest);
	kind(&guest, DEVIATION_DOUBLE, 0);
	kind(&guest, DEVIATION_PMI, 0);
	go_to(&guest, 0, AT + 100);
	assert_event(&guest, EVENT_NMI, 0, AT + 4);
	iret = event_at(&guest, EVENT_IRET, 0);
	assert_event(&guest, EVENT_NMI, 1, iret.insns);
	assert_null(find(&guest, EVENT_NMI, 2));
	guest_free(&guest);

	load_pmi(&guest);
	kind(&guest, DEVIATION_MERGE, 0);
	kind(&guest, DEVIATION_PMI, 0);
	go_to(&guest, 0, AT + 30);
	assert_null(find(&guest, EVENT_NMI, 0));
	assert_true(pt_of(&guest).lvt_pc & LVT_MASKED);
	kind(&guest, DEVIATION_PMI, 0);
	go_to(&guest, 0, AT + 150);
	assert_nmi(&guest, AT + 30, AT + 34);
	assert_null(find(&guest, EVENT_NMI, 1));
	guest_free(&guest);
}

/* Counter 0 of "counters" would overflow 250 instructions after its start. */
static void
a_counter_overflows_at_once(void **state)
{
	const struct guest_options options = { .param = 2 | 250 << 8,
		.no_exec_log = true };
	struct machine_pt pt = { .interrupting = 0 };
	struct guest guest;
	uint64_t at = 0;

	(void)state;
	guest_load("counters", &options, &guest);
	refuse(&guest, DEVIATION_COUNTER, 0);
	while (pt.interrupting == 0) {
		go_to(&guest, 0, ++at);
		machine_pt(guest.machine, 0, &pt);
	}
	assert_int_equal(pt.interrupting, 1);
	go_to(&guest, 0, at += 10);
	guest.event_count = 0;
	kind(&guest, DEVIATION_COUNTER, 0);
	refuse(&guest, DEVIATION_COUNTER, 0);
	go_to(&guest, 0, at + 30);
	assert_event(&guest, EVENT_COUNTER_OVERFLOW, 0, at + 1);
	assert_nmi(&guest, at + 1, at + 8);
	assert_null(find(&guest, EVENT_COUNTER_OVERFLOW, 1));
	guest_free(&guest);
}

static void
interrupts_out_of_nothing(void **state)
{
	struct guest guest;

	(void)state;
	load_pmi(&guest);
	kind(&guest, DEVIATION_NMI, 0);
	refuse(&guest, DEVIATION_NMI, 0);
	go_to(&guest, 0, AT + 5);
	assert_event(&guest, EVENT_NMI, 0, AT);
	guest_free(&guest);

	load_pmi(&guest);
	kind(&guest, DEVIATION_SPURIOUS, 0);
	assert_true(pt_of(&guest).lvt_pc & LVT_MASKED);
	assert_false(pt_of(&guest).global_status & BIT55);
	refuse(&guest, DEVIATION_SPURIOUS, 0);
	refuse(&guest, DEVIATION_LVT, 0);
	go_to(&guest, 0, AT + 5);
	assert_event(&guest, EVENT_NMI, 0, AT);
	guest_free(&guest);

	load_pmi(&guest);
	kind(&guest, DEVIATION_BIT55, 0);
	assert_true(pt_of(&guest).global_status & BIT55);
	refuse(&guest, DEVIATION_BIT55, 0);
	kind(&guest, DEVIATION_LVT, 0);
	assert_true(pt_of(&guest).lvt_pc & LVT_MASKED);
	kind(&guest, DEVIATION_STUCK, 1);
	go_to(&guest, 0, AT + 100);
	assert_null(find(&guest, EVENT_NMI, 0));
	guest_free(&guest);
}

static void
the_unit_goes_wrong(void **state)
{
	struct machine_pt pt;
	struct guest guest;
	uint64_t entry, pa;

	(void)state;
	load_pmi(&guest);
	kind(&guest, DEVIATION_ERROR, 0);
	assert_true(pt_of(&guest).status & TZ_BIT(4));
	refuse(&guest, DEVIATION_PMI, 0);
	refuse(&guest, DEVIATION_ERROR, 0);
	refuse(&guest, DEVIATION_FLIP_TOPA, 3);
	refuse(&guest, DEVIATION_OVERFLOW, 1);
	guest_free(&guest);

	load_pmi(&guest);
	kind(&guest, DEVIATION_STOP, 0);
	assert_true(pt_of(&guest).status & TZ_BIT(5));
	assert_non_null(find(&guest, EVENT_STOPPED, 0));
	guest_free(&guest);

	load_pmi(&guest);
	kind(&guest, DEVIATION_OVERFLOW, 3);
	kind(&guest, DEVIATION_STALE, 2);
	pt = pt_of(&guest);
	pa = pt.output_base + tz_bits(pt.mask_ptrs, 31, 7) * 8;
	entry = guest_u64(&guest, pa);
	kind(&guest, DEVIATION_FLIP_TOPA, 13);
	assert_int_equal(guest_u64(&guest, pa), entry ^ TZ_BIT(13));
	refuse(&guest, DEVIATION_FLIP_TOPA, 64);
	refuse(&guest, DEVIATION_FLIP_AREA, 0);
	guest_free(&guest);
}

static void
a_write_of_a_trace_msr_faults_once(void **state)
{
	struct event fault;
	struct guest guest;

	(void)state;
	load_pmi(&guest);
	kind(&guest, DEVIATION_WRMSR_GP, 0);
	machine_run(guest.machine, 0, &guest.result);
	guest_assert_exit(&guest);
	fault = event_at(&guest, EVENT_EXCEPTION, 0);
	assert_int_equal(fault.a, 13);
	assert_int_equal(fault.c, 0);
	assert_null(find(&guest, EVENT_EXCEPTION, 1));
	guest_free(&guest);
}

static void
trace_state_in_memory(void **state)
{
	struct guest_options options = { .param = 2, .no_exec_log = true };
	struct event saved, restored, read;
	struct guest guest;
	uint64_t rip;
	uint8_t byte;

	(void)state;
	guest_run("control", &options, &guest);
	guest_assert_exit(&guest);
	saved = event_at(&guest, EVENT_XSAVES, 0);
	restored = event_at(&guest, EVENT_XRSTORS, 0);
	assert_int_equal(saved.a, 0x40a000 + 576);
	assert_int_equal(saved.b, 0x210d);
	assert_int_equal(restored.a, saved.a);
	assert_int_equal(restored.b, 0x210d);
	read = event_at(&guest, EVENT_MSR_READ, 0);
	assert_int_equal(read.a, 0x570);
	assert_int_equal(read.b, 0);
	rip = restored.c;
	guest_free(&guest);

	guest_load("control", &options, &guest);
	kind(&guest, DEVIATION_XRSTORS_GP, 0);
	/* It faults once, and is done again. */
	machine_run(guest.machine, 0, &guest.result);
	guest_assert_exit(&guest);
	assert_int_equal(event_at(&guest, EVENT_EXCEPTION, 0).a, 13);
	assert_int_equal(event_at(&guest, EVENT_EXCEPTION, 0).b, rip);
	byte = guest.ram[0x40a000 + 576 + 65];
	kind(&guest, DEVIATION_FLIP_AREA, 65 * 8 + 3);
	assert_int_equal(guest.ram[0x40a000 + 576 + 65], byte ^ 8);
	guest_free(&guest);
}

static void
a_kernel_function_fails_once(void **state)
{
	struct guest_options options = { .param = 1, .no_exec_log = true };
	struct guest guest;

	(void)state;
	guest_load("control", &options, &guest);
	kind(&guest, DEVIATION_FAIL, 0);
	machine_run(guest.machine, 0, &guest.result);
	assert_int_equal(guest_note(&guest, 9, 0), 1);
	assert_int_equal(guest_note(&guest, 9, 1), 0);
	guest_free(&guest);
}

static void
another_cpu_runs(void **state)
{
	struct guest_options options = {
		.cpus = 2, .param = 2, .no_exec_log = true
	};
	struct event event;
	struct guest guest;

	(void)state;
	guest_load("smp", &options, &guest);
	refuse(&guest, DEVIATION_SWITCH, 1);
	go_to(&guest, 1, 400);
	guest.event_count = 0;
	assert_false(inject(&guest, 1, DEVIATION_SWITCH, 1));
	assert_false(inject(&guest, 1, DEVIATION_SWITCH, 2));
	assert_true(inject(&guest, 1, DEVIATION_SWITCH, 0));
	machine_set_stop(guest.machine, 1, 401);
	machine_run(guest.machine, 0, &guest.result);
	event = event_at(&guest, EVENT_SWITCH, 0);
	assert_int_equal(event.cpu, 0);
	assert_int_equal(guest.result.end, MACHINE_STOP);
	machine_run(guest.machine, 0, &guest.result);
	guest_assert_exit(&guest);
	assert_int_equal(guest_note(&guest, 1, 0), 1000);
	guest_free(&guest);
}

/*
 * Where the instruction has no LOCK, what the other CPU has counted meanwhile is lost;
 * nothing else is, and nothing where there is nothing between its load and its store.
 */
static void
another_cpu_runs_within_an_instruction(void **state)
{
	struct guest_options options = { .cpus = 2, .no_exec_log = true };
	struct machine_snapshot *begin;
	struct tz_error err;
	unsigned splits = 0;
	struct guest guest;
	uint64_t middle;

	(void)state;
	guest_run("split", &options, &guest);
	middle = event_at(&guest, EVENT_HALT, 0).insns - 400;
	guest_free(&guest);
	guest_load("split", &options, &guest);
	refuse(&guest, DEVIATION_SPLIT, 1);
	go_to(&guest, 1, middle);
	begin = machine_snapshot_take(guest.machine, &err);
	assert_non_null(begin);
	for (uint64_t i = 0; i < 20; i++) {
		bool split;

		machine_snapshot_apply(guest.machine, begin);
		guest.event_count = 0;
		go_to(&guest, 1, middle + 1 + i);
		assert_false(inject(&guest, 1, DEVIATION_SPLIT, 1));
		split = inject(&guest, 1, DEVIATION_SPLIT, 0);
		splits += split;
		if (!split)
			assert_true(inject(&guest, 1, DEVIATION_SWITCH, 0));
		machine_run(guest.machine, 0, &guest.result);
		guest_assert_exit(&guest);
		assert_int_equal(guest_note(&guest, 2, 0), 400);
		if (split)
			assert_in_range(guest_note(&guest, 1, 0), 200, 399);
		else
			assert_int_equal(guest_note(&guest, 1, 0), 400);
	}
	assert_int_equal(splits, 5);
	machine_snapshot_free(guest.machine, begin);
	guest_free(&guest);
}

/* The three positions that "older" reads, acted on at AT instructions; 0: not. */
static uint64_t
read_positions(uint64_t at, uint64_t position[3])
{
	uint64_t begin;
	struct guest_options options = { .no_exec_log = true };
	struct guest guest;

	guest_load("older", &options, &guest);
	refuse(&guest, DEVIATION_OLDER, 0);
	if (at != 0) {
		go_to(&guest, 0, at);
		kind(&guest, DEVIATION_OLDER, 0);
	}
	machine_run(guest.machine, 0, &guest.result);
	guest_assert_exit(&guest);
	for (unsigned i = 0; i < 3; i++)
		position[i] = guest_note(&guest, i + 1, 0);
	begin = event_at(&guest, EVENT_TRACE_ON, 0).insns;
	guest_free(&guest);
	return begin;
}

/* Of 400 rounds of 4 instructions; the reads come after all of them. */
static void
a_position_may_be_older_while_tracing(void **state)
{
	uint64_t exact[3], older[3], oldest[3], late[3], begin;

	(void)state;
	begin = read_positions(0, exact);
	assert_true(exact[2] > exact[0]);
	read_positions(begin + 1500, older);
	assert_true(older[0] < exact[0]);
	assert_int_equal(older[1], exact[1]);
	assert_int_equal(older[2], exact[2]);
	read_positions(begin + 900, oldest);
	assert_true(oldest[0] < older[0]);
	/* Armed where no read comes before the trace goes off: that one is exact. */
	read_positions(begin + 1650, late);
	assert_memory_equal(late, exact, sizeof(exact));
}

static void
interrupts_early_and_late(void **state)
{
	struct guest_options options = { .no_exec_log = true };
	struct event whole, event;
	struct machine_snapshot *snapshot;
	struct guest guest;
	uint64_t at;

	(void)state;
	guest_run("interrupts", &options, &guest);
	/* One of the periodic timer, between two of its ticks. */
	for (size_t i = 0, ticks = 0; ticks < 20; i++) {
		whole = event_at(&guest, EVENT_INTERRUPT, i);
		ticks += whole.a == 0x20;
	}
	at = whole.insns - 20;
	guest_free(&guest);

	guest_load("interrupts", &options, &guest);
	refuse(&guest, DEVIATION_PREEMPT, 0);
	go_to(&guest, 0, at);
	snapshot = machine_snapshot_take(guest.machine, NULL);
	guest.event_count = 0;
	kind(&guest, DEVIATION_PREEMPT, 0);
	go_to(&guest, 0, at + 5);
	assert_event(&guest, EVENT_INTERRUPT, 0, at);
	machine_snapshot_apply(guest.machine, snapshot);
	guest.event_count = 0;
	kind(&guest, DEVIATION_HOLD, 200);
	refuse(&guest, DEVIATION_HOLD, 0);
	machine_run(guest.machine, 0, &guest.result);
	event = event_at(&guest, EVENT_INTERRUPT, 0);
	assert_true(event.cycles >= guest.event[0].cycles + 200);
	assert_true(event.cycles < guest.event[0].cycles + 220);
	machine_snapshot_free(guest.machine, snapshot);
	guest_free(&guest);
}

static void
every_row_is_done(void **state)
{
	(void)state;
	for (unsigned i = 0; i < DEVIATION_COUNT; i++)
		if (!row_seen[i])
			fail_msg("no test does deviation %s",
			    deviation_info((enum deviation_kind)i)->word);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pmi_and_its_faults),
		cmocka_unit_test(twice_and_merged),
		cmocka_unit_test(a_counter_overflows_at_once),
		cmocka_unit_test(interrupts_out_of_nothing),
		cmocka_unit_test(the_unit_goes_wrong),
		cmocka_unit_test(a_write_of_a_trace_msr_faults_once),
		cmocka_unit_test(trace_state_in_memory),
		cmocka_unit_test(a_kernel_function_fails_once),
		cmocka_unit_test(another_cpu_runs),
		cmocka_unit_test(another_cpu_runs_within_an_instruction),
		cmocka_unit_test(a_position_may_be_older_while_tracing),
		cmocka_unit_test(interrupts_early_and_late),
		cmocka_unit_test(every_row_is_done),
	};

	if (argc > 1)
		guest_set_dir(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
