/*
 * Goal: a trace in which IA32_RTIT_CTL or a range changes, from one enable to the next,
 * is made again where it is told of that.  Method: random walks through a real
 * program; between them tracing stops, is set up in another way, and starts.
 */
#include "tests/unit/reencode/remake.h"
#include "traces/reencode/input/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define ROUNDS      12
#define RTIT_CTL    0x570
#define RTIT_STATUS 0x571
#define RTIT_ADDR0  0x580

/* Of ROUNDS settings one each, drawn from DICE; OFF: bits that are never set. */
static void
draw(struct setting *setting, uint64_t *dice, uint64_t off)
{
	static const uint64_t bits[] = { CTL_DIS_RETC, CTL_TSC_EN, CTL_CYC_EN,
		CTL_MTC_EN, UINT64_C(1) << 24, TZ_BIT(32) };

	setting->ctl = CTL_PLAIN;
	for (size_t i = 0; i < TZ_ARRAY_LEN(bits); i++)
		if (fake_random(dice) >> 63 != 0)
			setting->ctl |= bits[i] & ~off;
	setting->filter.config = setting->ctl >> 32 & 1;
	if (setting->filter.config == 0)
		return;
	if (fake_random(dice) >> 63 != 0) {
		setting->filter.a[0] = STROLL_FILTER_A;
		setting->filter.b[0] = STROLL_FILTER_B;
	} else {
		/* jz 00; call *rax; jmp 00: both jumps leave it. */
		setting->filter.a[0] = FAKE_NLIP + 0x20;
		setting->filter.b[0] = FAKE_NLIP + 0x29;
	}
}

/* A walk of ROUNDS parts, with SETTINGS that are drawn. */
static struct fake *
walked(uint64_t seed, uint64_t off, struct setting *settings)
{
	struct fake *fake = fake_create();
	struct stroll *stroll = stroll_create(fake, seed);
	uint64_t dice = seed;

	/* With SKL014 it takes the ranges to know where a direct jump left them. */
	fake->profile.errata_on = (uint32_t)(seed & 1)
	    << PROFILE_ERRATUM_SKL014;
	for (unsigned n = 0; n < ROUNDS; n++) {
		uint64_t reset = fake_random(&dice) >> 63;

		draw(&settings[n], &dice, off);
		fake_wrmsr(fake, RTIT_ADDR0, settings[n].filter.a[0]);
		fake_wrmsr(fake, RTIT_ADDR0 + 1, settings[n].filter.b[0]);
		pt_unit_sync_output(fake->unit);
		settings[n].offset = fake->stream_bytes;
		if (n == 0) {
			fake_start(fake, settings[n].ctl);
		} else {
			/* With a PSB+, or with what is in the counter. */
			if (reset)
				fake_wrmsr(fake, RTIT_STATUS, 0);
			fake->at.ip = FAKE_NLIP;
			fake_wrmsr(
			    fake, RTIT_CTL, settings[n].ctl | CTL_TRACE_EN);
			stroll->ip = FAKE_NLIP;
		}
		stroll_on(stroll, 500 + (unsigned)(fake_random(&dice) >> 54));
		stroll_to_end(stroll);
		fake_stop(fake);
	}
	stroll_destroy(stroll);
	return fake;
}

static void
expect_equal(struct fake *fake, const struct reencode_result *result)
{
	if (!result->equal)
		reencode_print(result, fake->stream, stderr);
	assert_true(result->equal);
	assert_int_equal(result->replay.gap_count, 0);
	assert_int_equal(result->replay.covered, fake->stream_bytes);
}

static void
settings_are_followed(void **state)
{
	struct setting settings[ROUNDS] = { 0 };
	uint64_t resets = 0;

	(void)state;
	for (unsigned seed = 1; seed < 14; seed++)
		for (int form = COMPARE_CANONICAL; form <= COMPARE_BYTES;
		     form++) {
			struct fake *fake = walked(seed, 0, settings);
			struct reencode_result result;

			remake_set(fake, settings, ROUNDS,
			    (enum compare_form)form, &result);
			expect_equal(fake, &result);
			resets += result.replay.setting_changes;
			reencode_result_free(&result);
			fake_destroy(fake);
		}
	assert_true(resets > 300);
}

/* Timing packets that come and go show themselves, and DisRETC can be tried. */
static void
settings_are_inferred(void **state)
{
	const uint64_t off = UINT64_C(1) << 24 | TZ_BIT(32);
	struct setting settings[ROUNDS] = { 0 };

	(void)state;
	for (unsigned seed = 2; seed < 6; seed += 2)
		for (int form = COMPARE_CANONICAL; form <= COMPARE_BYTES;
		     form++) {
			struct fake *fake = walked(seed, off, settings);
			struct reencode_result result;

			remake(fake, 0, 0, (enum compare_form)form, &result);
			expect_equal(fake, &result);
			assert_true(form != COMPARE_BYTES ||
			    result.replay.setting_changes > 2);
			reencode_result_free(&result);
			fake_destroy(fake);
		}
}

/* 200 bytes by a WRMSR, 100 by an XRSTORS, which is recorded behind its TRACE_ON. */
static void
settings_come_from_events(void **state)
{
	static const struct event events[] = {
		{ .kind = EVENT_MSR_WRITE, .a = 0x580, .b = 0x1000 },
		{ .kind = EVENT_TRACE_ON, .a = 0x10000210d },
		{ .kind = EVENT_OUTPUT, .a = 0x5000, .b = 200 },
		{ .kind = EVENT_TRACE_OFF, .a = 0x10000210d, .c = 200 },
		{ .kind = EVENT_TRACE_ON, .a = 0x10000290d, .c = 200 },
		{ .kind = EVENT_MSR_WRITE, .a = 0x580, .b = 0x2000 },
		{ .kind = EVENT_MSR_WRITE, .a = 0x581, .b = 0x3000 },
		{ .kind = EVENT_OUTPUT, .a = 0x50c8, .b = 100, .c = 200 },
		{ .kind = EVENT_TRACE_OFF, .a = 0x10000290d, .c = 300 },
		{ .kind = EVENT_DRAIN, .b = 0x5000, .c = 300 },
	};
	struct setting *settings;
	struct account account;
	struct tz_error err;
	size_t count;

	(void)state;
	assert_int_equal(
	    account_replay(events, TZ_ARRAY_LEN(events), false, &account, &err),
	    0);
	assert_int_equal(settings_read(events, TZ_ARRAY_LEN(events), &account,
			     0, &settings, &count, &err),
	    0);
	assert_int_equal(count, 2);
	assert_int_equal(settings[0].offset, 0);
	assert_int_equal(settings[0].ctl, 0x10000210d);
	assert_int_equal(settings[0].filter.a[0], 0x1000);
	assert_int_equal(settings[1].offset, 200);
	assert_int_equal(settings[1].filter.config, 1);
	assert_int_equal(settings[1].filter.a[0], 0x2000);
	assert_int_equal(settings[1].filter.b[0], 0x3000);
	free(settings);
	account_free(&account);
}

/* Traced as SETTING says, but nothing of it is in the range yet. */
static struct fake *
outside(const struct setting *setting)
{
	struct fake *fake = fake_create();

	fake_wrmsr(fake, RTIT_ADDR0, setting->filter.a[0]);
	fake_wrmsr(fake, RTIT_ADDR0 + 1, setting->filter.b[0]);
	fake_start(fake, setting->ctl | TZ_BIT(32));
	return fake;
}

/* Only user code of a range is traced; the CPU gets to ring 3, but not into it. */
static void
context_may_come_without_a_packet(void **state)
{
	const struct setting setting = { .ctl = CTL_USER | CTL_TOPA |
		    CTL_BRANCH_EN | CTL_MTC_EN | CTL_TSC_EN,
		.filter = { .config = 1, .a = { 0x1000 }, .b = { 0x1fff } } };
	struct fake *fake = outside(&setting);
	struct reencode_result result;

	(void)state;
	fake->at.cpl = 3;
	fake_transfer(fake, PT_TRANSFER_FAR, 0x4000);
	for (unsigned n = 1; n < 100; n++) {
		fake_time(fake, n * 10000);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, 0x4000);
	}
	fake->at.cpl = 0;
	fake_transfer(fake, PT_TRANSFER_FAR, FAKE_CLIP);
	fake_stop(fake);
	remake_set(fake, &setting, 1, COMPARE_BYTES, &result);
	assert_true(result.stats.psb_count > 2);
	expect_equal(fake, &result);
	reencode_result_free(&result);
	fake_destroy(fake);
}

/*
 * Only ring 0 is, and all of that lies outside the range: CR3 is told of, WRITES times,
 * and TraceEn falls and rises after each ONCE of them.
 */
static void
write_cr3(uint64_t writes, uint64_t once)
{
	const struct setting setting = { .ctl = CTL_OS | CTL_TOPA |
		    CTL_BRANCH_EN,
		.filter = { .config = 1, .a = { 0x1000 }, .b = { 0x1fff } } };
	struct pt_transfer transfer = { .kind = PT_TRANSFER_MOV_CR3,
		.cr3_written = true };
	struct fake *fake = outside(&setting);
	struct reencode_result result;

	for (uint64_t n = 1; n <= writes; n++) {
		transfer.after = fake->at;
		transfer.after.cr3 = fake->at.cr3 = n << 12;
		pt_unit_transfer(fake->unit, &transfer);
		if (n % once != 0)
			continue;
		fake_stop(fake);
		fake_wrmsr(fake, RTIT_CTL, setting.ctl | TZ_BIT(32) | 1);
	}
	fake_stop(fake);
	remake_set(fake, &setting, 1, COMPARE_BYTES, &result);
	assert_in_range(result.stats.packets[PKT_PIP], writes, 2 * writes);
	expect_equal(fake, &result);
	reencode_result_free(&result);
	fake_destroy(fake);
}

static void
a_cr3_is_told_of_outside_the_ranges(void **state)
{
	(void)state;
	write_cr3(19, 5);
}

/* More packets than the ring holds, while libipt has nothing to tell of. */
static void
much_may_be_told_of_outside_the_ranges(void **state)
{
	(void)state;
	write_cr3(300000, UINT64_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_are_followed),
		cmocka_unit_test(settings_are_inferred),
		cmocka_unit_test(settings_come_from_events),
		cmocka_unit_test(context_may_come_without_a_packet),
		cmocka_unit_test(a_cr3_is_told_of_outside_the_ranges),
		cmocka_unit_test(much_may_be_told_of_outside_the_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
