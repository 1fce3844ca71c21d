/*
 * Goal: what a bounded internal buffer loses is an input, and all that it lets
 * through is made again, whichever packet of an event was the first to be lost.
 * Method: random walks through a real program whose buffer drains too slowly, with
 * and without clocks and events that are no transfers.
 */
#define _GNU_SOURCE /* mempcpy */

#include "tests/unit/reencode/clocked.h"
#include "tests/unit/reencode/remake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

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

/* A FUP whose TIP is lost is relative to the TIP before it, not to the PSB+. */
static void
an_overflow_lets_a_compressed_fup_through(void **state)
{
	static const uint8_t trace[] = {
		/* PSB; FUP 401000, MODE.Exec, CBR; PSBEND */
		0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
		0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0xdd, 0x00, 0x10, 0x40,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x99, 0x01, 0x02, 0x03, 0x25,
		0x00, 0x02, 0x23,
		/* TIP 7f0000500000, FUP ..0001; OVF, FUP 7f0000500002 */
		0xcd, 0x00, 0x00, 0x50, 0x00, 0x00, 0x7f, 0x00, 0x00, 0x3d,
		0x01, 0x00, 0x02, 0xf3, 0xdd, 0x02, 0x00, 0x50, 0x00, 0x00,
		0x7f, 0x00, 0x00,
		/* MODE.Exec, TIP 401000, TIP 7f0000500000, TIP.PGD */
		0x99, 0x01, 0xcd, 0x00, 0x10, 0x40, 0x00, 0x00, 0x00, 0x00,
		0x00, 0xcd, 0x00, 0x00, 0x50, 0x00, 0x00, 0x7f, 0x00, 0x00, 0x01
	};
	static const uint8_t jump[] = { 0xff, 0xe0 };
	static const uint8_t nops[] = { 0x90, 0x90, 0xff, 0xe0, 0x90, 0x90 };
	const struct profile *profile = profile_find("icelake");
	struct reencode_options options = { .profile = profile,
		.signature = profile->signature,
		.form = COMPARE_CANONICAL };
	struct memory_image *memory_image = memory_image_create();
	struct reencode_result result;
	struct tz_error err = { "" };

	(void)state;
	assert_non_null(memory_image);
	remake_put(memory_image, jump, sizeof(jump), 0x401000);
	remake_put(memory_image, nops, sizeof(nops), 0x7f0000500000);
	if (reencode_trace(trace, sizeof(trace), memory_image, &options,
		&result, &err) != 0)
		fail_msg("%s", err.text);
	assert_true(result.equal);
	assert_int_equal(result.replay.gap_count, 0);
	reencode_result_free(&result);
	memory_image_destroy(memory_image);
}

/*
 * libipt, which finds no good PSB+ before, synchronises in the middle of a TIP.
 */
static void
a_psb_within_a_tip_begins_nothing(void **state)
{
	static const uint8_t psb[16] = { 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
		0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82 };
	static const uint8_t status[] = { 0xdd, 0x00, 0x10, 0x40, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x99, 0x01, 0x02, 0x03, 0x25, 0x00, 0x02,
		0x23, 0xdd, 0x00, 0x10, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00,
		0x01 };
	static const uint8_t end[] = { 0x02, 0x23, 0x01 };
	static const uint8_t nops[64] = { 0x90 };
	const struct profile *profile = profile_find("skylake");
	struct reencode_options options = { .profile = profile,
		.signature = profile->signature };
	struct memory_image *memory_image = memory_image_create();
	struct reencode_result result;
	struct tz_error err = { "" };
	uint8_t trace[128] = { 0 };
	uint8_t *at = trace;

	(void)state;
	assert_non_null(memory_image);
	remake_put(memory_image, nops, sizeof(nops), 0x401000);
	at = mempcpy(at, psb, sizeof(psb));
	*at++ = 0xcd;
	at = mempcpy(at, psb, sizeof(psb));
	at = mempcpy(at, status, sizeof(status));
	for (unsigned n = 0; n < 2; n++) {
		at = mempcpy(at, psb, sizeof(psb));
		at = mempcpy(at, end, sizeof(end));
	}
	if (reencode_trace(trace, sizeof(trace), memory_image, &options,
		&result, &err) != 0)
		fail_msg("%s", err.text);
	assert_true(result.nothing);
	reencode_result_free(&result);
	memory_image_destroy(memory_image);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_that_lose_packets_are_made_again),
		cmocka_unit_test(power_events_may_lose_packets),
		cmocka_unit_test(an_overflow_lets_a_compressed_fup_through),
		cmocka_unit_test(a_psb_within_a_tip_begins_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
