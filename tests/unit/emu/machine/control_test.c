/*
 * Goal: a stop is exact and changes nothing, wherever it comes; so is stepping; and
 * snapshots go back and forth in any order, in children, too. Method: guests with
 * interrupts, strings, faults and several CPUs are stopped again and again, or
 * stepped, and compared with a run that was left alone.
 */
#include "tests/unit/emu/guest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SNAPSHOTS 12

static void
finish(struct guest *guest)
{
	for (unsigned i = 0; i < guest->options.cpus; i++)
		machine_counters(guest->machine, i, &guest->counters[i]);
}

static uint64_t
insns_of(const struct guest *guest, unsigned cpu)
{
	struct machine_counters counters;

	machine_counters(guest->machine, cpu, &counters);
	return counters.insns;
}

/* Runs on to COUNT instructions of CPU; true: it got there. */
static bool
run_to(struct guest *guest, unsigned cpu, uint64_t count)
{
	machine_set_stop(guest->machine, cpu, count);
	machine_run(guest->machine, guest->options.insns_max, &guest->result);
	if (guest->result.end != MACHINE_STOP)
		return false;
	assert_int_equal(guest->result.cpu, cpu);
	assert_int_equal(insns_of(guest, cpu), count);
	return true;
}

/* Stops every so many instructions of every CPU in turn. */
static void
check_stops(const char *name, struct guest_options options, uint64_t from,
    uint64_t until, unsigned stride_max)
{
	struct guest whole, guest;
	unsigned seed = 1;

	options.no_exec_log = true;
	guest_run(name, &options, &whole);
	guest_load(name, &options, &guest);
	for (uint64_t at = from; at < until;) {
		unsigned cpu = seed % guest.options.cpus;
		uint64_t next = insns_of(&guest, cpu) + 1 + seed % stride_max;

		if (next < at)
			next = at;
		if (!run_to(&guest, cpu, next))
			break;
		machine_set_stop(guest.machine, cpu, UINT64_MAX);
		at = next + 1;
		seed = seed * 1103515245u + 12345;
		seed ^= seed >> 16;
	}
	for (unsigned i = 0; i < guest.options.cpus; i++)
		machine_set_stop(guest.machine, i, UINT64_MAX);
	if (guest.result.end == MACHINE_STOP)
		machine_run(
		    guest.machine, guest.options.insns_max, &guest.result);
	finish(&guest);
	guest_assert_same(&whole, &guest);
	guest_free(&whole);
	guest_free(&guest);
}

static void
stops_change_nothing(void **state)
{
	(void)state;
	check_stops(
	    "pmi", (struct guest_options){ .param = 5 }, 3000, 30000, 1);
	check_stops(
	    "pmi", (struct guest_options){ .param = 0x103 }, 1, 90000, 9);
	check_stops("interrupts", (struct guest_options){ 0 }, 1, 20000, 1);
	check_stops("rings", (struct guest_options){ 0 }, 1, 20000, 1);
	check_stops(
	    "changes", (struct guest_options){ .no_decode = true }, 1, 5000, 3);
	check_stops("smp",
	    (struct guest_options){ .cpus = 4, .quantum_cycles = 300 }, 1,
	    UINT64_MAX, 40);
	check_stops("pmi",
	    (struct guest_options){ .param = 5, .single_step = true }, 3000,
	    9000, 1);
}

/* Each second look stops. */
static bool
look(void *arg)
{
	uint64_t *looks = arg;

	return ++*looks % 2 == 0;
}

static void
check_looks(const char *name, struct guest_options options)
{
	struct guest whole, guest;
	uint64_t looks = 0, stops = 0;

	guest_run(name, &options, &whole);
	options.look_cycles = 13;
	options.stop = look;
	options.arg = &looks;
	guest_load(name, &options, &guest);
	do {
		machine_run(
		    guest.machine, guest.options.insns_max, &guest.result);
		stops++;
	} while (guest.result.end == MACHINE_STOP);
	finish(&guest);
	guest_assert_same(&whole, &guest);
	assert_true(stops > 100);
	assert_int_equal(looks / 2, stops - 1);
	guest_free(&whole);
	guest_free(&guest);
}

static void
to_look_and_to_stop_there_changes_nothing(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		bool step = i != 0;

		check_looks("pmi",
		    (struct guest_options){
			.param = 5, .no_exec_log = true, .single_step = step });
		check_looks("interrupts",
		    (struct guest_options){
			.no_exec_log = true, .single_step = step });
		check_looks("smp",
		    (struct guest_options){ .cpus = 4,
			.param = 4,
			.no_exec_log = true,
			.single_step = step });
	}
}

struct steps {
	struct guest *guest;
	uint64_t count, last[GUEST_CPUS_MAX];
	uint64_t pause_at; /* insns; 0: never */
};

static void
on_step(void *arg, const struct machine_step *step)
{
	struct steps *steps = arg;

	steps->count++;
	assert_int_equal(
	    step->rip, machine_rip(steps->guest->machine, step->cpu));
	assert_int_equal(step->insns, insns_of(steps->guest, step->cpu));
	steps->last[step->cpu] = step->insns;
	if (steps->pause_at != 0 && step->insns == steps->pause_at)
		machine_pause(steps->guest->machine);
}

static void
check_stepping(const char *name, struct guest_options options,
    enum machine_stepping stepping, uint64_t begin, uint64_t end)
{
	struct guest whole, guest;
	struct steps steps = { .guest = &guest };

	guest_run(name, &options, &whole);
	options.step = on_step;
	options.arg = &steps;
	guest_load(name, &options, &guest);
	machine_set_watched(guest.machine, begin, end);
	machine_set_stepping(guest.machine, stepping);
	guest_go(&guest, guest.options.insns_max);
	guest_assert_same(&whole, &guest);
	assert_true(steps.count > 0);
	guest_free(&whole);
	guest_free(&guest);
}

static void
stepping_changes_nothing(void **state)
{
	uint64_t text = GUEST_KERN + 0x200000;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		enum machine_stepping stepping = i == 0 ? STEPPING_ALL
							: STEPPING_WATCHED;

		/* Ends that fall into the middle of blocks. */
		check_stepping("pmi", (struct guest_options){ .param = 7 },
		    stepping, text + 0x2a7, text + 0x3f1);
		check_stepping("interrupts", (struct guest_options){ 0 },
		    stepping, text + 0x201, text + 0x280);
		check_stepping("rings", (struct guest_options){ 0 }, stepping,
		    0x400000, 0x402000);
		check_stepping("changes",
		    (struct guest_options){ .no_decode = true }, stepping,
		    0x800000, 0x802000);
		check_stepping("smp",
		    (struct guest_options){ .cpus = 4, .param = 4 }, stepping,
		    text + 0x300, text + 0x350);
	}
}

static void
a_pause_ends_after_the_instruction(void **state)
{
	struct guest guest;
	struct steps steps = { .guest = &guest, .pause_at = 5000 };
	struct guest_options options = { .step = on_step, .arg = &steps };

	(void)state;
	guest_load("pmi", &options, &guest);
	machine_set_stepping(guest.machine, STEPPING_ALL);
	machine_run(guest.machine, 100000, &guest.result);
	assert_int_equal(guest.result.end, MACHINE_STOP);
	assert_int_equal(insns_of(&guest, 0), 5001);
	machine_run(guest.machine, 10000, &guest.result);
	assert_int_equal(guest.result.end, MACHINE_LIMIT);
	guest_free(&guest);
}

/* What a run from a snapshot came to. */
struct outcome {
	struct machine_snapshot *snapshot;
	uint64_t at, hash, end_hash, end_insns;
	size_t events;
};

static void
run_out(struct guest *guest, struct outcome *outcome)
{
	guest->event_count = 0;
	machine_run(guest->machine, guest->options.insns_max, &guest->result);
	assert_int_not_equal(guest->result.end, MACHINE_STOP);
	outcome->events = guest->event_count;
	outcome->end_hash = machine_hash(guest->machine, NULL);
	outcome->end_insns = insns_of(guest, 0);
}

static void
check_back(struct guest *guest, const struct outcome *want)
{
	struct outcome got = { 0 };

	machine_snapshot_apply(guest->machine, want->snapshot);
	assert_int_equal(insns_of(guest, 0), want->at);
	assert_int_equal(machine_hash(guest->machine, NULL), want->hash);
	run_out(guest, &got);
	assert_int_equal(got.events, want->events);
	assert_int_equal(got.end_hash, want->end_hash);
	assert_int_equal(got.end_insns, want->end_insns);
}

static void
check_many(const char *name, struct guest_options options, uint64_t stride)
{
	struct outcome outcome[SNAPSHOTS] = { 0 };
	struct guest guest;
	unsigned seed = 7;
	pid_t child;
	int status;

	options.no_exec_log = true;
	guest_load(name, &options, &guest);
	for (unsigned i = 0; i < SNAPSHOTS; i++) {
		outcome[i].at = 1000 + i * stride;
		assert_true(run_to(&guest, 0, outcome[i].at));
		outcome[i].snapshot = machine_snapshot_take(
		    guest.machine, NULL);
		assert_non_null(outcome[i].snapshot);
		outcome[i].hash = machine_hash(guest.machine, NULL);
	}
	for (unsigned i = 0; i < SNAPSHOTS; i++) {
		machine_snapshot_apply(guest.machine, outcome[i].snapshot);
		run_out(&guest, &outcome[i]);
	}
	for (unsigned i = 0; i < 30; i++) {
		check_back(&guest, &outcome[seed % SNAPSHOTS]);
		seed = seed * 1103515245u + 12345;
		seed ^= seed >> 16;
	}
	child = fork();
	for (unsigned i = 0; i < SNAPSHOTS; i++)
		check_back(
		    &guest, &outcome[child == 0 ? i : SNAPSHOTS - 1 - i]);
	if (child == 0)
		_exit(0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	for (unsigned i = SNAPSHOTS; i-- > 0;)
		machine_snapshot_free(guest.machine, outcome[i].snapshot);
	guest_free(&guest);
}

static void
many_snapshots_in_any_order(void **state)
{
	(void)state;
	check_many("pmi", (struct guest_options){ .param = 5 }, 1237);
	check_many("smp", (struct guest_options){ .cpus = 4, .param = 4 }, 331);
	check_many("interrupts", (struct guest_options){ 0 }, 97);
}

static void
equal_states_have_equal_hashes(void **state)
{
	struct guest_options options = { .param = 5, .no_exec_log = true };
	struct machine_snapshot *base;
	struct guest guest;
	uint64_t hash[40];

	(void)state;
	guest_load("pmi", &options, &guest);
	assert_true(run_to(&guest, 0, 4000));
	base = machine_snapshot_take(guest.machine, NULL);
	for (unsigned i = 0; i < 40; i++) {
		hash[i] = machine_hash(guest.machine, NULL);
		for (unsigned j = 0; j < i; j++)
			assert_int_not_equal(hash[i], hash[j]);
		assert_true(run_to(&guest, 0, 4001 + i));
	}
	/* By another way: in one go, and with more pages touched. */
	for (unsigned i = 0; i < 40; i += 3) {
		machine_snapshot_apply(guest.machine, base);
		guest.ram[0x2000000] ^= 1;
		assert_int_not_equal(
		    machine_hash(guest.machine, NULL), hash[0]);
		guest.ram[0x2000000] ^= 1;
		if (i > 0)
			assert_true(run_to(&guest, 0, 4000 + i));
		assert_int_equal(machine_hash(guest.machine, NULL), hash[i]);
	}
	machine_snapshot_free(guest.machine, base);
	guest_free(&guest);
}

/* Where CPU 0 has told of its last stack. */
static uint64_t
stacks_known(const struct guest_options *options)
{
	struct guest guest;
	uint64_t insns = 0;

	guest_run("control", options, &guest);
	for (size_t i = 0; i < guest.event_count; i++) {
		if (guest.event[i].kind == EVENT_STACK)
			insns = guest.event[i].insns;
	}
	guest_free(&guest);
	assert_int_not_equal(insns, 0);
	return insns;
}

/* The handler's record of RIP differs, on a page that HIDDEN may hide. */
static void
dead_stack_is_left_out(void **state)
{
	struct guest_options options = { .param = 1, .no_exec_log = true };
	uint64_t at = stacks_known(&options) + 2, end = at + 70;
	uint64_t hidden[GUEST_RAM_BYTES / 4096 / 64] = { 0 };
	uint64_t hash[2], bare[2];
	struct machine_snapshot *base;
	struct guest guest;

	(void)state;
	hidden[0x620 / 64] |= TZ_BIT(0x620 % 64);
	guest_load("control", &options, &guest);
	assert_true(run_to(&guest, 0, at));
	base = machine_snapshot_take(guest.machine, NULL);
	for (unsigned i = 0; i < 2; i++) {
		machine_snapshot_apply(guest.machine, base);
		if (i > 0)
			assert_true(run_to(&guest, 0, at + i));
		assert_true(machine_inject(guest.machine, 0, DEVIATION_NMI, 0));
		assert_true(run_to(&guest, 0, end));
		hash[i] = machine_hash(guest.machine, hidden);
		bare[i] = machine_hash(guest.machine, NULL);
	}
	assert_int_equal(hash[0], hash[1]);
	assert_int_not_equal(bare[0], bare[1]);
	/* What is not dead counts: the last of its own stack in use. */
	guest.ram[0x60fff8] ^= 1;
	assert_int_not_equal(machine_hash(guest.machine, hidden), hash[1]);
	guest.ram[0x60fff8] ^= 1;
	guest.ram[0x60d000] ^= 1;
	guest.ram[0x610008] ^= 1;
	assert_int_equal(machine_hash(guest.machine, hidden), hash[1]);
	machine_snapshot_free(guest.machine, base);
	guest_free(&guest);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stops_change_nothing),
		cmocka_unit_test(to_look_and_to_stop_there_changes_nothing),
		cmocka_unit_test(stepping_changes_nothing),
		cmocka_unit_test(a_pause_ends_after_the_instruction),
		cmocka_unit_test(many_snapshots_in_any_order),
		cmocka_unit_test(equal_states_have_equal_hashes),
		cmocka_unit_test(dead_stack_is_left_out),
	};

	if (argc > 1)
		guest_set_dir(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
