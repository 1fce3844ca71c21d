/*
 * Goal: what an exploration finds depends neither on merging and reduction nor on
 * jobs, shards and when it runs.  Method: the broken driver of broken.h, explored
 * in all these ways; each must give the same.
 */
#include "tests/whole/broken.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/explore/describe/describe.h"
#include "harness/explore/runner/decode_check.h"
#include "harness/explore/runner/runner_pool.h"

#define KINDS                                                   \
 (UINT32_C(1) << DEVIATION_PMI | UINT32_C(1) << DEVIATION_NMI | \
     UINT32_C(1) << DEVIATION_SWITCH)
#define SHARES      64  /* of the first deviations of a pair */
#define PAIRS_MIN   100 /* of a share worth comparing */
#define STRIDE      11
#define RING0_BEGIN (UINT64_C(1) << 63)
#define WARM_RUNS   3000
#define MANY_RUNS   100000
#define LEAK_BYTES  (4u << 20)

/* One CPU; the buffer is full, so that there is a PMI. */
#define INTERRUPTED "insntrace=load+open+init+allocbuf+start+work.2"

static struct build_cache *build_cache;
static struct runner_pool *runner_pool;

static int
open_all(void **state)
{
	(void)state;
	build_cache = broken_workshop();
	runner_pool = runner_pool_create(build_cache);
	return runner_pool == NULL ? -1 : 0;
}

static int
close_all(void **state)
{
	(void)state;
	runner_pool_destroy(runner_pool);
	build_cache_close(build_cache);
	return 0;
}

/* The scenario or sequence SUBJECT, ready for placements. */
static void
open_trial(struct trial *trial, const char *subject,
    const struct trial_options *options)
{
	struct campaign_entry entry;
	struct runner *runner;
	struct token token;
	struct tz_error err = { "" };

	if (token_parse_subject(subject, &token, &err) != 0 ||
	    campaign_entry_read(
		build_cache_manifest(build_cache), &token, &entry, &err) != 0 ||
	    runner_pool_get(runner_pool, entry.cpus, entry.layout,
		entry.settings, &runner, &err) != 0 ||
	    trial_open(trial, runner, &entry.sequence, options, &err) != 0)
		fail_msg("%s: %s", subject, err.text);
}

static const struct trial_share everything = { .workers = 1,
	.keep = TRIAL_KEEP_ALL };

/* The cause of STEP's silence, in which a function failed; one LATER fails. */
static uint64_t
silence(const char *steps, unsigned step, unsigned later, const char *name)
{
	const struct trial_options options = { .merge = false };
	struct outcome outcome = { .faulty = step + 1,
		.failed = TZ_BIT(later) };
	const struct outcome base = { .count = 0 };
	struct trial trial;
	char subject[128];

	snprintf(subject, sizeof(subject), "insntrace=%s", steps);
	open_trial(&trial, subject, &options);
	outcome_judge_fault(trial.runner, &outcome, &base);
	trial_close(&trial);
	if (outcome.count == 0)
		return 0;
	assert_int_equal(outcome.violation[0].violation.id, CHECK_FAULT_SILENT);
	assert_non_null(strstr(outcome.violation[0].violation.text, name));
	return outcome.violation[0].cause;
}

static void
a_silent_failure_is_the_operations_wherever_it_stands(void **state)
{
	uint64_t cause = silence("open+init+allocbuf+start", 1, 3, "init ");

	(void)state;
	assert_int_not_equal(cause, 0);
	assert_int_equal(
	    silence("open+getalloc+init+allocbuf+start", 2, 4, "init "), cause);
	assert_int_not_equal(
	    silence("open+init+allocbuf+start", 2, 3, "allocbuf "), cause);
	/* What fails before or there says enough. */
	assert_int_equal(silence("open+init+allocbuf+start", 2, 1, ""), 0);
	assert_int_equal(silence("open+init+allocbuf+start", 2, 2, ""), 0);
}

/* Does GROUP need more kinds of deviation than another of its cause? */
static bool
is_larger(const struct stats *stats, const struct stats_group *group)
{
	for (uint32_t i = 0; i < stats->group_count; i++) {
		const struct stats_group *other = &stats->group[i];

		if (other->cause == group->cause &&
		    other->kinds != group->kinds &&
		    (other->kinds & ~group->kinds) == 0)
			return true;
	}
	return false;
}

static bool
has_group(const struct stats *stats, const struct stats_group *group)
{
	for (uint32_t i = 0; i < stats->group_count; i++) {
		if (stats->group[i].cause == group->cause &&
		    stats->group[i].kinds == group->kinds)
			return true;
	}
	return false;
}

/* Every group of A that needs no more kinds than another is in B. */
static void
assert_groups_in(const struct stats *a, const struct stats *b, const char *how)
{
	for (uint32_t i = 0; i < a->group_count; i++) {
		const struct stats_group *group = &a->group[i];

		if (!is_larger(a, group) && !has_group(b, group))
			fail_msg("%s: kinds %#x: %s", how, group->kinds,
			    group->violation.text);
	}
}

/* SUBJECT in one way. */
static struct stats *
explore(const char *subject, bool merge, bool reduce)
{
	const struct trial_options options = {
		.kinds = KINDS, .merge = merge, .reduce = reduce
	};
	struct stats *stats = calloc(1, sizeof(*stats));
	struct trial trial;

	assert_non_null(stats);
	open_trial(&trial, subject, &options);
	assert_int_equal(trial.base.count, 0);
	trial_one(&trial, &everything, stats, 0);
	assert_int_equal(stats->area[0].done, trial_count(&trial));
	print_message("%s, merge %d, reduce %d: %u groups of %lu schedules, "
		      "%lu merged\n",
	    subject, merge, reduce, stats->group_count,
	    (unsigned long)stats->area[0].done,
	    (unsigned long)stats->area[0].merged);
	trial_close(&trial);
	return stats;
}

static void
check_ways(const char *subject, uint32_t groups_min, uint64_t merged_percent)
{
	struct stats *plain = explore(subject, false, false);

	assert_true(plain->group_count >= groups_min);
	for (unsigned way = 1; way < 4; way++) {
		struct stats *other = explore(
		    subject, (way & 1) != 0, (way & 2) != 0);

		assert_groups_in(plain, other, "missing");
		assert_groups_in(other, plain, "new");
		assert_int_equal(other->area[0].merged != 0, (way & 1) != 0);
		if (way == 1)
			assert_int_equal(
			    other->area[0].failing, plain->area[0].failing);
		if (way & 1)
			assert_true(other->area[0].merged * 100 >=
			    other->area[0].done * merged_percent);
		free(other);
	}
	free(plain);
}

static void
one_cpu_shows_the_same_in_all_ways(void **state)
{
	(void)state;
	check_ways(BROKEN_ONE_CPU, 3, 70);
}

static void
two_cpus_show_the_same_in_all_ways(void **state)
{
	(void)state;
	check_ways(BROKEN_TWO_CPUS, 1, 70);
}

/*
 * The pairs of one share of the first deviations, in one way.  Not PRUNED: second
 * deviations are tried after every first one, as in a sample; EACH_MAX of them, 0: all.
 */
static struct stats *
explore_pairs(unsigned share, bool merge, bool pruned, uint64_t each_max)
{
	const struct trial_share pairs = {
		.worker = share,
		.workers = SHARES,
		.keep = pruned ? TRIAL_KEEP_ALL : TRIAL_KEEP_ALL - 1,
		.each_max = each_max,
	};
	const struct trial_options options = {
		.kinds = UINT32_C(1) << DEVIATION_SWITCH,
		.kinds2 = UINT32_C(1) << DEVIATION_SWITCH,
		.merge = merge,
		.reduce = true,
	};
	struct stats *stats = calloc(1, sizeof(*stats));
	struct trial trial;

	assert_non_null(stats);
	open_trial(&trial, BROKEN_TWO_CPUS, &options);
	trial_two(&trial, &pairs, stats, 0);
	trial_close(&trial);
	print_message("share %u, merge %d, pruned %d: %u groups of %lu pairs, "
		      "%lu merged, %lu failing\n",
	    share, merge, pruned, stats->group_count,
	    (unsigned long)stats->area[0].done,
	    (unsigned long)stats->area[0].merged,
	    (unsigned long)stats->area[0].failing);
	return stats;
}

/*
 * The pairs of the first share that has something to compare.  Which it is depends
 * on the code that the compiler makes of guest and driver.
 */
static struct stats *
choose_share(unsigned *share)
{
	struct stats *stats = explore_pairs(0, true, true, 0);

	for (*share = 0; stats->area[0].done < PAIRS_MIN ||
	     stats->area[0].merged == 0 || stats->area[0].failing == 0;) {
		free(stats);
		if (++*share == SHARES)
			fail_msg("no share has %d pairs of which some fail",
			    PAIRS_MIN);
		stats = explore_pairs(*share, true, true, 0);
	}
	return stats;
}

/* Some of the first deviations, each with all second ones, or with few drawn ones. */
static void
two_deviations_show_the_same_merged_or_not(void **state)
{
	unsigned share;
	struct stats *pruned = choose_share(&share);
	struct stats *merged = explore_pairs(share, true, false, 0);
	struct stats *plain = explore_pairs(share, false, false, 0);
	struct stats *few = explore_pairs(share, true, false, 4);

	(void)state;
	assert_int_equal(plain->area[0].merged, 0);
	assert_int_equal(merged->area[0].done, plain->area[0].done);
	assert_int_equal(merged->area[0].failing, plain->area[0].failing);
	assert_true(merged->area[0].merged != 0);
	assert_groups_in(plain, merged, "missing");
	assert_groups_in(merged, plain, "new");
	assert_true(pruned->area[0].done < plain->area[0].done);
	assert_groups_in(plain, pruned, "missing, pruned");
	assert_groups_in(pruned, plain, "new, pruned");
	assert_true(few->area[0].done != 0);
	assert_true(few->area[0].done < merged->area[0].done / 2);
	assert_groups_in(few, plain, "new, of few");
	free(few);
	free(pruned);
	free(merged);
	free(plain);
}

/* What SCHEDULE shows in one way of stepping. */
static uint64_t
show(struct trial *trial, const struct schedule *schedule,
    enum machine_stepping stepping, struct outcome *outcome)
{
	const struct runner_observer deaf = { .arg = NULL };

	runner_observe(trial->runner, &deaf, stepping);
	trial_run(trial, schedule, outcome);
	runner_observe(trial->runner, NULL, STEPPING_NONE);
	return runner_hash(trial->runner);
}

static void
check_stepping(struct trial *trial, const struct schedule *schedule)
{
	struct outcome plain, stepped;
	uint64_t hash = show(trial, schedule, STEPPING_NONE, &plain);

	for (int way = STEPPING_WATCHED; way <= STEPPING_ALL; way++) {
		assert_int_equal(
		    show(trial, schedule, (enum machine_stepping)way, &stepped),
		    hash);
		assert_int_equal(stepped.how, plain.how);
		assert_int_equal(stepped.end, plain.end);
		assert_int_equal(stepped.count, plain.count);
		for (unsigned i = 0; i < plain.count; i++)
			assert_string_equal(stepped.violation[i].violation.text,
			    plain.violation[i].violation.text);
	}
}

/*
 * A buffer is used after its page is gone: where that shows must not depend on what
 * an engine has in its TLB.  Every STRIDE-th placement.
 */
static void
a_schedule_shows_the_same_stepped_or_not(void **state)
{
	const struct trial_options options = { .kinds = KINDS };
	unsigned failing = 0;
	struct trial trial;

	(void)state;
	open_trial(&trial, BROKEN_TWO_CPUS, &options);
	for (size_t i = 0; i < trial.list.count; i += STRIDE) {
		struct schedule schedule = { .count = 1 };
		struct deviation deviations[BOUNDARY_DEVIATIONS_MAX];
		struct outcome outcome;
		unsigned count = boundary_deviations(
		    &trial.list.at[i], KINDS, 2, true, deviations);

		for (unsigned j = 0; j < count; j++) {
			schedule.deviation[0] = deviations[j];
			check_stepping(&trial, &schedule);
			show(&trial, &schedule, STEPPING_NONE, &outcome);
			failing += outcome.count > 0;
		}
	}
	print_message("%u fail\n", failing);
	assert_true(failing > 0);
	trial_close(&trial);
}

/* Instructions of the driver and of NMI handlers, counted anew. */
struct count {
	struct runner *runner;
	const struct boundary_list *list;
	size_t next;    /* boundary of the list */
	uint64_t steps; /* that ought to be boundaries */
};

static void
count_step(void *arg, const struct machine_step *step)
{
	struct count *count = arg;
	const struct boundary *at;

	if (!runner_in_driver(count->runner, step->rip) && !step->in_nmi)
		return;
	count->steps++;
	while (count->next < count->list->count) {
		at = &count->list->at[count->next++];
		if ((at->flags & BOUNDARY_POINT) ||
		    (!runner_in_driver(count->runner, at->rip) &&
			!(at->flags & BOUNDARY_NMI)))
			continue;
		assert_int_equal(at->cpu, step->cpu);
		assert_int_equal(at->insns, step->insns);
		assert_int_equal(at->rip, step->rip);
		return;
	}
	fail_msg("no boundary at %#lx", (unsigned long)step->rip);
}

static void
check_boundaries(const char *subject)
{
	const struct trial_options options = { .kinds = KINDS };
	struct trial trial;
	struct count count = { .runner = NULL };
	const struct runner_observer observer = { .arg = &count,
		.step = count_step };
	struct tz_error err;

	open_trial(&trial, subject, &options);
	count.runner = trial.runner;
	count.list = &trial.list;
	assert_int_equal(runner_begin(trial.runner, &trial.sequence, &err), 0);
	runner_observe(trial.runner, &observer, STEPPING_ALL);
	assert_int_equal(runner_go(trial.runner, 0, UINT64_MAX), RUNNER_OVER);
	runner_observe(trial.runner, NULL, STEPPING_NONE);
	print_message("%s: %lu steps\n", subject, (unsigned long)count.steps);
	assert_true(count.steps > 500);
	for (; count.next < trial.list.count; count.next++)
		assert_false(runner_in_driver(
				 trial.runner, trial.list.at[count.next].rip) &&
		    !(trial.list.at[count.next].flags &
			(BOUNDARY_POINT | BOUNDARY_EDGE)));
	trial_close(&trial);
}

static void
every_instruction_of_the_driver_is_a_boundary_once(void **state)
{
	(void)state;
	check_boundaries(BROKEN_ONE_CPU);
	check_boundaries(BROKEN_TWO_CPUS);
	check_boundaries(INTERRUPTED);
}

/* What a walk through all instructions of one CPU meets at the places of a list. */
struct meeting {
	const struct boundary_list *list;
	size_t next;
	uint64_t *rip; /* of each place; 0: not met */
};

static void
meet_step(void *arg, const struct machine_step *step)
{
	struct meeting *meeting = arg;

	for (; meeting->next < meeting->list->count &&
	     meeting->list->at[meeting->next].insns <= step->insns;
	     meeting->next++) {
		if (meeting->list->at[meeting->next].insns == step->insns)
			meeting->rip[meeting->next] = step->rip;
	}
}

/* Places in code that is not stepped are where a walk through every instruction is. */
static void
code_that_is_not_stepped_has_places_too(void **state)
{
	const struct trial_options options = { .kinds = KINDS };
	struct meeting meeting = { .next = 0 };
	const struct runner_observer observer = { .arg = &meeting,
		.step = meet_step };
	uint64_t last = 0;
	unsigned ring3 = 0, kernel = 0, before = 0;
	struct trial trial;
	struct tz_error err;

	(void)state;
	open_trial(&trial, INTERRUPTED, &options);
	meeting.list = &trial.list;
	meeting.rip = calloc(trial.list.count, sizeof(*meeting.rip));
	assert_non_null(meeting.rip);
	assert_int_equal(runner_begin(trial.runner, &trial.sequence, &err), 0);
	runner_observe(trial.runner, &observer, STEPPING_ALL);
	assert_int_equal(runner_go(trial.runner, 0, UINT64_MAX), RUNNER_OVER);
	runner_observe(trial.runner, NULL, STEPPING_NONE);
	for (size_t i = 0; i < trial.list.count; i++) {
		const struct boundary *at = &trial.list.at[i];

		assert_true(at->insns >= last);
		last = at->insns;
		if (!(at->flags & BOUNDARY_GAP))
			continue;
		assert_int_not_equal(meeting.rip[i], 0);
		ring3 += meeting.rip[i] < RING0_BEGIN;
		kernel += meeting.rip[i] >= RING0_BEGIN;
		/* One just before an interrupt is known by where it leads to. */
		before += at->rip != meeting.rip[i];
		assert_false(runner_in_driver(trial.runner, at->rip));
	}
	print_message(
	    "%u in ring 3, %u in ring 0, %u of them just before an interrupt\n",
	    ring3, kernel, before);
	assert_true(ring3 > 0 && kernel > 0 && before > 0);
	trial_close(&trial);
	free(meeting.rip);
}

/* Bytes of this process in memory. */
static uint64_t
resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	uint64_t all = 0, pages = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu %lu", &all, &pages), 2);
	fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void
many_placements_leave_no_memory_behind(void **state)
{
	const struct trial_options options = {
		.kinds = KINDS, .merge = true, .reduce = true
	};
	struct stats *stats = calloc(1, sizeof(*stats));
	struct stats_area *area;
	struct trial trial;
	uint64_t before = 0, after;

	(void)state;
	assert_non_null(stats);
	area = &stats->area[0];
	open_trial(&trial, BROKEN_TWO_CPUS, &options);
	while (area->done < WARM_RUNS + MANY_RUNS) {
		trial_one(&trial, &everything, stats, 0);
		if (before == 0 && area->done >= WARM_RUNS)
			before = resident();
	}
	after = resident();
	print_message("%lu KiB, then %lu KiB\n", (unsigned long)(before >> 10),
	    (unsigned long)(after >> 10));
	assert_true(after < before + LEAK_BYTES);
	trial_close(&trial);
	free(stats);
}

/* What the unit has put into memory changes there. */
static void
spoil(void *arg, const struct event *event)
{
	uint8_t *ram = machine_ram(runner_machine(arg));

	for (uint64_t i = event->b / 2;
	     event->kind == EVENT_OUTPUT && i < event->b; i++)
		ram[event->a + i] ^= 0x55;
}

static void
a_spoilt_trace_does_not_decode(void **state)
{
	const struct trial_options options = { .merge = false };
	const struct schedule none = { .count = 0 };
	struct runner_observer observer = { .event = spoil };
	struct outcome outcome;
	struct trial trial;

	(void)state;
	open_trial(&trial, BROKEN_ONE_CPU, &options);
	observer.arg = trial.runner;
	assert_true(
	    trial_run_decoded(&trial, &none, NULL, STEPPING_NONE, &outcome));
	assert_false(decode_check_differs(&outcome));
	assert_true(trial_run_decoded(
	    &trial, &none, &observer, STEPPING_NONE, &outcome));
	assert_true(decode_check_differs(&outcome));
	trial_close(&trial);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_silent_failure_is_the_operations_wherever_it_stands),
		cmocka_unit_test(a_spoilt_trace_does_not_decode),
		cmocka_unit_test(one_cpu_shows_the_same_in_all_ways),
		cmocka_unit_test(two_deviations_show_the_same_merged_or_not),
		cmocka_unit_test(
		    every_instruction_of_the_driver_is_a_boundary_once),
		cmocka_unit_test(code_that_is_not_stepped_has_places_too),
	};
	/* They execute much of the guest and little of topaz: not under the sanitizers. */
	const struct CMUnitTest comparisons[] = {
		cmocka_unit_test(two_cpus_show_the_same_in_all_ways),
		cmocka_unit_test(a_schedule_shows_the_same_stepped_or_not),
	};
	const struct CMUnitTest slow[] = {
		cmocka_unit_test(many_placements_leave_no_memory_behind),
	};

	broken_init();
	if (argc == 2 && strcmp(argv[1], "memory") == 0)
		return cmocka_run_group_tests(slow, open_all, close_all);
	if (argc == 2 && strcmp(argv[1], "comparisons") == 0)
		return cmocka_run_group_tests(comparisons, open_all, close_all);
	return cmocka_run_group_tests(tests, open_all, close_all);
}
