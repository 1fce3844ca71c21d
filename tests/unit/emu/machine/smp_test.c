/*
 * Goal: one to four CPUs share memory and interrupts, and everything recorded
 * is a function of the guest and the quantum alone.
 * Method: a guest whose CPUs count under a lock and interrupt each other; its
 * sums are known; runs of the same kind and runs one instruction at a time
 * must agree.
 */
#include "tests/unit/emu/guest.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void
assert_sums(const struct guest *guest, unsigned cpus)
{
	guest_assert_exit(guest);
	assert_int_equal(guest_note(guest, 1, 0), 500 * cpus);
	assert_int_equal(guest_note(guest, 3, 0), cpus - 1);
	assert_true(guest_note(guest, 2, 0) > 0);
}

static void
any_number_of_cpus_agree_on_their_sums(void **state)
{
	(void)state;
	for (unsigned cpus = 1; cpus <= GUEST_CPUS_MAX; cpus++) {
		struct guest_options options = { .cpus = cpus, .param = cpus };
		struct guest guest;

		guest_run_all_ways("smp", &options, &guest);
		assert_sums(&guest, cpus);
		guest_free(&guest);
	}
}

static void
any_quantum_will_do(void **state)
{
	static const uint64_t quanta[] = { 1, 7, 100, 1000000 };

	(void)state;
	for (size_t i = 0; i < TZ_ARRAY_LEN(quanta); i++) {
		struct guest_options options = {
			.cpus = 3,
			.param = 3,
			.quantum_cycles = quanta[i],
		};
		struct guest guest;

		guest_run_all_ways("smp", &options, &guest);
		assert_sums(&guest, 3);
		guest_free(&guest);
	}
}

static void
two_runs_are_one(void **state)
{
	struct guest_options options = { .cpus = 4, .param = 4 };
	struct guest a, b;

	(void)state;
	guest_run("smp", &options, &a);
	guest_run("smp", &options, &b);
	guest_assert_same(&a, &b);
	guest_free(&a);
	guest_free(&b);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_number_of_cpus_agree_on_their_sums),
		cmocka_unit_test(any_quantum_will_do),
		cmocka_unit_test(two_runs_are_one),
	};

	guest_set_dir(argc == 2 ? argv[1] : ".");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
