/*
 * Goal: a configuration is refused exactly if the CPU or the driver cannot do
 * it. Method: CPUID words of real CPUs, and one field of a good configuration
 * changed at a time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver/insntrace/core/config.h"

#define LEAF7_PT UINT32_C(0x02000000)

static const struct cpuid_words skylake = { LEAF7_PT, 0xf, 0x7, 0x02490002,
	0x003f3fff, 0xf, 0x100 };
static const struct cpuid_words broadwell = { LEAF7_PT, 0x1, 0x1, 0, 0, 0x1,
	0 };

static struct caps caps;
static struct insntrace_config config;

static int
good(void **unused)
{
	(void)unused;
	caps_decode(&skylake, &caps);
	config = (struct insntrace_config){
		.chunk_count = 256,
		.ctl = PT_CTL_USER | PT_CTL_BRANCHEN,
	};
	return 0;
}

static void
expect(enum insntrace_status status)
{
	assert_int_equal(config_check(&caps, &config), status);
}

static void
expect_ctl(uint64_t ctl, enum insntrace_status status)
{
	config.ctl = PT_CTL_USER | PT_CTL_BRANCHEN | ctl;
	expect(status);
}

static void
cpuid_says_what_there_is(void **unused)
{
	struct cpuid_words words = skylake;

	(void)unused;
	assert_true(caps.trace && caps.topa_multi && caps.cr3_filter);
	assert_true(caps.psb_cyc && caps.ip_filter && caps.mtc);
	assert_false(caps.ptwrite || caps.power);
	assert_int_equal(caps.mtc_map, 0x249);
	assert_int_equal(caps.cyc_map, 0x3fff);
	assert_int_equal(caps.psb_map, 0x3f);
	caps_decode(&broadwell, &caps);
	assert_true(caps.trace && caps.cr3_filter);
	assert_false(caps.topa_multi || caps.psb_cyc || caps.mtc);
	words.leaf7_ebx = 0;
	caps_decode(&words, &caps);
	assert_false(caps.trace || caps.cr3_filter);
}

/* Of two CPUs in any order: what one lacks is gone, what both have stays. */
static void
what_one_cpu_lacks_nobody_has(void **unused)
{
	static const struct cpuid_words some = { LEAF7_PT, 0x31, 0x7,
		0x00090001, 0x00070003, 0x8, 0x100 };
	struct caps both, other, none = { .trace = false };

	(void)unused;
	caps_decode(&some, &other);
	both = caps;
	caps_meet(&both, &other);
	assert_true(both.trace && both.topa_multi && both.cr3_filter);
	assert_false(both.psb_cyc || both.ip_filter || both.mtc);
	assert_false(both.ptwrite || both.power);
	assert_int_equal(both.range_count, 0);
	assert_int_equal(both.mtc_map, 0x9);
	assert_int_equal(both.cyc_map, 0x3);
	assert_int_equal(both.psb_map, 0x7);
	caps_meet(&other, &caps);
	assert_memory_equal(&both, &other, sizeof(both));
	caps_meet(&other, &none);
	assert_memory_equal(&none, &other, sizeof(none));
	both = caps;
	caps_meet(&both, &caps);
	assert_memory_equal(&both, &caps, sizeof(both));
}

/* EAX[2:0], whatever lies beside it; none without the filter. */
static void
the_number_of_ranges_is_three_bits(void **unused)
{
	static const uint32_t counts[] = { 0, 1, 2, 3, 4, 4, 4, 4 };
	struct cpuid_words words = skylake;

	(void)unused;
	for (uint32_t i = 0; i < 8; i++) {
		words.pt1_eax = UINT32_C(0xfffffff8) | i;
		caps_decode(&words, &caps);
		assert_int_equal(caps.range_count, counts[i]);
	}
	words.pt0_ebx &= ~UINT32_C(4);
	caps_decode(&words, &caps);
	assert_int_equal(caps.range_count, 0);
}

static void
sizes_have_limits(void **unused)
{
	(void)unused;
	expect(INSNTRACE_OK);
	config.chunk_count = 0;
	expect(INSNTRACE_INVALID_ARGS);
	config.chunk_count = 4096;
	config.chunk_order = 15;
	expect(INSNTRACE_OK); /* 512 GiB */
	config.chunk_count = 4097;
	expect(INSNTRACE_INVALID_ARGS);
	config.chunk_count = 256;
	config.chunk_order = 8;
	expect(INSNTRACE_OK);
	config.chunk_order = 16;
	expect(INSNTRACE_INVALID_ARGS);
	config.chunk_order = UINT32_MAX;
	expect(INSNTRACE_INVALID_ARGS);
}

static void
a_circular_buffer_has_four_chunks(void **unused)
{
	(void)unused;
	for (config.chunk_count = 1; config.chunk_count < 4;
	     config.chunk_count++) {
		config.stop_on_full = 0;
		expect(INSNTRACE_INVALID_ARGS);
		config.stop_on_full = 1;
		expect(INSNTRACE_OK);
	}
	config.stop_on_full = 0;
	expect(INSNTRACE_OK);
}

static void
a_cpu_of_one_entry_takes_one_chunk(void **unused)
{
	(void)unused;
	caps_decode(&broadwell, &caps);
	expect(INSNTRACE_NOT_SUPPORTED);
	config.chunk_count = 1;
	config.chunk_order = 8;
	config.stop_on_full = 1;
	expect(INSNTRACE_OK);
	config.ctl = PT_CTL_USER;
	expect(INSNTRACE_INVALID_ARGS);
}

static void
bits_of_ctl_need_their_ability(void **unused)
{
	static const uint64_t always[] = { PT_CTL_OS, PT_CTL_TSCEN,
		PT_CTL_DISRETC, PT_CTL_CYCEN, PT_CTL_MTCEN };
	static const uint64_t never[] = { PT_CTL_TRACEEN, PT_CTL_TOPA,
		UINT64_C(1) << 6, PT_CTL_PTWEN, PT_CTL_PWREVTEN,
		UINT64_C(1) << 18, UINT64_C(1) << 31, UINT64_C(1) << 63 };

	(void)unused;
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		expect_ctl(always[i], INSNTRACE_OK);
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
		expect_ctl(never[i], INSNTRACE_INVALID_ARGS);
	caps.mtc = false;
	expect_ctl(PT_CTL_MTCEN, INSNTRACE_INVALID_ARGS);
	caps.psb_cyc = false;
	expect_ctl(PT_CTL_CYCEN, INSNTRACE_INVALID_ARGS);
	caps.ptwrite = true;
	expect_ctl(PT_CTL_PTWEN | PT_CTL_FUPONPTW, INSNTRACE_OK);
	expect_ctl(PT_CTL_FUPONPTW, INSNTRACE_INVALID_ARGS);
}

static void
something_must_be_traced(void **unused)
{
	(void)unused;
	config.ctl = PT_CTL_BRANCHEN;
	expect(INSNTRACE_INVALID_ARGS);
	config.ctl = PT_CTL_BRANCHEN | PT_CTL_OS;
	expect(INSNTRACE_OK);
}

static void
frequencies_must_be_in_their_bitmap(void **unused)
{
	(void)unused;
	for (uint64_t i = 0; i < 16; i++) {
		expect_ctl(i << 14,
		    (0x249 >> i & 1) != 0 ? INSNTRACE_OK
					  : INSNTRACE_INVALID_ARGS);
		expect_ctl(
		    i << 19, i < 14 ? INSNTRACE_OK : INSNTRACE_INVALID_ARGS);
		expect_ctl(
		    i << 24, i < 6 ? INSNTRACE_OK : INSNTRACE_INVALID_ARGS);
	}
}

static void
a_cr3_filter_has_an_address_and_no_other_has(void **unused)
{
	(void)unused;
	config.cr3_match = 0x123000;
	expect(INSNTRACE_INVALID_ARGS);
	expect_ctl(PT_CTL_CR3FILTER, INSNTRACE_OK);
	config.cr3_match = 0x123008;
	expect(INSNTRACE_INVALID_ARGS);
	config.cr3_match = 0;
	expect(INSNTRACE_INVALID_ARGS);
}

static void
a_range_ends_with_its_last_byte(void **unused)
{
	struct insntrace_range range = { 0x400000, 0x1000 };

	(void)unused;
	assert_int_equal(range_last(&range), 0x400fff);
	range.bytes = 1;
	assert_int_equal(range_last(&range), 0x400000);
}

static void
ranges_are_whole_and_have_a_purpose(void **unused)
{
	static const struct {
		uint64_t start, bytes, cfg;
		enum insntrace_status status;
	} rows[] = {
		{ 0x400000, 0x1000, 1, INSNTRACE_OK },
		{ 0x400000, 0x1000, 2, INSNTRACE_OK },
		{ 0x400000, 0x1000, 3, INSNTRACE_INVALID_ARGS },
		{ 0x400000, 0x1000, 0, INSNTRACE_INVALID_ARGS },
		{ 0x400000, 0, 1, INSNTRACE_INVALID_ARGS },
		{ 0, UINT64_C(1) << 47, 1, INSNTRACE_OK },
		{ 0, (UINT64_C(1) << 47) + 1, 1, INSNTRACE_INVALID_ARGS },
		{ UINT64_MAX - 15, 16, 1, INSNTRACE_OK },
		{ UINT64_MAX - 15, 17, 1, INSNTRACE_INVALID_ARGS },
		{ 0, UINT64_MAX, 1, INSNTRACE_INVALID_ARGS },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		config.range[1].start = rows[i].start;
		config.range[1].bytes = rows[i].bytes;
		expect_ctl(rows[i].cfg << 36, rows[i].status);
	}
}

static void
a_range_beyond_the_cpus_is_refused(void **unused)
{
	(void)unused;
	config.range[2] = (struct insntrace_range){ 0x400000, 0x1000 };
	expect_ctl(UINT64_C(1) << 40, INSNTRACE_INVALID_ARGS);
	caps.range_count = 3;
	expect(INSNTRACE_OK);
}

/* SDM vol. 1, 13.5.6 "PT State": two ranges.  CR3 and the ring say which thread runs. */
static void
a_thread_has_less(void **unused)
{
	struct cpuid_words words = skylake;

	(void)unused;
	assert_true(caps.xsaves);
	words.xsave1_ecx = 0;
	caps_decode(&words, &caps);
	assert_false(caps.xsaves);
	words = skylake;
	words.xsave1_eax &= ~UINT32_C(8);
	caps_decode(&words, &caps);
	assert_false(caps.xsaves);
	words.pt1_eax = 0x02490004;
	caps_decode(&words, &caps);
	caps_of_thread(&caps);
	expect(INSNTRACE_INVALID_ARGS);
	expect_ctl(PT_CTL_OS, INSNTRACE_OK);
	config.ctl = PT_CTL_OS | PT_CTL_BRANCHEN;
	expect(INSNTRACE_INVALID_ARGS);
	config.cr3_match = 0x123000;
	expect_ctl(PT_CTL_OS | PT_CTL_CR3FILTER, INSNTRACE_INVALID_ARGS);
	config.cr3_match = 0;
	config.range[1] = (struct insntrace_range){ 0x400000, 0x1000 };
	expect_ctl(PT_CTL_OS | UINT64_C(1) << 36, INSNTRACE_OK);
	config.range[1] = config.range[0];
	config.range[2] = (struct insntrace_range){ 0x400000, 0x1000 };
	expect_ctl(PT_CTL_OS | UINT64_C(1) << 40, INSNTRACE_INVALID_ARGS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(cpuid_says_what_there_is, good),
		cmocka_unit_test_setup(what_one_cpu_lacks_nobody_has, good),
		cmocka_unit_test_setup(
		    the_number_of_ranges_is_three_bits, good),
		cmocka_unit_test_setup(sizes_have_limits, good),
		cmocka_unit_test_setup(a_circular_buffer_has_four_chunks, good),
		cmocka_unit_test_setup(
		    a_cpu_of_one_entry_takes_one_chunk, good),
		cmocka_unit_test_setup(bits_of_ctl_need_their_ability, good),
		cmocka_unit_test_setup(something_must_be_traced, good),
		cmocka_unit_test_setup(
		    frequencies_must_be_in_their_bitmap, good),
		cmocka_unit_test_setup(
		    a_cr3_filter_has_an_address_and_no_other_has, good),
		cmocka_unit_test_setup(a_range_ends_with_its_last_byte, good),
		cmocka_unit_test_setup(
		    ranges_are_whole_and_have_a_purpose, good),
		cmocka_unit_test_setup(
		    a_range_beyond_the_cpus_is_refused, good),
		cmocka_unit_test_setup(a_thread_has_less, good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
