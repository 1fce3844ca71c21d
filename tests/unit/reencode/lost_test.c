/*
 * Goal: what a bounded internal buffer loses is an input, and all that it lets
 * through is made again, whichever packet of an event was the first to be lost.
 * Method: random walks through a real program whose buffer drains too slowly, with
 * and without clocks and events that are no transfers.
 */
#include "tests/unit/reencode/clocked.h"
#include "tests/unit/reencode/remake.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SEEDS 12

static const struct pt_cycles buffers[] = {
	{ .buffer_bytes = 256, .drain_bytes = 1, .drain_cycles = 3000 },
	{ .buffer_bytes = 256,
	    .drain_bytes = 2,
	    .drain_cycles = 4000,
	    .latency_cycles = 100 },
	{ .buffer_bytes = 777, .drain_bytes = 1, .drain_cycles = 2000 },
};

/* Overflows that were made again. */
static uint64_t
walk(uint64_t ctl, uint64_t seed, unsigned kinds)
{
	struct fake *fake = clocked_walk(
	    ctl, seed, kinds, &buffers[seed % TZ_ARRAY_LEN(buffers)]);
	uint64_t count = fake_count(fake, PT_EVENT_OVERFLOW) / 2;

	remake_equal(fake, ctl, COMPARE_BYTES);
	remake_equal(fake, ctl, COMPARE_CANONICAL);
	fake_destroy(fake);
	return count;
}

static void
walks_that_lose_packets_are_made_again(void **state)
{
	static const uint64_t ctls[] = { 0, CTL_DIS_RETC, CTL_CYC_EN,
		CTL_CYC_EN | CTL_CYC_THRESH(5), CTL_MTC_EN | CTL_MTC_FREQ(3),
		CTL_TSC_EN,
		CTL_TSC_EN | CTL_MTC_EN | CTL_CYC_EN | CTL_DIS_RETC };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(ctls); i++) {
		uint64_t count = 0;

		for (unsigned seed = 1; seed <= SEEDS; seed++)
			count += walk(CTL_PLAIN | ctls[i], seed, 0);
		assert_true(count >= SEEDS);
	}
}

/* MWAIT, PWRE and EXSTOP are of one event, of which any may be the first to be lost. */
static void
power_events_may_lose_packets(void **state)
{
	static const uint64_t ctls[] = { 0, CTL_DIS_RETC, CTL_TSC_EN };
	uint64_t count = 0;

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(ctls); i++)
		for (unsigned seed = 1; seed <= SEEDS; seed++)
			count += walk(
			    CTL_PLAIN | TZ_BIT(4) | ctls[i], seed, 1u << 2);
	assert_true(count >= SEEDS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_that_lose_packets_are_made_again),
		cmocka_unit_test(power_events_may_lose_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
