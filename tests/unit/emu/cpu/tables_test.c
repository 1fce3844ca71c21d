/*
 * Goal: what a CPU sees of page tables and of code that change is a function of the
 * program: not of the engine that runs it, nor of stops, snapshots and what was run
 * before they were applied.
 * Method: scripts that map, unmap, read, write and execute pages, on two CPUs, with
 * and without invalidations; first those that once went wrong, then random ones
 * with fixed seeds.  Each is run in all ways; everything recorded must agree.
 */
#include "tests/unit/emu/guest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SCRIPT_PA(cpu) (UINT64_C(0x2000000) + (uint64_t)(cpu)*0x10000)
#define FRAME_PA(k)    (UINT64_C(0xa00000) + (uint64_t)(k)*0x1000)
#define TEXT           (GUEST_KERN + UINT64_C(0x200000))
#define TEXT_BYTES     0x800
#define PAGES          6
#define FRAMES         8
#define OPS_MAX        400
#define RUNS           12
#define READS          100
#define WAYS           4
#define PTE_P          UINT64_C(0x1)
#define PTE_W          UINT64_C(0x2)
#define PTE_G          UINT64_C(0x100)
#define PTE_NX         TZ_BIT(63)

/* See guest/tables.S. */
enum op {
	END,
	SET,
	DROP,
	READ,
	WRITE,
	EXEC,
	LOAD,
	WAIT,
	CR4,
	CR0,
	NMI,
	LOOPS,
};

struct step {
	uint64_t op, page, value;
};

struct script {
	unsigned cpus;
	struct step step[2][OPS_MAX]; /* ended by END */
};

static unsigned
draw(unsigned *seed, unsigned below)
{
	*seed = *seed * 1103515245u + 12345;
	return (*seed >> 16) % below;
}

/* Code of another shape in each frame: MOV EAX, k; NOP...; RET. */
static void
fill_frames(uint8_t *ram)
{
	for (unsigned k = 0; k < FRAMES; k++) {
		uint8_t *code = ram + FRAME_PA(k);

		memset(code, 0x90, 16);
		memcpy(code, "\xb8\0\0\0\0", 5);
		code[1] = (uint8_t)(16 + k);
		code[6 + k % 4] = 0xc3;
		code[0x800] = (uint8_t)k;
	}
}

static void
put_script(uint8_t *ram, const struct script *script)
{
	fill_frames(ram);
	for (unsigned cpu = 0; cpu < script->cpus; cpu++) {
		uint8_t *to = ram + SCRIPT_PA(cpu);

		for (unsigned i = 0; i < OPS_MAX; i++, to += 16) {
			const struct step *step = &script->step[cpu][i];

			to[0] = (uint8_t)step->op;
			to[1] = (uint8_t)step->page;
			memcpy(to + 8, &step->value, 8);
		}
	}
}

static uint64_t
insns_of(const struct guest *guest, unsigned cpu)
{
	struct machine_counters counters;

	machine_counters(guest->machine, cpu, &counters);
	return counters.insns;
}

static void
ignore_step(void *arg, const struct machine_step *step)
{
	(void)arg;
	(void)step;
}

/* A machine that has not run yet, and that state of it. */
static struct machine_snapshot *
load(const struct script *script, bool single_step, struct guest *guest)
{
	struct guest_options options = {
		.cpus = script->cpus,
		.param = script->cpus,
		.quantum_cycles = 300,
		.single_step = single_step,
		.step = ignore_step,
		.no_exec_log = true,
	};
	struct machine_snapshot *first;

	guest_load("tables", &options, guest);
	put_script(guest->ram, script);
	first = machine_snapshot_take(guest->machine, NULL);
	assert_non_null(first);
	return first;
}

static void
watch(struct guest *guest, enum machine_stepping stepping, unsigned *seed)
{
	uint64_t begin = TEXT + draw(seed, TEXT_BYTES);

	machine_set_watched(
	    guest->machine, begin, begin + draw(seed, TEXT_BYTES));
	machine_set_stepping(guest->machine, stepping);
}

/* What a run came to. */
struct outcome {
	uint64_t hash, insns[2];
	struct event *event;
	size_t event_count;
};

static void
finish(struct guest *guest, struct outcome *outcome)
{
	guest_assert_exit(guest);
	memset(outcome, 0, sizeof(*outcome));
	outcome->hash = machine_hash(guest->machine, NULL);
	for (unsigned i = 0; i < guest->options.cpus; i++)
		outcome->insns[i] = insns_of(guest, i);
	outcome->event = guest->event;
	outcome->event_count = guest->event_count;
	guest->event = NULL;
	guest->event_count = 0;
}

static void
assert_same(const struct outcome *a, const struct outcome *b)
{
	size_t count = a->event_count < b->event_count ? a->event_count
						       : b->event_count;

	for (size_t i = 0; i < count; i++) {
		const struct event *p = &a->event[i], *q = &b->event[i];

		if (memcmp(p, q, sizeof(*p)) != 0)
			fail_msg("event %zu: kind %u CPU %u instruction %lu "
				 "and kind %u CPU %u instruction %lu",
			    i, p->kind, p->cpu, (unsigned long)p->insns,
			    q->kind, q->cpu, (unsigned long)q->insns);
	}
	assert_int_equal(a->event_count, b->event_count);
	assert_int_equal(a->insns[0], b->insns[0]);
	assert_int_equal(a->insns[1], b->insns[1]);
	assert_int_equal(a->hash, b->hash);
}

static void
run_whole(struct guest *guest, enum machine_stepping stepping, unsigned *seed,
    struct outcome *outcome)
{
	watch(guest, stepping, seed);
	machine_run(guest->machine, guest->options.insns_max, &guest->result);
	finish(guest, outcome);
}

/* On to a place near ahead, by any of the engines; false: the run ended before. */
static bool
run_piece(struct guest *guest, unsigned *seed, unsigned most)
{
	unsigned cpu = draw(seed, guest->options.cpus);

	watch(guest, (enum machine_stepping)draw(seed, 3), seed);
	machine_set_stop(
	    guest->machine, cpu, insns_of(guest, cpu) + 1 + draw(seed, most));
	machine_run(guest->machine, guest->options.insns_max, &guest->result);
	machine_set_stop(guest->machine, cpu, UINT64_MAX);
	return guest->result.end == MACHINE_STOP;
}

/*
 * In pieces, and from snapshots, each after what would come next was run: nothing of
 * that is to stay behind.
 */
static void
run_pieces(struct guest *guest, unsigned *seed, struct outcome *outcome)
{
	struct machine_snapshot *snapshot;
	size_t events;

	while (run_piece(guest, seed, 1500)) {
		snapshot = machine_snapshot_take(guest->machine, NULL);
		assert_non_null(snapshot);
		events = guest->event_count;
		for (unsigned i = draw(seed, 3); i > 0; i--) {
			run_piece(guest, seed, 3000);
			machine_snapshot_apply(guest->machine, snapshot);
			guest->event_count = events;
		}
		machine_snapshot_free(guest->machine, snapshot);
	}
	finish(guest, outcome);
}

/* Way 0 to 2: a stepping; others: in pieces.  The machine is used again. */
static void
check_way(struct guest *guest, unsigned way, unsigned *seed,
    const struct outcome *want)
{
	struct outcome got;

	if (way < 3)
		run_whole(guest, (enum machine_stepping)way, seed, &got);
	else
		run_pieces(guest, seed, &got);
	assert_same(want, &got);
	free(got.event);
}

static void
check(const struct script *script, unsigned seed)
{
	struct machine_snapshot *first;
	struct outcome want;
	struct guest guest;

	first = load(script, true, &guest);
	run_whole(&guest, STEPPING_NONE, &seed, &want);
	machine_snapshot_free(guest.machine, first);
	guest_free(&guest);
	first = load(script, false, &guest);
	for (unsigned way = 0; way < WAYS; way++) {
		check_way(&guest, way, &seed, &want);
		machine_snapshot_apply(guest.machine, first);
	}
	machine_snapshot_free(guest.machine, first);
	guest_free(&guest);
	free(want.event);
}

/*
 * The other CPU reads a page, which goes away under it.  It invalidates nothing, and
 * sees it all the same: with the next turn, not when its TLB happens to be emptied.
 */
static void
another_cpus_unmapping_is_seen(void **state)
{
	static struct script script = {
		.cpus = 2,
		.step = { { { SET, 1, 0xa00000 | PTE_P | PTE_W },
			      { LOOPS, 0, 255 }, { LOOPS, 0, 255 },
			      { LOOPS, 0, 255 }, { SET, 1, 0 },
			      { LOOPS, 0, 255 }, { LOOPS, 0, 255 },
			      { LOOPS, 0, 255 }, { DROP, 1, 0 } },
		    { { LOOPS, 0, 100 } } },
	};
	struct machine_snapshot *first;
	struct outcome outcome;
	struct guest guest;
	unsigned seed = 1;

	(void)state;
	for (unsigned i = 1; i <= READS; i++)
		script.step[1][i] = (struct step){ READ, 1, 0 };
	first = load(&script, false, &guest);
	run_whole(&guest, STEPPING_NONE, &seed, &outcome);
	assert_in_range(guest_record_count(&guest, 1), READS / 4, READS - 10);
	free(outcome.event);
	machine_snapshot_free(guest.machine, first);
	guest_free(&guest);
	for (seed = 1; seed < 6; seed++)
		check(&script, seed);
}

/*
 * Code is written, and its page is not executable any more when that is noticed, as
 * those of a kernel module's init.  The engine does not fault for it: the page fault
 * that follows is no double fault.
 */
static void
code_that_is_written_may_be_no_code_any_more(void **state)
{
	static const struct script script = {
		.cpus = 1,
		.step = { { { SET, 1, 0xa00000 | PTE_P }, { EXEC, 1, 0 },
		    { SET, 2, 0xa00000 | PTE_P | PTE_W | PTE_NX },
		    { WRITE, 2, 5 }, { SET, 1, 0xa00000 | PTE_P | PTE_NX },
		    { DROP, 1, 0 }, { LOAD, 0, 0 }, { READ, 3, 0 } } },
	};
	struct machine_snapshot *first;
	struct outcome outcome;
	struct guest guest;
	unsigned seed = 1;

	(void)state;
	first = load(&script, false, &guest);
	run_whole(&guest, STEPPING_NONE, &seed, &outcome);
	assert_int_equal(guest_record_count(&guest, 0), 1);
	assert_int_equal(guest_record(&guest, 0, 0).vector, 14);
	free(outcome.event);
	machine_snapshot_free(guest.machine, first);
	guest_free(&guest);
	for (seed = 1; seed < 6; seed++)
		check(&script, seed);
}

/* Half of the frames hold code, which is seldom written, and half only data. */
static uint64_t
draw_entry(unsigned *seed)
{
	static const uint64_t code[] = { 0, PTE_P, PTE_P, PTE_P | PTE_G,
		PTE_P | PTE_G, PTE_P | PTE_NX };
	static const uint64_t data[] = { 0, PTE_P, PTE_P | PTE_G, PTE_P | PTE_W,
		PTE_P | PTE_W, PTE_P | PTE_W | PTE_G };
	unsigned frame = draw(seed, FRAMES);

	return FRAME_PA(frame) |
	    (frame < FRAMES / 2
		    ? code[draw(seed, TZ_ARRAY_LEN(code))]
		    : PTE_NX | data[draw(seed, TZ_ARRAY_LEN(data))]);
}

/* A page that was set is invalidated before the same CPU uses it, in between all
 * others may use it, an NMI on this one, too. */
static unsigned
draw_set(struct step *at, unsigned *seed)
{
	unsigned page = draw(seed, PAGES), count = 0;

	at[count++] = (struct step){ SET, page, draw_entry(seed) };
	if (draw(seed, 3) == 0)
		at[count++] = (struct step){ LOOPS, 0, 1 + draw(seed, 200) };
	if (draw(seed, 3) == 0)
		at[count++] = (struct step){ WAIT, 0, 0 };
	at[count++] = (struct step){ draw(seed, 4) == 0 ? LOAD : DROP, page,
		0 };
	return count;
}

static void
draw_script(struct script *script, unsigned *seed)
{
	static const uint8_t ops[] = { READ, READ, READ, WRITE, WRITE, EXEC,
		EXEC, EXEC, LOAD, WAIT, CR4, NMI, LOOPS, CR0 };
	/* Code that is written costs the engines much. */
	unsigned kinds = TZ_ARRAY_LEN(ops) - (draw(seed, 8) != 0);

	memset(script, 0, sizeof(*script));
	script->cpus = 1 + draw(seed, 2);
	for (unsigned cpu = 0; cpu < script->cpus; cpu++) {
		struct step *step = script->step[cpu];

		for (unsigned i = 0; i < OPS_MAX - 10;) {
			unsigned op = ops[draw(seed, kinds)];

			if (draw(seed, 3) == 0) {
				i += draw_set(&step[i], seed);
				continue;
			}
			step[i++] = (struct step){ op, draw(seed, PAGES),
				op == NMI         ? draw(seed, script->cpus)
				    : op == LOOPS ? 1 + draw(seed, 200)
						  : draw(seed, 100) };
		}
	}
}

static void
random_scripts_agree_in_all_ways(void **state)
{
	static struct script script;

	(void)state;
	for (unsigned run = 1; run <= RUNS; run++) {
		unsigned seed = run;

		draw_script(&script, &seed);
		print_message("script %u\n", run);
		check(&script, run);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_cpus_unmapping_is_seen),
		cmocka_unit_test(code_that_is_written_may_be_no_code_any_more),
		cmocka_unit_test(random_scripts_agree_in_all_ways),
	};

	if (argc > 1)
		guest_set_dir(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
