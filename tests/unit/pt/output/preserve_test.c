/*
 * Goal: a PSB or a ToPA PMI that is pending when TraceEn falls is kept in STATUS
 * and comes at the next enable, where InjectPsbPmiOnEnable asks for it. Method: a
 * PSB is brought up by TNT packets, after which it waits for the next event; a
 * PMI by the flush of a disable; STATUS, packets and PMIs are compared with the
 * text of the SDM.
 */
#include "emu/pt/sync.h"
#include "tests/unit/pt/fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define CTL_INJECT   TZ_BIT(56)
#define PEND_PSB     TZ_BIT(6)
#define PEND_PMI     TZ_BIT(7)
#define ONE_BYTE     TZ_BIT(32) /* PacketByteCnt 1 */
#define STATUS_PENDS (PEND_PSB | PEND_PMI)

static struct fake *
tigerlake(void)
{
	struct fake *fake = fake_create();

	fake->profile = *profile_find("tigerlake");
	assert_true(fake->profile.pt_ebx & PROFILE_PT_EBX_PRESERVE);
	return fake;
}

static uint64_t
pends(const struct fake *fake)
{
	return fake_rdmsr(fake, 0x571) & STATUS_PENDS;
}

/* Branches until a PSB waits. */
static void
bring_up_a_psb(struct fake *fake)
{
	while (!pt_unit_psb_due(fake->unit))
		fake_cond(fake, true, FAKE_NLIP);
}

/* Enables again, and tells whether a PSB+ came first. */
static bool
begins_with_psb(struct fake *fake, uint64_t ctl)
{
	size_t psbs;

	fake_forget(fake);
	fake_wrmsr(fake, 0x570, ctl | CTL_TRACE_EN);
	psbs = fake_count(fake, PT_EVENT_PSB);
	assert_true(psbs <= 1);
	return psbs == 1;
}

static void
a_pending_psb_comes_at_the_next_enable(void **state)
{
	struct fake *fake = tigerlake();
	uint64_t count;

	(void)state;
	fake_start(fake, CTL_PLAIN | CTL_INJECT);
	assert_true(pends(fake) == 0);
	bring_up_a_psb(fake);
	assert_true(pends(fake) == PEND_PSB);
	fake_stop(fake);
	assert_true(pends(fake) == PEND_PSB);
	count = fake_rdmsr(fake, 0x571) >> 32;
	assert_true(count > 0 && count < 2048);
	assert_true(begins_with_psb(fake, CTL_PLAIN | CTL_INJECT));
	assert_true(pends(fake) == 0);
	fake_expect_packets(fake,
	    "PSB TSX(00) PIP(12345000) CBR(37) PSBEND EXEC(64) "
	    "PGE(6:ffffffff81000102)");
	/* It counted for the period that was over: the next is whole. */
	assert_true(fake_rdmsr(fake, 0x571) >> 32 >= count);
	fake_stop(fake);
	assert_true(pends(fake) == 0);
	assert_false(begins_with_psb(fake, CTL_PLAIN | CTL_INJECT));
	fake_destroy(fake);
}

static void
a_psb_that_was_sent_is_no_longer_pending(void **state)
{
	struct fake *fake = tigerlake();

	(void)state;
	fake_start(fake, CTL_PLAIN | CTL_INJECT);
	bring_up_a_psb(fake);
	fake_forget(fake);
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, FAKE_NLIP);
	assert_int_equal(fake_count(fake, PT_EVENT_PSB), 1);
	assert_true(pends(fake) == 0);
	fake_destroy(fake);
}

static void
without_the_bit_a_pending_psb_is_lost(void **state)
{
	struct fake *fake = tigerlake();

	(void)state;
	fake_start(fake, CTL_PLAIN);
	bring_up_a_psb(fake);
	assert_true(pends(fake) == 0);
	fake_stop(fake);
	assert_true(pends(fake) == 0);
	assert_false(begins_with_psb(fake, CTL_PLAIN | CTL_INJECT));
	fake_stop(fake);
	/* What software wrote stays and has no effect. */
	fake_wrmsr(fake, 0x571, STATUS_PENDS | ONE_BYTE);
	assert_false(begins_with_psb(fake, CTL_PLAIN));
	assert_true(pends(fake) == STATUS_PENDS);
	assert_int_equal(fake->pmi_count, 0);
	fake_stop(fake);
	assert_true(pends(fake) == STATUS_PENDS);
	assert_true(begins_with_psb(fake, CTL_PLAIN | CTL_INJECT));
	assert_true(pends(fake) == PEND_PMI);
	assert_int_equal(fake->pmi_count, 1);
	fake_destroy(fake);
}

static void
a_psb_stays_pending_while_nothing_can_be_sent(void **state)
{
	struct fake *fake = tigerlake();

	(void)state;
	fake_wrmsr(fake, 0x571, PEND_PSB | ONE_BYTE | TZ_BIT(5));
	fake_start(fake, CTL_PLAIN | CTL_INJECT);
	assert_int_equal(fake_count(fake, PT_EVENT_PSB), 0);
	assert_int_equal(fake->stream_bytes, 0);
	assert_true(pends(fake) == PEND_PSB);
	fake_stop(fake);
	assert_true(pends(fake) == PEND_PSB);
	fake_destroy(fake);
}

/* A table of one region with INT whose last 16 bytes are free. */
static void
nearly_full(struct fake *fake)
{
	fake_poke(fake, FAKE_TABLE, FAKE_BUFFER | ENTRY_INTR);
	fake_poke(fake, FAKE_TABLE + 8, FAKE_TABLE | ENTRY_END);
	fake_wrmsr(fake, 0x560, FAKE_TABLE);
	fake_wrmsr(fake, 0x561, UINT64_C(4064) << 32);
	fake_wrmsr(fake, 0x571, ONE_BYTE);
}

static void
a_pmi_of_the_last_flush_comes_again_after_xrstors(void **state)
{
	struct fake *fake = tigerlake();
	uint8_t image[PT_XSTATE_BYTES];

	(void)state;
	nearly_full(fake);
	fake_wrmsr(
	    fake, 0x570, CTL_PLAIN | CTL_USER | CTL_INJECT | CTL_TRACE_EN);
	assert_int_equal(fake->pmi_count, 0);
	pt_unit_xsaves(fake->unit, image, &fake->at);
	assert_int_equal(fake->pmi_count, 1);
	assert_true(pends(fake) == PEND_PMI);
	assert_int_equal(image[0x18] & 0xc0, 0x80);
	/* The handler sees TraceEn 0 and leaves the bit: it comes again. */
	fake->pmi_count = 0;
	assert_int_equal(
	    pt_unit_xrstors(fake->unit, image, &fake->at, FAKE_NLIP),
	    FAULT_NONE);
	assert_int_equal(fake->pmi_count, 1);
	assert_true(pends(fake) == PEND_PMI);
	/* It is handled: software clears the bit. */
	fake_stop(fake);
	fake_wrmsr(fake, 0x571, ONE_BYTE);
	fake_forget(fake);
	fake_wrmsr(fake, 0x570, CTL_PLAIN | CTL_INJECT | CTL_TRACE_EN);
	assert_int_equal(fake->pmi_count, 0);
	assert_true(pends(fake) == 0);
	fake_destroy(fake);
}

static void
without_the_bit_a_pmi_leaves_no_trace_in_status(void **state)
{
	struct fake *fake = tigerlake();

	(void)state;
	nearly_full(fake);
	fake_wrmsr(fake, 0x570, CTL_PLAIN | CTL_TRACE_EN);
	fake_stop(fake);
	assert_int_equal(fake->pmi_count, 1);
	assert_true(pends(fake) == 0);
	fake_destroy(fake);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pending_psb_comes_at_the_next_enable),
		cmocka_unit_test(a_psb_that_was_sent_is_no_longer_pending),
		cmocka_unit_test(without_the_bit_a_pending_psb_is_lost),
		cmocka_unit_test(a_psb_stays_pending_while_nothing_can_be_sent),
		cmocka_unit_test(
		    a_pmi_of_the_last_flush_comes_again_after_xrstors),
		cmocka_unit_test(
		    without_the_bit_a_pmi_leaves_no_trace_in_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
