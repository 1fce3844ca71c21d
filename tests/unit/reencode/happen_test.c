/*
 * Goal: what a trace tells beside branches is made again: its clocks, and every
 * event that is no transfer.  Method: random walks through a real program whose
 * clocks go on at random, with events of all kinds strewn in, as the unit under
 * test sends them.
 */
#include "tests/unit/reencode/remake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/pt/happening.h"

#define DAMAGES 150
#define STEPS   1500
/* PwrEvtEn, FUPonPTW, PTWEn, EventEn. */
#define CTL_EVENTS (TZ_BIT(4) | TZ_BIT(5) | TZ_BIT(12) | TZ_BIT(31))
/* TSC and core cycles in a tick of the crystal. */
#define TSC_TICK   154
#define CYCLE_TICK 1500

struct walk_clock {
	struct fake *fake;
	struct pt_time now;
	uint64_t dice;
};

/* The clocks go on to CYCLES, with an MTC at each edge on the way. */
static void
clocks_to(struct walk_clock *clock, uint64_t cycles)
{
	for (;;) {
		uint64_t due = pt_unit_mtc_due(clock->fake->unit);
		uint64_t edge = due == UINT64_MAX ? due : due * CYCLE_TICK;
		bool crosses = edge <= cycles;

		clock->now.cycles = crosses ? edge : cycles;
		clock->now.art = clock->now.cycles / CYCLE_TICK;
		clock->now.fc = (uint32_t)(clock->now.cycles % CYCLE_TICK *
		    TSC_TICK / CYCLE_TICK);
		clock->now.tsc = clock->now.art * TSC_TICK + clock->now.fc;
		pt_unit_time(clock->fake->unit, &clock->now);
		if (!crosses)
			return;
	}
}

static void
clocks_on(struct walk_clock *clock)
{
	static const uint64_t spans[] = { 0, 0, 1, 3, 40, 700, 9000 };
	uint64_t draw = fake_random(&clock->dice);

	clocks_to(clock,
	    clock->now.cycles + spans[(draw >> 32) % TZ_ARRAY_LEN(spans)]);
}

/* Event KIND, 0..7, at the walk's place. */
static void
happens(struct walk_clock *clock, struct stroll *stroll, unsigned kind)
{
	static const struct pt_power power = {
		.mwait = true, .hints = 0x21, .ext = 1, .cstate = 2, .sub = 1
	};
	static const struct pt_block_item items[] = { { 3, 0x1122334455667788 },
		{ 31, 4 } };
	static const struct pt_block blocks[] = { { 4, false, 2, items },
		{ 1, true, 1, items + 1 } };
	struct pt_unit *unit = clock->fake->unit;
	struct pt_context *at = &clock->fake->at;

	at->ip = stroll->ip;
	switch (kind) {
	case 0:
		pt_unit_ptwrite(unit, at, fake_random(&clock->dice), 8);
		break;
	case 1:
		pt_unit_ptwrite(unit, at, 0x1234, 4);
		break;
	case 2:
		pt_unit_power_enter(unit, at, &power);
		clocks_on(clock);
		pt_unit_power_exit(unit, at, 2, 3, PT_WAKE_INTERRUPT);
		break;
	case 3:
		pt_unit_exstop(unit, at);
		pt_unit_frequency(unit, 12);
		break;
	case 4:
		pt_unit_tsx(unit, at, true);
		break;
	case 5:
		pt_unit_maintenance(unit, 0x8877665544332211);
		break;
	case 6:
		pt_unit_pebs(unit, at, blocks, 2, true);
		break;
	default:
		at->if_flag = !at->if_flag;
		pt_unit_if_changed(unit, at);
		break;
	}
}

/* KINDS: of happens(), each a bit. */
static struct fake *
walked(uint64_t ctl, uint64_t seed, unsigned kinds)
{
	struct fake *fake = fake_create();
	struct stroll *stroll = stroll_create(fake, seed);
	struct walk_clock clock = {
		.fake = fake, .now = { .cycles = 5000 }, .dice = seed
	};

	fake->profile.pt_ebx |= PROFILE_PT_EBX_PTWRITE | PROFILE_PT_EBX_PWR |
	    PROFILE_PT_EBX_EVENT;
	clocks_to(&clock, 7777 * seed);
	fake_start(fake, ctl);
	for (unsigned n = 0; n < STEPS; n++) {
		uint64_t draw = fake_random(&clock.dice) >> 32;

		clocks_on(&clock);
		stroll_on(stroll, 1 + (unsigned)(draw & 3));
		clocks_on(&clock);
		if ((draw >> 8 & 7) == 0 &&
		    (kinds >> (draw >> 16 & 7) & 1) != 0)
			happens(&clock, stroll, (unsigned)(draw >> 16 & 7));
	}
	stroll_to_end(stroll);
	fake_stop(fake);
	stroll_destroy(stroll);
	return fake;
}

static void
equal(struct fake *fake, uint64_t ctl, enum compare_form form)
{
	struct reencode_result result;

	remake(fake, ctl, 0, form, &result);
	if (!result.equal)
		reencode_print(&result, fake->stream, stderr);
	assert_true(result.equal);
	assert_int_equal(result.drive.gap_count, 0);
	assert_int_equal(result.drive.covered, fake->stream_bytes);
	reencode_result_free(&result);
}

static void
clocks_are_taken_from_the_trace(void **state)
{
	static const uint64_t ctls[] = { CTL_CYC_EN,
		CTL_CYC_EN | CTL_CYC_THRESH(1), CTL_CYC_EN | CTL_CYC_THRESH(6),
		CTL_MTC_EN, CTL_MTC_EN | CTL_MTC_FREQ(3), CTL_TSC_EN,
		CTL_TSC_EN | CTL_MTC_EN | CTL_MTC_FREQ(6),
		CTL_TSC_EN | CTL_MTC_EN | CTL_CYC_EN | CTL_MTC_FREQ(3),
		CTL_TSC_EN | CTL_MTC_EN | CTL_CYC_EN | CTL_MTC_FREQ(9) |
		    CTL_CYC_THRESH(4) };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(ctls); i++)
		for (unsigned seed = 1; seed < 4; seed++) {
			uint64_t ctl = CTL_PLAIN | ctls[i];
			struct fake *fake = walked(ctl, seed, 0);

			equal(fake, ctl, COMPARE_BYTES);
			equal(fake, ctl, COMPARE_CANONICAL);
			equal(fake, 0, COMPARE_STRICT);
			fake_destroy(fake);
		}
}

static void
events_are_told_of(void **state)
{
	static const uint64_t ctls[] = { 0,
		CTL_TSC_EN | CTL_MTC_EN | CTL_CYC_EN | CTL_MTC_FREQ(3) };

	(void)state;
	for (unsigned kinds = 1; kinds < 0x100; kinds <<= 1)
		for (size_t i = 0; i < TZ_ARRAY_LEN(ctls); i++) {
			uint64_t ctl = CTL_PLAIN | ctls[i] | CTL_EVENTS;
			struct fake *fake = walked(ctl, 5, kinds);

			equal(fake, ctl, COMPARE_BYTES);
			equal(fake, ctl, COMPARE_CANONICAL);
			fake_destroy(fake);
		}
}

static void
damage_does_no_harm(void **state)
{
	const uint64_t ctl = CTL_PLAIN | CTL_TSC_EN | CTL_MTC_EN | CTL_CYC_EN |
	    CTL_MTC_FREQ(3) | CTL_EVENTS;
	struct fake *fake = walked(ctl, 7, 0xff);
	struct tz_error err;
	uint64_t dice = 1;

	(void)state;
	for (unsigned n = 0; n < DAMAGES; n++) {
		struct reencode_result result;
		uint64_t draw = fake_random(&dice);
		uint8_t *byte =
		    &fake->stream[(draw >> 20) % fake->stream_bytes];
		uint8_t was = *byte;

		*byte = n % 2 != 0 ? (uint8_t)draw
				   : (uint8_t)(was ^ 1u << n % 8);
		if (try_remake(fake, ctl, 0, (enum compare_form)(n % 3),
			&result, &err)) {
			assert_true(result.drive.covered <= fake->stream_bytes);
			reencode_result_free(&result);
		}
		*byte = was;
	}
	fake_destroy(fake);
}

static void
a_jump_of_the_crystal_clock_is_told(void **state)
{
	const uint64_t ctl = CTL_PLAIN | CTL_TSC_EN | CTL_MTC_EN |
	    CTL_MTC_FREQ(3);
	struct fake *fake = walked(ctl, 2, 0);
	struct reencode_result result;
	struct scan_packet packet;
	struct scan scan;
	unsigned seen = 0;

	(void)state;
	scan_begin(&scan, fake->stream, fake->stream_bytes, 0);
	while (seen < 20 && scan_next(&scan, &packet))
		seen += packet.kind == SCAN_MTC;
	assert_int_equal(seen, 20);
	fake->stream[packet.offset + 1] ^= 0x40;
	remake(fake, ctl, 0, COMPARE_BYTES, &result);
	assert_true(result.drive.clock_jumps >= 1);
	reencode_result_free(&result);
	fake_destroy(fake);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_are_taken_from_the_trace),
		cmocka_unit_test(events_are_told_of),
		cmocka_unit_test(damage_does_no_harm),
		cmocka_unit_test(a_jump_of_the_crystal_clock_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
