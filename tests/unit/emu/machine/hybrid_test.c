/*
 * Goal: each CPU of a hybrid machine is the model that the list gives it, for CPUID
 * and for what WRMSR takes.
 * Method: a guest that notes CPUID on each CPU and then writes everywhere what CPU 0
 * alone would allow.
 */
#include "tests/unit/emu/guest.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define CPUS         4
#define HYBRID       (UINT64_C(1) << 15)
#define LIP          (UINT64_C(1) << 31)
#define CORE         0x40000001
#define ATOM         0x20000001
#define FEW          0x003f003f
#define MANY         0x003f1fff
#define VECTOR_GP    13
#define MSR_RTIT_CTL 0x570

enum { NOTE_LEAF_7 = 1, NOTE_LEAF_1A, NOTE_LEAF_14, NOTE_LEAF_14_1 };

static void
run(const char *models, struct guest *guest)
{
	struct guest_options options = {
		.cpus = CPUS, .param = CPUS, .profile = models
	};

	guest_run_all_ways("hybrid", &options, guest);
	guest_assert_exit(guest);
}

/* CPU is of the kind and has the LIP bit and the thresholds. */
static void
expect(const struct guest *guest, unsigned cpu, uint64_t kind, bool lip,
    uint64_t thresholds)
{
	assert_int_equal(guest_note(guest, NOTE_LEAF_7, cpu), HYBRID);
	assert_int_equal(guest_note(guest, NOTE_LEAF_1A, cpu), kind);
	assert_int_equal(
	    guest_note(guest, NOTE_LEAF_14, cpu), 7 | (lip ? LIP : 0));
	assert_int_equal(guest_note(guest, NOTE_LEAF_14_1, cpu), thresholds);
}

static void
each_cpu_is_what_the_list_says(void **state)
{
	struct guest guest;

	(void)state;
	run("alderlake-p,alderlake-e", &guest);
	for (unsigned cpu = 0; cpu < CPUS; cpu += 2) {
		expect(&guest, cpu, CORE, false, FEW);
		expect(&guest, cpu + 1, ATOM, true, FEW);
	}
	guest_free(&guest);
	run("alderlake-p*3,alderlake-e", &guest);
	for (unsigned cpu = 0; cpu < CPUS - 1; cpu++)
		expect(&guest, cpu, CORE, false, FEW);
	expect(&guest, CPUS - 1, ATOM, true, FEW);
	guest_free(&guest);
}

static void
what_another_core_has_is_a_fault_here(void **state)
{
	struct guest guest;

	(void)state;
	run("alderlake-e-old*2,alderlake-p*2", &guest);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		expect(&guest, cpu, ATOM, true, MANY);
		assert_int_equal(guest_record_count(&guest, cpu), 0);
	}
	for (unsigned cpu = 2; cpu < CPUS; cpu++) {
		expect(&guest, cpu, CORE, false, FEW);
		assert_int_equal(guest_record_count(&guest, cpu), 1);
		assert_int_equal(
		    guest_record(&guest, cpu, 0).vector, VECTOR_GP);
		assert_int_equal(
		    guest_record(&guest, cpu, 0).rcx, MSR_RTIT_CTL);
	}
	guest_free(&guest);
	/* The other way round CPU 0 asks for less than the others have. */
	run("alderlake-p,alderlake-e-old", &guest);
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		assert_int_equal(guest_record_count(&guest, cpu), 0);
	guest_free(&guest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_cpu_is_what_the_list_says),
		cmocka_unit_test(what_another_core_has_is_a_fault_here),
	};

	guest_set_dir(argc == 2 ? argv[1] : ".");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
