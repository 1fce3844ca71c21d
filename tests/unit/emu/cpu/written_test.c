/*
 * Goal: code that has been written is the code that runs, whoever wrote it and however
 * the engine was run; the engine by itself (Unicorn 2.1.1) misses every store into a
 * page that holds translated code but the first.
 * Method: guests that write code and note what it returns, run in all ways; a host that
 * writes code between two runs, and goes back to before by a snapshot.
 */
#include "tests/unit/emu/retired.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define WRITABLE_PA  0x800000
#define READ_ONLY_PA 0xa03000
#define READ_ONLY_VA 0x800000
#define IMMEDIATE    1
/* Of four rounds: see away_and_back. */
#define SUM ((UINT64_C(0x8033cb2b439fdbf7) * 4) >> 32)

static void
a_cpu_sees_what_it_has_written(void **state)
{
	struct guest_options options = { .param = 1, .no_decode = true };
	struct guest guest;

	(void)state;
	guest_run_all_ways("written", &options, &guest);
	assert_string_equal(guest.result.text, "");
	guest_assert_exit(&guest);
	for (size_t round = 0; round < 3; round++) {
		assert_int_equal(guest_note(&guest, 1, round), 0x202);
		assert_int_equal(guest_note(&guest, 2, round), 8);
		assert_int_equal(guest_note(&guest, 3, round), 9 + 16);
		assert_int_equal(guest_note(&guest, 4, round), 0x02020202);
		assert_int_equal(guest_note(&guest, 5, round), 0x304);
		assert_int_equal(guest_note(&guest, 8, round), SUM);
	}
	guest_free(&guest);
}

/* PARAM says by which instruction it synchronizes. */
static void
check_another_cpu(uint64_t param)
{
	struct guest_options options = {
		.cpus = 2, .param = param, .no_decode = true
	};
	struct guest guest;

	guest_run_all_ways("written", &options, &guest);
	guest_assert_exit(&guest);
	assert_int_equal(guest_note(&guest, 6, 0), 0x605);
	guest_free(&guest);
}

static void
a_cpu_sees_what_another_one_has_written(void **state)
{
	(void)state;
	check_another_cpu(2);
}

static void
a_cpu_sees_it_after_an_iret(void **state)
{
	(void)state;
	check_another_cpu(4);
}

static void
a_cpu_sees_it_after_a_wrmsr(void **state)
{
	(void)state;
	check_another_cpu(5);
}

/* INT3 is a software interrupt, also where memory has it no more when it is executed. */
static void
an_int3_that_is_gone_is_one(void **state)
{
	struct guest_options options = { .param = 6, .no_decode = true };
	struct retired_list list;
	unsigned breakpoints = 0;
	struct guest guest;

	(void)state;
	guest_run("written", &options, &guest);
	guest_assert_exit(&guest);
	/* INT3 is delivered as a software interrupt, not as a fault. */
	for (size_t i = 0; i < guest.event_count; i++)
		assert_int_not_equal(guest.event[i].kind, EVENT_EXCEPTION);
	retired_expand(&guest, 0, &list);
	for (size_t i = 0; i < list.count; i++) {
		if (list.item[i].kind != RETIRED_EVENT)
			continue;
		assert_int_equal(list.item[i].arg, 3);
		assert_int_equal(list.item[i].ip, READ_ONLY_VA + 1);
		breakpoints++;
	}
	assert_int_equal(breakpoints, 2);
	retired_free(&list);
	guest_free(&guest);
}

/* Between two runs: the functions return other values from now on. */
static void
write_code(struct guest *guest, uint8_t value)
{
	guest->ram[WRITABLE_PA + IMMEDIATE] = value;
	guest->ram[READ_ONLY_PA + IMMEDIATE] = (uint8_t)(value + 1);
	machine_wrote_code(guest->machine);
}

/* Runs up to the next note; false: the run is over. */
static bool
run_to_note(struct guest *guest)
{
	size_t before = guest->event_count;

	while (guest->result.end == MACHINE_LIMIT) {
		struct machine_counters counters;

		machine_counters(guest->machine, 0, &counters);
		machine_run(guest->machine, counters.insns + 5, &guest->result);
		for (; before < guest->event_count; before++) {
			if (guest->event[before].kind == EVENT_NOTE)
				return true;
		}
	}
	return false;
}

static void
check_host(bool single_step)
{
	struct guest_options options = {
		.param = 3, .no_exec_log = true, .single_step = single_step
	};
	struct machine_snapshot *first, *snapshot;
	struct guest guest;

	guest_load("written", &options, &guest);
	first = machine_snapshot_take(guest.machine, NULL);
	assert_non_null(first);
	guest.result.end = MACHINE_LIMIT;
	assert_true(run_to_note(&guest));
	assert_int_equal(guest_note(&guest, 7, 0), 0x101);
	snapshot = machine_snapshot_take(guest.machine, NULL);
	assert_non_null(snapshot);
	for (unsigned round = 0; round < 3; round++) {
		machine_snapshot_apply(guest.machine, snapshot);
		guest.event_count = 1;
		guest.result.end = MACHINE_LIMIT;
		/* What was before the snapshot was taken. */
		assert_true(run_to_note(&guest));
		write_code(&guest, 7);
		assert_true(run_to_note(&guest));
		write_code(&guest, 9);
		assert_true(run_to_note(&guest));
		assert_int_equal(guest.event[guest.event_count - 3].b, 0x101);
		assert_int_equal(guest.event[guest.event_count - 2].b, 0x807);
		assert_int_equal(guest.event[guest.event_count - 1].b, 0xa09);
	}
	machine_snapshot_free(guest.machine, snapshot);
	machine_snapshot_free(guest.machine, first);
	guest_free(&guest);
}

static void
a_cpu_sees_what_the_host_has_written(void **state)
{
	(void)state;
	check_host(false);
	check_host(true);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cpu_sees_what_it_has_written),
		cmocka_unit_test(a_cpu_sees_what_another_one_has_written),
		cmocka_unit_test(a_cpu_sees_it_after_an_iret),
		cmocka_unit_test(a_cpu_sees_it_after_a_wrmsr),
		cmocka_unit_test(a_cpu_sees_what_the_host_has_written),
		cmocka_unit_test(an_int3_that_is_gone_is_one),
	};

	guest_set_dir(argc == 2 ? argv[1] : ".");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
