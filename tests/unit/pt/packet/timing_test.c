/*
 * Goal: every timing packet is in its place with its value, to the cycle.  Method:
 * a unit is told of events at given cycles, one by one or a cycle at a time; the
 * stream is read by libipt's packet decoder and compared with what the SDM's rules
 * and worked examples (vol. 3, 33.4.2.14 "Cycle Count (CYC) Packet") say.
 */
#include "emu/pt/inject.h"
#include "emu/pt/packet/nonbranch.h"
#include "tests/unit/pt/fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Crystal ticks are 154 cycles; an enable here is 7 cycles after one. */
#define RATIO 154
#define BEGIN (RATIO * UINT64_C(1000) + 7)
#define HERE  UINT64_C(0xffffffff81000200)

static struct fake *
start(uint64_t ctl)
{
	struct fake *fake = fake_create();

	fake_time(fake, BEGIN);
	fake_start(fake, ctl);
	return fake;
}

/* The same with a cycle counter that does not wrap here. */
static struct fake *
start_wide(uint64_t ctl)
{
	struct fake *fake = fake_create();

	fake->uarch.cyc_bits = 32;
	fake_time(fake, BEGIN);
	fake_start(fake, ctl);
	fake_forget(fake);
	return fake;
}

static void
jump_at(struct fake *fake, uint64_t cycles)
{
	fake_time(fake, cycles);
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, HERE);
}

static void
call_at(struct fake *fake, uint64_t cycles, uint64_t nlip)
{
	struct pt_transfer call = { .kind = PT_TRANSFER_CALL_INDIRECT,
		.nlip = nlip };

	fake_time(fake, cycles);
	fake->at.ip = HERE;
	call.after = fake->at;
	pt_unit_transfer(fake->unit, &call);
}

static void
branch_at(struct fake *fake, uint64_t cycles, bool taken)
{
	fake_time(fake, cycles);
	fake_cond(fake, taken, HERE);
}

static void
ret_at(struct fake *fake, uint64_t cycles, uint64_t target)
{
	fake_time(fake, cycles);
	fake_transfer(fake, PT_TRANSFER_RET, target);
}

/* The SDM's example, from "call %eax" at cycle x on. */
static void
feed_example(struct fake *fake, uint64_t x)
{
	call_at(fake, x, HERE + 0x10);
	call_at(fake, x + 2, HERE + 0x20);
	branch_at(fake, x + 8, false);
	ret_at(fake, x + 9, HERE + 0x20);
	branch_at(fake, x + 12, true);
	ret_at(fake, x + 16, HERE + 0x30);
	call_at(fake, x + 4111, HERE + 0x40);
	call_at(fake, x + 12305, HERE + 0x50);
	fake_time(fake, x + 16332);
	{
		struct pt_transfer load = { .kind = PT_TRANSFER_MOV_CR3,
			.cr3_written = true };

		fake->at.cr3 = 0x1000;
		load.after = fake->at;
		pt_unit_transfer(fake->unit, &load);
	}
}

static void
the_example_of_the_sdm(void **state)
{
	struct fake *fake = start_wide(CTL_PLAIN | CTL_CYC_EN);

	(void)state;
	feed_example(fake, BEGIN + 100);
	fake_expect_packets(fake,
	    "CYC(100) TIP(1:200) CYC(2) TIP(1:200) CYC(6) TNT(NTT) CYC(8) "
	    "TIP(1:230) CYC(4095) TIP(1:200) CYC(8194) TIP(1:200) CYC(4027) "
	    "PIP(1000)");
	fake_destroy(fake);
}

static void
a_cyc_alone_goes_before_the_counter_wraps(void **state)
{
	struct fake *fake = start(CTL_PLAIN | CTL_CYC_EN);

	(void)state;
	fake_forget(fake);
	feed_example(fake, BEGIN + 4095 + 4094);
	fake_expect_packets(fake,
	    "CYC(4095) CYC(4094) TIP(1:200) CYC(2) TIP(1:200) CYC(6) TNT(NTT) "
	    "CYC(8) TIP(1:230) CYC(4095) TIP(1:200) CYC(4095) CYC(4095) CYC(4) "
	    "TIP(1:200) CYC(4027) PIP(1000)");
	/* The last cycle before it wraps, and the next one. */
	fake_time(fake, BEGIN + 4095 + 4094 + 16332 + 4095);
	fake_expect_packets(fake, "");
	jump_at(fake, BEGIN + 4095 + 4094 + 16332 + 4096);
	fake_expect_packets(fake, "CYC(4095) CYC(1) TIP(1:200)");
	fake_destroy(fake);
}

static void
expect_threshold(unsigned value, const char *text)
{
	static const unsigned at[] = { 0, 9, 15, 30, 38, 46, 64, 71 };
	struct fake *fake = start_wide(
	    CTL_PLAIN | CTL_CYC_EN | CTL_CYC_THRESH(value));
	uint64_t x = BEGIN + 20000;

	for (size_t i = 0; i < TZ_ARRAY_LEN(at); i++)
		jump_at(fake, x + at[i]);
	fake_expect_packets(fake, text);
	fake_destroy(fake);
}

static void
the_threshold_examples_of_the_sdm(void **state)
{
	(void)state;
	expect_threshold(5,
	    "CYC(20000) TIP(1:200) TIP(1:200) TIP(1:200) CYC(30) TIP(1:200) "
	    "TIP(1:200) CYC(16) TIP(1:200) CYC(18) TIP(1:200) TIP(1:200)");
	expect_threshold(6,
	    "CYC(20000) TIP(1:200) TIP(1:200) TIP(1:200) TIP(1:200) CYC(38) "
	    "TIP(1:200) TIP(1:200) TIP(1:200) CYC(33) TIP(1:200)");
	expect_threshold(7,
	    "CYC(20000) TIP(1:200) TIP(1:200) TIP(1:200) TIP(1:200) TIP(1:200) "
	    "TIP(1:200) CYC(64) TIP(1:200) TIP(1:200)");
}

/* For every threshold: one cycle less gives no CYC, as many give one. */
static void
every_threshold_is_exact(void **state)
{
	(void)state;
	for (unsigned value = 0; value <= 13; value++) {
		uint64_t cycles = value == 0 ? 1 : UINT64_C(1) << (value - 1);
		struct fake *fake = start_wide(
		    CTL_PLAIN | CTL_CYC_EN | CTL_CYC_THRESH(value));
		uint64_t x = BEGIN + 50000;
		char text[128];

		jump_at(fake, x);
		jump_at(fake, x + cycles - 1);
		jump_at(fake, x + cycles);
		jump_at(fake, x + cycles);
		snprintf(text, sizeof(text),
		    "CYC(50000) TIP(1:200) TIP(1:200) CYC(%u) TIP(1:200) "
		    "TIP(1:200)",
		    (unsigned)cycles);
		fake_expect_packets(fake, text);
		fake_destroy(fake);
	}
}

/* At an enable and at a disable; FUP tells no time. */
static void
packets_of_one_cycle_share_a_cyc(void **state)
{
	struct fake *fake = start(
	    CTL_PLAIN | CTL_TSC_EN | CTL_MTC_EN | CTL_CYC_EN | CTL_MTC_FREQ(3));

	(void)state;
	fake_expect_packets(fake,
	    "PSB TSX(00) PIP(12345000) CYC(0) TSC(154007) TMA(1000,7) CBR(37) "
	    "PSBEND EXEC(64) PGE(3:ffffffff81000102)");
	assert_false(pt_unit_fast(fake->unit)->fast);
	fake_time(fake, BEGIN + 44);
	fake_stop(fake);
	fake_expect_packets(fake, "FUP(3:ffffffff81000100) CYC(44) PGD()");
	/* PacketByteCnt is not 0 now: no PSB+; the counter starts afresh. */
	fake_time(fake, BEGIN + 200);
	fake_wrmsr(
	    fake, 0x570, CTL_PLAIN | CTL_TSC_EN | CTL_CYC_EN | CTL_TRACE_EN);
	fake_expect_packets(fake,
	    "CYC(0) TSC(154207) CBR(37) EXEC(64) PGE(3:ffffffff81000102)");
	fake_time(fake, BEGIN + 205);
	{
		struct pt_transfer fault = { .kind = PT_TRANSFER_EXCEPTION,
			.ip_from = HERE };

		fault.after = fake->at;
		pt_unit_transfer(fake->unit, &fault);
	}
	fake_expect_packets(fake, "FUP(3:ffffffff81000200) CYC(5) TIP(1:100)");
	fake_destroy(fake);
}

/* Which packets there are at an enable, by what CTL asks for. */
static void
tsc_and_tma_by_their_enables(void **state)
{
	static const struct {
		uint64_t ctl;
		const char *text;
	} rows[] = {
		{ 0, "PSB CBR(37) PSBEND" },
		{ CTL_TSC_EN, "PSB TSC(154007) CBR(37) PSBEND" },
		{ CTL_MTC_EN, "PSB CBR(37) PSBEND" },
		{ CTL_CYC_EN, "PSB CBR(37) PSBEND" },
		{ CTL_TSC_EN | CTL_MTC_EN,
		    "PSB TSC(154007) TMA(1000,7) CBR(37) PSBEND" },
		{ CTL_TSC_EN | CTL_CYC_EN,
		    "PSB CYC(0) TSC(154007) CBR(37) PSBEND" },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(rows); i++) {
		/* User space only: the CPU stands in the kernel. */
		struct fake *fake = start(
		    CTL_USER | CTL_TOPA | CTL_BRANCH_EN | rows[i].ctl);

		fake_expect_packets(fake, rows[i].text);
		assert_int_equal(
		    pt_unit_fast(fake->unit)->timed, rows[i].ctl != 0);
		assert_int_equal(
		    pt_unit_fast(fake->unit)->off, rows[i].ctl == 0);
		fake_stop(fake);
		assert_false(pt_unit_fast(fake->unit)->timed);
		fake_destroy(fake);
	}
}

/* Every edge, also while nothing is traced, a cycle at a time or at once. */
static void
check_mtc(unsigned freq, uint64_t ctl, bool by_cycle)
{
	struct fake *fake = start(ctl | CTL_MTC_EN | CTL_MTC_FREQ(freq));
	uint64_t period = UINT64_C(1) << freq, end = BEGIN + 300 * period * 154;
	char text[300 * 9 + 1], *at = text;

	for (uint64_t art = 1000 / period + 1; art <= 1000 / period + 300;
	     art++)
		at += sprintf(at, "%sMTC(%u)", at == text ? "" : " ",
		    (unsigned)(art & 0xff));
	fake_forget(fake);
	for (uint64_t t = BEGIN; by_cycle && t < end; t++)
		fake_time(fake, t);
	fake_time(fake, end);
	fake_expect_packets(fake, text);
	fake_destroy(fake);
}

static void
no_mtc_is_dropped(void **state)
{
	(void)state;
	check_mtc(0, CTL_PLAIN, true);
	check_mtc(3, CTL_PLAIN, true);
	check_mtc(3, CTL_PLAIN, false);
	check_mtc(6, CTL_PLAIN, false);
	check_mtc(9, CTL_PLAIN, false);
	/* ContextEn 0. */
	check_mtc(3, CTL_USER | CTL_TOPA | CTL_BRANCH_EN, false);
	/* FilterEn 0: a range that is empty. */
	check_mtc(3, CTL_PLAIN | UINT64_C(1) << 32, false);
}

/* MTC each 8 crystal ticks: edges at 1008, 1016 ... */
static void
a_branch_keeps_its_time_over_an_mtc(void **state)
{
	struct fake *fake = start(
	    CTL_PLAIN | CTL_MTC_EN | CTL_CYC_EN | CTL_MTC_FREQ(3));
	uint64_t edge = 1008 * RATIO;

	(void)state;
	fake_forget(fake);
	/* The edge and a jump in one cycle share a CYC. */
	jump_at(fake, edge);
	fake_expect_packets(fake, "CYC(1225) MTC(126) TIP(1:200)");
	/* The CYC of a branch goes before an MTC that comes ahead of its TNT. */
	branch_at(fake, edge + 1230, true);
	branch_at(fake, edge + 1231, false);
	jump_at(fake, edge + 1240);
	fake_expect_packets(
	    fake, "CYC(1230) CYC(2) MTC(127) TNT(TN) CYC(8) TIP(1:200)");
	/* In the same cycle: CYC, MTC, TNT. */
	branch_at(fake, edge + 2464, true);
	jump_at(fake, edge + 2465);
	fake_expect_packets(
	    fake, "CYC(1224) MTC(128) TNT(T) CYC(1) TIP(1:200)");
	/* Six branches: the time is the first one's. */
	for (unsigned i = 0; i < 7; i++)
		branch_at(fake, edge + 2470 + i, true);
	jump_at(fake, edge + 2480);
	fake_expect_packets(
	    fake, "CYC(5) TNT(TTTTTT) CYC(6) TNT(T) CYC(4) TIP(1:200)");
	fake_destroy(fake);
}

static void
time_at_a_wake_and_at_another_frequency(void **state)
{
	struct fake *fake = start(
	    CTL_PLAIN | CTL_TSC_EN | CTL_MTC_EN | CTL_CYC_EN | CTL_MTC_FREQ(9));

	(void)state;
	fake_forget(fake);
	branch_at(fake, BEGIN + 10, true);
	fake_time(fake, BEGIN + 1000);
	pt_unit_power_exit(fake->unit, &fake->at, 0, 0, PT_WAKE_INTERRUPT);
	fake_expect_packets(
	    fake, "CYC(10) TNT(T) CYC(990) TSC(155007) TMA(1006,83) CBR(37)");
	fake_time(fake, BEGIN + 1100);
	pt_unit_frequency(fake->unit, 12);
	fake_expect_packets(fake, "CYC(100) TSC(155107) TMA(1007,29) CBR(12)");
	fake_stop(fake);
	fake_forget(fake);
	pt_unit_frequency(fake->unit, 20);
	fake_expect_packets(fake, "");
	fake_wrmsr(fake, 0x571, 0);
	fake_wrmsr(fake, 0x570, CTL_PLAIN | CTL_TRACE_EN);
	fake_expect_packets(fake,
	    "PSB TSX(00) PIP(12345000) CBR(20) PSBEND EXEC(64) "
	    "PGE(3:ffffffff81000102)");
	/* Without a timing packet, waking up is no event. */
	pt_unit_power_exit(fake->unit, &fake->at, 0, 0, PT_WAKE_INTERRUPT);
	fake_expect_packets(fake, "");
	fake_destroy(fake);
}

/* What comes while the buffer overflows is lost; its length is told. */
static void
an_overflow_has_a_length(void **state)
{
	struct fake *fake = start(
	    CTL_PLAIN | CTL_MTC_EN | CTL_CYC_EN | CTL_MTC_FREQ(3));

	(void)state;
	fake_forget(fake);
	jump_at(fake, BEGIN + 20);
	assert_true(pt_unit_overflow(fake->unit, 2));
	jump_at(fake, BEGIN + 2000);
	jump_at(fake, BEGIN + 20 + 4095 + 5);
	jump_at(fake, BEGIN + 20 + 4095 + 11);
	fake_expect_packets(fake,
	    "CYC(20) TIP(1:200) CYC(4100) OVF FUP(3:ffffffff81000200) "
	    "CYC(6) EXEC(64) TIP(3:ffffffff81000200)");
	fake_destroy(fake);
}

/* A unit that is put back goes on as it did. */
static void
time_is_part_of_the_state(void **state)
{
	struct fake *fake = start(CTL_PLAIN | CTL_TSC_EN | CTL_MTC_EN |
	    CTL_CYC_EN | CTL_MTC_FREQ(0) | CTL_CYC_THRESH(4));
	void *saved = malloc(pt_unit_size(fake->unit));
	uint64_t hash, later;

	(void)state;
	assert_non_null(saved);
	branch_at(fake, BEGIN + 10, true);
	fake_time(fake, BEGIN + 20);
	fake_forget(fake);
	hash = pt_unit_hash(fake->unit);
	pt_unit_save(fake->unit, saved);
	for (int round = 0; round < 2; round++) {
		jump_at(fake, BEGIN + 170);
		fake_expect_packets(
		    fake, "CYC(137) MTC(233) TNT(T) CYC(23) TIP(1:200)");
		assert_int_not_equal(pt_unit_hash(fake->unit), hash);
		pt_unit_restore(fake->unit, saved);
		assert_int_equal(pt_unit_hash(fake->unit), hash);
	}
	/* Only the time is another. */
	fake_time(fake, BEGIN + 21);
	later = pt_unit_hash(fake->unit);
	assert_true(later != hash);
	free(saved);
	fake_destroy(fake);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_example_of_the_sdm),
		cmocka_unit_test(a_cyc_alone_goes_before_the_counter_wraps),
		cmocka_unit_test(the_threshold_examples_of_the_sdm),
		cmocka_unit_test(every_threshold_is_exact),
		cmocka_unit_test(packets_of_one_cycle_share_a_cyc),
		cmocka_unit_test(tsc_and_tma_by_their_enables),
		cmocka_unit_test(no_mtc_is_dropped),
		cmocka_unit_test(a_branch_keeps_its_time_over_an_mtc),
		cmocka_unit_test(time_at_a_wake_and_at_another_frequency),
		cmocka_unit_test(an_overflow_has_a_length),
		cmocka_unit_test(time_is_part_of_the_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
