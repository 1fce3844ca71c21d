/*
 * Goal: what a family does in its own way: long TNT, deferred TIPs, RETs that pop,
 * the cadence of PSB, no CYC. Method: sequences by hand, read with libipt's packet
 * decoder; walks whose stream libipt's instruction decoder must follow; the fast
 * inline functions against the whole transfers.
 */
#include "emu/pt/inject.h"
#include "tests/unit/pt/fake.h"
#include "tests/unit/pt/stroll.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define BASE UINT64_C(0xffffffff81000000)

/* Tracing of a family with long TNT, and DEFERRED TIPs. */
static struct fake *
start(bool deferred, uint64_t ctl)
{
	struct fake *fake = fake_create();

	fake->uarch.tnt_bits = 47;
	fake->uarch.deferred_tip = deferred;
	fake_start(fake, ctl);
	fake_forget(fake);
	return fake;
}

static void
conds(struct fake *fake, const char *outcomes)
{
	for (; *outcomes != '\0'; outcomes++)
		fake_cond(fake, *outcomes == 'T', BASE);
}

static void
jump(struct fake *fake, uint64_t target)
{
	fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, target);
}

static void
a_long_tnt_takes_47_bits(void **state)
{
	static const char bits[] =
	    "TNNTTNTNNNTTTTNNTNTNTTNNNNNTTTTTNTNTNTNNTTNNTTN";
	struct fake *fake = start(false, CTL_PLAIN);
	char want[128];

	(void)state;
	assert_int_equal(strlen(bits), 47);
	for (unsigned n = 0; n < 46; n++)
		fake_cond(fake, bits[n] == 'T', BASE);
	fake_expect(fake, "");
	fake_cond(fake, bits[46] == 'T', BASE);
	snprintf(want, sizeof(want), "TNT(%s)", bits);
	fake_expect_packets(fake, want);
	/* Up to six bits go short, seven go long. */
	conds(fake, "NTTTNT");
	jump(fake, BASE + 4);
	fake_expect_packets(fake, "TNT(NTTTNT) TIP(1:4)");
	conds(fake, "NTTTNTN");
	jump(fake, BASE + 8);
	fake_expect_packets(fake, "TNT(NTTTNTN) TIP(1:8)");
	for (unsigned n = 1; n <= 47; n++) {
		snprintf(
		    want, sizeof(want), "TNT(%.*s) TIP(1:4)", (int)n, bits);
		if (n == 47)
			snprintf(want, sizeof(want), "TNT(%s) TIP(1:4)", bits);
		for (unsigned i = 0; i < n; i++)
			fake_cond(fake, bits[i] == 'T', BASE);
		jump(fake, BASE + 4);
		fake_expect_packets(fake, want);
	}
	fake_destroy(fake);
}

static void
tips_wait_behind_bits(void **state)
{
	struct pt_transfer interrupt = { .kind = PT_TRANSFER_INTERRUPT,
		.ip_from = BASE + 8 };
	struct fake *fake = start(true, CTL_PLAIN);

	(void)state;
	/* Without bits a TIP does not wait. */
	jump(fake, BASE + 4);
	fake_expect_packets(fake, "TIP(1:4)");
	conds(fake, "TN");
	jump(fake, BASE + 8);
	conds(fake, "T");
	fake_transfer(fake, PT_TRANSFER_CALL_INDIRECT, BASE + 12);
	conds(fake, "NNNN");
	fake_expect_packets(fake, "");
	/* What forces them out comes last. */
	interrupt.after = fake->at;
	interrupt.after.ip = BASE + 16;
	pt_unit_transfer(fake->unit, &interrupt);
	fake_expect_packets(fake,
	    "TNT(TNTNNNN) TIP(1:8) TIP(1:c) FUP(3:ffffffff81000008) "
	    "TIP(1:10)");
	/* A RET that is not compressed never waits. */
	conds(fake, "T");
	jump(fake, BASE + 4);
	fake_transfer(fake, PT_TRANSFER_RET, BASE + 8);
	fake_expect_packets(fake, "TNT(T) TIP(1:4) TIP(1:8)");
	/* As many TIPs as there is room for. */
	conds(fake, "T");
	for (unsigned n = 0; n < 9; n++)
		jump(fake, BASE + n);
	fake_expect_packets(fake,
	    "TNT(T) TIP(1:0) TIP(1:1) TIP(1:2) TIP(1:3) TIP(1:4) TIP(1:5) "
	    "TIP(1:6) TIP(1:7) TIP(1:8)");
	/* A full TNT sends them, too, and so does a disable. */
	conds(fake, "N");
	jump(fake, BASE + 4);
	conds(fake, "TTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT");
	fake_expect_packets(fake,
	    "TNT(NTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT) TIP(1:4)");
	conds(fake, "N");
	jump(fake, BASE + 8);
	fake_stop(fake);
	fake_expect_packets(
	    fake, "TNT(N) TIP(1:8) FUP(3:ffffffff81000100) PGD()");
	fake_destroy(fake);
}

static void
a_tip_that_tells_more_does_not_wait(void **state)
{
	struct fake *fake = start(true, CTL_PLAIN);

	(void)state;
	conds(fake, "T");
	fake->at.cs_l = false;
	fake->at.cs_d = true;
	fake_transfer(fake, PT_TRANSFER_FAR, BASE + 4);
	fake_expect_packets(fake, "TNT(T) EXEC(32) TIP(1:4)");
	fake_destroy(fake);
	/* Nor where packets tell the time. */
	fake = start(true, CTL_PLAIN | CTL_TSC_EN);
	conds(fake, "T");
	jump(fake, BASE + 4);
	fake_expect_packets(fake, "TNT(T) TIP(1:4)");
	fake_destroy(fake);
}

/* Walks of all kinds, of which libipt must understand every instruction. */
static void
libipt_follows_walks_of_every_uarch(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 12; n++) {
		struct fake *fake = fake_create();
		struct stroll *stroll;
		uint64_t ctl = CTL_PLAIN | (n & 1 ? CTL_DIS_RETC : 0);

		fake->uarch.tnt_bits = n & 2 ? 47 : 6;
		fake->uarch.deferred_tip = n >= 4;
		fake->uarch.psb_look_lines = n < 8 ? 15 : 3;
		fake_start(fake, ctl);
		stroll = stroll_create(fake, 4711 + n);
		stroll_on(stroll, 30000);
		stroll_to_end(stroll);
		fake_stop(fake);
		assert_true(stroll_decode(stroll) > 30000);
		stroll_destroy(stroll);
		fake_destroy(fake);
	}
}

/* Near transfers, inline where FAST. */
static void
run(struct fake *fake, bool fast, uint64_t seed)
{
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t r = fake_random(&seed);
		uint64_t target = BASE + (r >> 20 & 0xff);
		bool inlined = fast && pt_unit_fast(fake->unit)->fast;

		if (r % 8 < 5) {
			if (inlined)
				pt_unit_fast_cond(fake->unit, r >> 9 & 1);
			else
				fake_cond(fake, r >> 9 & 1, target);
		} else if (r % 8 == 5) {
			if (inlined)
				pt_unit_fast_ret(fake->unit, target);
			else
				fake_transfer(fake, PT_TRANSFER_RET, target);
		} else {
			if (inlined)
				pt_unit_steady_tip(fake->unit, target);
			else
				jump(fake, target);
		}
		fake->at.ip = target;
	}
}

static void
the_fast_functions_send_the_same_bytes(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 8; n++) {
		struct fake *fake[2];

		for (unsigned i = 0; i < 2; i++) {
			fake[i] = fake_create();
			fake[i]->uarch.tnt_bits = n & 1 ? 47 : 6;
			fake[i]->uarch.deferred_tip = n & 2;
			fake[i]->uarch.ret_pops = n & 4;
			fake_start(fake[i], CTL_PLAIN);
			run(fake[i], i == 1, 99 + n);
			fake_stop(fake[i]);
		}
		assert_true(fake[0]->stream_bytes > 10000);
		assert_int_equal(fake[0]->stream_bytes, fake[1]->stream_bytes);
		assert_memory_equal(
		    fake[0]->stream, fake[1]->stream, fake[0]->stream_bytes);
		assert_true(
		    pt_unit_hash(fake[0]->unit) == pt_unit_hash(fake[1]->unit));
		fake_destroy(fake[0]);
		fake_destroy(fake[1]);
	}
}

static void
what_waits_is_part_of_the_hash(void **state)
{
	struct fake *one = start(true, CTL_PLAIN);
	struct fake *other = start(true, CTL_PLAIN);

	(void)state;
	conds(one, "TTTTTTN");
	conds(other, "TNTTTTN");
	assert_true(pt_unit_hash(one->unit) != pt_unit_hash(other->unit));
	jump(one, BASE);
	jump(other, BASE);
	fake_expect_packets(one, "");
	fake_stop(one);
	fake_stop(other);
	fake_destroy(one);
	fake_destroy(other);
	one = start(true, CTL_PLAIN);
	other = start(true, CTL_PLAIN);
	conds(one, "T");
	conds(other, "T");
	jump(one, BASE);
	jump(other, BASE + 4);
	one->at.ip = other->at.ip;
	assert_true(pt_unit_hash(one->unit) != pt_unit_hash(other->unit));
	fake_destroy(one);
	fake_destroy(other);
}

/* CALLs that return to BASE + 1, BASE + 2 and BASE + 3; a RET to elsewhere. */
static void
call_three(struct fake *fake)
{
	for (unsigned n = 1; n <= 3; n++) {
		struct pt_transfer call = { .kind = PT_TRANSFER_CALL_DIRECT,
			.nlip = BASE + n };

		fake->at.ip = BASE + 64;
		call.after = fake->at;
		pt_unit_transfer(fake->unit, &call);
	}
	fake_transfer(fake, PT_TRANSFER_RET, BASE + 9);
	fake_transfer(fake, PT_TRANSFER_RET, BASE + 2);
	fake_transfer(fake, PT_TRANSFER_RET, BASE + 1);
	jump(fake, BASE);
}

static void
a_ret_that_is_sent_pops_or_clears(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	fake_start(fake, CTL_PLAIN);
	fake_forget(fake);
	call_three(fake);
	fake_expect_packets(fake, "TIP(1:9) TIP(1:2) TIP(1:1) TIP(1:0)");
	fake->uarch.ret_pops = true;
	call_three(fake);
	fake_expect_packets(fake, "TIP(1:9) TNT(TT) TIP(1:0)");
	/* An empty stack stays empty. */
	fake_transfer(fake, PT_TRANSFER_RET, BASE + 9);
	fake_transfer(fake, PT_TRANSFER_RET, BASE + 8);
	call_three(fake);
	fake_expect_packets(
	    fake, "TIP(1:9) TIP(1:8) TIP(1:9) TNT(TT) TIP(1:0)");
	fake_destroy(fake);
}

static void
psb_comes_at_the_looks_of_the_family(void **state)
{
	static const unsigned lines[] = { 1, 4, 15, 32 };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(lines); i++) {
		struct fake *fake = fake_create();
		uint64_t step = 64 * lines[i];

		fake->uarch.psb_look_lines = lines[i];
		fake_start(fake, CTL_PLAIN);
		for (unsigned n = 0; n < 20000; n++)
			jump(fake, BASE + (n % 2 ? 0x20000 : 4));
		assert_true(fake_count(fake, PT_EVENT_PSB) > 20);
		for (uint64_t k = 1; k < 20; k++) {
			uint64_t at =
			    fake_event(fake, PT_EVENT_PSB, k)->offset_bytes;
			uint64_t look = (2048 * k + step - 1) / step * step;

			assert_true(at >= look && at < look + 64);
		}
		fake_destroy(fake);
	}
}

static void
without_a_cycle_counter_there_is_no_cyc(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits < 13; bits += 12) {
		struct fake *fake = fake_create();

		fake->uarch.cyc_bits = bits;
		fake_start(fake, CTL_PLAIN | CTL_CYC_EN);
		fake_forget(fake);
		fake_time(fake, 7);
		jump(fake, BASE);
		fake_time(fake, 9007);
		jump(fake, BASE + 4);
		fake_expect_packets(fake,
		    bits == 0 ? "TIP(1:0) TIP(1:4)"
			      : "CYC(7) TIP(1:0) CYC(4095) CYC(4095) "
				"CYC(810) TIP(1:4)");
		fake_destroy(fake);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_long_tnt_takes_47_bits),
		cmocka_unit_test(tips_wait_behind_bits),
		cmocka_unit_test(a_tip_that_tells_more_does_not_wait),
		cmocka_unit_test(libipt_follows_walks_of_every_uarch),
		cmocka_unit_test(the_fast_functions_send_the_same_bytes),
		cmocka_unit_test(what_waits_is_part_of_the_hash),
		cmocka_unit_test(a_ret_that_is_sent_pops_or_clears),
		cmocka_unit_test(psb_comes_at_the_looks_of_the_family),
		cmocka_unit_test(without_a_cycle_counter_there_is_no_cyc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
