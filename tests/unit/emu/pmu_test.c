/*
 * Goal: bit 55 of IA32_PERF_GLOBAL_STATUS is sticky and moves only as allowed.
 * Method: every bit of every register of the unit.
 */
#include "emu/pmu/pmu.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define STATUS       0x38e
#define STATUS_RESET 0x390
#define STATUS_SET   0x391

static uint64_t
status(const struct pmu *pmu)
{
	uint64_t value = 1;

	assert_int_equal(pmu_rdmsr(pmu, STATUS, &value), FAULT_NONE);
	return value;
}

static void
three_registers_are_its_own(void **state)
{
	(void)state;
	for (uint32_t msr = 0x300; msr < 0x400; msr++)
		assert_int_equal(pmu_owns_msr(msr),
		    msr == STATUS || msr == STATUS_RESET || msr == STATUS_SET);
}

static void
a_topa_pmi_stays_until_it_is_reset(void **state)
{
	struct pmu pmu = { 0 };

	(void)state;
	pmu_topa_pmi(&pmu);
	pmu_topa_pmi(&pmu);
	assert_int_equal(status(&pmu), PMU_STATUS_TOPA_PMI);
	assert_int_equal(pmu_wrmsr(&pmu, STATUS_RESET, 0), FAULT_NONE);
	assert_int_equal(status(&pmu), PMU_STATUS_TOPA_PMI);
	assert_int_equal(
	    pmu_wrmsr(&pmu, STATUS_RESET, PMU_STATUS_TOPA_PMI), FAULT_NONE);
	assert_int_equal(status(&pmu), 0);
	assert_int_equal(
	    pmu_wrmsr(&pmu, STATUS_SET, PMU_STATUS_TOPA_PMI), FAULT_NONE);
	assert_int_equal(status(&pmu), PMU_STATUS_TOPA_PMI);
}

static void
every_other_bit_is_reserved(void **state)
{
	struct pmu pmu = { 0 };
	uint64_t value;

	(void)state;
	for (unsigned bit = 0; bit < 64; bit++) {
		enum fault fault = bit == 55 ? FAULT_NONE : FAULT_GP;

		assert_int_equal(
		    pmu_wrmsr(&pmu, STATUS_SET, TZ_BIT(bit)), fault);
		assert_int_equal(
		    pmu_wrmsr(&pmu, STATUS_RESET, TZ_BIT(bit)), fault);
		assert_int_equal(
		    pmu_wrmsr(&pmu, STATUS, TZ_BIT(bit)), FAULT_GP);
	}
	assert_int_equal(pmu_wrmsr(&pmu, STATUS, 0), FAULT_GP);
	assert_int_equal(pmu_rdmsr(&pmu, STATUS_SET, &value), FAULT_NONE);
	assert_int_equal(value, 0);
	assert_int_equal(pmu_rdmsr(&pmu, STATUS_RESET, &value), FAULT_NONE);
	assert_int_equal(value, 0);
}

static void
a_stuck_bit_survives_as_many_resets(void **state)
{
	struct pmu pmu = { 0 }, sound = { 0 };

	(void)state;
	pmu_topa_pmi(&pmu);
	pmu_topa_pmi(&sound);
	assert_true(pmu_hash(&pmu) == pmu_hash(&sound));
	pmu_stick(&pmu, 2);
	assert_true(pmu_hash(&pmu) != pmu_hash(&sound));
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(status(&pmu), PMU_STATUS_TOPA_PMI);
		/* What resets no bit and what sets it counts for nothing. */
		assert_int_equal(pmu_wrmsr(&pmu, STATUS_RESET, 0), FAULT_NONE);
		assert_int_equal(
		    pmu_wrmsr(&pmu, STATUS_SET, PMU_STATUS_TOPA_PMI),
		    FAULT_NONE);
		assert_int_equal(
		    pmu_wrmsr(&pmu, STATUS_RESET, PMU_STATUS_TOPA_PMI),
		    FAULT_NONE);
	}
	assert_int_equal(status(&pmu), 0);
	assert_true(pmu_hash(&pmu) != pmu_hash(&sound));
	pmu_wrmsr(&sound, STATUS_RESET, PMU_STATUS_TOPA_PMI);
	assert_true(pmu_hash(&pmu) == pmu_hash(&sound));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_registers_are_its_own),
		cmocka_unit_test(a_topa_pmi_stays_until_it_is_reset),
		cmocka_unit_test(every_other_bit_is_reserved),
		cmocka_unit_test(a_stuck_bit_survives_as_many_resets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
