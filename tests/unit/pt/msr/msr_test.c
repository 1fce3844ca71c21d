/*
 * Goal: WRMSR and RDMSR of the trace MSRs fault exactly where the specification
 * says, on any combination of CPUID bits. Method: profiles made up bit by bit;
 * each of the 64 bits of each MSR, and every value of each encoded field, is
 * written and compared with an oracle (msr_rules.h) that reads as the
 * specification's list and shares no table with the model.
 */
#include "tests/unit/pt/fake.h"
#include "tests/unit/pt/msr/msr_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* The COUNT-th made-up profile. */
static bool
make_profile(struct profile *profile, unsigned count)
{
	*profile = *profile_find("skylake");
	if (count < 9) { /* one EBX bit missing */
		profile->pt_ebx = 0x1ff & ~(UINT32_C(1) << count);
		profile->pt_ecx = 0xf;
	} else if (count < 18) { /* one EBX bit alone */
		profile->pt_ebx = UINT32_C(1) << (count - 9);
		profile->pt_ecx = 7;
	} else if (count < 34) { /* every ECX */
		profile->pt_ebx = 0x1ff;
		profile->pt_ecx = count - 18;
	} else if (count < 39) { /* every RANGECNT */
		profile->pt1_eax = (count - 34) | 0xffff0000;
		profile->pt1_ebx = 0xffffffff;
	} else if (count == 39) { /* Broadwell */
		profile->pt_ebx = profile->pt_ecx = 1;
		profile->pt1_eax = profile->pt1_ebx = 0;
	} else if (count == 40) {
		profile->maxphyaddr = 52;
		profile->pt1_ebx = 0x003f1fff;
	} else if (count == 41) {
		profile->maxphyaddr = 46;
		profile->pt1_ebx = 0x003f003f;
	} else {
		return count == 42;
	}
	return true;
}

static void
check(struct fake *fake, uint32_t index, uint64_t value)
{
	uint64_t before = 0, after = 0;
	enum fault readable = pt_unit_rdmsr(fake->unit, index, &before);
	bool legal = msr_rules_accept(&fake->profile, index, value);
	enum fault fault = pt_unit_wrmsr(
	    fake->unit, index, value, &fake->at, FAKE_NLIP);

	if (fault != (legal ? FAULT_NONE : FAULT_GP))
		fail_msg("MSR %x value %016llx: fault %d, EBX %x ECX %x", index,
		    (unsigned long long)value, fault, fake->profile.pt_ebx,
		    fake->profile.pt_ecx);
	assert_int_equal(pt_unit_rdmsr(fake->unit, index, &after), readable);
	if (fault == FAULT_GP)
		assert_true(after == before);
	else
		assert_true(after == msr_rules_reads(index, 0, value));
	fake_stop(fake);
	if (index == 0x570)
		pt_unit_reset(fake->unit, false);
}

static void
every_bit_of_every_msr_obeys_the_specification(void **state)
{
	struct profile profile;

	(void)state;
	for (unsigned count = 0; make_profile(&profile, count); count++) {
		struct fake *fake = fake_create();

		fake->profile = profile;
		for (size_t i = 0; i < MSR_RULES_COUNT; i++) {
			check(fake, msr_rules_indices[i], 0);
			for (unsigned bit = 0; bit < 64; bit++)
				check(fake, msr_rules_indices[i], TZ_BIT(bit));
		}
		fake_destroy(fake);
	}
}

static void
every_value_of_the_encoded_fields_obeys_its_bitmap(void **state)
{
	static const unsigned shifts[] = { 14, 19, 24, 32, 36, 40, 44 };
	struct profile profile;

	(void)state;
	for (unsigned count = 0; make_profile(&profile, count); count++) {
		struct fake *fake = fake_create();

		fake->profile = profile;
		for (size_t i = 0; i < TZ_ARRAY_LEN(shifts); i++) {
			for (uint64_t value = 0; value < 16; value++)
				check(fake, 0x570, value << shifts[i]);
		}
		fake_destroy(fake);
	}
}

static void
random_values_obey_the_specification(void **state)
{
	uint64_t seed = 0x9e3779b97f4a7c15;
	struct profile profile;

	(void)state;
	for (unsigned count = 0; make_profile(&profile, count); count++) {
		struct fake *fake = fake_create();

		fake->profile = profile;
		for (unsigned i = 0; i < 2000; i++) {
			uint32_t index = msr_rules_indices[fake_random(&seed) %
			    MSR_RULES_COUNT];
			uint64_t value = fake_random(&seed) &
			    fake_random(&seed);

			/* Mostly within the bits that can be legal. */
			if (index == 0x570 && fake_random(&seed) % 4 != 0)
				value &= 0x01802222803fbfff;
			fake->event_count = 0;
			check(fake, index, value);
		}
		fake_destroy(fake);
	}
}

static void
reads_fault_where_the_msr_does_not_exist(void **state)
{
	struct profile profile;

	(void)state;
	for (unsigned count = 0; make_profile(&profile, count); count++) {
		struct fake *fake = fake_create();

		fake->profile = profile;
		for (size_t i = 0; i < MSR_RULES_COUNT; i++) {
			uint32_t index = msr_rules_indices[i];
			uint64_t value;

			assert_true(pt_unit_owns_msr(index));
			assert_int_equal(
			    pt_unit_rdmsr(fake->unit, index, &value),
			    msr_rules_exist(&profile, index) ? FAULT_NONE
							     : FAULT_GP);
		}
		fake_destroy(fake);
	}
}

static void
no_other_msr_is_owned(void **state)
{
	unsigned owned = 0;

	(void)state;
	for (uint32_t index = 0; index < 0x2000; index++)
		owned += pt_unit_owns_msr(index);
	assert_int_equal(owned, MSR_RULES_COUNT);
	assert_false(pt_unit_owns_msr(0x573));
	assert_false(pt_unit_owns_msr(0x588));
	assert_false(pt_unit_owns_msr(0xda0));
}

static void
nothing_but_a_disable_may_be_written_while_trace_en_is_1(void **state)
{
	struct fake *fake = fake_create();
	const uint64_t ctl = CTL_PLAIN | CTL_TRACE_EN;

	(void)state;
	fake_start(fake, CTL_PLAIN);
	for (size_t i = 0; i < MSR_RULES_COUNT; i++) {
		uint32_t index = msr_rules_indices[i];

		if (index == 0x570)
			continue;
		assert_int_equal(
		    pt_unit_wrmsr(fake->unit, index, 0, &fake->at, FAKE_NLIP),
		    FAULT_GP);
	}
	for (unsigned bit = 1; bit < 64; bit++)
		assert_int_equal(pt_unit_wrmsr(fake->unit, 0x570,
				     ctl ^ TZ_BIT(bit), &fake->at, FAKE_NLIP),
		    FAULT_GP);
	fake_forget(fake);
	fake_wrmsr(fake, 0x570, ctl);
	assert_int_equal(fake->event_count, 0);
	assert_int_equal(
	    pt_unit_wrmsr(fake->unit, 0x570, TZ_BIT(18), &fake->at, FAKE_NLIP),
	    FAULT_GP);
	fake_wrmsr(fake, 0x570, CTL_USER);
	assert_true(fake_rdmsr(fake, 0x570) == CTL_USER);
	assert_int_equal(fake_count(fake, PT_EVENT_TRACE_OFF), 1);
	fake_destroy(fake);
}

static void
status_writes_keep_the_hardware_bits(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	fake_start(fake, CTL_PLAIN);
	assert_true((fake_rdmsr(fake, 0x571) & 0x3f) == 7);
	fake_stop(fake);
	assert_true((fake_rdmsr(fake, 0x571) & 0x3f) == 3);
	fake_wrmsr(fake, 0x571, 0x34);
	assert_true(fake_rdmsr(fake, 0x571) == 0x33);
	fake_destroy(fake);
}

static void
reset_clears_what_it_should(void **state)
{
	struct fake *fake = fake_create();

	(void)state;
	for (int warm = 0; warm < 2; warm++) {
		fake_start(fake, CTL_PLAIN);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, FAKE_NLIP);
		pt_unit_reset(fake->unit, warm);
		assert_true(fake_rdmsr(fake, 0x570) == (warm ? CTL_PLAIN : 0));
		assert_true(fake_rdmsr(fake, 0x560) == (warm ? FAKE_TABLE : 0));
		assert_int_equal(fake_rdmsr(fake, 0x561) == 0x7f, !warm);
		assert_int_equal(fake_rdmsr(fake, 0x571) == 0, !warm);
		assert_false(fake_rdmsr(fake, 0x571) & 4);
	}
	fake->profile.pt_ebx &= ~(uint32_t)PROFILE_PT_EBX_IPFILT;
	fake_wrmsr(fake, 0x570, CTL_PLAIN);
	pt_unit_reset(fake->unit, true);
	assert_true(fake_rdmsr(fake, 0x570) == 0);
	assert_true(fake_rdmsr(fake, 0x561) == 0x7f);
	fake_destroy(fake);
}

static void
features_that_the_model_lacks_are_reported_by_name(void **state)
{
	static const struct {
		uint64_t ctl;
		const char *text;
	} lacks[] = {
		{ TZ_BIT(6), "trace transport output (FabricEn)" },
		{ TZ_BIT(6) | CTL_TOPA, "trace transport output (FabricEn)" },
	};
	struct fake *fake = fake_create();

	(void)state;
	fake->profile.pt_ebx = 0x1ff;
	fake->profile.pt_ecx = 0xf;
	for (size_t i = 0; i < TZ_ARRAY_LEN(lacks); i++) {
		fake_forget(fake);
		fake_start(fake, CTL_BRANCH_EN | CTL_OS | lacks[i].ctl);
		assert_int_equal(fake_count(fake, PT_EVENT_UNMODELLED), 1);
		assert_string_equal(
		    fake_event(fake, PT_EVENT_UNMODELLED, 0)->text,
		    lacks[i].text);
		fake_transfer(fake, PT_TRANSFER_JMP_INDIRECT, FAKE_NLIP);
		fake_stop(fake);
	}
	fake_forget(fake);
	fake_start(fake, CTL_PLAIN | CTL_DIS_RETC | CTL_CR3_FILTER);
	assert_int_equal(fake_count(fake, PT_EVENT_UNMODELLED), 0);
	fake_destroy(fake);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    every_bit_of_every_msr_obeys_the_specification),
		cmocka_unit_test(
		    every_value_of_the_encoded_fields_obeys_its_bitmap),
		cmocka_unit_test(random_values_obey_the_specification),
		cmocka_unit_test(reads_fault_where_the_msr_does_not_exist),
		cmocka_unit_test(no_other_msr_is_owned),
		cmocka_unit_test(
		    nothing_but_a_disable_may_be_written_while_trace_en_is_1),
		cmocka_unit_test(status_writes_keep_the_hardware_bits),
		cmocka_unit_test(reset_clears_what_it_should),
		cmocka_unit_test(
		    features_that_the_model_lacks_are_reported_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
