/*
 * Goal: the local APIC's interrupts and NMIs are taken where the architecture
 * takes them, at exact times.
 * Method: one guest with the timer in every mode, HLT, STI, priorities and
 * nested NMIs; what its handlers noted, and the events, against the expected.
 */
#include "tests/unit/emu/guest.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct guest guest;

static int
run(void **state)
{
	struct guest_options options = { 0 };

	(void)state;
	guest_run_all_ways("interrupts", &options, &guest);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	guest_free(&guest);
	return 0;
}

static void
the_guest_comes_to_its_end(void **state)
{
	(void)state;
	guest_assert_exit(&guest);
	assert_int_equal(guest.result.code, 0);
}

static void
sti_holds_an_interrupt_back_for_one_instruction(void **state)
{
	(void)state;
	/* After the JMP that follows STI; and after the HLT that does. */
	assert_int_equal(
	    guest_record(&guest, 0, 0).rip, guest_note(&guest, 7, 0));
	assert_int_equal(
	    guest_record(&guest, 0, 1).rip, guest_note(&guest, 7, 1));
}

static void
the_timer_counts_every_cycle(void **state)
{
	(void)state;
	/* 100 were written; one instruction later 99 were left. */
	assert_true(guest_note(&guest, 99, 0) > 100);
}

static void
halted_time_passes_until_the_timer_is_due(void **state)
{
	uint64_t halted = 0;
	bool seen = false;

	(void)state;
	for (size_t i = 0; i < guest.event_count; i++) {
		const struct event *event = &guest.event[i];

		if (event->kind == EVENT_HALT)
			halted = event->cycles;
		if (event->kind != EVENT_INTERRUPT || halted == 0)
			continue;
		/* 5000 from the write: the STI and the HLT are part of it. */
		seen |= event->cycles == halted + 5000 - 2;
		halted = 0;
	}
	assert_true(seen);
}

static void
a_periodic_timer_keeps_its_period(void **state)
{
	uint64_t first = 0, last = 0;
	size_t count = 0;

	(void)state;
	/* The first after a HLT belongs to the timer before. */
	for (size_t i = 0; i < guest.event_count; i++) {
		const struct event *event = &guest.event[i];

		if (event->kind == EVENT_HALT) {
			count = 0;
		} else if (event->kind == EVENT_INTERRUPT && event->a == 0x20) {
			first = count++ == 1 ? event->cycles : first;
			last = event->cycles;
		}
	}
	assert_true(count > 200);
	/* None is lost: each may be late, by less than half a period. */
	assert_int_equal((last - first + 137 / 2) / 137 + 2, count);
}

static void
priorities_decide_what_interrupts_what(void **state)
{
	static const uint64_t order[] = { 0x28, 0x29, 0x18, 0x28, 0x29, 0x19 };

	(void)state;
	/* TPR 20H lets neither in; vector 18H waits in the IRR. */
	assert_int_equal(guest_note(&guest, 4, 0), 1u << 24);
	for (size_t i = 0; i < TZ_ARRAY_LEN(order); i++)
		assert_int_equal(guest_note(&guest, 5, i), order[i]);
}

static void
a_second_nmi_waits_for_iret_and_a_third_is_lost(void **state)
{
	static const uint64_t order[] = { 1, 101, 2, 102 };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(order); i++)
		assert_int_equal(guest_note(&guest, 6, i), order[i]);
	assert_int_equal(guest.counters[0].nmis, 2);
	assert_int_equal(guest_count_events(&guest, EVENT_NMI), 2);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_guest_comes_to_its_end),
		cmocka_unit_test(
		    sti_holds_an_interrupt_back_for_one_instruction),
		cmocka_unit_test(the_timer_counts_every_cycle),
		cmocka_unit_test(halted_time_passes_until_the_timer_is_due),
		cmocka_unit_test(a_periodic_timer_keeps_its_period),
		cmocka_unit_test(priorities_decide_what_interrupts_what),
		cmocka_unit_test(
		    a_second_nmi_waits_for_iret_and_a_third_is_lost),
	};

	guest_set_dir(argc == 2 ? argv[1] : ".");
	return cmocka_run_group_tests(tests, run, end);
}
