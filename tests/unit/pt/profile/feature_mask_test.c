/*
 * Goal: a processor that lacks a feature shows it and behaves so.  Method: every
 * row of the table against CPUID, then the trace MSRs of a unit that is created
 * without it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/pt/fake.h"

static const struct profile_cpu plain = {
	.cpu_count = 1, .xcr0 = 3, .xss = 0x100
};

static struct profile
less(const char *profile, const char *name)
{
	const struct profile_feature_mask *absent = profile_feature_find(name);
	struct profile copy;

	assert_non_null(absent);
	profile_without(&copy, profile_find(profile), absent, 1);
	return copy;
}

static struct profile
without(const char *name)
{
	return less("skylake", name);
}

static uint32_t
reads(const struct profile *profile, uint32_t leaf, uint32_t subleaf,
    enum profile_reg reg)
{
	uint32_t out[4];

	profile_cpuid(profile, &plain, leaf, subleaf, out);
	return out[reg];
}

/* WRMSR of VALUE to INDEX by a unit that lacks NAME, or lacks nothing. */
static enum fault
writes(const char *name, uint32_t index, uint64_t value)
{
	struct profile copy = *profile_find("skylake");
	struct fake *fake = fake_create();
	enum fault fault;

	if (name != NULL)
		copy = without(name);
	fake->profile = copy;
	fault = pt_unit_wrmsr(fake->unit, index, value, &fake->at, FAKE_NLIP);
	fake_destroy(fake);
	return fault;
}

/* The citation names the leaf, the register and the bits that the row has. */
static void
assert_cited(const struct profile_feature_mask *row)
{
	static const char *const names[] = { "EAX", "EBX", "ECX", "EDX" };
	char want[48];
	const char *leaf = strstr(row->citation, "CPUID.");
	const char *bits = strchr(row->citation, '[');

	if (row->leaf == 1)
		snprintf(want, sizeof(want), "CPUID.1:%s[", names[row->reg]);
	else
		snprintf(want, sizeof(want), "CPUID.(%s%X%s,%u):%s[",
		    row->leaf > 9 && row->leaf < 16 ? "0" : "", row->leaf,
		    row->leaf > 9 ? "H" : "", row->subleaf, names[row->reg]);
	assert_non_null(leaf);
	assert_memory_equal(leaf, want, strlen(want));
	if (strchr(bits, ':') != NULL)
		bits = strchr(bits, ':');
	assert_int_equal(atoi(bits + 1), __builtin_ctz(row->mask));
}

static void
every_feature_is_shown_and_can_be_hidden(void **state)
{
	const struct profile *all = profile_find("alderlake-n");
	const struct profile_feature_mask *row;
	size_t count = 0;

	(void)state;
	for (; (row = profile_feature_at(count)) != NULL; count++) {
		struct profile copy = less("alderlake-n", row->name);
		uint32_t was = reads(all, row->leaf, row->subleaf, row->reg);
		uint32_t is = reads(&copy, row->leaf, row->subleaf, row->reg);

		assert_ptr_equal(profile_feature_find(row->name), row);
		assert_true(strlen(row->text) > 0);
		assert_cited(row);
		assert_int_equal(row->value & ~row->mask, 0);
		assert_int_not_equal(was & row->mask, row->value);
		assert_int_equal(is & row->mask, row->value);
		assert_true(profile_has(all, row));
		assert_false(profile_has(&copy, row));
		assert_int_equal(copy.absent_count, 1);
	}
	assert_true(count >= 11);
	assert_null(profile_feature_find("no such"));
}

static void
what_cpuid_says_hangs_together(void **state)
{
	struct profile copy = without("pt");

	(void)state;
	for (uint32_t subleaf = 0; subleaf < 2; subleaf++) {
		for (unsigned reg = PROFILE_EAX; reg <= PROFILE_EDX; reg++)
			assert_int_equal(reads(&copy, 0x14, subleaf, reg), 0);
	}
	assert_int_equal(reads(&copy, 0x7, 0, PROFILE_EBX), 1);
	assert_int_equal(reads(&copy, 0xd, 1, PROFILE_EAX), 0xf);
	assert_int_equal(reads(&copy, 0xd, 1, PROFILE_ECX), 0);
	assert_int_equal(reads(&copy, 0xd, 8, PROFILE_EAX), 0);
	copy = without("ipfilt");
	assert_int_equal(reads(&copy, 0x14, 1, PROFILE_EAX), 0x02490000);
	copy = without("mtc");
	assert_int_equal(reads(&copy, 0x14, 1, PROFILE_EAX), 2);
	copy = without("psb-cyc");
	assert_int_equal(reads(&copy, 0x14, 1, PROFILE_EBX), 0);
	copy = without("mtc-periods");
	assert_int_equal(reads(&copy, 0x14, 1, PROFILE_EAX), 2);
	copy = without("psb-freq");
	assert_int_equal(reads(&copy, 0x14, 1, PROFILE_EBX), 0x3fff);
	copy = without("cyc-thresh");
	assert_int_equal(reads(&copy, 0x14, 1, PROFILE_EBX), 0x003f0000);
	copy = without("topa");
	assert_int_equal(reads(&copy, 0x14, 0, PROFILE_ECX), 4);
	copy = without("topa-multi");
	assert_int_equal(reads(&copy, 0x14, 0, PROFILE_ECX), 5);
	copy = without("xsaveopt");
	assert_int_equal(reads(&copy, 0xd, 1, PROFILE_EAX), 0xe);
	copy = without("xsavec");
	assert_int_equal(reads(&copy, 0xd, 1, PROFILE_EAX), 0xd);
	copy = without("xsaves");
	assert_int_equal(reads(&copy, 0xd, 1, PROFILE_EAX), 7);
	assert_int_equal(reads(&copy, 0xd, 1, PROFILE_EBX), 0);
	assert_int_equal(reads(&copy, 0xd, 1, PROFILE_ECX), 0);
	assert_int_equal(reads(&copy, 0xd, 8, PROFILE_EAX), 0);
	assert_int_equal(copy.xss_mask, 0);
	copy = without("xss-pt");
	assert_int_equal(reads(&copy, 0xd, 1, PROFILE_EAX), 0xf);
	assert_int_equal(reads(&copy, 0xd, 8, PROFILE_EAX), 0);
	assert_int_equal(copy.xss_mask, 0);
	copy = without("xsave");
	assert_int_equal(reads(&copy, 0xd, 0, PROFILE_EAX), 0);
	assert_int_equal(reads(&copy, 0xd, 1, PROFILE_EAX), 0);
	assert_int_equal(copy.xss_mask, 0);
	assert_int_equal(
	    reads(&copy, 1, 0, PROFILE_ECX), reads(&copy, 1, 9, PROFILE_ECX));
}

static void
several_may_be_missing_and_any_bit(void **state)
{
	const struct profile_feature_mask absent[] = {
		{ .leaf = 0x80000001, .reg = PROFILE_EDX, .mask = 1 << 20 },
		*profile_feature_find("ranges-1"),
		*profile_feature_find("cr3"),
		*profile_feature_find("ranges-0"),
		*profile_feature_find("ranges-1"),
	};
	struct profile copy;

	(void)state;
	profile_without(
	    &copy, profile_find("skylake"), absent, TZ_ARRAY_LEN(absent));
	assert_int_equal(reads(&copy, 0x80000001, 0, PROFILE_EDX), 0x20000800);
	assert_int_equal(reads(&copy, 0x14, 0, PROFILE_EBX), 0xe);
	assert_int_equal(reads(&copy, 0x14, 1, PROFILE_EAX), 0x02490000);
	profile_without(&copy, profile_find("skylake"), absent, 0);
	assert_int_equal(copy.absent_count, 0);
	assert_int_equal(reads(&copy, 0x14, 0, PROFILE_EBX), 0xf);
}

static void
trace_msrs_behave_accordingly(void **state)
{
	static const struct {
		const char *name;
		uint32_t index;
		uint64_t value;
	} refused[] = {
		{ "pt", 0x570, 0 },
		{ "pt", 0x571, 0 },
		{ "pt", 0x560, FAKE_TABLE },
		{ "pt", 0x561, 0 },
		{ "pt", 0x572, 0 },
		{ "pt", 0x580, 0 },
		{ "topa", 0x570, CTL_PLAIN },
		{ "single-range", 0x570, CTL_TRACE_EN | CTL_BRANCH_EN },
		{ "cr3", 0x572, 0 },
		{ "cr3", 0x570, CTL_PLAIN | CTL_CR3_FILTER },
		{ "psb-cyc", 0x570, CTL_PLAIN | TZ_BIT(1) },
		{ "psb-cyc", 0x570, CTL_PLAIN | TZ_BIT(24) },
		{ "psb-cyc", 0x571, TZ_BIT(32) },
		{ "psb-freq", 0x570, CTL_PLAIN | TZ_BIT(24) },
		{ "cyc-thresh", 0x570, CTL_PLAIN | TZ_BIT(1) | TZ_BIT(19) },
		{ "ipfilt", 0x580, 0 },
		{ "ipfilt", 0x570, CTL_PLAIN | TZ_BIT(32) },
		{ "mtc", 0x570, CTL_PLAIN | TZ_BIT(9) },
		{ "mtc-periods", 0x570, CTL_PLAIN | TZ_BIT(9) | 3 << 14 },
		{ "ranges-1", 0x582, 0 },
		{ "ranges-1", 0x570, CTL_PLAIN | TZ_BIT(36) },
		{ "ranges-0", 0x580, 0 },
	};

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(refused); i++) {
		assert_int_equal(
		    writes(NULL, refused[i].index, refused[i].value),
		    FAULT_NONE);
		assert_int_equal(
		    writes(refused[i].name, refused[i].index, refused[i].value),
		    FAULT_GP);
	}
	assert_int_equal(writes("ranges-1", 0x580, 0), FAULT_NONE);
	assert_int_equal(writes("topa", 0x560, FAKE_TABLE), FAULT_NONE);
	assert_int_equal(writes("xsaves", 0x570, CTL_PLAIN), FAULT_NONE);
}

/* Only Broadwell's PMI of a table with one entry is known to come early. */
static void
one_entry_alone_makes_no_pmi_early(void **state)
{
	static const char *const names[] = { "skylake", "icelake", "goldmont" };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(names); i++) {
		struct fake *fake = fake_create();

		profile_without(&fake->profile, profile_find(names[i]),
		    profile_feature_find("topa-multi"), 1);
		fake_poke(fake, FAKE_TABLE, FAKE_BUFFER | 4);    /* INT */
		fake_poke(fake, FAKE_TABLE + 8, FAKE_TABLE | 1); /* END */
		fake_wrmsr(fake, 0x560, FAKE_TABLE);
		fake_wrmsr(fake, 0x570, CTL_PLAIN | CTL_TRACE_EN);
		for (unsigned n = 0; n < 1100; n++)
			fake_transfer(
			    fake, PT_TRANSFER_JMP_INDIRECT, FAKE_CLIP);
		assert_int_equal(
		    fake_event(fake, PT_EVENT_PMI, 0)->offset_bytes, 4096);
		fake_destroy(fake);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_feature_is_shown_and_can_be_hidden),
		cmocka_unit_test(what_cpuid_says_hangs_together),
		cmocka_unit_test(several_may_be_missing_and_any_bit),
		cmocka_unit_test(trace_msrs_behave_accordingly),
		cmocka_unit_test(one_entry_alone_makes_no_pmi_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
