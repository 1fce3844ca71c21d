/*
 * Goal: of a trace that comes without a word on its making, what its packets show
 * is inferred, and is enough.  Method: random walks through a real program, made
 * again without IA32_RTIT_CTL and without the errata that showed.
 */
#include "tests/unit/reencode/remake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CTL_PSB_FREQ(n) ((uint64_t)(n) << 24)

/* TRANSFERS of a walk, with ERRATA that nobody is told of. */
static struct fake *
walked(uint64_t ctl, uint32_t errata, unsigned transfers)
{
	struct fake *fake = fake_create();
	struct stroll *stroll = stroll_create(fake, 11);

	fake->profile.errata_on = errata;
	fake_start(fake, ctl);
	stroll_on(stroll, transfers);
	stroll_to_end(stroll);
	fake_stop(fake);
	fake->profile.errata_on = 0;
	stroll_destroy(stroll);
	return fake;
}

static void
remake_in_every_form(struct fake *fake)
{
	for (int form = COMPARE_CANONICAL; form <= COMPARE_BYTES; form++)
		remake_equal(fake, 0, (enum compare_form)form);
}

/* One PSB is all there is: the next has not come up to the end. */
static void
the_psb_period_is_longer_than_what_has_none(void **state)
{
	(void)state;
	for (unsigned freq = 0; freq < 4; freq++) {
		struct fake *fake = walked(
		    CTL_PLAIN | CTL_PSB_FREQ(freq), 0, 900u << freq);
		struct reencode_result result;

		remake_in_every_form(fake);
		remake(fake, 0, 0, COMPARE_BYTES, &result);
		assert_int_equal(result.stats.psb_count, 1);
		reencode_result_free(&result);
		fake_destroy(fake);
	}
}

static void
bdm70_is_seen(void **state)
{
	const uint32_t bdm70 = UINT32_C(1) << PROFILE_ERRATUM_BDM70;
	const struct setting setting = { .ctl = CTL_PLAIN };

	(void)state;
	for (unsigned on = 0; on < 2; on++) {
		struct fake *fake = walked(CTL_PLAIN, on * bdm70, 3000);
		struct reencode_result result;

		remake_in_every_form(fake);
		remake(fake, 0, 0, COMPARE_BYTES, &result);
		assert_int_equal(
		    result.replay.errata, on * REPLAY_ERRATUM(BDM70));
		reencode_result_free(&result);
		/* One that is known to show is not inferred. */
		fake->profile.errata_on = on * bdm70;
		remake_set(fake, &setting, 1, COMPARE_BYTES, &result);
		assert_true(result.equal);
		assert_int_equal(result.replay.errata, 0);
		reencode_result_free(&result);
		fake_destroy(fake);
	}
}

/*
 * A PSB that is due when tracing stops is lost: what the counter held at the first PSB
 * cannot be found by halving.
 */
static void
a_trace_of_many_enables_may_begin_in_the_middle(void **state)
{
	const uint64_t ctl = CTL_PLAIN | CTL_DIS_RETC;

	(void)state;
	for (unsigned seed = 15; seed <= 20; seed += 5) {
		struct fake *fake = fake_create();
		struct stroll *stroll = stroll_create(fake, seed);
		uint64_t dice = seed;

		fake_start(fake, ctl);
		for (unsigned n = 0; n < 8; n++) {
			fake_wrmsr(fake, 0x570, ctl | CTL_TRACE_EN);
			stroll->ip = fake->at.ip = FAKE_NLIP;
			stroll_on(
			    stroll, 300 + (unsigned)(fake_random(&dice) >> 53));
			stroll_to_end(stroll);
			fake_stop(fake);
		}
		for (uint64_t from = 8; from < 4000; from += 808) {
			struct reencode_result result;

			remake(fake, ctl, from, COMPARE_BYTES, &result);
			if (!result.equal)
				reencode_print(
				    &result, fake->stream + from, stderr);
			assert_true(result.equal);
			reencode_result_free(&result);
		}
		stroll_destroy(stroll);
		fake_destroy(fake);
	}
}

/* The program ends with: ptwrite, jmp 00, and 5 bytes that are not come to. */
static void
a_part_of_an_instruction_is_no_contradiction(void **state)
{
	struct fake *fake = walked(CTL_PLAIN, 0, 6000);

	(void)state;
	for (size_t cut = 0; cut < 11; cut++) {
		struct reencode_result result;

		remake_short(fake, CTL_PLAIN, cut, &result);
		assert_true(result.equal);
		assert_int_equal(result.replay.gap_count != 0, cut > 5);
		reencode_result_free(&result);
	}
	fake_destroy(fake);
}

#define PSB                                                                    \
 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, \
     0x82, 0x02, 0x82
/* PSB, MODE.TSX, CBR, PSBEND, MODE.Exec, TIP.PGE 400000h */
#define BEGINNING                                                          \
 PSB, 0x99, 0x20, 0x02, 0x03, 0x25, 0, 0x02, 0x23, 0x99, 0x01, 0x71, 0, 0, \
     0x40, 0, 0, 0

/* STREAM of SIGNATURE, of which no more is known, made again where CODE lies at 400000h. */
static void
remake_form(enum compare_form form, uint32_t signature, const uint8_t *code,
    size_t code_bytes, const uint8_t *stream, size_t bytes,
    struct reencode_result *result)
{
	const struct reencode_options options = {
		.profile = profile_of_signature(signature),
		.signature = signature,
		.form = form,
	};
	struct memory_image *memory_image = memory_image_create();
	struct tz_error err;

	assert_non_null(memory_image);
	remake_put(memory_image, code, code_bytes, 0x400000);
	assert_int_equal(
	    reencode_trace(stream, bytes, memory_image, &options, result, &err),
	    0);
	memory_image_destroy(memory_image);
}

static void
remake_bytes(const uint8_t *code, size_t code_bytes, const uint8_t *stream,
    size_t bytes, struct reencode_result *result)
{
	remake_form(
	    COMPARE_STRICT, 0x506e3, code, code_bytes, stream, bytes, result);
}

/* STREAM of SIGNATURE is equal in the canonical form, with so many events. */
static void
check_events(
    uint32_t signature, const uint8_t *stream, size_t bytes, unsigned events)
{
	static const uint8_t nops[] = { 0x90, 0x90, 0x90, 0x90 };
	struct reencode_result result;

	remake_form(COMPARE_CANONICAL, signature, nops, sizeof(nops), stream,
	    bytes, &result);
	if (!result.equal)
		reencode_print(&result, stream, stderr);
	assert_true(result.equal);
	assert_int_equal(result.replay.other_events, events);
	reencode_result_free(&result);
}

#define SKYLAKE     0x506e3
#define ALDERLAKE_N 0xb06e0

/* FUP 400000h, MODE.Exec, PSBEND: no CBR, no MODE.TSX */
#define REST_OF_PSB 0x7d, 0, 0, 0x40, 0, 0, 0, 0x99, 0x01, 0x02, 0x23
/* Trace off at 400003h. */
#define OFF 0x3d, 0x03, 0x00, 0x01

/* The canonical form does not compare a PSB+: what comes behind it is still seen. */
static void
events_may_follow_a_psb_that_is_not_compared(void **state)
{
	static const uint8_t stream[] = { PSB, REST_OF_PSB,
		/* a transaction begins at 400001h and ends at 400002h */
		0x99, 0x21, 0x3d, 0x01, 0x00, 0x99, 0x20, 0x3d, 0x02, 0x00,
		OFF };

	(void)state;
	check_events(SKYLAKE, stream, sizeof(stream), 2);
}

/* User only, without branches: no packet but that of the event shows ContextEn. */
static void
ptwrites_alone_are_a_trace(void **state)
{
	/* PSB, PSBEND, PTW of 4 and of 8 bytes */
	static const uint8_t stream[] = { PSB, 0x02, 0x23, 0x02, 0x12, 1, 2, 3,
		4, 0x02, 0x32, 1, 2, 3, 4, 5, 6, 7, 8 };

	(void)state;
	check_events(ALDERLAKE_N, stream, sizeof(stream), 2);
}

static void
a_wake_needs_no_cbr(void **state)
{
	static const uint8_t stream[] = { PSB, REST_OF_PSB,
		/* PWRE by hardware, EXSTOP, FUP 400001h, PWRX */
		0x02, 0x22, 0x80, 0x0f, 0x02, 0xe2, 0x3d, 0x01, 0x00, 0x02,
		0xa2, 0x0f, 0x08, 0, 0, 0, OFF };

	(void)state;
	check_events(ALDERLAKE_N, stream, sizeof(stream), 2);
}

/* The unit has no MODE.Exec in the PSB+ of an enable, but one before its TIP.PGE. */
static void
the_mode_may_stand_in_the_psb_of_an_enable(void **state)
{
	static const uint8_t stream[] = { PSB,
		/* MODE.Exec, PSBEND, TIP.PGE 400000h */
		0x99, 0x01, 0x02, 0x23, 0x71, 0, 0, 0x40, 0, 0, 0, OFF };

	(void)state;
	check_events(SKYLAKE, stream, sizeof(stream), 0);
}

/* What comes behind a difference is not followed: a ring of jumps, say. */
static void
nothing_is_far_ahead_of_a_difference(void **state)
{
	static const uint8_t code[] = {
		/* six times jnz to the next instruction, then jmp to itself */
		0x75, 0, 0x75, 0, 0x75, 0, 0x75, 0, 0x75, 0, 0x75, 0, 0xeb, 0xfe
	};
	static const uint8_t stream[] = { BEGINNING,
		/* two TNTs, of which the unit makes one */
		0x06, 0x7e,
		/* FUP and TIP of an interrupt where the flow does not come */
		0x3d, 0, 0x01, 0x2d, 0, 0x02 };
	struct reencode_result result;

	(void)state;
	remake_bytes(code, sizeof(code), stream, sizeof(stream), &result);
	assert_true(result.replay.difference.found);
	assert_int_equal(result.replay.difference.offset, sizeof(stream) - 8);
	assert_true(result.replay.insns >= 6);
	assert_true(result.replay.insns < UINT64_C(1) << 18);
	reencode_result_free(&result);
}

/* A branch to the next instruction: how it went only the trace says, each time. */
static void
a_branch_to_what_follows_goes_either_way(void **state)
{
	/* jnz to the next instruction, jnz back to it */
	static const uint8_t code[16] = { 0x75, 0, 0x75, 0xfc };
	/* Of each TNT the first, third and fifth outcome are those of the first one. */
	static const uint8_t stream[] = { BEGINNING, 0xfe, 0xba, 0xaa, 0xee,
		0xae, 0xfa };
	struct reencode_result result;

	(void)state;
	remake_bytes(code, sizeof(code), stream, sizeof(stream), &result);
	if (!result.equal)
		reencode_print(&result, stream, stderr);
	assert_true(result.equal);
	assert_int_equal(result.replay.insns, 36);
	reencode_result_free(&result);
}

/*
 * True if the walk in the range of these offsets is equal; SKL014 is
 * on, which the input does not say.
 */
static bool
guessed(uint64_t from, uint64_t to)
{
	struct fake *fake = fake_create();
	struct stroll *stroll = stroll_create(fake, 3);
	struct reencode_result result;
	struct tz_error err = { "" };
	bool good;

	fake->profile.errata_on = UINT32_C(1) << PROFILE_ERRATUM_SKL014;
	fake_wrmsr(fake, 0x580, FAKE_NLIP + from);
	fake_wrmsr(fake, 0x581, FAKE_NLIP + to);
	fake_start(fake, CTL_PLAIN | TZ_BIT(32));
	stroll_on(stroll, 2000);
	stroll_to_end(stroll);
	fake_stop(fake);
	fake->profile.errata_on = 0;
	good = try_remake(fake, CTL_PLAIN, 0, COMPARE_BYTES, &result, &err);
	if (good) {
		assert_true(result.equal || result.nothing);
		reencode_result_free(&result);
	} else {
		assert_non_null(strstr(err.text, "--range"));
	}
	stroll_destroy(stroll);
	fake_destroy(fake);
	return good;
}

static void
ranges_that_do_not_show_are_asked_for(void **state)
{
	static const uint64_t ends[] = { 0x02, 0x07, 0x08, 0x10, 0x12, 0x13,
		0x20, 0x26, 0x28, 0x2c, 0x2e };
	unsigned refused = 0;

	(void)state;
	for (size_t to = 0; to < TZ_ARRAY_LEN(ends); to++)
		for (size_t from = 0; from < to; from++)
			refused += !guessed(ends[from], ends[to] - 1);
	assert_true(refused != 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_psb_period_is_longer_than_what_has_none),
		cmocka_unit_test(bdm70_is_seen),
		cmocka_unit_test(
		    a_trace_of_many_enables_may_begin_in_the_middle),
		cmocka_unit_test(a_part_of_an_instruction_is_no_contradiction),
		cmocka_unit_test(events_may_follow_a_psb_that_is_not_compared),
		cmocka_unit_test(ptwrites_alone_are_a_trace),
		cmocka_unit_test(a_wake_needs_no_cbr),
		cmocka_unit_test(the_mode_may_stand_in_the_psb_of_an_enable),
		cmocka_unit_test(nothing_is_far_ahead_of_a_difference),
		cmocka_unit_test(a_branch_to_what_follows_goes_either_way),
		cmocka_unit_test(ranges_that_do_not_show_are_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
