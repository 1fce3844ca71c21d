/*
 * Goal: every event gives the packets of its row in the SDM's case tables, with
 * the FUP, IP and MODE.Exec rules that captures of silicon show.
 * Method: one event at a time from a known state; the stream is read back with
 * libipt's packet decoder and compared as text.
 */
#include "tests/unit/pt/fake.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define INSIDE  UINT64_C(0xffffffff81000000)
#define FILTER  TZ_BIT(32)
#define OUTSIDE UINT64_C(0xffffffff82000000)

static struct fake *
start(uint64_t ctl)
{
	struct fake *fake = fake_create();

	fake_start(fake, ctl);
	fake_forget(fake);
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
enable_sends_psb_and_pge(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	fake_start(fake, CTL_PLAIN);
	fake_expect_packets(fake,
	    "PSB TSX(00) PIP(12345000) CBR(37) PSBEND EXEC(64) "
	    "PGE(3:ffffffff81000102)");
	fake_destroy(fake);
}

static void
enable_out_of_context_sends_psb_alone(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	fake_start(fake, CTL_PLAIN & ~CTL_OS);
	fake_expect_packets(fake, "PSB CBR(37) PSBEND");
	fake_destroy(fake);
}

static void
enable_of_user_code_only_sends_no_pip(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	fake->at.cpl = 3;
	fake_start(fake, CTL_PLAIN & ~CTL_OS);
	fake_expect_packets(fake,
	    "PSB TSX(00) CBR(37) PSBEND EXEC(64) PGE(3:ffffffff81000102)");
	fake_destroy(fake);
}

static void
enable_with_a_byte_count_sends_cbr_instead_of_psb(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	fake_wrmsr(fake, 0x571, TZ_BIT(32));
	fake_start(fake, CTL_PLAIN);
	fake_expect_packets(fake, "CBR(37) EXEC(64) PGE(3:ffffffff81000102)");
	fake_stop(fake);
	fake_forget(fake);
	fake_wrmsr(fake, 0x571, TZ_BIT(32));
	fake_wrmsr(fake, 0x570, (CTL_PLAIN & ~CTL_OS) | CTL_TRACE_EN);
	fake_expect_packets(fake, "CBR(37)");
	fake_destroy(fake);
}

static void
enable_without_branch_en_sends_no_branch_packets(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	fake_start(fake, CTL_PLAIN & ~CTL_BRANCH_EN);
	fake_expect_packets(fake, "PSB PIP(12345000) CBR(37) PSBEND");
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, INSIDE);
	fake_cond(fake, true, INSIDE);
	fake_expect_packets(fake, "");
	fake_stop(fake);
	fake_expect_packets(fake, "");
	fake_destroy(fake);
}

static void
disable_sends_fup_of_the_instruction_and_bare_pgd(void **state)
{
	struct fake *fake = start(CTL_PLAIN);

	(void)state;
	fake_cond(fake, true, INSIDE);
	fake_stop(fake);
	fake_expect_packets(fake, "TNT(T) FUP(3:ffffffff81000100) PGD()");
	fake_wrmsr(fake, 0x570, (CTL_PLAIN & ~CTL_OS) | CTL_TRACE_EN);
	fake_forget(fake);
	fake_stop(fake);
	fake_expect_packets(fake, "");
	fake_destroy(fake);
}

static void
direct_transfers_send_nothing(void **state)
{
	struct fake *fake = start(CTL_PLAIN);

	(void)state;
	fake_transfer(fake, PT_TRANSFER_JMP_DIRECT, INSIDE);
	fake_transfer(fake, PT_TRANSFER_CALL_DIRECT, INSIDE);
	fake_expect_packets(fake, "");
	fake_destroy(fake);
}

static void
conditions_gather_six_a_tnt(void **state)
{
	struct fake *fake = start(CTL_PLAIN);

	(void)state;
	for (unsigned i = 0; i < 13; i++)
		fake_cond(fake, i % 3 == 0, INSIDE + i);
	fake_expect_packets(fake, "TNT(TNNTNN) TNT(TNNTNN)");
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, INSIDE);
	fake_expect_packets(fake, "TNT(T) TIP(1:0)");
	fake_destroy(fake);
}

static void
near_indirect_transfers_send_tip(void **state)
{
	static const enum pt_transfer_kind kinds[] = { PT_TRANSFER_JMP_INDIRECT,
		PT_TRANSFER_CALL_INDIRECT, PT_TRANSFER_RET, PT_TRANSFER_FAR };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(kinds); i++) {
		struct fake *fake = start(CTL_PLAIN);

		fake_transfer(fake, kinds[i], INSIDE + 0x10);
		fake_expect_packets(fake, "TIP(1:10)");
		fake_destroy(fake);
	}
}

static void
interrupts_and_faults_send_fup_before_tip(void **state)
{
	static const enum pt_transfer_kind kinds[] = { PT_TRANSFER_INT_SW,
		PT_TRANSFER_EXCEPTION, PT_TRANSFER_INTERRUPT };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(kinds); i++) {
		struct fake *fake = start(CTL_PLAIN);
		struct pt_transfer t = event(fake, kinds[i], OUTSIDE);

		pt_unit_transfer(fake->unit, &t);
		fake_expect_packets(
		    fake, "FUP(3:ffffffff81000777) TIP(2:82000000)");
		t = event(fake, kinds[i], OUTSIDE);
		t.cr3_written = true;
		t.after.cr3 = 0x7000;
		t.after.cs_l = false;
		t.after.cs_d = true;
		pt_unit_transfer(fake->unit, &t);
		fake_expect_packets(fake,
		    "FUP(3:ffffffff81000777) PIP(7000) EXEC(32) "
		    "TIP(2:82000000)");
		fake_destroy(fake);
	}
}

static void
far_transfers_send_mode_only_when_it_changes(void **state)
{
	struct fake *fake = start(CTL_PLAIN);

	(void)state;
	fake_transfer(fake, PT_TRANSFER_FAR, INSIDE);
	fake_expect_packets(fake, "TIP(1:0)");
	fake->at.cs_l = false;
	fake_transfer(fake, PT_TRANSFER_FAR, INSIDE);
	fake_expect_packets(fake, "EXEC(16) TIP(1:0)");
	fake_transfer(fake, PT_TRANSFER_FAR, INSIDE);
	fake_expect_packets(fake, "TIP(1:0)");
	fake->at.cs_l = fake->at.cs_d = true;
	fake_transfer(fake, PT_TRANSFER_FAR, INSIDE);
	fake_expect_packets(fake, "EXEC(64) TIP(1:0)");
	fake_destroy(fake);
}

static void
leaving_the_context_sends_a_bare_pgd(void **state)
{
	struct fake *fake = fake_create();
	struct pt_transfer t;

	(void)state;
	fake->at.cpl = 3;
	fake_start(fake, CTL_PLAIN & ~CTL_OS);
	fake_forget(fake);
	fake_cond(fake, false, INSIDE);
	fake->at.cpl = 0;
	fake_transfer(fake, PT_TRANSFER_FAR, OUTSIDE);
	fake_expect_packets(fake, "TNT(N) PGD()");
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, OUTSIDE);
	fake_expect_packets(fake, "");
	fake->at.cpl = 3;
	fake_transfer(fake, PT_TRANSFER_FAR, INSIDE);
	fake_expect_packets(fake, "PGE(1:0)");
	fake->at.cpl = 0;
	t = event(fake, PT_TRANSFER_INTERRUPT, OUTSIDE);
	pt_unit_transfer(fake->unit, &t);
	fake_expect_packets(fake, "FUP(3:ffffffff81000777) PGD()");
	t = event(fake, PT_TRANSFER_INTERRUPT, OUTSIDE);
	t.cr3_written = true;
	pt_unit_transfer(fake->unit, &t);
	fake_expect_packets(fake, "");
	fake_destroy(fake);
}

static void
entering_with_another_mode_sends_it(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	fake->at.cpl = 3;
	fake_start(fake, CTL_PLAIN & ~CTL_OS);
	fake->at.cpl = 0;
	fake_transfer(fake, PT_TRANSFER_FAR, OUTSIDE);
	fake_forget(fake);
	fake->at.cpl = 3;
	fake->at.cs_l = false;
	fake->at.cs_d = true;
	fake_transfer(fake, PT_TRANSFER_FAR, 0x401000);
	fake_expect_packets(fake, "EXEC(32) PGE(3:401000)");
	fake_destroy(fake);
}

static void
mov_cr3_follows_its_rows(void **state)
{
	struct fake *fake = fake_create();
	struct pt_transfer t;

	(void)state;
	fake_wrmsr(fake, 0x572, 0x12345000);
	fake_start(fake, CTL_PLAIN | CTL_CR3_FILTER);
	fake_forget(fake);
	/* 1 to 1 */
	fake_cond(fake, true, INSIDE);
	t = event(fake, PT_TRANSFER_MOV_CR3, INSIDE);
	t.cr3_written = true;
	t.after.cr3 |= 0xabc;
	pt_unit_transfer(fake->unit, &t);
	fake_expect_packets(fake, "TNT(T) PIP(12345000)");
	/* 1 to 0, no context after */
	t.after.cr3 = 0x5000;
	pt_unit_transfer(fake->unit, &t);
	fake_expect_packets(fake, "PGD()");
	/* 0 to 0, no context */
	t.after.cr3 = 0x6000;
	pt_unit_transfer(fake->unit, &t);
	fake_expect_packets(fake, "");
	/* 0 to 1 */
	t.after.cr3 = 0x12345000;
	t.after.ip = INSIDE + 5;
	pt_unit_transfer(fake->unit, &t);
	fake_expect_packets(fake, "PIP(12345000) PGE(1:5)");
	fake_destroy(fake);
}

static void
mov_cr3_of_user_only_tracing_sends_no_pip(void **state)
{
	struct fake *fake = fake_create();
	struct pt_transfer t;

	(void)state;
	fake->at.cpl = 3;
	fake_start(fake, CTL_PLAIN & ~CTL_OS);
	fake_cond(fake, true, INSIDE);
	fake_forget(fake);
	t = event(fake, PT_TRANSFER_MOV_CR3, INSIDE);
	t.cr3_written = true;
	pt_unit_transfer(fake->unit, &t);
	fake_expect_packets(fake, "");
	fake_destroy(fake);
}

static void
ips_are_compressed_as_silicon_does(void **state)
{
	struct fake *fake = start(CTL_PLAIN);

	(void)state;
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, 0xffffffff8100ffff);
	fake_expect_packets(fake, "TIP(1:ffff)");
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, 0xffffffff8101ffff);
	fake_expect_packets(fake, "TIP(2:8101ffff)");
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, 0xffff88818101ffff);
	fake_expect_packets(fake, "TIP(3:ffff88818101ffff)");
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, 0x401000);
	fake_expect_packets(fake, "TIP(3:401000)");
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, 0x8000000000401000);
	fake_expect_packets(fake, "TIP(6:8000000000401000)");
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, 0x8000000000401001);
	fake_expect_packets(fake, "TIP(1:1001)");
	fake_destroy(fake);
}

static void
a_fup_is_full_and_the_next_tip_compresses_against_it(void **state)
{
	struct fake *fake = start(CTL_PLAIN);
	struct pt_transfer t = event(fake, PT_TRANSFER_INTERRUPT, 0x402008);

	(void)state;
	t.ip_from = 0x402000;
	pt_unit_transfer(fake->unit, &t);
	fake_expect_packets(fake, "FUP(3:402000) TIP(1:2008)");
	pt_unit_transfer(fake->unit, &t);
	fake_expect_packets(fake, "FUP(3:402000) TIP(1:2008)");
	fake_destroy(fake);
}

static void
the_flags_for_the_fast_path_follow_the_state(void **state)
{
	struct fake *fake = fake_create();
	struct pt_fast *fast = pt_unit_fast(fake->unit);

	(void)state;
	assert_true(!fast->fast && fast->off);
	fake_start(fake, CTL_PLAIN | CTL_DIS_RETC);
	assert_true(fast->fast && !fast->off && !fast->compress_ret);
	fake_stop(fake);
	assert_true(!fast->fast && fast->off);
	fake_wrmsr(fake, 0x570, (CTL_PLAIN & ~CTL_OS) | CTL_TRACE_EN);
	assert_true(!fast->fast && fast->off && fast->compress_ret);
	fake->at.cpl = 3;
	fake_transfer(fake, PT_TRANSFER_FAR, 0x401000);
	assert_true(fast->fast && !fast->off);
	fake->at.cpl = 0;
	fake_transfer(fake, PT_TRANSFER_FAR, OUTSIDE);
	assert_true(!fast->fast && fast->off);
	fake_stop(fake);
	fake_wrmsr(fake, 0x580, INSIDE);
	fake_wrmsr(fake, 0x581, INSIDE + 0xffff);
	fake_wrmsr(fake, 0x570, CTL_PLAIN | FILTER | CTL_TRACE_EN);
	assert_true(!fast->fast && !fast->off);
	fake_transfer(fake, PT_TRANSFER_JMP_DIRECT, OUTSIDE);
	assert_true(!fast->fast && !fast->off);
	fake_stop(fake);
	fake_wrmsr(fake, 0x570, (CTL_PLAIN & ~CTL_OS) | FILTER | CTL_TRACE_EN);
	assert_true(!fast->fast && fast->off);
	fake_destroy(fake);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(enable_sends_psb_and_pge),
		cmocka_unit_test(enable_out_of_context_sends_psb_alone),
		cmocka_unit_test(enable_of_user_code_only_sends_no_pip),
		cmocka_unit_test(
		    enable_with_a_byte_count_sends_cbr_instead_of_psb),
		cmocka_unit_test(
		    enable_without_branch_en_sends_no_branch_packets),
		cmocka_unit_test(
		    disable_sends_fup_of_the_instruction_and_bare_pgd),
		cmocka_unit_test(direct_transfers_send_nothing),
		cmocka_unit_test(conditions_gather_six_a_tnt),
		cmocka_unit_test(near_indirect_transfers_send_tip),
		cmocka_unit_test(interrupts_and_faults_send_fup_before_tip),
		cmocka_unit_test(far_transfers_send_mode_only_when_it_changes),
		cmocka_unit_test(leaving_the_context_sends_a_bare_pgd),
		cmocka_unit_test(entering_with_another_mode_sends_it),
		cmocka_unit_test(mov_cr3_follows_its_rows),
		cmocka_unit_test(mov_cr3_of_user_only_tracing_sends_no_pip),
		cmocka_unit_test(ips_are_compressed_as_silicon_does),
		cmocka_unit_test(
		    a_fup_is_full_and_the_next_tip_compresses_against_it),
		cmocka_unit_test(the_flags_for_the_fast_path_follow_the_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
