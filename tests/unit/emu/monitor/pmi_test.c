/*
 * Goal: a PMI that becomes an NMI in the middle of anything, string
 * instructions above all, changes nothing but what its handler does.
 * Method: the same work behind other numbers of jumps and NOPs, so that the
 * NMI falls elsewhere each time; results, time and trace are compared between
 * the ways of running, and the trace with what retired: a string that was cut
 * counts once.  The one-entry table of Broadwell and its early PMI likewise.
 */
#include "tests/unit/emu/guest.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define WORK 0x900000

static void
assert_work_is_right(const struct guest *guest)
{
	guest_assert_exit(guest);
	assert_int_equal(guest->result.code, 0);
	/* x87 and vector registers outlive the change of engines. */
	assert_int_equal(guest_note(guest, 1, 0), 2);
	assert_int_equal(guest_note(guest, 2, 0), 0x0102030405060708);
	assert_int_equal(
	    guest_u64(guest, WORK) & 0xff, guest_u64(guest, WORK + 8) & 0xff);
	assert_int_equal(guest_u64(guest, WORK), guest_u64(guest, WORK + 256));
}

/* Did NMIs cut a string instruction after some, not all of its turns? */
static unsigned
count_cut_strings(const struct guest *guest)
{
	unsigned count = 0;

	for (size_t i = 0; i < guest_record_count(guest, 0); i++) {
		struct guest_record record = guest_record(guest, 0, i);
		uint64_t code = guest_u64(guest, record.rip - GUEST_KERN);
		bool rep = (code & 0xfe) == 0xf2;

		count += rep && record.rcx > 0 && record.rcx < 13;
	}
	return count;
}

static void
an_nmi_may_land_anywhere(void **state)
{
	unsigned cuts = 0;

	(void)state;
	for (unsigned param = 0; param < 64; param += 3) {
		struct guest_options options = { .param = param };
		struct guest guest;

		guest_run_all_ways("pmi", &options, &guest);
		assert_work_is_right(&guest);
		cuts += count_cut_strings(&guest);
		assert_int_equal(
		    guest.counters[0].nmis, guest_note(&guest, 3, 0));
		guest_free(&guest);
	}
	assert_true(cuts > 22);
}

static void
a_pmi_under_a_blocked_nmi_waits_for_iret(void **state)
{
	struct guest_options options = { .param = 0x100 };
	struct guest guest;
	unsigned after_iret = 0;

	(void)state;
	guest_run_all_ways("pmi", &options, &guest);
	assert_work_is_right(&guest);
	assert_int_equal(guest.counters[0].nmis, guest_note(&guest, 3, 0));
	for (size_t i = 1; i < guest.event_count; i++) {
		const struct event *event = &guest.event[i];

		after_iret += event->kind == EVENT_NMI &&
		    event[-1].kind == EVENT_IRET &&
		    event[-1].insns == event->insns;
	}
	assert_true(after_iret > 2);
	guest_free(&guest);
}

/*
 * SDM vol. 3, 33.3.1 "Detection of Intel PT": a processor of one ToPA entry raises its
 * PMI before the end, 512 bytes here, so that a handler still finds room.
 */
static void
the_pmi_of_broadwell_leaves_room(void **state)
{
	struct guest_options options = { .profile = "broadwell",
		.no_decode = true };
	struct guest guest;

	(void)state;
	for (options.param = 0; options.param < 2; options.param++) {
		uint64_t pmis, wraps;

		guest_run_all_ways("single", &options, &guest);
		guest_assert_exit(&guest);
		assert_int_equal(guest.result.code, 0);
		pmis = guest.counters[0].nmis;
		wraps = guest_count_events(&guest, EVENT_REGION_FULL);
		assert_true(pmis > 2);
		assert_int_equal(
		    guest_count_events(&guest, EVENT_TOPA_PMI), pmis);
		assert_int_equal(guest_count_events(&guest, EVENT_PT_ERROR), 0);
		for (uint64_t i = 0; i < pmis; i++) {
			assert_in_range(
			    guest_note(&guest, 1, i), 4096 - 512, 4095);
			assert_int_equal(guest_note(&guest, 2, i), 1 << 23);
		}
		/* One a pass, whether the output goes round or not. */
		assert_in_range(wraps, options.param == 0 ? 0 : pmis - 1,
		    options.param == 0 ? 0 : pmis);
		guest_free(&guest);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_nmi_may_land_anywhere),
		cmocka_unit_test(the_pmi_of_broadwell_leaves_room),
		cmocka_unit_test(a_pmi_under_a_blocked_nmi_waits_for_iret),
	};

	guest_set_dir(argc == 2 ? argv[1] : ".");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
