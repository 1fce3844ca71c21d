/*
 * Goal: what stands at the end of an overflow fits into what a bounded buffer keeps for
 * it, however long the overflow was.  Method: units of every micro-architecture with
 * every packet that may stand there, the widest addresses and the errata that add bytes;
 * each place in a word, in a buffer that is full to the last byte.
 */
#include "tests/unit/pt/fake.h"

#include "emu/pt/inject.h"
#include "emu/pt/packet/cycles.h"
#include "emu/pt/packet/nonbranch.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define HERE  UINT64_C(0xffffffff81000200)
#define LOW   UINT64_C(0x81000200)
#define BEGIN UINT64_C(100000)

#define CTL_WIDEST \
 (CTL_PLAIN | CTL_TSC_EN | CTL_MTC_EN | CTL_MTC_FREQ(9) | CTL_CYC_EN)

/* Hardly anything leaves while the test goes on. */
static const struct pt_cycles stuck = {
	.buffer_bytes = 256, .drain_bytes = 1, .drain_cycles = 4096
};

/* The clocks go on, within one crystal tick: no MTC comes. */
static void
tell(struct fake *fake, uint64_t cycles)
{
	struct pt_time now = { .cycles = cycles, .tsc = cycles, .art = 1000 };

	pt_unit_time(fake->unit, &now);
}

static struct fake *
start(const struct profile *profile, uint32_t errata,
    const struct pt_cycles *cycles)
{
	struct fake *fake = fake_create();

	fake->profile = *profile;
	fake->uarch = *profile->uarch;
	fake->profile.uarch = &fake->uarch;
	fake->profile.errata_on = errata;
	assert_int_equal(pt_unit_set_cycles(fake->unit, cycles), 0);
	tell(fake, BEGIN);
	/* VMCS is in PSB+, too, and TMA is as long as SKZ84 makes it. */
	if (fake->uarch.vmx_pt)
		pt_unit_vmptrld(fake->unit, 0x12345000);
	fake->at.non_root = fake->uarch.vmx_pt;
	fake_start(fake,
	    profile->pt_ebx & PROFILE_PT_EBX_MTC ? CTL_WIDEST : CTL_PLAIN);
	fake_forget(fake);
	return fake;
}

/* Fills the buffer with TNTs to BYTES. */
static void
fill(struct fake *fake, uint64_t bytes)
{
	while (pt_unit_occupancy(fake->unit) < bytes)
		for (unsigned i = 0; i < 6; i++)
			fake_cond(fake, true, HERE);
	assert_in_range(pt_unit_occupancy(fake->unit), bytes, bytes + 7);
}

/* What stands at the end of an overflow after which the mode is another. */
static uint64_t
end_bytes(const struct profile *profile, uint32_t errata, uint64_t held)
{
	struct fake *fake = start(profile, errata, &stuck);
	uint64_t before;

	fill(fake, held);
	assert_true(pt_unit_overflow(fake->unit, 1));
	/* A byte or two leave, and a CYC of 3 bytes is due. */
	tell(fake, BEGIN + 4096 + 5);
	before = pt_unit_occupancy(fake->unit);
	fake->at.cs_l = false;
	fake->at.cs_d = true;
	fake_transfer(fake, PT_TRANSFER_FAR, LOW);
	/* All of it fitted: it made no other overflow. */
	assert_int_equal(fake_count(fake, PT_EVENT_OVERFLOW), 0);
	assert_int_equal(fake_count(fake, PT_EVENT_PSB), 1);
	assert_false(pt_unit_overflows(fake->unit));
	before = pt_unit_occupancy(fake->unit) - before;
	fake_destroy(fake);
	return before;
}

static void
the_end_of_an_overflow_fits_its_reserve(void **state)
{
	static const uint32_t errata[] = { 0,
		UINT32_C(1) << PROFILE_ERRATUM_SKD007,
		UINT32_C(1) << PROFILE_ERRATUM_SKZ84,
		UINT32_C(1) << PROFILE_ERRATUM_SKD007 |
		    UINT32_C(1) << PROFILE_ERRATUM_SKZ84 };
	uint64_t most = 0;

	(void)state;
	for (size_t p = 0; profile_at(p) != NULL && profile_at(p)->pt; p++)
		for (size_t e = 0; e < TZ_ARRAY_LEN(errata); e++)
			for (uint64_t held = 241; held <= 256; held++) {
				uint64_t bytes = end_bytes(
				    profile_at(p), errata[e], held);

				if (most < bytes)
					most = bytes;
			}
	/* It is needed: PSB+ alone has some 100 bytes. */
	assert_in_range(most, 101, CYCLES_RESERVE);
	print_message(
	    "the end of an overflow: %u bytes at most\n", (unsigned)most);
}

/* A CPU that halts in an overflow has more cycles than one counter holds. */
static void
a_long_overflow_is_told_by_one_cyc(void **state)
{
	static const struct pt_cycles slow = {
		.buffer_bytes = 256, .drain_bytes = 1, .drain_cycles = 64
	};
	struct fake *fake = start(profile_find("skylake"), 0, &slow);

	(void)state;
	fill(fake, 249);
	while (!pt_unit_overflows(fake->unit))
		fake_cond(fake, true, HERE);
	tell(fake, BEGIN + 10000000);
	assert_true(pt_unit_wants_ip(fake->unit));
	fake_forget(fake);
	fake->at.cs_l = false;
	fake->at.cs_d = true;
	fake_transfer(fake, PT_TRANSFER_FAR, LOW);
	assert_int_equal(fake_count(fake, PT_EVENT_OVERFLOW), 1);
	fake_stop(fake);
	fake_expect_packets(fake,
	    "CYC(10000000) OVF FUP(3:81000200) PSB TSX(00) EXEC(32) "
	    "FUP(3:81000200) PIP(12345000.NR) VMCS(12345000) TSC(10100000) "
	    "TMA(1000,0) CBR(37) PSBEND FUP(3:ffffffff81000100) PGD()");
	fake_destroy(fake);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_of_an_overflow_fits_its_reserve),
		cmocka_unit_test(a_long_overflow_is_told_by_one_cyc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
