/*
 * What going back to a snapshot and on again costs: one CPU, a trace with PMIs.
 * usage: snapshot_bench GUEST_DIR
 */
#include "../unit/emu/guest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <cmocka.h>

#define ROUNDS 5000
#define INSNS  1000

static double
now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void
measure(void **state)
{
	struct guest_options options = { .param = 5, .no_exec_log = true };
	struct machine_snapshot *base, *other;
	struct machine_counters counters;
	double take = 0, apply = 0, run = 0, hash = 0;
	struct guest guest;
	uint64_t sum = 0;

	(void)state;
	guest_load("pmi", &options, &guest);
	machine_run(guest.machine, 20000, &guest.result);
	base = machine_snapshot_take(guest.machine, NULL);
	assert_non_null(base);
	/* Pages to carry along, as a kernel and its driver leave them. */
	for (uint64_t pa = 0x2000000; pa < 0x2000000 + 60 * 0x3000;
	     pa += 0x3000)
		guest.ram[pa] ^= 1;
	for (unsigned i = 0; i < ROUNDS; i++) {
		double t[5];

		t[0] = now_us();
		machine_snapshot_apply(guest.machine, base);
		t[1] = now_us();
		machine_counters(guest.machine, 0, &counters);
		machine_set_stop(guest.machine, 0, counters.insns + INSNS);
		machine_run(guest.machine, 0, &guest.result);
		assert_int_equal(guest.result.end, MACHINE_STOP);
		t[2] = now_us();
		other = machine_snapshot_take(guest.machine, NULL);
		assert_non_null(other);
		t[3] = now_us();
		sum += machine_hash(guest.machine, NULL);
		t[4] = now_us();
		machine_snapshot_free(guest.machine, other);
		guest.event_count = 0;
		apply += t[1] - t[0];
		run += t[2] - t[1];
		take += t[3] - t[2];
		hash += t[4] - t[3];
	}
	printf(
	    "us each: apply %.1f, %u instructions %.1f, take %.1f, hash %.1f\n",
	    apply / ROUNDS, INSNS, run / ROUNDS, take / ROUNDS, hash / ROUNDS);
	assert_int_not_equal(sum, 0);
	machine_snapshot_free(guest.machine, base);
	guest_free(&guest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(measure) };

	guest_set_dir(argc == 2 ? argv[1] : ".");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
