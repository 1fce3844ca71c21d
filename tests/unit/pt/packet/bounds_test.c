/*
 * Goal: libipt's time at every TIP is as near to the true time as timing packets
 * allow, and our exact decoder's is right.  Method: jumps at random times, whose
 * gaps fit between packets, straddle them or hold many; the time of each TIP by
 * libipt's event decoder and by traces/decode/clock.h against what the TSC read.
 */
#include "emu/pt/sync.h"
#include "tests/unit/pt/fake.h"
#include "tests/unit/pt/tip_times.h"
#include "traces/decode/decode_time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define JUMPS        8000
#define START_CYCLES 1000003
#define BASE         UINT64_C(0xffffffff81000000)
#define PERIODS      10 /* of MTC: 1, 8, 64 and 512 crystal ticks */
#define THRESHOLDS   13 /* of CYC: none, 1 to 2048 cycles */

#define CTL_TIMES    (CTL_TSC_EN | CTL_CYC_EN | CTL_MTC_EN | CTL_MTC_FREQ(3))

/*
 * Slow and fast cores, and one that is hardly slower than the TSC; at 190 a cycle is
 * 49.85 256ths of a tick, of which libipt keeps 49.
 */
static const uint32_t cores[] = { 12, 36, 45, 190 };

struct row {
	const char *profile;
	uint64_t ctl;
	uint32_t core_cbr; /* 0: the core's clock is the TSC's */
};

/* The trace of ROW; TIMES is what the TSC reads at each jump. */
static struct fake *
trace(const struct row *row, uint64_t times[JUMPS])
{
	static const uint64_t paces[] = { 3, 30, 300, 3000 };
	struct fake *fake = fake_create();
	uint64_t cycles = START_CYCLES, seed = 7 + row->ctl + row->core_cbr;

	fake->profile = *profile_find(row->profile);
	fake->core_cbr = row->core_cbr;
	pt_unit_set_cbr(
	    fake->unit, row->core_cbr != 0 ? row->core_cbr : fake->profile.cbr);
	fake_time(fake, cycles);
	fake_start(fake, CTL_PLAIN | row->ctl);
	for (unsigned i = 0; i < JUMPS; i++) {
		/* Each pace lasts for a while. */
		uint64_t most = paces[i / 64 % TZ_ARRAY_LEN(paces)];

		cycles += 1 + fake_random(&seed) % most;
		fake_time(fake, cycles);
		if (fake_random(&seed) % 4 == 0)
			fake_cond(fake, true, BASE);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT,
		    BASE + fake_random(&seed) % 4096);
		times[i] = fake_tsc(fake, cycles);
	}
	fake_stop(fake);
	pt_unit_sync_output(fake->unit);
	return fake;
}

/*
 * What is demanded of libipt where each cycle is told, or none is: a cycle; a 128th of
 * the time since the last MTC or TSC, or a 256th of a tick a cycle if that is more, a
 * tick a CYC, and the cycle in which an edge is seen; an MTC period.
 */
static uint64_t
demanded(const struct row *row, const struct clock_config *config,
    const struct clock_time *exact)
{
	uint64_t ticks = config->tsc_num / config->tsc_den;
	uint64_t cycles = exact->since * row->core_cbr / config->cbr;
	uint64_t part = (exact->since + 127) / 128;

	if (!(row->ctl & CTL_CYC_EN))
		return ticks << tz_bits(row->ctl, 17, 14);
	if (row->core_cbr == 0)
		return 1;
	if (part < cycles / 256)
		part = cycles / 256;
	return part + exact->cyc_count +
	    (config->cbr + row->core_cbr - 1) / row->core_cbr;
}

static void
check_tip(const struct row *row, const struct clock_config *config,
    const struct clock_time *exact, uint64_t told, uint64_t now)
{
	uint32_t core = row->core_cbr != 0 ? row->core_cbr : config->cbr;
	uint64_t error = told > now ? told - now : now - told;

	assert_true(exact->known);
	assert_in_range(now, exact->first, exact->last);
	assert_in_range(error, 0, decode_time_allowed(config, exact, core));
	/* A threshold of one cycle hides nothing. */
	if (tz_bits(row->ctl, 22, 19) <= 1)
		assert_in_range(error, 0, demanded(row, config, exact));
}

static void
check(const char *profile, uint64_t ctl, uint32_t core_cbr)
{
	static uint64_t times[JUMPS], told[JUMPS];
	const struct row row = { profile, ctl, core_cbr };
	struct fake *fake = trace(&row, times);
	struct clock_config config = { .bytes = fake->stream,
		.count = fake->stream_bytes,
		.ctl = CTL_PLAIN | ctl,
		.tsc_num = fake->profile.tsc_num,
		.tsc_den = fake->profile.tsc_den,
		.cbr = fake->profile.cbr };
	struct clock *clock = clock_create(&config);
	struct clock_time exact;
	size_t count = 0;

	assert_non_null(clock);
	assert_int_equal(
	    tip_times_read(&config, fake->profile.signature, told, JUMPS),
	    JUMPS);
	assert_true(clock_sync(clock, 0));
	while (clock_next(clock, &exact)) {
		if (exact.packet != CLOCK_TIP)
			continue;
		assert_true(count < JUMPS);
		check_tip(&row, &config, &exact, told[count], times[count]);
		count++;
	}
	assert_int_equal(count, JUMPS);
	clock_destroy(clock);
	fake_destroy(fake);
}

/* The core's clock is the TSC's, and is not. */
static void
check_cores(uint64_t ctl)
{
	check("skylake", CTL_TSC_EN | ctl, 0);
	for (size_t i = 0; i < TZ_ARRAY_LEN(cores); i++)
		check("skylake", CTL_TSC_EN | ctl, cores[i]);
}

static void
every_cycle_is_told(void **state)
{
	(void)state;
	check_cores(CTL_CYC_EN);
	for (unsigned period = 0; period < PERIODS; period += 3)
		check_cores(CTL_CYC_EN | CTL_MTC_EN | CTL_MTC_FREQ(period));
	check("icelake", CTL_TIMES, 0);
	check("icelake", CTL_TIMES, 9);
	check("tigerlake", CTL_TIMES, 47);
}

static void
mtc_tells_the_time_within_its_period(void **state)
{
	(void)state;
	for (unsigned period = 0; period < PERIODS; period += 3)
		check_cores(CTL_MTC_EN | CTL_MTC_FREQ(period));
}

static void
a_threshold_hides_cycles(void **state)
{
	(void)state;
	for (uint64_t threshold = 1; threshold < THRESHOLDS; threshold++) {
		uint64_t ctl = CTL_CYC_EN | threshold << 19;

		check_cores(ctl);
		for (unsigned period = 0; period < PERIODS; period += 3)
			check_cores(ctl | CTL_MTC_EN | CTL_MTC_FREQ(period));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_cycle_is_told),
		cmocka_unit_test(mtc_tells_the_time_within_its_period),
		cmocka_unit_test(a_threshold_hides_cycles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
