/*
 * Goal: the errata of which only the time of a trace suffers show as libipt knows
 * them. Method: as in errata_test.c; the exact decoder of traces/decode/clock.h beside it.
 */
#include "emu/pt/sync.h"
#include "tests/unit/pt/errata/errata_tell.h"
#include "traces/decode/clock.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* The program: 02: jnz 02; 04: jmp *rax. */
static const uint8_t code[] = { 0x90, 0x90, 0x75, 0xfe, 0xff, 0xe0 };

static struct fake *
begin(struct tell *tell)
{
	tell->code = code;
	tell->code_bytes = sizeof(code);
	return tell->fake;
}

/* CYCLES later, the jump to itself. */
static void
jump(struct tell *tell, uint64_t cycles)
{
	tell->now += cycles;
	fake_time(tell->fake, tell->now);
	fake_transfer(tell->fake, PT_TRANSFER_JMP_INDIRECT, FAKE_NLIP + 2);
}

/* What a decoder may be told that is not true. */
static uint32_t
others(const struct tell *tell, unsigned n)
{
	return n == 0 ? 0 : profile_find(tell->other)->signature;
}

/*
 * SKZ84: reserved bits of TMA are set and a byte follows it; the decoder that knows
 * goes by TSC and MTC then.
 */
static void
skz84_tma_is_corrupt_in_a_guest(void **state)
{
	(void)state;
	for (unsigned on = 0; on < 3; on++) {
		struct tell tell;
		struct fake *fake;
		int64_t error;

		tell_begin(&tell, "skylake-sp", "skylake",
		    PROFILE_ERRATUM_SKZ84, on != 0);
		fake = begin(&tell);
		fake->at.non_root = on != 2;
		fake_start(fake, CTL_TELL & ~CTL_CYC_EN);
		fake_cond(fake, false, FAKE_NLIP + 2);
		for (unsigned i = 0; i < 50; i++)
			jump(&tell, 333);
		fake_stop(fake);
		/* True to less than a tick of MTC, or of TSC alone. */
		error = tell_time_error(&tell, fake->profile.signature);
		assert_true(error <= 0);
		assert_true(
		    -error < (on == 1 ? 50 * 333 + 1 : (int64_t)TELL_PERIOD));
		for (unsigned n = 0; n < 2; n++)
			assert_int_equal(tell_time_error(&tell,
					     others(&tell, n)) == INT64_MIN,
			    on == 1);
		tell_end(&tell);
	}
}

/* Crystal tick 394AH, and 38H ticks more: a reserved bit, FC, and a byte more. */
static void
skz84_has_these_bytes(void **state)
{
	struct tell tell;

	(void)state;
	tell_begin(&tell, "skylake-sp", "skylake", PROFILE_ERRATUM_SKZ84, true);
	tell.fake->at.non_root = true;
	fake_start(tell.fake, CTL_TELL & ~CTL_CYC_EN);
	fake_expect(tell.fake,
	    "02 82 02 82 02 82 02 82 02 82 02 82 02 82 02 82 " /* PSB */
	    "99 20 00 00 00 00 02 43 01 45 23 01 00 00 00 00 " /* TSX, PIP */
	    "19 80 CC 12 00 00 00 00 "                         /* TSC */
	    "02 73 4A 39 01 38 00 00 "
	    "02 03 15 00 02 23 00 00 " /* CBR, PSBEND */
	    "00 00 00 00 00 99 01 71 " /* MODE.Exec */
	    "02 01 00 81 FF FF");      /* TIP.PGE */
	tell_end(&tell);
}

#define JUMPS 11

/*
 * Starts TELL and turns round TURNS times, the last of which leaves the loop; or, if
 * 0, until a PSB waits for the event that follows.  The turns.
 */
static unsigned
turn(struct tell *tell, unsigned turns)
{
	struct fake *fake = begin(tell);
	unsigned count = 0;

	fake_start(fake, CTL_TELL);
	while (turns == 0 ? !pt_unit_psb_due(fake->unit) : count < turns) {
		tell_step(tell);
		count++;
		fake_cond(fake, count != turns,
		    count != turns ? FAKE_NLIP : FAKE_NLIP + 2);
	}
	assert_true(pt_unit_psb_due(fake->unit));
	return count;
}

/*
 * How far the time of the INDEX-th jump lies outside of what the exact decoder says
 * of its TIP: it knows no processor, and takes what packets say.
 */
static void
exact_errors(
    struct fake *fake, const uint64_t times[JUMPS], int64_t errors[JUMPS])
{
	struct clock_config config = { .bytes = fake->stream,
		.count = fake->stream_bytes,
		.ctl = CTL_TELL,
		.tsc_num = fake->profile.tsc_num,
		.tsc_den = fake->profile.tsc_den,
		.cbr = fake->profile.cbr };
	struct clock *clock = clock_create(&config);
	struct clock_time time;
	size_t count = 0;

	assert_non_null(clock);
	assert_true(clock_sync(clock, 0));
	while (clock_next(clock, &time)) {
		if (time.packet != CLOCK_TIP)
			continue;
		assert_true(time.known && count < JUMPS);
		errors[count] = times[count] < time.first
		    ? -(int64_t)(time.first - times[count])
		    : times[count] > time.last
		    ? (int64_t)(times[count] - time.last)
		    : 0;
		count++;
	}
	assert_int_equal(count, JUMPS);
	clock_destroy(clock);
}

/*
 * SKL168: an MTC that comes while PSB waits is dropped with its CYC.  Until TSC in
 * PSB+ the time is behind by what they would have told.  At the next MTC libipt
 * takes the cycles of one period for those of two: its calibration, and with it the
 * time, is wrong from there on.  2.1.2 has a remedy (pt_tcal_update_mtc() skips that
 * MTC), but what switches it on, pt_tcal_update_psb(), is called by no decoder: told
 * or not, the time is the same.  Only this, or the true time, is demanded.
 */
static void
skl168_a_cyc_before_psb_is_dropped(void **state)
{
	struct tell tell;
	unsigned turns;

	(void)state;
	tell_begin(
	    &tell, "skylake", "skylake-sp", PROFILE_ERRATUM_SKL168, false);
	turns = turn(&tell, 0);
	tell_end(&tell);
	for (unsigned on = 0; on < 2; on++) {
		uint64_t times[JUMPS];
		int64_t errors[JUMPS], told, other;

		tell_begin(
		    &tell, "skylake", "skylake-sp", PROFILE_ERRATUM_SKL168, on);
		(void)turn(&tell, turns);
		/* An MTC's edge lies before the first, one more among the rest. */
		for (unsigned i = 0; i < JUMPS; i++) {
			jump(&tell, i == 0 ? TELL_PERIOD : 100);
			times[i] = tell.now;
		}
		fake_stop(tell.fake);
		told = tell_time_error(&tell, tell.fake->profile.signature);
		exact_errors(tell.fake, times, errors);
		for (unsigned n = 0; n < 2; n++) {
			other = tell_time_error(&tell, others(&tell, n));
			assert_int_equal(other == 0, on == 0);
			assert_true(told == other || told == 0);
		}
		/* Less than a period is dropped: what had passed at the edge. */
		assert_in_range(errors[0], on ? 1 : 0, on ? TELL_PERIOD : 0);
		for (unsigned i = 1; i < JUMPS; i++)
			assert_int_equal(errors[i], 0);
		tell_end(&tell);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(skz84_tma_is_corrupt_in_a_guest),
		cmocka_unit_test(skz84_has_these_bytes),
		cmocka_unit_test(skl168_a_cyc_before_psb_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
