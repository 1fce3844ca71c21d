/*
 * Goal: what errata of overflows leave of a trace is made again as far as it says what
 * ran, and the rest is left out, not judged.  Method: random walks through a real
 * program with overflows, by a unit that shows the erratum.
 */
#define _GNU_SOURCE /* memmem */

#include "tests/unit/reencode/remake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "emu/pt/inject.h"

#define ROUNDS       6
#define BIT(erratum) (UINT32_C(1) << PROFILE_ERRATUM_##erratum)

/* A walk whose rounds have overflows; with AT_END each ends in one. */
static struct fake *
walked(
    const struct setting *setting, uint32_t errata, uint64_t seed, bool at_end)
{
	struct fake *fake = fake_create();
	struct stroll *stroll = stroll_create(fake, seed);
	uint64_t ctl = setting->ctl | setting->filter.config << 32;

	fake->profile.errata_on = errata;
	fake_wrmsr(fake, 0x580, setting->filter.a[0]);
	fake_wrmsr(fake, 0x581, setting->filter.b[0]);
	fake_start(fake, ctl);
	for (unsigned n = 0; n < ROUNDS; n++) {
		fake_wrmsr(fake, 0x570, ctl | CTL_TRACE_EN);
		stroll->ip = fake->at.ip = FAKE_NLIP;
		stroll_on(stroll, 3000);
		assert_true(pt_unit_overflow(fake->unit, at_end ? 100000 : 7));
		stroll_on(stroll, 2000);
		stroll_to_end(stroll);
		fake_stop(fake);
	}
	stroll_destroy(stroll);
	return fake;
}

/* Fails unless what was not left out of it is EQUAL; returns how often some was. */
static size_t
gaps(struct fake *fake, const struct setting *setting,
    struct reencode_result *result)
{
	size_t count;

	remake_set(fake, setting, 1, COMPARE_BYTES, result);
	if (!result->equal)
		reencode_print(result, fake->stream, stderr);
	assert_true(result->equal);
	count = result->replay.gap_count;
	for (size_t i = 0; i < count; i++)
		assert_true(result->replay.gaps[i].errata);
	return count;
}

static void
apl11_a_pgd_follows_an_overflow(void **state)
{
	const struct setting setting = { .ctl = CTL_PLAIN };
	struct reencode_result result;

	(void)state;
	for (unsigned seed = 1; seed < 6; seed++) {
		struct fake *fake = walked(&setting, BIT(APL11), seed, true);

		assert_int_equal(gaps(fake, &setting, &result), 0);
		assert_true(result.replay.errata & REPLAY_ERRATUM(APL11));
		assert_int_equal(result.replay.overflows, ROUNDS);
		reencode_result_free(&result);
		fake_destroy(fake);
	}
}

static void
apl12_a_fup_follows_one_outside(void **state)
{
	const struct setting setting = { .ctl = CTL_PLAIN,
		.filter = { .config = 1,
		    .a = { FAKE_NLIP + 0x10 },
		    .b = { FAKE_NLIP + 0x13 } } };
	struct reencode_result result;
	unsigned seen = 0;

	(void)state;
	for (unsigned seed = 1; seed < 12; seed++) {
		struct fake *fake = walked(&setting, BIT(APL12), seed, false);

		assert_int_equal(gaps(fake, &setting, &result), 0);
		seen += (result.replay.errata & REPLAY_ERRATUM(APL12)) != 0;
		reencode_result_free(&result);
		fake_destroy(fake);
	}
	assert_true(seen > 4);
}

static void
skd010_no_fup_is_left_out(void **state)
{
	const struct setting setting = { .ctl = CTL_PLAIN };
	struct reencode_result result;

	(void)state;
	for (unsigned seed = 1; seed < 6; seed++) {
		struct fake *fake = walked(&setting, BIT(SKD010), seed, false);

		assert_int_equal(gaps(fake, &setting, &result), ROUNDS);
		assert_true(result.replay.covered > fake->stream_bytes / 2);
		assert_true(result.replay.covered < fake->stream_bytes);
		reencode_result_free(&result);
		fake_destroy(fake);
	}
}

/* The same of a capture, of which nobody says that it shows. */
static void
skd010_need_not_be_told(void **state)
{
	const struct setting setting = { .ctl = CTL_PLAIN };
	struct reencode_result result;

	(void)state;
	for (unsigned seed = 1; seed < 6; seed++) {
		struct fake *fake = walked(&setting, BIT(SKD010), seed, false);

		fake->profile.errata_on = 0;
		for (int form = COMPARE_CANONICAL; form <= COMPARE_BYTES;
		     form++) {
			remake(fake, CTL_PLAIN, 0, (enum compare_form)form,
			    &result);
			if (!result.equal)
				reencode_print(&result, fake->stream, stderr);
			assert_true(result.equal);
			assert_int_equal(result.replay.gap_count, ROUNDS);
			assert_true(
			    result.replay.covered > fake->stream_bytes / 2);
			reencode_result_free(&result);
		}
		fake_destroy(fake);
	}
}

/* An OVF right before the INDEX-th PSB, which no unit has sent. */
static bool
put_overflow(struct fake *fake, unsigned index)
{
	static const uint8_t psb[16] = { 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
		0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82 };
	uint8_t *at = fake->stream;

	for (unsigned n = 0; n <= index; n++) {
		size_t left = fake->stream_bytes - (size_t)(at - fake->stream);

		at = memmem(at + 1, left - 1, psb, sizeof(psb));
		if (at == NULL)
			return false;
	}
	memmove(at + 2, at, fake->stream_bytes - (size_t)(at - fake->stream));
	at[0] = 0x02;
	at[1] = 0xf3;
	fake->stream_bytes += 2;
	return true;
}

/* What does not go with the OVF itself is no doing of an erratum behind it. */
static void
an_overflow_that_was_none_differs(void **state)
{
	unsigned tried = 0;

	(void)state;
	for (unsigned index = 0; index < 12; index++) {
		const struct setting setting = { .ctl = CTL_PLAIN };
		struct fake *fake = walked(&setting, 0, 3, false);
		struct reencode_result result;

		if (put_overflow(fake, index)) {
			remake(fake, CTL_PLAIN, 0, COMPARE_BYTES, &result);
			assert_false(result.equal);
			assert_true(result.replay.difference.found);
			assert_int_equal(result.replay.gap_count, 0);
			reencode_result_free(&result);
			tried++;
		}
		fake_destroy(fake);
	}
	assert_true(tried > 4);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(apl11_a_pgd_follows_an_overflow),
		cmocka_unit_test(apl12_a_fup_follows_one_outside),
		cmocka_unit_test(skd010_no_fup_is_left_out),
		cmocka_unit_test(skd010_need_not_be_told),
		cmocka_unit_test(an_overflow_that_was_none_differs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
