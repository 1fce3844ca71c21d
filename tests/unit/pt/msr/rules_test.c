/*
 * Goal: on every profile, the trace MSRs obey the rules of the specification
 * whichever way they are written, and survive INIT and resets as it says.
 * Method: each bit of each MSR, and each value of each encoded field, by WRMSR and
 * by XRSTORS, with TraceEn to be 0 and 1 and with tracing on; compared with the
 * oracle of msr_rules.h, which reads CPUID only.
 */
#include "emu/pt/packet/nonbranch.h"
#include "tests/unit/pt/fake.h"
#include "tests/unit/pt/msr/msr_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* The order in component 8. */
static const uint32_t slots[PT_XSTATE_MSRS] = { 0x570, 0x560, 0x561, 0x571,
	0x572, 0x580, 0x581, 0x582, 0x583 };

static const uint64_t fields[] = { 14, 19, 24, 32, 36, 40, 44 };

/* The INDEX-th profile that has PT, with a table in memory; NULL: there is none. */
static struct fake *
fake_of(size_t index)
{
	struct fake *fake;

	if (profile_at(index) == NULL || !profile_at(index)->pt)
		return NULL;
	fake = fake_create();
	fake->profile = *profile_at(index);
	fake_poke(fake, FAKE_TABLE, FAKE_BUFFER | ENTRY_SIZE(12));
	fake_poke(fake, FAKE_TABLE + 8, FAKE_TABLE | ENTRY_END);
	fake_wrmsr(fake, 0x560, FAKE_TABLE);
	return fake;
}

/* All MSRs; 0 where there is none. */
static void
read_all(const struct fake *fake, uint64_t values[MSR_RULES_COUNT])
{
	for (size_t i = 0; i < MSR_RULES_COUNT; i++) {
		values[i] = 0;
		pt_unit_rdmsr(fake->unit, msr_rules_indices[i], &values[i]);
	}
}

static uint64_t
slot_of(const uint8_t *image, uint32_t index)
{
	uint64_t value = 0;

	for (size_t i = 0; i < PT_XSTATE_MSRS; i++) {
		if (slots[i] == index)
			memcpy(&value, image + 8 * i, 8);
	}
	return value;
}

static void
put_slot(uint8_t *image, uint32_t index, uint64_t value)
{
	for (size_t i = 0; i < PT_XSTATE_MSRS; i++) {
		if (slots[i] == index)
			memcpy(image + 8 * i, &value, 8);
	}
}

/* Fails, naming where. */
static void
differ(const struct fake *fake, const char *path, uint32_t index, uint64_t v)
{
	fail_msg("%s, %s: MSR %x, value %016llx", fake->profile.name, path,
	    index, (unsigned long long)v);
}

/*
 * The tracing that V, just written, has begun ends by XSAVES, which is no other
 * way than WRMSR: the image has V, CTL all of it but TraceEn.
 */
static void
end_by_xsaves(struct fake *fake, uint64_t v)
{
	uint8_t image[PT_XSTATE_BYTES];

	pt_unit_xsaves(fake->unit, image, &fake->at);
	if (slot_of(image, 0x570) != v ||
	    fake_rdmsr(fake, 0x570) != (v & ~CTL_TRACE_EN))
		differ(fake, "XSAVES", 0x570, v);
	for (size_t i = 1; i < PT_XSTATE_MSRS; i++) {
		uint64_t now = 0;

		pt_unit_rdmsr(fake->unit, slots[i], &now);
		if (slot_of(image, slots[i]) != now)
			differ(fake, "XSAVES", slots[i], v);
	}
	assert_int_equal(fake_rdmsr(fake, 0x571) & 4, 0);
}

static void
by_wrmsr(struct fake *fake, uint32_t index, uint64_t v)
{
	bool legal = msr_rules_accept(&fake->profile, index, v);
	uint64_t before[MSR_RULES_COUNT], after[MSR_RULES_COUNT];
	uint64_t old = 0, now = 0;
	enum fault fault;

	read_all(fake, before);
	pt_unit_rdmsr(fake->unit, index, &old);
	fault = pt_unit_wrmsr(fake->unit, index, v, &fake->at, FAKE_NLIP);
	if (fault != (legal ? FAULT_NONE : FAULT_GP))
		differ(fake, "WRMSR", index, v);
	read_all(fake, after);
	pt_unit_rdmsr(fake->unit, index, &now);
	if (!legal) {
		assert_memory_equal(before, after, sizeof(before));
		return;
	}
	if (now != msr_rules_reads(index, old, v))
		differ(fake, "WRMSR, read back", index, v);
	if (index == 0x570 && (v & 1))
		end_by_xsaves(fake, v);
	if (index == 0x570)
		fake_wrmsr(fake, 0x570, 0);
	if (index == 0x571)
		fake_wrmsr(fake, 0x571, 0);
	if (index == 0x560)
		fake_wrmsr(fake, 0x560, FAKE_TABLE);
	if (index == 0x561)
		fake_wrmsr(fake, 0x561, 0);
}

static void
by_xrstors(struct fake *fake, uint32_t index, uint64_t v)
{
	bool exists = msr_rules_exist(&fake->profile, index);
	bool legal = exists ? msr_rules_accept(&fake->profile, index, v)
			    : v == 0;
	uint8_t image[PT_XSTATE_BYTES] = { 0 };
	uint64_t old = 0, now = 0;
	enum fault fault;

	put_slot(image, 0x560, FAKE_TABLE);
	put_slot(image, index, v);
	assert_int_equal(
	    pt_unit_xrstors(fake->unit, NULL, &fake->at, 0), FAULT_NONE);
	old = fake_rdmsr(fake, 0x571);
	fault = pt_unit_xrstors(fake->unit, image, &fake->at, FAKE_NLIP);
	if (fault != (legal ? FAULT_NONE : FAULT_GP))
		differ(fake, "XRSTORS", index, v);
	if (legal && exists) {
		pt_unit_rdmsr(fake->unit, index, &now);
		if (now != msr_rules_reads(index, old, v))
			differ(fake, "XRSTORS, read back", index, v);
	}
	/* A fault never leaves tracing on. */
	if (!legal)
		assert_int_equal(fake_rdmsr(fake, 0x570), 0);
	if (legal && index == 0x570 && (v & 1))
		end_by_xsaves(fake, v);
	assert_int_equal(
	    pt_unit_xrstors(fake->unit, NULL, &fake->at, 0), FAULT_NONE);
	fake_wrmsr(fake, 0x560, FAKE_TABLE);
}

static bool
has_slot(uint32_t index)
{
	for (size_t i = 0; i < PT_XSTATE_MSRS; i++) {
		if (slots[i] == index)
			return true;
	}
	return false;
}

static void
by_both(struct fake *fake, uint32_t index, uint64_t v)
{
	fake->event_count = 0;
	by_wrmsr(fake, index, v);
	if (has_slot(index))
		by_xrstors(fake, index, v);
}

static void
every_bit_on_every_profile(void **state)
{
	struct fake *fake;
	size_t index;

	(void)state;
	for (index = 0; (fake = fake_of(index)) != NULL; index++) {
		for (size_t i = 0; i < MSR_RULES_COUNT; i++) {
			by_both(fake, msr_rules_indices[i], 0);
			by_both(fake, msr_rules_indices[i], UINT64_MAX);
			for (unsigned bit = 0; bit < 64; bit++) {
				by_both(
				    fake, msr_rules_indices[i], TZ_BIT(bit));
				by_both(fake, msr_rules_indices[i],
				    UINT64_MAX << bit);
			}
		}
		fake_destroy(fake);
	}
	assert_int_equal(index, 26);
}

static void
every_bit_of_ctl_together_with_an_enable(void **state)
{
	static const uint64_t with[] = { CTL_TRACE_EN,
		CTL_TRACE_EN | CTL_BRANCH_EN, CTL_TRACE_EN | CTL_TOPA,
		CTL_TRACE_EN | CTL_PLAIN };
	struct fake *fake;

	(void)state;
	for (size_t index = 0; (fake = fake_of(index)) != NULL; index++) {
		for (size_t w = 0; w < TZ_ARRAY_LEN(with); w++) {
			for (unsigned bit = 0; bit < 64; bit++)
				by_both(fake, 0x570, with[w] | TZ_BIT(bit));
			for (size_t f = 0; f < TZ_ARRAY_LEN(fields); f++) {
				for (uint64_t v = 0; v < 16; v++)
					by_both(fake, 0x570,
					    with[w] | v << fields[f]);
			}
		}
		fake_destroy(fake);
	}
}

static void
while_tracing_nothing_but_its_own_value_and_a_disable(void **state)
{
	const uint64_t ctl = CTL_PLAIN | CTL_TRACE_EN;
	struct fake *fake;

	(void)state;
	for (size_t index = 0; (fake = fake_of(index)) != NULL; index++) {
		uint8_t image[PT_XSTATE_BYTES] = { 0 };
		uint64_t before[MSR_RULES_COUNT], after[MSR_RULES_COUNT];

		fake_wrmsr(fake, 0x570, ctl);
		read_all(fake, before);
		for (size_t i = 0; i < MSR_RULES_COUNT; i++) {
			for (unsigned bit = 0; bit <= 64; bit++) {
				uint64_t v = bit == 64 ? 0 : TZ_BIT(bit);

				if (msr_rules_indices[i] == 0x570)
					v = ctl ^ (v & ~CTL_TRACE_EN);
				if (v == ctl)
					continue;
				assert_int_equal(
				    pt_unit_wrmsr(fake->unit,
					msr_rules_indices[i], v, &fake->at, 0),
				    FAULT_GP);
			}
		}
		assert_int_equal(
		    pt_unit_xrstors(fake->unit, image, &fake->at, 0), FAULT_GP);
		assert_int_equal(
		    pt_unit_xrstors(fake->unit, NULL, &fake->at, 0), FAULT_GP);
		fake_wrmsr(fake, 0x570, ctl);
		read_all(fake, after);
		assert_memory_equal(before, after, sizeof(before));
		/* A disable may change any other bit that is legal. */
		fake_wrmsr(fake, 0x570, CTL_OS);
		assert_true(fake_rdmsr(fake, 0x570) == CTL_OS);
		fake_destroy(fake);
	}
}

/* Gives each MSR that the profile has a value of its own. */
static void
write_all(struct fake *fake)
{
	fake_wrmsr(fake, 0x571, 0x30);
	fake_wrmsr(fake, 0x561, UINT64_C(64) << 32);
	if (msr_rules_exist(&fake->profile, 0x572))
		fake_wrmsr(fake, 0x572, 0x5000);
	for (uint32_t i = 0x580; i < 0x588; i++) {
		if (msr_rules_exist(&fake->profile, i))
			fake_wrmsr(fake, i, 0x1000 * (i - 0x57f));
	}
}

static void
resets_clear_what_they_should_on_every_profile(void **state)
{
	struct fake *fake;

	(void)state;
	for (size_t index = 0; (fake = fake_of(index)) != NULL; index++) {
		for (unsigned warm = 0; warm < 2; warm++) {
			uint64_t before[MSR_RULES_COUNT];
			uint64_t after[MSR_RULES_COUNT];
			bool keeps = warm && (fake->profile.pt_ebx & 4) != 0;

			write_all(fake);
			fake_wrmsr(fake, 0x560, FAKE_TABLE);
			fake_wrmsr(fake, 0x570, CTL_PLAIN | CTL_TRACE_EN);
			read_all(fake, before);
			pt_unit_reset(fake->unit, warm);
			read_all(fake, after);
			for (size_t i = 0; i < MSR_RULES_COUNT; i++) {
				uint32_t msr = msr_rules_indices[i];
				uint64_t want = before[i];

				if (msr == 0x570)
					want &= ~CTL_TRACE_EN;
				if (!keeps)
					want = msr == 0x561 ? 0x7f : 0;
				assert_true(after[i] == want);
			}
		}
		fake_destroy(fake);
	}
}

static void
init_keeps_the_msrs_and_the_tracing(void **state)
{
	struct fake *fake;

	(void)state;
	for (size_t index = 0; (fake = fake_of(index)) != NULL; index++) {
		uint64_t before[MSR_RULES_COUNT], after[MSR_RULES_COUNT];
		const uint64_t enabled = CTL_PLAIN | CTL_TRACE_EN;

		write_all(fake);
		fake_wrmsr(fake, 0x571, 0);
		fake_wrmsr(fake, 0x570, enabled);
		read_all(fake, before);
		fake_transfer(fake, PT_TRANSFER_INIT, 0xfffffff0);
		read_all(fake, after);
		for (size_t i = 0; i < MSR_RULES_COUNT; i++) {
			uint32_t msr = msr_rules_indices[i];

			/* The output goes on: offset and byte count do. */
			if (msr == 0x561)
				assert_true(after[i] > before[i]);
			else if (msr == 0x571)
				assert_int_equal(after[i] & 0x3f, 7);
			else
				assert_true(after[i] == before[i]);
		}
		assert_true(fake_rdmsr(fake, 0x570) == enabled);
		fake_destroy(fake);
	}
}

static void
vmx_operation_ends_tracing_where_it_must(void **state)
{
	struct fake *fake;
	unsigned without = 0;

	(void)state;
	for (size_t index = 0; (fake = fake_of(index)) != NULL; index++) {
		bool may = fake->profile.signature != 0x306d4 &&
		    fake->profile.signature != 0x406f1;
		const uint64_t ctl = CTL_PLAIN | CTL_TRACE_EN;
		enum fault fault = may ? FAULT_NONE : FAULT_GP;
		uint8_t image[PT_XSTATE_BYTES];

		without += !may;
		fake_wrmsr(fake, 0x570, ctl);
		pt_unit_vmxon(fake->unit, &fake->at);
		assert_int_equal(fake_rdmsr(fake, 0x570) & 1, may);
		pt_unit_xsaves(fake->unit, image, &fake->at);
		assert_int_equal(image[0] & 1, may);
		assert_true(fake_rdmsr(fake, 0x570) == CTL_PLAIN);
		assert_int_equal(
		    pt_unit_wrmsr(fake->unit, 0x570, ctl, &fake->at, FAKE_NLIP),
		    fault);
		/* Not even what it is, nor 0. */
		assert_int_equal(
		    pt_unit_wrmsr(fake->unit, 0x570, CTL_PLAIN, &fake->at, 0),
		    fault);
		assert_int_equal(
		    pt_unit_wrmsr(fake->unit, 0x570, 0, &fake->at, 0), fault);
		assert_int_equal(
		    pt_unit_xrstors(fake->unit, image, &fake->at, FAKE_NLIP),
		    fault);
		if (may)
			fake_stop(fake);
		assert_int_equal(
		    pt_unit_xrstors(fake->unit, NULL, &fake->at, FAKE_NLIP),
		    fault);
		pt_unit_reset(fake->unit, true);
		fake_wrmsr(fake, 0x560, FAKE_TABLE);
		fake_wrmsr(fake, 0x570, ctl);
		fake_destroy(fake);
	}
	assert_int_equal(without, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_bit_on_every_profile),
		cmocka_unit_test(every_bit_of_ctl_together_with_an_enable),
		cmocka_unit_test(
		    while_tracing_nothing_but_its_own_value_and_a_disable),
		cmocka_unit_test(
		    resets_clear_what_they_should_on_every_profile),
		cmocka_unit_test(init_keeps_the_msrs_and_the_tracing),
		cmocka_unit_test(vmx_operation_ends_tracing_where_it_must),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
