/*
 * Goal: a profile's CPUID is what a kernel finds on the processor that it
 * stands for, as far as the machine executes it. Method: leaf by leaf against
 * values read on real processors.
 */
#include "emu/profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
	expect(&plain, 1, 0, "506e3 10800 4202001 789ab7d");
	expect(&second, 1, 0, "506e3 1020800 c202001 1789ab7d");
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
	expect(&plain, 0xa, 0, "7300404 0 0 603");
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

static void
a_profile_without_sub_leaf_1_says_so(void **state)
{
	struct profile broadwell = *profile_find("skylake");
	uint32_t out[4];

	(void)state;
	broadwell.pt_ebx = broadwell.pt_ecx = 1;
	broadwell.pt1_eax = broadwell.pt1_ebx = 0;
	broadwell.xsave1_eax = 1;
	broadwell.xss_mask = 0;
	profile_cpuid(&broadwell, &plain, 0x14, 0, out);
	assert_int_equal(out[0], 0);
	profile_cpuid(&broadwell, &plain, 0xd, 1, out);
	assert_int_equal(out[0], 1);
	assert_int_equal(out[2], 0);
	profile_cpuid(&broadwell, &plain, 0xd, 8, out);
	assert_int_equal(out[0], 0);
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
		cmocka_unit_test(a_profile_without_sub_leaf_1_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
