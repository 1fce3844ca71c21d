/*
 * Goal: a machine that goes back to a snapshot does again what it did after it, to
 * the byte, with its engines warm; and breaking off a run changes nothing. Method:
 * guests are broken off at many places, run to their end, put back and run again;
 * everything recorded after the snapshot is compared, RAM included.
 */
#include "tests/unit/emu/guest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What a run left, in a form that outlives the next one. */
static struct guest
keep(const struct guest *guest)
{
	struct guest kept = *guest;

	kept.ram = guest_ram_copy(guest->ram);
	kept.event = malloc(sizeof(*kept.event) * (guest->event_count + 1));
	assert_non_null(kept.event);
	memcpy(
	    kept.event, guest->event, sizeof(*kept.event) * guest->event_count);
	for (unsigned i = 0; i < guest->options.cpus; i++) {
		size_t bytes = guest->exec_log[i].count * sizeof(uint32_t);

		kept.exec_log[i].word = malloc(bytes + 1);
		assert_non_null(kept.exec_log[i].word);
		memcpy(kept.exec_log[i].word, guest->exec_log[i].word, bytes);
	}
	return kept;
}

static void
drop(struct guest *kept)
{
	guest_ram_copy_free(kept->ram);
	free(kept->event);
	for (unsigned i = 0; i < kept->options.cpus; i++)
		free(kept->exec_log[i].word);
}

static void
check_broken_off_at(const char *name, const struct guest_options *options,
    uint64_t insns, const struct guest *whole)
{
	struct machine_snapshot *snapshot;
	struct guest guest, cold;

	guest_load(name, options, &guest);
	guest_go(&guest, insns);
	if (guest.result.end != MACHINE_LIMIT) {
		guest_free(&guest);
		return;
	}
	snapshot = machine_snapshot_take(guest.machine, NULL);
	assert_non_null(snapshot);
	guest_go(&guest, guest.options.insns_max);
	assert_int_equal(guest.result.end, whole->result.end);
	assert_memory_equal(
	    guest.counters, whole->counters, sizeof(guest.counters));
	guest_assert_same_ram(guest.ram, whole->ram);
	cold = keep(&guest);
	for (int again = 0; again < 2; again++) {
		machine_snapshot_apply(guest.machine, snapshot);
		guest_go(&guest, guest.options.insns_max);
		guest_assert_same(&cold, &guest);
	}
	drop(&cold);
	machine_snapshot_free(guest.machine, snapshot);
	guest_free(&guest);
}

static void
check(const char *name, const struct guest_options *options)
{
	struct guest whole;

	guest_run(name, options, &whole);
	for (uint64_t insns = 1; insns < 100000; insns += insns * 4 + 7)
		check_broken_off_at(name, options, insns, &whole);
	guest_free(&whole);
}

static void
rings_exceptions_and_system_calls(void **state)
{
	(void)state;
	check("rings", &(struct guest_options){ 0 });
}

static void
interrupts_and_a_timer(void **state)
{
	(void)state;
	check("interrupts", &(struct guest_options){ 0 });
}

static void
a_trace_with_pmis(void **state)
{
	(void)state;
	check("pmi", &(struct guest_options){ .param = 5 });
}

static void
four_cpus(void **state)
{
	(void)state;
	check("smp", &(struct guest_options){ .cpus = 4 });
}

/* TSC, MTC each 8 crystal ticks, CYC; the CPU sleeps in between. */
static void
a_trace_that_holds_time(void **state)
{
	const uint64_t timing = UINT64_C(0xc602) << 32;

	(void)state;
	check("interrupts", &(struct guest_options){ .param = timing });
	check("pmi", &(struct guest_options){ .param = timing | 5 });
	check("smp", &(struct guest_options){ .cpus = 4, .param = timing | 4 });
}

/* Bytes and PMIs on their way, and overflows. */
static void
a_bounded_buffer(void **state)
{
	const struct pt_cycles cycles = { 256, 1, 9, 300, 700 };
	const uint64_t timing = UINT64_C(0xc602) << 32;

	(void)state;
	check(
	    "pmi", &(struct guest_options){ .param = 5, .pt_cycles = cycles });
	check("interrupts",
	    &(struct guest_options){ .param = timing, .pt_cycles = cycles });
	check("smp",
	    &(struct guest_options){
		.cpus = 4, .param = timing | 4, .pt_cycles = cycles });
}

static void
code_that_changes(void **state)
{
	(void)state;
	check("changes", &(struct guest_options){ .no_decode = true });
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings_exceptions_and_system_calls),
		cmocka_unit_test(interrupts_and_a_timer),
		cmocka_unit_test(a_trace_with_pmis),
		cmocka_unit_test(four_cpus),
		cmocka_unit_test(a_trace_that_holds_time),
		cmocka_unit_test(a_bounded_buffer),
		cmocka_unit_test(code_that_changes),
	};

	if (argc > 1)
		guest_set_dir(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
