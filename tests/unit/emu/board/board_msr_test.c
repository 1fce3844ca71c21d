/*
 * Goal: the MSRs of a board's CPU have their architectural values and rules.
 * Method: for each row of board_msr.def its value after reset, values that are accepted
 * and read back, and values that are #GP; no row is without a case.
 */
#include "emu/cpu/state.h"
#include "emu/profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define RAM_BYTES (UINT64_C(2) << 20)
#define NONE      UINT64_MAX

struct seen {
	unsigned reads, writes;
};

static void
event(void *arg, const struct event *event)
{
	(void)arg;
	(void)event;
}

static bool
unknown(void *arg, unsigned cpu, bool write, uint32_t msr, uint64_t value)
{
	struct seen *seen = arg;

	(void)cpu;
	(void)msr;
	(void)value;
	*(write ? &seen->writes : &seen->reads) += 1;
	return true;
}

static struct cpu *
make(uint8_t *ram, struct seen *seen, const char *profile)
{
	struct cpu_config config = { .cpu_count = 1,
		.profile = profile_find(profile),
		.ram = ram,
		.ram_bytes = RAM_BYTES,
		.board = true,
		.port = {
		    .arg = seen, .event = event, .unknown_msr = unknown } };
	struct tz_error err;
	struct cpu *cpu = cpu_create(&config, &err);

	assert_non_null(cpu);
	cpu_start(cpu, 0x1000, 0, 0, 0);
	return cpu;
}

/* NONE ends a list; .reset NONE: a read is #GP. */
static const struct {
	uint32_t msr;
	uint64_t reset, good[3], bad[3];
} cases[] = {
	{ 0x17, 0, { NONE }, { 0, NONE } },
	{ 0x34, 0, { NONE }, { 0, 1, NONE } },
	{ 0x3b, 0, { 0, NONE }, { 1, NONE } },
	{ 0x48, 0, { 3, 1, 0 }, { 4, 0x400, NONE } },
	{ 0x49, NONE, { NONE }, { 2, 3, NONE } },
	{ 0x8b, 0, { 0, NONE }, { 1, NONE } },
	{ 0xce, UINT64_C(0x250000002500), { NONE }, { 0x2500, NONE } },
	{ 0x10a, UINT64_C(0x400000000d10e17b), { NONE }, { 0, NONE } },
	{ 0x140, 0, { 0, NONE }, { 1, NONE } },
	{ 0x174, 0, { 0x10, NONE }, { UINT64_C(1) << 32, NONE } },
	{ 0x175, 0, { 0xffff800000000000, NONE }, { UINT64_C(1) << 47, NONE } },
	{ 0x176, 0, { 0xffff800000000000, NONE }, { UINT64_C(1) << 47, NONE } },
	{ 0x1a0, 0x81, { 0x80, 0x81, NONE }, { 0x400081, 0x40081, NONE } },
	{ 0x2ff, 0xc06 - 0x400, { 0xc06, 0, NONE }, { 2, 7, 0x1000 } },
	{ 0x6e0, 0, { NONE }, { NONE } },
};

static void
each_row_follows_its_rules(void **state)
{
	static const uint32_t rows[] = {
#define MSR(index, name, read, write, field, valid) index,
#include "emu/cpu/execute/board_msr.def"
#undef MSR
	};
	uint8_t *ram = aligned_alloc(4096, RAM_BYTES);
	struct seen seen = { 0 };
	struct cpu *cpu = make(ram, &seen, "skylake");

	(void)state;
	/* The LBR stack, 2 rows an entry, has a test of its own. */
	assert_int_equal(TZ_ARRAY_LEN(rows), TZ_ARRAY_LEN(cases) + 64);
	for (size_t i = 0; i < TZ_ARRAY_LEN(cases); i++) {
		uint64_t value = NONE;
		uint32_t msr = cases[i].msr;

		assert_int_equal(rows[i], msr);
		assert_int_equal(cpu_rdmsr(cpu, msr, &value),
		    cases[i].reset == NONE ? FAULT_GP : FAULT_NONE);
		assert_int_equal(value, cases[i].reset);
		for (int j = 0; j < 3 && cases[i].bad[j] != NONE; j++)
			assert_int_equal(
			    cpu_wrmsr(cpu, msr, cases[i].bad[j], 0), FAULT_GP);
		(void)cpu_rdmsr(cpu, msr, &value);
		assert_int_equal(value, cases[i].reset);
		for (int j = 0; j < 3 && cases[i].good[j] != NONE; j++) {
			assert_int_equal(
			    cpu_wrmsr(cpu, msr, cases[i].good[j], 0),
			    FAULT_NONE);
			assert_int_equal(
			    cpu_rdmsr(cpu, msr, &value), FAULT_NONE);
			assert_int_equal(value, cases[i].good[j]);
		}
	}
	cpu_destroy(cpu);
	free(ram);
}

/* SDM vol. 4, table 2-2: CPUID.(7,0):EDX shows them. */
static void
speculation_msrs_are_those_of_cpuid(void **state)
{
	static const char *const models[] = { "skylake", "core2" };
	uint8_t *ram = aligned_alloc(4096, RAM_BYTES);

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(models); i++) {
		const struct profile_cpu about = { .cpu_count = 1,
			.board = true };
		struct seen seen = { 0 };
		struct cpu *cpu = make(ram, &seen, models[i]);
		uint32_t leaf[4];
		uint64_t value;
		bool there;

		profile_cpuid(profile_find(models[i]), &about, 7, 0, leaf);
		there = (leaf[PROFILE_EDX] & TZ_BIT(29)) != 0;
		assert_int_equal(there, i == 0);
		assert_int_equal((leaf[PROFILE_EDX] & TZ_BIT(26)) != 0, there);
		assert_int_equal((leaf[PROFILE_EDX] & TZ_BIT(27)) != 0, there);
		assert_int_equal((leaf[PROFILE_EBX] & TZ_BIT(1)) != 0, there);
		assert_int_equal(cpu_rdmsr(cpu, 0x10a, &value),
		    there ? FAULT_NONE : FAULT_GP);
		assert_int_equal(
		    cpu_wrmsr(cpu, 0x48, 1, 0), there ? FAULT_NONE : FAULT_GP);
		assert_int_equal(
		    cpu_wrmsr(cpu, 0x49, 1, 0), there ? FAULT_NONE : FAULT_GP);
		profile_cpuid(profile_find(models[i]), &about, 1, 0, leaf);
		assert_int_equal(leaf[PROFILE_ECX] & TZ_BIT(21), 0);
		cpu_destroy(cpu);
	}
	free(ram);
}

/* SDM vol. 4: MSR_LASTBRANCH_n_FROM_IP and _TO_IP, as deep as the model's stack. */
static void
lbr_stack_is_as_deep_as_the_model_has_it(void **state)
{
	static const struct {
		const char *profile;
		unsigned depth;
	} models[] = { { "skylake", 32 }, { "broadwell", 16 }, { "core2", 0 } };
	uint8_t *ram = aligned_alloc(4096, RAM_BYTES);

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(models); i++) {
		struct seen seen = { 0 };
		struct cpu *cpu = make(ram, &seen, models[i].profile);

		for (uint32_t n = 0; n < 32; n++) {
			enum fault fault = n < models[i].depth ? FAULT_NONE
							       : FAULT_GP;
			uint64_t from = 0, to = 0;

			assert_int_equal(
			    cpu_wrmsr(cpu, 0x680 + n, 100 + n, 0), fault);
			assert_int_equal(
			    cpu_wrmsr(cpu, 0x6c0 + n, 200 + n, 0), fault);
			assert_int_equal(
			    cpu_rdmsr(cpu, 0x680 + n, &from), fault);
			assert_int_equal(cpu_rdmsr(cpu, 0x6c0 + n, &to), fault);
			if (fault == FAULT_NONE) {
				assert_int_equal(from, 100 + n);
				assert_int_equal(to, 200 + n);
			}
		}
		assert_int_equal(seen.reads, 2 * (32 - models[i].depth));
		cpu_destroy(cpu);
	}
	free(ram);
}

static void
unknown_msrs_are_gp_and_reported(void **state)
{
	uint8_t *ram = aligned_alloc(4096, RAM_BYTES);
	struct seen seen = { 0 };
	struct cpu *cpu = make(ram, &seen, "skylake");
	uint64_t value;

	(void)state;
	assert_int_equal(cpu_rdmsr(cpu, 0x33, &value), FAULT_GP);
	assert_int_equal(seen.reads, 1);
	assert_int_equal(cpu_wrmsr(cpu, 0x33, 1, 0), FAULT_GP);
	assert_int_equal(seen.writes, 1);
	/* A known MSR, and what the architecture forbids, is not reported. */
	assert_int_equal(cpu_wrmsr(cpu, 0xce, 1, 0), FAULT_GP);
	assert_int_equal(seen.writes, 1);
	cpu_destroy(cpu);
	free(ram);
}

/* SDM vol. 3, 11.5.4.1 "TSC-Deadline Mode". */
static void
deadline_needs_its_mode(void **state)
{
	uint8_t *ram = aligned_alloc(4096, RAM_BYTES);
	struct seen seen = { 0 };
	struct cpu *cpu = make(ram, &seen, "skylake");
	uint64_t value;

	(void)state;
	assert_int_equal(cpu_wrmsr(cpu, 0x6e0, 1000, 0), FAULT_NONE);
	assert_int_equal(cpu_rdmsr(cpu, 0x6e0, &value), FAULT_NONE);
	assert_int_equal(value, 0);
	assert_int_equal(apic_write(&cpu->apic, 0xf0, 0, 0x1ff), APIC_OK);
	assert_int_equal(apic_write(&cpu->apic, 0x320, 0, 0x400ec), APIC_OK);
	assert_int_equal(cpu_wrmsr(cpu, 0x6e0, 1000, 0), FAULT_NONE);
	assert_int_equal(cpu_rdmsr(cpu, 0x6e0, &value), FAULT_NONE);
	assert_int_equal(value, 1000);
	assert_int_equal(cpu->apic.timer_due, 1000);
	apic_timer_fire(&cpu->apic);
	assert_int_equal(cpu_rdmsr(cpu, 0x6e0, &value), FAULT_NONE);
	assert_int_equal(value, 0);
	assert_int_equal(apic_pending(&cpu->apic), 0xec);
	cpu_destroy(cpu);
	free(ram);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_follows_its_rules),
		cmocka_unit_test(speculation_msrs_are_those_of_cpuid),
		cmocka_unit_test(lbr_stack_is_as_deep_as_the_model_has_it),
		cmocka_unit_test(unknown_msrs_are_gp_and_reported),
		cmocka_unit_test(deadline_needs_its_mode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
