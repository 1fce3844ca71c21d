/*
 * Goal: events that cross the edge of an address range, or enter a TraceStop
 * range, give the packets of their rows in the SDM's case tables.
 * Method: as in flow_test.c, with a filter range on one page.
 */
#include "tests/unit/pt/fake.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define INSIDE     UINT64_C(0xffffffff81000000)
#define OUTSIDE    UINT64_C(0xffffffff82000000)
#define FILTER     TZ_BIT(32)
#define STOP_RANGE TZ_BIT(37)
#define CFG_STOP0  TZ_BIT(33)

/* Filters on INSIDE's page; range 1 stops at OUTSIDE + 100000H. */
static struct fake *
start_filtered(uint64_t ctl, uint64_t nlip)
{
	struct fake *fake = fake_create();

	fake_wrmsr(fake, 0x580, INSIDE);
	fake_wrmsr(fake, 0x581, INSIDE + 0xffff);
	fake_wrmsr(fake, 0x582, OUTSIDE + 0x100000);
	fake_wrmsr(fake, 0x583, OUTSIDE + 0x1fffff);
	fake_start(fake, ctl | FILTER | STOP_RANGE);
	fake_forget(fake);
	if (nlip != 0) {
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, nlip);
		fake_forget(fake);
	}
	return fake;
}

static struct pt_transfer
event(struct fake *fake, enum pt_transfer_kind kind, uint64_t target)
{
	struct pt_transfer transfer = { .kind = kind,
		.ip_from = 0xffffffff81000777 };

	fake->at.ip = target;
	transfer.after = fake->at;
	return transfer;
}

static void
mov_cr3_outside_the_filter_sends_pip(void **state)
{
	struct fake *fake = start_filtered(CTL_PLAIN, OUTSIDE);
	struct pt_transfer t = event(fake, PT_TRANSFER_MOV_CR3, OUTSIDE);

	(void)state;
	t.cr3_written = true;
	t.after.cr3 = 0x7000;
	pt_unit_transfer(fake->unit, &t);
	fake_expect_packets(fake, "PIP(7000)");
	t.after.ip = OUTSIDE + 0x100000;
	pt_unit_transfer(fake->unit, &t);
	fake_expect_packets(fake, "PIP(7000) STOP");
	fake_destroy(fake);
}

static void
a_psb_outside_the_filter_makes_the_next_pge_tell_its_mode(void **state)
{
	struct fake *fake = start_filtered(CTL_PLAIN, OUTSIDE);
	struct pt_transfer t = event(fake, PT_TRANSFER_MOV_CR3, OUTSIDE);

	(void)state;
	t.cr3_written = true;
	while (fake_count(fake, PT_EVENT_PSB) == 0) {
		fake_forget(fake);
		pt_unit_transfer(fake->unit, &t);
	}
	fake_expect_packets(
	    fake, "PIP(12345000) PSB TSX(00) PIP(12345000) CBR(37) PSBEND");
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, INSIDE);
	fake_expect_packets(fake, "EXEC(64) PGE(3:ffffffff81000000)");
	fake_destroy(fake);
}

static void
leaving_the_filter_sends_pgd_with_ip(void **state)
{
	static const enum pt_transfer_kind kinds[] = { PT_TRANSFER_JMP_DIRECT,
		PT_TRANSFER_CALL_DIRECT, PT_TRANSFER_JMP_INDIRECT,
		PT_TRANSFER_CALL_INDIRECT, PT_TRANSFER_RET, PT_TRANSFER_FAR };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(kinds); i++) {
		struct fake *fake = start_filtered(CTL_PLAIN, INSIDE);

		fake_cond(fake, true, INSIDE);
		fake_transfer(fake, kinds[i], OUTSIDE);
		fake_expect_packets(fake, "TNT(T) PGD(2:82000000)");
		fake_transfer(fake, kinds[i], OUTSIDE + 8);
		fake_expect_packets(fake, "");
		fake_transfer(fake, kinds[i], INSIDE);
		fake_expect_packets(fake, "PGE(2:81000000)");
		fake_destroy(fake);
	}
}

static void
a_jcc_leaving_the_filter_sends_a_bare_pgd_and_no_bit(void **state)
{
	struct fake *fake = start_filtered(CTL_PLAIN, INSIDE);

	(void)state;
	fake_cond(fake, false, INSIDE + 1);
	fake_cond(fake, true, OUTSIDE);
	fake_expect_packets(fake, "TNT(N) PGD()");
	fake_cond(fake, false, INSIDE);
	fake_expect_packets(fake, "");
	fake_cond(fake, true, INSIDE + 3);
	fake_expect_packets(fake, "PGE(1:3)");
	fake->uarch.pgd_jcc_ip = true;
	fake_cond(fake, true, OUTSIDE);
	fake_expect_packets(fake, "PGD(2:82000000)");
	fake_destroy(fake);
}

static void
a_jcc_not_taken_across_the_edge_keeps_tracing(void **state)
{
	struct fake *fake = start_filtered(CTL_PLAIN, INSIDE);

	(void)state;
	fake_cond(fake, false, OUTSIDE);
	fake_cond(fake, true, INSIDE);
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, INSIDE);
	fake_expect_packets(fake, "TNT(NT) TIP(1:0)");
	fake_destroy(fake);
}

static void
interrupts_across_the_filter_send_fup_and_pgd_with_ip(void **state)
{
	struct fake *fake = start_filtered(CTL_PLAIN, INSIDE);
	struct pt_transfer t = event(fake, PT_TRANSFER_INTERRUPT, OUTSIDE);

	(void)state;
	t.cr3_written = true;
	pt_unit_transfer(fake->unit, &t);
	fake_expect_packets(
	    fake, "FUP(3:ffffffff81000777) PIP(12345000) PGD(2:82000000)");
	pt_unit_transfer(fake->unit, &t);
	fake_expect_packets(fake, "PIP(12345000)");
	t = event(fake, PT_TRANSFER_FAR, INSIDE);
	t.cr3_written = true;
	pt_unit_transfer(fake->unit, &t);
	fake_expect_packets(fake, "PIP(12345000) PGE(2:81000000)");
	fake_destroy(fake);
}

static void
entering_a_trace_stop_range_stops(void **state)
{
	struct fake *fake = start_filtered(CTL_PLAIN, INSIDE);

	(void)state;
	fake_cond(fake, true, INSIDE);
	fake_transfer(fake, PT_TRANSFER_JMP_DIRECT, OUTSIDE + 0x100000);
	assert_int_equal(fake_count(fake, PT_EVENT_STOPPED), 1);
	assert_int_equal(fake_rdmsr(fake, 0x571) & 0x3f, 0x20 | 3);
	fake_transfer(fake, PT_TRANSFER_JMP_DIRECT, INSIDE);
	fake_expect_packets(fake, "TNT(T) PGD(2:82100000) STOP");
	fake_stop(fake);
	fake_expect_packets(fake, "");
	/* Stopped stays until software clears it. */
	fake_wrmsr(fake, 0x570, CTL_PLAIN | CTL_TRACE_EN);
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, INSIDE);
	fake_expect_packets(fake, "");
	assert_false(fake_rdmsr(fake, 0x571) & 4);
	fake_destroy(fake);
}

static void
an_enable_inside_a_trace_stop_range_stops(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	fake_wrmsr(fake, 0x580, INSIDE);
	fake_wrmsr(fake, 0x581, INSIDE + 0xffff);
	fake_start(fake, CTL_PLAIN | CFG_STOP0);
	fake_expect_packets(
	    fake, "PSB TSX(00) PIP(12345000) CBR(37) PSBEND STOP");
	fake_destroy(fake);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mov_cr3_outside_the_filter_sends_pip),
		cmocka_unit_test(
		    a_psb_outside_the_filter_makes_the_next_pge_tell_its_mode),
		cmocka_unit_test(leaving_the_filter_sends_pgd_with_ip),
		cmocka_unit_test(
		    a_jcc_leaving_the_filter_sends_a_bare_pgd_and_no_bit),
		cmocka_unit_test(a_jcc_not_taken_across_the_edge_keeps_tracing),
		cmocka_unit_test(
		    interrupts_across_the_filter_send_fup_and_pgd_with_ip),
		cmocka_unit_test(entering_a_trace_stop_range_stops),
		cmocka_unit_test(an_enable_inside_a_trace_stop_range_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
