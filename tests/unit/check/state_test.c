/*
 * Goal: the state of the invariants goes back with the machine's, and its hash tells
 * states apart by what can still be judged, not by when it was.  Method: one run cut
 * in the middle, judged to its end from a saved state and without; pairs of runs.
 */
#include "tests/unit/check/rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct rig_step first_half[] = { ON, PSB, OUT(0, 0x1000),
	READ(0, 0x800), { 0 } };
static const struct rig_step good_half[] = { READ(0x800, 0x800), OFF, FINISH,
	{ 0 } };
static const struct rig_step bad_half[] = { READ(0, 0x800), BEGIN(2), DONE(0),
	EV(FREE, ABI_DMAP + RIG_OTHER, 0, 0), EV(ALLOC, RIG_MAPPED, 0x3000, 7),
	EV(BUFFER, 3, 0x80000, 0x1000), { 0 } };
static const struct rig_step other_half[] = { READ(0x800, 0x400), { 0 } };

static bool
holds_trace(const struct check *check, uint64_t pa)
{
	uint64_t frame = pa / RIG_PAGE;

	return (check_trace_frames(check)[frame / 64] >> frame % 64 & 1) != 0;
}

static void
a_state_goes_back(void **unused)
{
	struct check *check = rig_create(false);
	void *saved;
	uint64_t hash;

	(void)unused;
	rig_play(check, first_half);
	saved = malloc(check_size(check));
	assert_non_null(saved);
	check_save(check, saved);
	hash = check_hash(check);
	rig_play(check, bad_half);
	assert_int_equal(check_count(check), 1);
	assert_int_equal(check_at(check, 0)->id, CHECK_REPORTED_TWICE);
	assert_int_not_equal(check_hash(check), hash);
	assert_true(holds_trace(check, 0x80000));
	check_restore(check, saved);
	assert_false(holds_trace(check, 0x80000));
	assert_true(holds_trace(check, RIG_BUFFER));
	assert_int_equal(check_hash(check), hash);
	rig_play(check, good_half);
	assert_int_equal(check_count(check), 0);
	check_restore(check, saved);
	rig_play(check, bad_half);
	assert_int_equal(check_count(check), 1);
	free(saved);
	check_destroy(check);
}

static void
the_hash_knows_no_time(void **unused)
{
	struct check *one = rig_create(false), *two = rig_create(false);
	struct event later = { .kind = EVENT_NOTE, .insns = 7, .cycles = 9 };

	(void)unused;
	check_event(two, &later);
	rig_play(one, first_half);
	rig_play(two, first_half);
	assert_int_equal(check_hash(one), check_hash(two));
	rig_play(two, other_half);
	assert_int_not_equal(check_hash(one), check_hash(two));
	check_destroy(one);
	check_destroy(two);
}

/* What is fresh matters while an operation may still fail. */
static void
the_hash_knows_what_an_operation_has_changed(void **unused)
{
	static const struct rig_step before[] = {
		EV(ALLOC, ABI_DMAP + 0x90000, 64, RIG_TEXT), BEGIN(2), { 0 }
	};
	static const struct rig_step within[] = { BEGIN(2),
		EV(ALLOC, ABI_DMAP + 0x90000, 64, RIG_TEXT), { 0 } };
	static const struct rig_step done[] = { DONE(0), { 0 } };
	struct check *one = rig_create(false), *two = rig_create(false);

	(void)unused;
	rig_play(one, before);
	rig_play(two, within);
	assert_int_not_equal(check_hash(one), check_hash(two));
	rig_play(one, done);
	rig_play(two, done);
	assert_int_equal(check_hash(one), check_hash(two));
	check_destroy(one);
	check_destroy(two);
}

static void
a_new_run_keeps_the_allocations(void **unused)
{
	static const struct rig_step output[] = { ON, PSB,
		EV(OUTPUT, RIG_OTHER, 64, 0), { 0 } };
	static const struct rig_step freed[] = { EV(OUTPUT, RIG_FREED, 64, 0),
		{ 0 } };
	struct check *check = rig_create(false);

	(void)unused;
	rig_play(check, output);
	assert_int_equal(check_count(check), 1);
	check_begin(check);
	assert_false(holds_trace(check, RIG_BUFFER));
	assert_int_equal(check_count(check), 0);
	/* No buffer is known: any allocation may be one. */
	rig_play(check, output);
	assert_int_equal(check_count(check), 0);
	rig_play(check, freed);
	assert_int_equal(check_at(check, 0)->id, CHECK_OUTPUT_FREED);
	check_destroy(check);
}

static void
a_frame_holds_trace_until_it_is_allocated_again(void **unused)
{
	static const struct rig_step freed[] = {
		EV(FREE, ABI_DMAP + RIG_BUFFER, 0, 0), { 0 }
	};
	static const struct rig_step taken[] = {
		EV(ALLOC, ABI_DMAP + RIG_BUFFER, 16, 0), { 0 }
	};
	struct check *check = rig_create(false);

	(void)unused;
	rig_play(check, freed);
	assert_true(holds_trace(check, RIG_BUFFER));
	rig_play(check, taken);
	assert_false(holds_trace(check, RIG_BUFFER));
	assert_true(holds_trace(check, RIG_BUFFER + RIG_PAGE));
	check_destroy(check);
}

static void
a_violation_says_where(void **unused)
{
	static const struct rig_step steps[] = { EVENT_ON(
						     1, CALL_BEGIN, 5, 2, 9),
		EVENT_ON(1, PT_ERROR, 0, 0, 0), EVENT_ON(1, PT_ERROR, 0, 0, 0),
		{ 0 } };
	struct check *check = rig_create(false);
	const struct check_violation *found;

	(void)unused;
	rig_play(check, steps);
	assert_int_equal(check_count(check), 1);
	found = check_at(check, 0);
	assert_int_equal(found->cpu, 1);
	assert_int_equal(found->step, 5);
	assert_int_equal(found->rip, 0x1001);
	assert_int_equal(found->event, 5);
	assert_string_equal(found->text,
	    "CPU 1: an operational error ends the output: for no reason");
	check_destroy(check);
}

static void
sizes_are_in_the_text(void **unused)
{
	static const struct rig_step steps[] = { ON, PSB, OUT(0, 0x2000),
		READ(0, 0x1000), READ(0x1000, 0x1000), READ(0, 0x1000),
		READ(0x1000, 0x1000), BEGIN(2), DONE(0), { 0 } };
	struct check *check = rig_create(false);

	(void)unused;
	rig_play(check, steps);
	assert_int_equal(check_count(check), 1);
	assert_string_equal(check_at(check, 0)->text,
	    "stream 0: 8192 bytes are reported a second time");
	check_destroy(check);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_state_goes_back),
		cmocka_unit_test(the_hash_knows_no_time),
		cmocka_unit_test(the_hash_knows_what_an_operation_has_changed),
		cmocka_unit_test(a_new_run_keeps_the_allocations),
		cmocka_unit_test(
		    a_frame_holds_trace_until_it_is_allocated_again),
		cmocka_unit_test(a_violation_says_where),
		cmocka_unit_test(sizes_are_in_the_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
