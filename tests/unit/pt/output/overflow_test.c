/*
 * Goal: an overflow of the internal buffer loses what it is asked to and leaves a
 * stream that decodes from where tracing resumes.  Method: packets as text for
 * each way to resolve one; then long walks through a real program with overflows
 * all over, decoded by libipt's instruction decoder.
 */
#include "tests/unit/pt/stroll.h"

#include "emu/pt/inject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define BASE     UINT64_C(0xffffffff81000000)
#define OUTSIDE  UINT64_C(0xffffffff82000000)
#define FILTER   TZ_BIT(32)
#define STOPPING TZ_BIT(33)

static struct fake *
start(uint64_t ctl)
{
	struct fake *fake = fake_create();

	fake_wrmsr(fake, 0x580, BASE);
	fake_wrmsr(fake, 0x581, BASE + 0xffff);
	if (ctl & STOPPING) {
		fake_wrmsr(fake, 0x580, OUTSIDE);
		fake_wrmsr(fake, 0x581, OUTSIDE + 0xffff);
	}
	fake_start(fake, ctl);
	fake_forget(fake);
	return fake;
}

static void
jump(struct fake *fake, uint64_t target)
{
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, target);
}

static void
pending_bits_and_the_transfers_asked_for_are_lost(void **state)
{
	struct fake *fake = start(CTL_PLAIN);

	(void)state;
	fake_cond(fake, true, BASE);
	assert_true(pt_unit_overflow(fake->unit, 3));
	assert_false(pt_unit_overflow(fake->unit, 3));
	assert_false(pt_unit_fast(fake->unit)->fast);
	jump(fake, BASE + 4);
	fake_cond(fake, true, BASE);
	fake_expect_packets(fake, "");
	jump(fake, BASE + 8);
	fake_expect_packets(fake, "OVF FUP(3:ffffffff81000008)");
	assert_true(pt_unit_fast(fake->unit)->fast);
	fake_cond(fake, false, BASE);
	jump(fake, BASE + 12);
	fake_expect_packets(fake, "TNT(N) EXEC(64) TIP(3:ffffffff8100000c)");
	fake_destroy(fake);
}

static void
no_transfers_means_the_next_one(void **state)
{
	struct fake *fake = start(CTL_PLAIN);

	(void)state;
	assert_true(pt_unit_overflow(fake->unit, 0));
	jump(fake, BASE + 4);
	fake_expect_packets(fake, "OVF FUP(3:ffffffff81000004)");
	fake_destroy(fake);
}

static void
a_ret_is_not_compressed_against_a_call_before(void **state)
{
	struct fake *fake = start(CTL_PLAIN);
	struct pt_transfer call = { .kind = PT_TRANSFER_CALL_DIRECT,
		.nlip = BASE + 5 };

	(void)state;
	call.after = fake->at;
	pt_unit_transfer(fake->unit, &call);
	assert_true(pt_unit_overflow(fake->unit, 2));
	pt_unit_transfer(fake->unit, &call);
	jump(fake, BASE + 4);
	fake_forget(fake);
	fake_transfer(fake, PT_TRANSFER_RET, BASE + 5);
	fake_expect_packets(fake, "EXEC(64) TIP(3:ffffffff81000005)");
	fake_destroy(fake);
}

static void
without_packet_en_pge_comes_later(void **state)
{
	struct fake *fake = start(CTL_PLAIN | FILTER);

	(void)state;
	jump(fake, BASE + 4);
	fake_forget(fake);
	assert_true(pt_unit_overflow(fake->unit, 1));
	jump(fake, OUTSIDE);
	fake_expect_packets(fake, "OVF");
	jump(fake, BASE + 8);
	fake_expect_packets(fake, "EXEC(64) PGE(3:ffffffff81000008)");
	jump(fake, OUTSIDE);
	fake_forget(fake);
	assert_true(pt_unit_overflow(fake->unit, 1));
	jump(fake, BASE + 12);
	fake_expect_packets(fake, "OVF FUP(3:ffffffff8100000c)");
	fake_destroy(fake);
}

static void
out_of_context_near_branches_count_too(void **state)
{
	struct fake *fake = start(CTL_PLAIN & ~CTL_OS);

	(void)state;
	assert_true(pt_unit_fast(fake->unit)->off);
	assert_true(pt_unit_overflow(fake->unit, 2));
	assert_false(pt_unit_fast(fake->unit)->off);
	fake_cond(fake, true, BASE);
	fake_cond(fake, true, BASE);
	fake_expect_packets(fake, "OVF");
	assert_true(pt_unit_fast(fake->unit)->off);
	fake_destroy(fake);
}

static void
a_disable_resolves_it_first(void **state)
{
	struct fake *fake = start(CTL_PLAIN);

	(void)state;
	fake_cond(fake, true, BASE);
	assert_true(pt_unit_overflow(fake->unit, 100));
	jump(fake, BASE + 4);
	fake_stop(fake);
	fake_expect_packets(
	    fake, "OVF FUP(3:ffffffff81000100) FUP(3:ffffffff81000100) PGD()");
	fake_wrmsr(fake, 0x570, (CTL_PLAIN & ~CTL_OS) | CTL_TRACE_EN);
	assert_true(pt_unit_overflow(fake->unit, 100));
	fake_forget(fake);
	fake_stop(fake);
	fake_expect_packets(fake, "OVF");
	assert_false(pt_unit_overflow(fake->unit, 1));
	fake_destroy(fake);
}

static void
a_trace_stop_resolves_it_and_loses_its_packet(void **state)
{
	struct fake *fake = start(CTL_PLAIN | STOPPING);

	(void)state;
	assert_true(pt_unit_overflow(fake->unit, 100));
	jump(fake, OUTSIDE);
	assert_int_equal(fake_count(fake, PT_EVENT_STOPPED), 1);
	fake_expect_packets(fake, "OVF");
	assert_int_equal(fake_rdmsr(fake, 0x571) & TZ_BIT(5), TZ_BIT(5));
	assert_false(pt_unit_trigger_en(fake->unit));
	assert_false(pt_unit_overflow(fake->unit, 1));
	fake_destroy(fake);
}

static void
it_does_not_outlive_an_error_or_a_reset(void **state)
{
	struct fake *fake = start(CTL_PLAIN);

	(void)state;
	assert_true(pt_unit_overflow(fake->unit, 100));
	assert_true(pt_unit_force_error(fake->unit));
	jump(fake, BASE + 4);
	fake_stop(fake);
	fake_expect_packets(fake, "");
	fake_wrmsr(fake, 0x571, 0);
	fake_start(fake, CTL_PLAIN);
	fake_forget(fake);
	jump(fake, BASE + 4);
	fake_expect_packets(fake, "TIP(1:4)");
	assert_true(pt_unit_overflow(fake->unit, 100));
	pt_unit_reset(fake->unit, true);
	fake_start(fake, CTL_PLAIN);
	fake_forget(fake);
	jump(fake, BASE + 8);
	fake_expect_packets(fake, "TIP(1:8)");
	fake_destroy(fake);
}

static void
the_byte_count_rests_and_a_due_psb_follows(void **state)
{
	struct fake *fake = start(CTL_PLAIN);
	uint64_t before;

	(void)state;
	while (!pt_unit_fast(fake->unit)->fast ||
	    fake_rdmsr(fake, 0x571) >> 32 < 1800)
		jump(fake, BASE + 4);
	/* A TNT packet makes a PSB due, which then waits. */
	while (pt_unit_fast(fake->unit)->fast)
		fake_cond(fake, true, BASE);
	fake_forget(fake);
	before = fake_rdmsr(fake, 0x571);
	assert_true(pt_unit_overflow(fake->unit, 50));
	for (unsigned i = 0; i < 49; i++)
		jump(fake, BASE + 4);
	assert_int_equal(fake_rdmsr(fake, 0x571), before);
	jump(fake, BASE + 8);
	fake_expect_packets(fake,
	    "OVF FUP(3:ffffffff81000008) PSB TSX(00) EXEC(64) "
	    "FUP(3:ffffffff81000008) PIP(12345000) CBR(37) PSBEND");
	fake_destroy(fake);
}

static void
an_overflow_is_part_of_a_saved_state(void **state)
{
	struct fake *fake = start(CTL_PLAIN);
	uint8_t *saved = malloc(pt_unit_size(fake->unit));

	(void)state;
	assert_non_null(saved);
	assert_true(pt_unit_overflow(fake->unit, 2));
	pt_unit_save(fake->unit, saved);
	for (unsigned round = 0; round < 2; round++) {
		jump(fake, BASE + 4);
		fake_expect_packets(fake, "");
		jump(fake, BASE + 8);
		fake_expect_packets(fake, "OVF FUP(3:ffffffff81000008)");
		pt_unit_restore(fake->unit, saved);
	}
	free(saved);
	fake_destroy(fake);
}

static void
check_decoding(uint64_t ctl, uint64_t seed, bool ends_in_one)
{
	struct fake *fake = fake_create();
	struct stroll *stroll = stroll_create(fake, seed);
	uint64_t dice = seed * 3 + 1;

	stroll->filtered = (ctl & FILTER) != 0;
	fake_wrmsr(fake, 0x580, STROLL_FILTER_A);
	fake_wrmsr(fake, 0x581, STROLL_FILTER_B);
	fake_start(fake, ctl);
	for (unsigned i = 0; i < 500; i++) {
		unsigned lost = (unsigned)(fake_random(&dice) >> 30) % 40;

		stroll_on(stroll, (unsigned)(fake_random(&dice) >> 30) % 150);
		assert_true(pt_unit_overflow(fake->unit, lost));
		stroll_on(stroll, lost == 0 ? 1 : lost);
		stroll_resumes(stroll);
	}
	if (ends_in_one)
		assert_true(pt_unit_overflow(fake->unit, 1000000));
	stroll_to_end(stroll);
	if (ends_in_one)
		stroll_resumes(stroll);
	fake_stop(fake);
	assert_true(fake_count(fake, PT_EVENT_PSB) > 3);
	assert_true(stroll_decode(stroll) > 10000);
	stroll_destroy(stroll);
	fake_destroy(fake);
}

static void
libipt_decodes_from_where_tracing_resumes(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++) {
		check_decoding(CTL_PLAIN, seed * 77777, seed % 2);
		check_decoding(CTL_PLAIN | FILTER, seed * 55555, seed % 2);
		check_decoding(CTL_PLAIN | CTL_DIS_RETC, seed * 33333, false);
	}
}

static void
a_mode_that_was_never_told_comes_by_a_psb(void **state)
{
	struct fake *fake = start(CTL_OS | CTL_TOPA | CTL_BRANCH_EN);

	(void)state;
	/* The PSB+ of an enable at CPL 3, where nothing is traced. */
	fake_stop(fake);
	fake_wrmsr(fake, 0x571, 0);
	fake->at.cpl = 3;
	fake_wrmsr(fake, 0x570, fake_rdmsr(fake, 0x570) | CTL_TRACE_EN);
	fake_forget(fake);
	assert_true(pt_unit_overflow(fake->unit, 1));
	fake->at.cpl = 0;
	fake_transfer(fake, PT_TRANSFER_FAR, BASE + 8);
	fake_expect_packets(fake,
	    "OVF FUP(3:ffffffff81000008) PSB TSX(00) EXEC(64) "
	    "FUP(3:ffffffff81000008) PIP(12345000) CBR(37) PSBEND");
	fake_destroy(fake);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    pending_bits_and_the_transfers_asked_for_are_lost),
		cmocka_unit_test(no_transfers_means_the_next_one),
		cmocka_unit_test(a_ret_is_not_compressed_against_a_call_before),
		cmocka_unit_test(without_packet_en_pge_comes_later),
		cmocka_unit_test(out_of_context_near_branches_count_too),
		cmocka_unit_test(a_disable_resolves_it_first),
		cmocka_unit_test(a_trace_stop_resolves_it_and_loses_its_packet),
		cmocka_unit_test(it_does_not_outlive_an_error_or_a_reset),
		cmocka_unit_test(the_byte_count_rests_and_a_due_psb_follows),
		cmocka_unit_test(an_overflow_is_part_of_a_saved_state),
		cmocka_unit_test(a_mode_that_was_never_told_comes_by_a_psb),
		cmocka_unit_test(libipt_decodes_from_where_tracing_resumes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
