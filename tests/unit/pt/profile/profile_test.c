/*
 * Goal: a profile's CPUID is what a kernel finds on the processor that it
 * stands for, as far as the machine executes it. Method: leaf by leaf against
 * values read on real processors; the errata against libipt's own table.
 */
#include "emu/profile/profile.h"

#include <intel-pt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

static const struct profile_cpu plain = { .cpu_count = 1, .xcr0 = 3 };

static void
expect(const struct profile_cpu *cpu, uint32_t leaf, uint32_t subleaf,
    const char *text)
{
	uint32_t out[4] = { 1, 2, 3, 4 };
	char got[40];

	profile_cpuid(profile_find("skylake"), cpu, leaf, subleaf, out);
	snprintf(
	    got, sizeof(got), "%x %x %x %x", out[0], out[1], out[2], out[3]);
	assert_string_equal(got, text);
}

static void
profiles_are_found_by_name_and_by_index(void **state)
{
	(void)state;
	assert_non_null(profile_find("skylake"));
	assert_ptr_equal(profile_at(0), profile_find("skylake"));
	assert_null(profile_find("pentium"));
	assert_null(profile_at(1000));
	for (size_t i = 0; profile_at(i) != NULL; i++)
		assert_ptr_equal(
		    profile_find(profile_at(i)->name), profile_at(i));
}

static void
identification_leaves_are_skylakes(void **state)
{
	struct profile_cpu second = {
		.apic_id = 1, .cpu_count = 2, .xcr0 = 3, .osxsave = true
	};

	(void)state;
	expect(&plain, 0, 0, "16 756e6547 6c65746e 49656e69");
	expect(&plain, 1, 0, "506e3 10800 420a015 7a9bb7d");
	expect(&second, 1, 0, "506e3 1020800 c20a015 17a9bb7d");
	expect(&second, 0xb, 0, "0 1 100 1");
	expect(&second, 0xb, 1, "1 2 201 1");
	expect(&second, 0xb, 2, "0 0 2 1");
}

static void
pt_leaves_are_skylakes(void **state)
{
	(void)state;
	expect(&plain, 7, 0, "0 2000001 0 0");
	expect(&plain, 0x14, 0, "1 f 7 0");
	expect(&plain, 0x14, 1, "2490002 3f3fff 0 0");
	expect(&plain, 0x14, 2, "0 0 0 0");
	expect(&plain, 0x15, 0, "2 134 0 0");
	expect(&plain, 0x16, 0, "e74 e74 64 0");
	/* Not available: last-level cache references and misses, mispredictions. */
	expect(&plain, 0xa, 0, "7300404 58 0 603");
}

static void
xsave_leaves_follow_xss(void **state)
{
	struct profile_cpu traced = { .cpu_count = 1, .xcr0 = 3, .xss = 0x100 };

	(void)state;
	expect(&plain, 0xd, 0, "3 240 240 0");
	expect(&plain, 0xd, 1, "f 240 100 0");
	expect(&traced, 0xd, 0, "3 240 240 0");
	expect(&traced, 0xd, 1, "f 2c0 100 0");
	expect(&traced, 0xd, 2, "0 0 0 0");
	expect(&traced, 0xd, 8, "80 0 1 0");
}

static void
extended_leaves_show_long_mode_and_maxphyaddr(void **state)
{
	(void)state;
	expect(&plain, 0x80000000, 0, "80000008 0 0 0");
	expect(&plain, 0x80000001, 0, "0 0 1 20100800");
	expect(&plain, 0x80000007, 0, "0 0 0 100");
	expect(&plain, 0x80000008, 0, "3027 0 0 0");
}

static void
leaves_out_of_range_read_as_the_highest_basic_one(void **state)
{
	(void)state;
	expect(&plain, 0x17, 0, "e74 e74 64 0");
	expect(&plain, 0x40000000, 0, "e74 e74 64 0");
	expect(&plain, 0x80000009, 0, "e74 e74 64 0");
	expect(&plain, 0xffffffff, 0, "e74 e74 64 0");
	expect(&plain, 3, 0, "0 0 0 0");
}

/* A profile, by its leaves 0, 1, 7 (EBX), 0DH.1, 14H, 15H, 1AH and 80000008H. */
static void
expect_model(const char *name, const char *text)
{
	static const uint32_t leaves[][2] = { { 0, 0 }, { 1, 0 }, { 0xa, 0 },
		{ 0xd, 1 }, { 0x14, 0 }, { 0x14, 1 }, { 0x15, 0 }, { 0x1a, 0 },
		{ 0x80000008, 0 } };
	static const unsigned shown[][2] = { { 0, 0 }, { 0, 0 }, { 0, 3 },
		{ 0, 2 }, { 1, 2 }, { 0, 1 }, { 1, 2 }, { 0, 0 }, { 0, 0 } };
	char got[200] = "";
	size_t used = 0;

	for (size_t i = 0; i < TZ_ARRAY_LEN(leaves); i++) {
		const struct profile *profile = profile_find(name);
		uint32_t out[4];

		assert_non_null(profile);
		profile_cpuid(profile, &plain, leaves[i][0], leaves[i][1], out);
		used += (size_t)snprintf(got + used, sizeof(got) - used, "%s%x",
		    i == 0 ? "" : " ", out[shown[i][0]]);
		if (shown[i][1] != shown[i][0])
			used += (size_t)snprintf(got + used, sizeof(got) - used,
			    "-%x", out[shown[i][1]]);
	}
	assert_string_equal(got, text);
}

static void
models_read_as_their_dumps(void **state)
{
	(void)state;
	expect_model(
	    "broadwell", "14 306d4 7300403-603 1-0 1-1 0-0 1-1 0 3027");
	expect_model("skylake-sp",
	    "16 50654 7300404-603 f-100 f-7 2490002-3f3fff a8-0 834 302e");
	expect_model("goldmont-plus",
	    "16 706a1 7300404-8603 f-100 3f-80000007 2490002-3fffff "
	    "ea-124f800 5dc 3027");
	expect_model("tigerlake",
	    "16 806c1 8300805-8604 f-100 4f-7 2490002-3f1fff "
	    "7e-249f000 960 3027");
	expect_model("alderlake-e",
	    "1a 90672 7300605-8603 f-100 5f-80000007 2490002-3f003f "
	    "a6-249f000 20000001 302e");
	expect_model("alderlake-n",
	    "16 b06e0 7300605-8603 f-100 1ff-80000007 2490002-3fffff "
	    "5e-249f000 708 3027");
	expect_model("granite-rapids",
	    "16 a06d1 8300805-8604 f-100 5f-7 2490002-3f003f "
	    "f0-17d7840 bb8 3034");
}

/* libipt's errata of a processor, as bits of profiles; false: it knows it not. */
static bool
errata_of(uint32_t signature, uint32_t *errata)
{
	struct pt_cpu cpu = { .vendor = pcv_intel };
	struct pt_errata e;

	cpu.family = (uint16_t)(signature >> 8 & 0xf);
	cpu.model = (uint8_t)((signature >> 4 & 0xf) |
	    (signature >> 12 & 0xf0));
	cpu.stepping = (uint8_t)(signature & 0xf);
	if (pt_cpu_errata(&e, &cpu) < 0)
		return false;
	*errata = (uint32_t)(e.bdm70 << PROFILE_ERRATUM_BDM70 |
	    e.bdm64 << PROFILE_ERRATUM_BDM64 |
	    e.skd007 << PROFILE_ERRATUM_SKD007 |
	    e.skd022 << PROFILE_ERRATUM_SKD022 |
	    e.skd010 << PROFILE_ERRATUM_SKD010 |
	    e.skl014 << PROFILE_ERRATUM_SKL014 |
	    e.skl168 << PROFILE_ERRATUM_SKL168 |
	    e.skz84 << PROFILE_ERRATUM_SKZ84 |
	    e.apl12 << PROFILE_ERRATUM_APL12 |
	    e.apl11 << PROFILE_ERRATUM_APL11);
	return true;
}

static void
errata_are_those_that_libipt_knows(void **state)
{
	static const char *const names[] = {
#define ERRATUM(name, key, text) #name,
#include "emu/profile/errata.def"
#undef ERRATUM
	};
	const struct profile *profile;
	unsigned known = 0;

	(void)state;
	for (size_t i = 0; (profile = profile_at(i)) != NULL; i++) {
		uint32_t errata;

		assert_int_equal(profile->errata_on, 0);
		if (!errata_of(profile->signature, &errata))
			continue;
		known++;
		if (profile->errata != errata)
			fail_msg("%s: %x, libipt says %x", profile->name,
			    profile->errata, errata);
	}
	assert_true(known >= 15);
	for (enum profile_erratum n = 0; n < PROFILE_ERRATUM_COUNT; n++) {
		assert_int_equal(
		    profile_erratum_find(profile_erratum_name(n)), n);
		/* As libipt spells it, but for the case. */
		assert_int_equal(
		    strcasecmp(profile_erratum_name(n), names[n]), 0);
	}
	assert_int_equal(profile_erratum_find("skl15"), PROFILE_ERRATUM_COUNT);
}

/* libipt knows those of model.def, too: the row of each can show all errata that it has. */
static void
processors_without_a_row_have_one_of_their_kind(void **state)
{
	unsigned known = 0;

	(void)state;
	for (uint32_t model = 0; model <= 0xff; model++) {
		uint32_t signature = 0x600 | (model & 0xf0) << 12 |
		    (model & 0xf) << 4;
		const struct profile *profile = profile_of_signature(signature);
		uint32_t errata;

		/* Whatever the stepping. */
		assert_ptr_equal(profile, profile_of_signature(signature | 7));
		if (!errata_of(signature, &errata) || errata == 0)
			continue;
		known++;
		if (profile == NULL)
			fail_msg("model %x: libipt knows it", model);
		if ((errata & ~profile->errata) != 0)
			fail_msg("model %x, as %s: %x, libipt says %x", model,
			    profile->name, profile->errata, errata);
	}
	assert_true(known >= 40);
	assert_string_equal(profile_of_signature(0x806ec)->name, "kabylake");
	assert_string_equal(profile_of_signature(0x406e3)->name, "skylake");
	assert_string_equal(profile_of_signature(0x90672)->name, "alderlake-p");
	assert_string_equal(
	    profile_of_core(0x90675, PROFILE_CORE_ATOM)->name, "alderlake-e");
	assert_string_equal(
	    profile_of_core(0x90675, PROFILE_CORE_CORE)->name, "alderlake-p");
	assert_string_equal(
	    profile_of_core(0x506e3, PROFILE_CORE_ATOM)->name, "skylake");
	assert_null(profile_of_core(0x306c3, PROFILE_CORE_ATOM));
	/* Family 19. */
	assert_string_equal(
	    profile_of_signature(0x400f10)->name, "granite-rapids");
	/* Haswell, Core 2, a family of another vendor. */
	assert_null(profile_of_signature(0x306c3));
	assert_null(profile_of_signature(0x6fb));
	assert_null(profile_of_signature(0xa20f12));
}

static void
each_model_can_run_what_its_leaves_promise(void **state)
{
	const struct profile *profile;

	(void)state;
	for (size_t i = 0; (profile = profile_at(i)) != NULL; i++) {
		const struct profile_uarch *uarch = profile->uarch;
		bool cyc = (profile->pt_ebx & PROFILE_PT_EBX_PSB) != 0;

		assert_in_range(profile->maxphyaddr, 36, 52);
		assert_true(uarch->ip_full == 3 || uarch->ip_full == 6);
		assert_true(uarch->tnt_bits == 6 || uarch->tnt_bits == 47);
		assert_int_equal(uarch->cyc_bits != 0, cyc);
		assert_true(profile->crystal_hz != 0 && profile->cbr != 0);
		/* The TSC's rate: that of the ratio, as far as it is told. */
		if (profile->tsc_num != 0) {
			uint64_t mhz = (uint64_t)profile->crystal_hz *
			    profile->tsc_num / profile->tsc_den / 1000000;

			assert_in_range(mhz, profile->cbr * 100 - 60,
			    profile->cbr * 100 + 60);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(profiles_are_found_by_name_and_by_index),
		cmocka_unit_test(identification_leaves_are_skylakes),
		cmocka_unit_test(pt_leaves_are_skylakes),
		cmocka_unit_test(xsave_leaves_follow_xss),
		cmocka_unit_test(extended_leaves_show_long_mode_and_maxphyaddr),
		cmocka_unit_test(
		    leaves_out_of_range_read_as_the_highest_basic_one),
		cmocka_unit_test(models_read_as_their_dumps),
		cmocka_unit_test(errata_are_those_that_libipt_knows),
		cmocka_unit_test(
		    processors_without_a_row_have_one_of_their_kind),
		cmocka_unit_test(each_model_can_run_what_its_leaves_promise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
