#include "harness/explore/trial/trial.h"

#include <xxhash.h>

#include "harness/explore/runner/decode_check.h"
#include "harness/explore/trial/visited.h"
#include "harness/host/stop.h"

/* boundaries that one mark moves through, in the default schedule */
#define BLOCK_BOUNDARIES 16
/*
 * Runs merge with runs of the same part of the boundaries and with the default
 * schedule. A worker does whole parts, so the counts do not depend on the number of
 * workers.
 */
#define PART_BLOCKS 8
/* merge points at which a run is compared with earlier states */
#define POINTS_MAX 8
#define STATES_MAX (1u << 20)
#define NEAR_PLACES \
 256 /* second deviations close to the first: about one interrupt handler */
#define SPARE_INSNS UINT64_C(2000000)

/*
 * Records the default schedule's state at AT: an interrupt without effect returns to
 * it.
 */
static void
know_boundary(struct trial *trial, const struct deviation *at)
{
	if (!trial->options.merge ||
	    (trial->known_cpu == at->cpu && trial->known_insns == at->insns))
		return;
	trial->known_cpu = at->cpu;
	trial->known_insns = at->insns;
	visited_know(trial->visited, runner_hash(trial->runner));
}

/* Runs to the end or to a merge point with a known state. */
static void
finish(struct trial *trial, struct outcome *outcome)
{
	struct runner *runner = trial->runner;
	const struct outcome *known = NULL;
	enum runner_end end = RUNNER_POINT;

	runner_points(runner, trial->options.merge);
	for (unsigned i = 0; end == RUNNER_POINT && known == NULL; i++) {
		if (i == POINTS_MAX)
			runner_points(runner, false);
		end = runner_go(runner, 0, UINT64_MAX);
		if (end == RUNNER_POINT)
			known = visited_meet(
			    trial->visited, runner_hash(runner));
	}
	runner_points(runner, false);
	if (known != NULL) {
		*outcome = *known;
		outcome->how = OUTCOME_MERGED;
	} else {
		outcome_read(runner, outcome);
		outcome_judge_fault(runner, outcome, &trial->base);
	}
	if (trial->options.merge)
		TZ_ASSERT(visited_end(trial->visited, outcome));
}

/*
 * Runs to DEVIATION, from a state of the default schedule if IN_BASE, and injects
 * it.
 */
static bool
reach_and_inject(struct trial *trial, const struct deviation *deviation,
    bool in_base, struct outcome *outcome)
{
	outcome->count = 0;
	if (!runner_reach(trial->runner, deviation->cpu, deviation->insns)) {
		outcome->how = OUTCOME_UNREACHED;
		return false;
	}
	if (in_base)
		know_boundary(trial, deviation);
	if (!runner_inject(trial->runner, deviation)) {
		outcome->how = OUTCOME_IMPOSSIBLE;
		return false;
	}
	return true;
}

/* A state after a first deviation of KIND: groups are distinguished by kinds. */
static uint64_t
after_deviation(uint64_t hash, enum deviation_kind kind)
{
	return hash ^ (1 + (uint64_t)kind) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Records the default schedule's states, to merge with. */
static void
know_base(struct trial *trial)
{
	struct runner *runner = trial->runner;

	runner_restore(runner, trial->begin);
	runner_points(runner, true);
	while (runner_go(runner, 0, UINT64_MAX) == RUNNER_POINT) {
		uint64_t hash = runner_hash(runner);

		(void)visited_meet(trial->visited, hash);
		for (unsigned i = 0; i < DEVIATION_COUNT; i++)
			(void)visited_meet(trial->explored,
			    after_deviation(hash, (enum deviation_kind)i));
	}
	runner_points(runner, false);
	TZ_ASSERT(visited_end(trial->visited, &trial->base));
	TZ_ASSERT(visited_end(trial->explored, &trial->base));
	TZ_ASSERT(visited_keep(trial->visited));
	TZ_ASSERT(visited_keep(trial->explored));
}

static bool
is_concurrent(const struct sequence *sequence)
{
	for (unsigned i = 0; i < sequence->count; i++) {
		if (sequence->step[i].async)
			return true;
	}
	return false;
}

/* The limit of the default schedule, and of runs that are not compared with it. */
static uint64_t
insns_max(const struct trial_options *options)
{
	return options->insns_max != 0 ? options->insns_max : RUNNER_INSNS_MAX;
}

/* The limit of a schedule with deviations, from the default schedule's length. */
static uint64_t
placed_insns_max(const struct trial *trial)
{
	uint64_t insns = 3 * trial->counts.insns_all + SPARE_INSNS;

	return trial->options.insns_max != 0 && insns > trial->options.insns_max
	    ? trial->options.insns_max
	    : insns;
}

/* If the driver was not executed, nothing was judged: adds that as a violation. */
static void
judge_idle(struct trial *trial)
{
	struct check_violation violation = {
		.id = CHECK_NOT_RUN,
		.step = CHECK_NO_STEP,
		.stream = CHECK_NO_STREAM,
		.text = "no instruction of the driver was executed",
	};

	outcome_add(trial->runner, &trial->base, &violation);
}

/*
 * Runs the default schedule: its outcome, and the boundaries for deviations.  A
 * schedule that does not end gets none: it would have millions.  False: no memory.
 */
static bool
run_base(struct trial *trial)
{
	const struct trial_options *options = &trial->options;
	struct runner *runner = trial->runner;
	bool done = true;

	(void)runner_go(runner, 0, UINT64_MAX);
	if (!runner_is_cut(runner) &&
	    runner_result(runner)->end != MACHINE_LIMIT && !options->bare) {
		runner_restore(runner, trial->begin);
		done = options->calls
		    ? boundary_collect_calls(
			  runner, options->first, options->last, &trial->list)
		    : boundary_collect(runner, &trial->list, NULL, NULL);
	}
	if (runner_is_cut(runner))
		return done;
	outcome_read(runner, &trial->base);
	runner_counts(runner, &trial->counts);
	if (trial->base.end != MACHINE_LIMIT && !options->bare &&
	    options->must_run && !runner_ran_driver(runner))
		judge_idle(trial);
	if (done && trial->list.count != 0 && !options->calls) {
		runner_restore(runner, trial->begin);
		done = boundary_add_gaps(runner, &trial->list);
	}
	return done;
}

int
trial_open(struct trial *trial, struct runner *runner,
    const struct sequence *sequence, const struct trial_options *options,
    struct tz_error *err)
{
	int error;

	*trial = (struct trial){
		.runner = runner,
		.sequence = *sequence,
		.options = *options,
		.known_insns = UINT64_MAX,
	};
	runner_limit(runner, insns_max(options));
	error = runner_begin(runner, sequence, err);
	if (error != 0)
		return error;
	trial->begin = runner_save(runner);
	trial->visited = visited_create(STATES_MAX);
	trial->explored = visited_create(STATES_MAX);
	if (trial->begin == NULL || trial->visited == NULL ||
	    trial->explored == NULL || !run_base(trial)) {
		trial_close(trial);
		return tz_error(err, TZ_EIO, "out of memory");
	}
	if (runner_is_cut(runner)) {
		trial_close(trial);
		return stop_error(err);
	}
	/* Of two concurrent operations, one may fail early here and run long
	 * elsewhere. */
	if (!is_concurrent(sequence) && trial->base.end != MACHINE_LIMIT)
		runner_limit(runner, placed_insns_max(trial));
	if (options->merge && trial->base.end != MACHINE_LIMIT)
		know_base(trial);
	if (!runner_is_cut(runner))
		return 0;
	trial_close(trial);
	return stop_error(err);
}

void
trial_close(struct trial *trial)
{
	runner_mark_free(trial->runner, trial->begin);
	visited_destroy(trial->visited);
	visited_destroy(trial->explored);
	boundary_free(&trial->list);
	*trial = (struct trial){ .runner = NULL };
}

static unsigned
deviations_at(const struct trial *trial, const struct boundary *boundary,
    uint32_t kinds, struct deviation deviation[BOUNDARY_DEVIATIONS_MAX])
{
	return boundary_deviations(boundary, kinds, runner_cpus(trial->runner),
	    trial->options.reduce, deviation);
}

/* The number of deviations of KINDS at the boundaries [BEGIN, END) of LIST. */
static uint64_t
count_deviations(const struct trial *trial, const struct boundary_list *list,
    size_t begin, size_t end, uint32_t kinds)
{
	struct deviation deviation[BOUNDARY_DEVIATIONS_MAX];
	uint64_t count = 0;

	for (size_t i = begin; i < end; i++)
		count += deviations_at(trial, &list->at[i], kinds, deviation);
	return count;
}

uint64_t
trial_count(const struct trial *trial)
{
	return count_deviations(
	    trial, &trial->list, 0, trial->list.count, trial->options.kinds);
}

void
trial_count_outcome(struct trial *trial, struct rank rank,
    const struct schedule *schedule, const struct outcome *outcome,
    struct stats *stats)
{
	struct stats_area *area = &stats->area[rank.area];

	area->done++;
	area->insns += trial->insns;
	trial->insns = 0;
	area->timed += runner_take_timed(trial->runner);
	if (outcome->how == OUTCOME_IMPOSSIBLE ||
	    outcome->how == OUTCOME_UNREACHED) {
		area->impossible++;
		return;
	}
	area->merged += outcome->how == OUTCOME_MERGED;
	stats_count(stats, rank.area, outcome, &trial->base);
	stats_add(stats, rank, schedule, outcome, &trial->base);
	stats_count_fault(area, outcome, &trial->base);
}

static bool
is_kept(const struct trial_share *share, struct rank rank)
{
	const uint32_t key[3] = { rank.area, rank.first, rank.second };
	uint64_t drawn = XXH3_64bits_withSeed(key, sizeof(key), share->seed) >>
	    32;

	return drawn >= share->from && drawn < share->keep;
}

/* The same for a first deviation. */
static bool
is_first_kept(const struct trial_share *share, struct rank rank,
    const struct deviation *deviation)
{
	if (share->calls == TRIAL_CALLS_DRAWN ||
	    deviation_info(deviation->kind)->when !=
		DEVIATION_WHEN_FALLIBLE_CALL)
		return is_kept(share, rank);
	return share->calls == TRIAL_CALLS_ALL;
}

bool
trial_is_stopped(const struct trial_share *share)
{
	return share->stop != NULL && *share->stop;
}

bool
trial_move(struct trial *trial, const struct boundary *boundary,
    struct runner_mark **mark)
{
	struct runner_mark *next;

	runner_restore(trial->runner, *mark);
	if (runner_go(trial->runner, boundary->cpu, boundary->insns) !=
	    RUNNER_STOP)
		return false;
	next = runner_save(trial->runner);
	TZ_ASSERT(next != NULL);
	if (*mark != trial->begin)
		runner_mark_free(trial->runner, *mark);
	*mark = next;
	return true;
}

void
trial_from(struct trial *trial, const struct runner_mark *mark,
    const struct deviation *deviation, bool in_base, struct outcome *outcome)
{
	struct runner_counts before, after;

	runner_restore(trial->runner, mark);
	runner_counts(trial->runner, &before);
	if (reach_and_inject(trial, deviation, in_base, outcome))
		finish(trial, outcome);
	runner_counts(trial->runner, &after);
	trial->insns += after.insns_all - before.insns_all;
}

/* The first deviations of a share, in order. */
struct walk {
	struct trial *trial;
	const struct trial_share *share;
	struct stats *stats;
	struct rank rank; /* of the current deviation */
	/* a state of the default schedule, before the current block */
	struct runner_mark *mark;
	/* called for each first deviation that is selected */
	void (*each)(struct walk *walk, const struct deviation *deviation);
};

/* Walks over the boundaries [BEGIN, END); MINE: they belong to this share. */
static void
walk_block(struct walk *walk, size_t begin, size_t end, bool mine)
{
	struct deviation deviation[BOUNDARY_DEVIATIONS_MAX];
	struct trial *trial = walk->trial;
	bool moved = false;

	for (size_t i = begin; i < end; i++) {
		unsigned count = deviations_at(
		    trial, &trial->list.at[i], trial->options.kinds, deviation);

		for (unsigned j = 0; j < count; j++) {
			walk->rank.first++;
			if (!mine ||
			    !is_first_kept(
				walk->share, walk->rank, &deviation[j]) ||
			    trial_is_stopped(walk->share))
				continue;
			if (!moved)
				(void)trial_move(
				    trial, &trial->list.at[begin], &walk->mark);
			moved = true;
			walk->each(walk, &deviation[j]);
		}
	}
}

/* Begins another part: its runs do not merge with those of the previous part. */
static void
forget_part(struct trial *trial)
{
	if (!trial->options.merge)
		return;
	visited_forget(trial->visited);
	visited_forget(trial->explored);
	trial->known_insns = UINT64_MAX;
}

static void
walk_all(struct walk *walk)
{
	const struct trial_share *share = walk->share;
	struct trial *trial = walk->trial;
	size_t block = 0;

	for (size_t i = 0; i < trial->list.count;
	     i += BLOCK_BOUNDARIES, block++) {
		bool mine = block / PART_BLOCKS % share->workers ==
		    share->worker;
		size_t end = i + BLOCK_BOUNDARIES;

		if (block % PART_BLOCKS == 0)
			forget_part(trial);
		walk_block(walk, i,
		    end < trial->list.count ? end : trial->list.count, mine);
	}
	if (walk->mark != trial->begin)
		runner_mark_free(trial->runner, walk->mark);
}

/* Decodes SCHEDULE of RANK if it is in the sample. */
static void
decode_sample(struct trial *trial, struct rank rank,
    const struct schedule *schedule, struct stats *stats)
{
	const uint32_t key[3] = { rank.area, rank.first, rank.second };
	struct outcome outcome;

	if (XXH3_64bits(key, sizeof(key)) % TRIAL_DECODE_EVERY != 0 ||
	    !trial_run_decoded(trial, schedule, NULL, STEPPING_NONE, &outcome))
		return;
	stats->area[rank.area].decoded += !outcome.untraced;
	if (decode_check_differs(&outcome))
		stats_add(stats, rank, schedule, &outcome, &trial->base);
}

static void
each_one(struct walk *walk, const struct deviation *deviation)
{
	struct schedule schedule = { 1, { *deviation } };
	struct trial *trial = walk->trial;
	struct outcome outcome;

	trial_from(trial, walk->mark, deviation, true, &outcome);
	trial_count_outcome(
	    trial, walk->rank, &schedule, &outcome, walk->stats);
	if (trial->options.decode)
		decode_sample(trial, walk->rank, &schedule, walk->stats);
}

void
trial_one(struct trial *trial, const struct trial_share *share,
    struct stats *stats, uint32_t area)
{
	walk_all(&(struct walk){
	    trial, share, stats, { area, 0, 0 }, trial->begin, each_one });
}

struct after {
	struct trial *trial;
	enum deviation_kind first;
};

/*
 * True if the next deviation was already tried from this state, in the default schedule
 * or after another first deviation of the same kind: what follows is explored there.
 */
static bool
is_explored(void *arg, uint64_t hash)
{
	const struct after *after = arg;

	return visited_meet(after->trial->explored,
		   after_deviation(hash, after->first)) != NULL;
}

/*
 * The part of SHARE for the second deviations at the places [BEGIN, END) of LIST:
 * half of the total.
 */
static struct trial_share
thin(const struct trial *trial, const struct trial_share *share,
    const struct boundary_list *list, size_t begin, size_t end)
{
	struct trial_share thinned = *share;
	uint64_t count = 0, most = (share->each_max + 1) / 2;

	thinned.from = 0;
	thinned.keep = TRIAL_KEEP_ALL;
	if (most != 0)
		count = count_deviations(
		    trial, list, begin, end, trial->options.kinds2);
	if (count > most)
		thinned.keep = TRIAL_KEEP_ALL / count * most;
	return thinned;
}

/* Tries the second deviations after FIRST, which has just been injected. */
static void
second_ones(struct walk *walk, const struct deviation *first)
{
	const struct trial_share *share = walk->share;
	struct trial *trial = walk->trial;
	struct schedule schedule = { 2, { *first } };
	struct rank rank = walk->rank;
	struct after from = { trial, first->kind };
	struct runner_mark *after = runner_save(trial->runner);
	struct deviation deviation[BOUNDARY_DEVIATIONS_MAX];
	/* In a sample, a place that is skipped here may not be tried elsewhere. */
	bool prunes = trial->options.merge && share->keep >= TRIAL_KEEP_ALL &&
	    share->each_max == 0;
	struct trial_share near, far;
	struct boundary_list list;
	struct outcome outcome;
	size_t end;

	TZ_ASSERT(after != NULL);
	TZ_ASSERT(boundary_collect(
	    trial->runner, &list, prunes ? is_explored : NULL, &from));
	TZ_ASSERT(visited_end(trial->explored, &trial->base));
	end = list.count < NEAR_PLACES ? list.count : NEAR_PLACES;
	near = thin(trial, share, &list, 0, end);
	far = thin(trial, share, &list, end, list.count);
	for (size_t i = 0; i < list.count && !trial_is_stopped(share); i++) {
		unsigned count = deviations_at(
		    trial, &list.at[i], trial->options.kinds2, deviation);

		for (unsigned j = 0; j < count; j++) {
			rank.second++;
			if (!is_kept(i < end ? &near : &far, rank))
				continue;
			schedule.deviation[1] = deviation[j];
			trial_from(
			    trial, after, &deviation[j], false, &outcome);
			trial_count_outcome(
			    trial, rank, &schedule, &outcome, walk->stats);
		}
	}
	boundary_free(&list);
	runner_mark_free(trial->runner, after);
}

static void
each_two(struct walk *walk, const struct deviation *deviation)
{
	struct trial *trial = walk->trial;
	struct outcome outcome;

	runner_restore(trial->runner, walk->mark);
	if (reach_and_inject(trial, deviation, false, &outcome))
		second_ones(walk, deviation);
}

void
trial_two(struct trial *trial, const struct trial_share *share,
    struct stats *stats, uint32_t area)
{
	walk_all(&(struct walk){
	    trial, share, stats, { area, 0, 0 }, trial->begin, each_two });
}

void
trial_run(struct trial *trial, const struct schedule *schedule,
    struct outcome *outcome)
{
	bool merge = trial->options.merge;
	unsigned i;

	runner_restore(trial->runner, trial->begin);
	for (i = 0; i < schedule->count; i++) {
		if (!reach_and_inject(
			trial, &schedule->deviation[i], false, outcome))
			return;
	}
	trial->options.merge = false;
	finish(trial, outcome);
	trial->options.merge = merge;
}

bool
trial_run_decoded(struct trial *trial, const struct schedule *schedule,
    const struct runner_observer *observer, enum machine_stepping stepping,
    struct outcome *outcome)
{
	struct decode_check *check;

	/* The recording says how the run begins. */
	runner_restore(trial->runner, trial->begin);
	check = decode_check_begin(trial->runner, observer, stepping);
	if (check == NULL)
		return false;
	trial_run(trial, schedule, outcome);
	return decode_check_end(check, outcome);
}
