/*
 * Goal: what a trace tells beside branches is made again: its clocks, and every
 * event that is no transfer.  Method: random walks through a real program whose
 * clocks go on at random, with events of all kinds strewn in, as the unit under
 * test sends them.
 */
#include "tests/unit/reencode/clocked.h"
#include "tests/unit/reencode/remake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define DAMAGES 150
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
			struct fake *fake = clocked_walk(ctl, seed, 0, NULL);

			remake_equal(fake, ctl, COMPARE_BYTES);
			remake_equal(fake, ctl, COMPARE_CANONICAL);
			remake_equal(fake, 0, COMPARE_STRICT);
			fake_destroy(fake);
		}
}

/* A walk with events KINDS; SEED. */
static void
told(unsigned kinds, unsigned seed)
{
	/* With FUPonPTW and without it. */
	static const uint64_t ctls[] = { CLOCKED_EVENTS,
		CLOCKED_EVENTS ^ TZ_BIT(5),
		CLOCKED_EVENTS | CTL_TSC_EN | CTL_MTC_EN | CTL_CYC_EN |
		    CTL_MTC_FREQ(3) };
	uint64_t ctl = CTL_PLAIN | ctls[seed % TZ_ARRAY_LEN(ctls)];
	struct fake *fake = clocked_walk(ctl, seed, kinds, NULL);

	remake_equal(fake, ctl, COMPARE_BYTES);
	remake_equal(fake, ctl, COMPARE_CANONICAL);
	fake_destroy(fake);
}

static void
events_are_told_of(void **state)
{
	(void)state;
	for (unsigned one = 1; one < 0x100; one <<= 1)
		for (unsigned other = one; other < 0x100; other <<= 1)
			for (unsigned seed = 2; seed < 8; seed++)
				told(one | other, seed);
	for (unsigned seed = 1; seed < 30; seed++)
		told(0xff, seed);
}

static void
damage_does_no_harm(void **state)
{
	const uint64_t ctl = CTL_PLAIN | CTL_TSC_EN | CTL_MTC_EN | CTL_CYC_EN |
	    CTL_MTC_FREQ(3) | CLOCKED_EVENTS;
	struct fake *fake = clocked_walk(ctl, 7, 0xff, NULL);
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
			assert_true(
			    result.replay.covered <= fake->stream_bytes);
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
	struct fake *fake = clocked_walk(ctl, 2, 0, NULL);
	struct reencode_result result;
	struct pkt packet;
	struct pkt_parser parser;
	unsigned seen = 0;

	(void)state;
	pkt_begin(&parser, fake->stream, fake->stream_bytes, 0);
	while (seen < 20 && pkt_next(&parser, &packet))
		seen += packet.kind == PKT_MTC;
	assert_int_equal(seen, 20);
	fake->stream[packet.offset + 1] ^= 0x40;
	remake(fake, ctl, 0, COMPARE_BYTES, &result);
	assert_true(result.replay.clock_jumps >= 1);
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
