#define _GNU_SOURCE
#include "harness/explore/search/corpus.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <xxhash.h>

#include "harness/explore/parts/campaign_entry.h"
#include "harness/explore/parts/campaign_part.h"
#include "harness/explore/runner/array.h"
#include "harness/explore/runner/decode_check.h"
#include "harness/explore/search/life_values.h"
#include "harness/explore/search/processors.h"

#define ROUND_ITEMS 512
/* short first round, so that an endless driver is detected soon */
#define FIRST_ITEMS 64
#define SLICE_ITEMS 64
#define TURN_ITEMS  8 /* maximum for add_next() */
#define LIVES_MAX   8
#define LONG_RANK \
 1200 /* runs of the exhaustive part; then random ones are mixed in */
#define COMPLETE_RUNS 2  /* runs of a sequence completed to a life cycle */
#define DECODE_EVERY  16 /* one of this many sequences is decoded */

/*
 * Sequences are given up if at least ENDLESS_MIN reach their limit (seconds each), and
 * these are 1/ENDLESS_SHARE of all.
 */
#define ENDLESS_MIN   32
#define ENDLESS_SHARE 4

/*
 * Set-ups for life cycles with one more operation, which need small allocations to
 * begin a page.
 */
static const size_t neighbour_setups[] = { 2, 4, 6 };

/*
 * Layouts for life cycles with other values: tables that begin a page, so that they are
 * traced with, on CPUs whose trace registers are not 0; and an inaccessible page after
 * each allocation.
 */
static const char *const value_layouts[] = { "pages,stale", "guard" };
#define VALUE_CPUS 2

/* What one run reached. */
struct item_reach {
	struct reach reach;
	uint64_t results;
	bool ran, endless;
};

/* State of the round, shared by the worker processes. */
struct round_shared {
	_Atomic size_t next; /* first item that no worker has taken */
	struct item_reach reach[ROUND_ITEMS];
};

struct corpus {
	struct campaign *campaign;
	uint32_t area;
	/* every run, in order: the campaign's .generated */
	struct campaign_entries *items;
	/* The generators of sequences, in order of preference. */
	struct processors processors;
	struct sequence_values values;
	struct sequence_neighbours neighbours;
	struct generator *generator;
	/* selects neighbours and generated sequences alternately */
	size_t turns;
	uint64_t rank;  /* next rank of the exhaustive generator */
	uint64_t drawn; /* random and mutated sequences so far */
	struct sequence life[LIVES_MAX];
	size_t life_count;
	/* The items that run now: [SLICE, SLICED) of those from BEGIN on. */
	struct {
		size_t begin, slice, sliced;
		struct round_shared *shared;
	} round;
	struct checkpoint_reach reached; /* by all rounds so far */
	bool gave_up;                    /* too many reached their limit */
	struct {
		size_t *at; /* indices of items that reached something new */
		size_t count, room;
	} novel;
};

/* What item INDEX, of the current round, has reached. */
static struct item_reach *
reach_of(const struct corpus *corpus, size_t index)
{
	return &corpus->round.shared->reach[index - corpus->round.begin];
}

/* Decodes item INDEX if it is in the sample. */
static void
decode_sample(struct corpus *corpus, size_t index, struct stats *stats)
{
	const struct trial_options options = { .bare = true };
	const struct rank rank = { corpus->area, (uint32_t)index, 0 };
	const struct schedule none = { .count = 0 };
	struct outcome outcome;
	struct trial place;
	struct tz_error err;

	if (XXH3_64bits(&rank.first, sizeof(rank.first)) % DECODE_EVERY != 0 ||
	    campaign_entry_open(corpus->campaign, &corpus->items->at[index],
		options, &place, &err) != 0)
		return;
	if (trial_run_decoded(&place, &none, NULL, STEPPING_NONE, &outcome)) {
		stats->area[corpus->area].decoded += !outcome.untraced;
		if (decode_check_differs(&outcome))
			stats_add(stats, rank, &none, &outcome, NULL);
	}
	trial_close(&place);
}

/*
 * Runs one item in the default schedule.  Every shard runs all items, because the next
 * ones depend on what each has reached; but it counts only its own.
 */
static void
run_item(struct corpus *corpus, size_t index, struct stats *stats)
{
	const struct campaign_entry *item = &corpus->items->at[index];
	struct item_reach *reach = reach_of(corpus, index);
	struct rank rank = { corpus->area, (uint32_t)index, 0 };
	struct stats_area *area = &stats->area[corpus->area];
	const struct schedule none = { .count = 0 };
	const struct outcome nothing = { .count = 0 };
	struct outcome outcome;
	struct runner *runner;
	struct tz_error err;

	if (campaign_entry_runner(corpus->campaign, item, &runner, &err) != 0 ||
	    reach_run(runner, &item->sequence,
		corpus->campaign->options.insns_max, &reach->reach, &err) != 0)
		return;
	outcome_read(runner, &outcome);
	reach->results = outcome.results;
	reach->ran = true;
	reach->endless = runner_result(runner)->end == MACHINE_LIMIT;
	if (campaign_part_is_own(corpus->campaign, index)) {
		area->done++;
		stats_count(stats, corpus->area, &outcome, &nothing);
	}
	stats_add(stats, rank, &none, &outcome, NULL);
	if (outcome.end == MACHINE_EXIT &&
	    campaign_part_is_own(corpus->campaign, index))
		decode_sample(corpus, index, stats);
}

static void
work(void *arg, unsigned worker, const volatile bool *stop, struct stats *stats)
{
	struct corpus *corpus = arg;
	size_t i;

	(void)worker;
	/* Workers take the next item when free, because some items take long. */
	while (!*stop &&
	    (i = atomic_fetch_add(&corpus->round.shared->next, 1)) <
		corpus->round.sliced)
		run_item(corpus, i, stats);
}

static bool
add_item(struct corpus *corpus, const struct sequence *sequence, unsigned cpus,
    const char *layout)
{
	struct campaign_entry item = { .cpus = cpus,
		.settings = campaign_entry_settings(
		    build_cache_manifest(corpus->campaign->build_cache),
		    sequence),
		.sequence = *sequence };

	snprintf(item.layout, sizeof(item.layout), "%s", layout);
	return campaign_entry_add(corpus->items, &item) != SIZE_MAX;
}

static bool
add_on(struct corpus *corpus, const struct sequence *sequence, size_t setup)
{
	return add_item(
	    corpus, sequence, setup_at(setup)->cpus, setup_at(setup)->layout);
}

/* The next short sequence. */
static bool
next_short(struct corpus *corpus, struct sequence *sequence)
{
	uint64_t end = generator_exhaustive(corpus->generator);

	while (corpus->rank < end) {
		if (generator_at(corpus->generator, corpus->rank++, sequence))
			return true;
	}
	return false;
}

/* A random sequence, or a mutated copy of one that reached something new. */
static void
next_drawn(struct corpus *corpus, struct sequence *sequence)
{
	uint64_t end = generator_exhaustive(corpus->generator);
	uint64_t seed = (corpus->campaign->options.seed + ++corpus->drawn) *
	    UINT64_C(0x9e3779b97f4a7c15);
	uint64_t rank = end + corpus->drawn;
	size_t novel;

	if (corpus->novel.count != 0 && corpus->drawn % 4 != 0) {
		novel = corpus->novel.at[(seed >> 32) % corpus->novel.count];
		generator_mutate(corpus->generator,
		    &corpus->items->at[novel].sequence, seed, sequence);
		return;
	}
	while (!generator_at(corpus->generator, rank, sequence))
		rank += UINT64_C(1) << 32;
}

/*
 * The number of steps of LIFE, from its start, that SEQUENCE contains; LAST: index
 * of the last of them.
 */
static unsigned
lived(const struct sequence *life, const struct sequence *sequence,
    unsigned *last)
{
	unsigned count = 0;

	*last = 0;
	for (unsigned i = 0; i < life->count; i++) {
		if (!sequence_has_op(sequence, life->step[i].op))
			continue;
		count++;
		*last = i + 1;
	}
	return count;
}

/* Appends the rest of the life cycle that the sequence has begun. */
static void
complete(const struct corpus *corpus, struct sequence *sequence)
{
	unsigned best = 0, from = 0;
	const struct sequence *chosen = NULL;

	for (size_t i = 0; i < corpus->life_count; i++) {
		unsigned last;
		unsigned count = lived(&corpus->life[i], sequence, &last);

		if (chosen != NULL && count <= best)
			continue;
		chosen = &corpus->life[i];
		best = count;
		from = last;
	}
	for (; chosen != NULL && from < chosen->count &&
	     sequence->count < SCRIPT_STEPS_MAX;
	     from++)
		sequence->step[sequence->count++] = chosen->step[from];
}

/*
 * Adds the next life cycle with one more operation; *ADDED: there was one.  False:
 * no memory.
 */
static bool
add_neighbour(struct corpus *corpus, bool *added)
{
	struct sequence sequence;

	*added = sequence_neighbours_next(&corpus->neighbours, &sequence);
	for (size_t i = 0; *added && i < TZ_ARRAY_LEN(neighbour_setups); i++) {
		if (!add_on(corpus, &sequence, neighbour_setups[i]))
			return false;
	}
	return true;
}

/* Adds a life cycle with other values; false: no memory. */
static bool
add_value(struct corpus *corpus, const struct sequence *sequence)
{
	unsigned cpus = life_value_cpus(&corpus->values, VALUE_CPUS);

	for (size_t i = 0; i < TZ_ARRAY_LEN(value_layouts); i++) {
		if (!add_item(corpus, sequence, cpus, value_layouts[i]))
			return false;
	}
	return true;
}

/*
 * Adds the next sequence, unchanged on one set-up and completed to a life cycle on
 * others. False: no memory.
 */
static bool
add_next(struct corpus *corpus)
{
	size_t begin = corpus->items->count, setups = 0;
	struct sequence sequence;
	bool added = false, is_short;
	unsigned cpus;
	char layout[TOKEN_WORDS_BYTES];

	if (processors_next(&corpus->processors, &sequence, &cpus, layout))
		return add_item(corpus, &sequence, cpus, layout);
	if (life_value_next(&corpus->values, &sequence))
		return add_value(corpus, &sequence);
	if (corpus->turns++ % 2 == 0 && !add_neighbour(corpus, &added))
		return false;
	if (added)
		return true;
	is_short = (corpus->drawn % 2 == 0 || corpus->rank < LONG_RANK) &&
	    next_short(corpus, &sequence);
	while (setup_at(setups) != NULL)
		setups++;
	if (!is_short)
		next_drawn(corpus, &sequence);
	else if (corpus->rank >= LONG_RANK)
		corpus->drawn++;
	if (!add_on(corpus, &sequence, corpus->rank % setups))
		return false;
	complete(corpus, &sequence);
	for (size_t i = 0; i < COMPLETE_RUNS; i++) {
		if (!add_on(corpus, &sequence,
			(begin + corpus->drawn + i) % setups))
			return false;
	}
	return true;
}

/* Adds the items of one round; false: no memory. */
static bool
fill_round(struct corpus *corpus, uint64_t budget)
{
	size_t room = corpus->items->count == 0 ? FIRST_ITEMS
						: ROUND_ITEMS - TURN_ITEMS;

	corpus->round.begin = corpus->items->count;
	/* In an interrupted round, some items do not run. */
	memset(corpus->round.shared->reach, 0,
	    sizeof(corpus->round.shared->reach));
	while (corpus->items->count < budget &&
	    corpus->items->count - corpus->round.begin < room) {
		if (!add_next(corpus))
			return false;
	}
	return true;
}

static bool
add_novel(struct corpus *corpus, size_t index)
{
	size_t *at = array_grow(corpus->novel.at, corpus->novel.count,
	    &corpus->novel.room, sizeof(*at));

	if (at == NULL)
		return false;
	corpus->novel.at = at;
	corpus->novel.at[corpus->novel.count++] = index;
	return true;
}

/* Calls .reached, if set, with the code that an item reached. */
static void
report_reached(struct corpus *corpus, size_t index)
{
	const struct campaign_options *options = &corpus->campaign->options;
	const struct campaign_entry *item = &corpus->items->at[index];
	struct runner *runner;
	struct tz_error err;

	if (options->reached != NULL &&
	    campaign_entry_runner(corpus->campaign, item, &runner, &err) == 0)
		options->reached(options->reached_arg, runner, item,
		    &reach_of(corpus, index)->reach);
}

/* True if the run of item INDEX reached something that none before it reached. */
static bool
is_novel(struct corpus *corpus, size_t index)
{
	const struct item_reach *reach = reach_of(corpus, index);
	uint64_t bit = reach->results % CHECKPOINT_RESULTS_BITS;
	bool is_new = !(corpus->reached.results[bit / 8] >> bit % 8 & 1);

	if (!reach->ran)
		return false;
	report_reached(corpus, index);
	corpus->reached.results[bit / 8] |= (uint8_t)(1u << bit % 8);
	for (size_t i = 0; i < REACH_BYTES; i++) {
		is_new |= (reach->reach.code[i] & ~corpus->reached.code[i]) !=
		    0;
		corpus->reached.code[i] |= reach->reach.code[i];
	}
	return is_new;
}

/* Joins in the order of items, so that the result does not depend on the workers. */
static bool
join_round(struct corpus *corpus)
{
	struct campaign *campaign = corpus->campaign;
	const struct checkpoint *resume = campaign->options.resume;
	bool before = campaign_part_is_resuming(campaign);

	for (size_t i = corpus->round.begin; i < corpus->items->count; i++) {
		bool novel = before ? i < resume->count && resume->novel[i]
				    : is_novel(corpus, i);

		corpus->reached.endless += reach_of(corpus, i)->endless;
		if (novel && !add_novel(corpus, i))
			return false;
		if (!campaign->parts.interrupted &&
		    !checkpoint_add(campaign->parts.checkpoint, novel))
			return false;
	}
	if (before)
		corpus->reached = resume->reached;
	if (!campaign->parts.interrupted)
		campaign->parts.checkpoint->reached = corpus->reached;
	corpus->gave_up = (!before || corpus->items->count >= resume->count) &&
	    corpus->reached.endless >= ENDLESS_MIN &&
	    corpus->reached.endless * ENDLESS_SHARE >= corpus->items->count;
	return true;
}

/* Opens every set-up of the round before the workers are forked. */
static int
open_setups(struct corpus *corpus, struct tz_error *err)
{
	struct runner *runner;
	int error = 0;

	for (size_t i = corpus->round.begin;
	     error == 0 && i < corpus->items->count; i++)
		error = campaign_entry_runner(
		    corpus->campaign, &corpus->items->at[i], &runner, err);
	return error;
}

static int
read_lives(struct corpus *corpus, struct tz_error *err)
{
	const struct manifest *manifest = build_cache_manifest(
	    corpus->campaign->build_cache);
	const char *life;

	while (corpus->life_count < LIVES_MAX &&
	    (life = manifest_life(manifest, corpus->life_count)) != NULL) {
		int error = sequence_parse(
		    manifest, life, &corpus->life[corpus->life_count], err);

		if (error != 0)
			return error;
		corpus->life_count++;
	}
	corpus->neighbours.values =
	    (struct sequence_values){ .manifest = manifest,
		    .life = corpus->life,
		    .life_count = corpus->life_count };
	corpus->values = corpus->neighbours.values;
	processors_begin(&corpus->processors, &corpus->values);
	return 0;
}

/* Runs the round's items; in slices if the exploration may end after any of them. */
static int
run_round(struct corpus *corpus, struct tz_error *err)
{
	struct campaign *campaign = corpus->campaign;
	size_t step = campaign->options.ends_at != NULL ? SLICE_ITEMS
							: ROUND_ITEMS;
	int error = 0;

	for (corpus->round.slice = corpus->round.begin;
	     error == 0 && corpus->round.slice < corpus->items->count &&
	     !campaign_part_is_over(campaign);
	     corpus->round.slice = corpus->round.sliced) {
		corpus->round.sliced = corpus->round.slice + step <
			corpus->items->count
		    ? corpus->round.slice + step
		    : corpus->items->count;
		atomic_store(&corpus->round.shared->next, corpus->round.slice);
		error = campaign_part_run(campaign, "sequences",
		    corpus->round.sliced - corpus->round.slice, work, corpus,
		    err);
	}
	return error;
}

static int
run_rounds(struct corpus *corpus, uint64_t budget, struct tz_error *err)
{
	struct campaign *campaign = corpus->campaign;
	int error = 0;

	while (error == 0 && corpus->items->count < budget &&
	    !corpus->gave_up && !campaign_part_is_over(campaign)) {
		if (!fill_round(corpus, budget))
			return tz_error(err, TZ_EIO, "out of memory");
		error = open_setups(corpus, err);
		if (error == 0)
			error = run_round(corpus, err);
		if (error == 0 && !join_round(corpus))
			return tz_error(err, TZ_EIO, "out of memory");
	}
	return error;
}

int
corpus_run(struct campaign *campaign, uint32_t area, uint64_t budget,
    struct corpus **out, struct tz_error *err)
{
	struct corpus *corpus = calloc(1, sizeof(*corpus));
	int error;

	*out = corpus;
	if (corpus == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	corpus->campaign = campaign;
	corpus->items = &campaign->generated;
	corpus->area = area;
	corpus->generator = generator_create(
	    build_cache_manifest(campaign->build_cache), 2,
	    campaign->options.seed);
	corpus->round.shared = mmap(NULL, sizeof(*corpus->round.shared),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (corpus->round.shared == MAP_FAILED)
		corpus->round.shared = NULL;
	if (corpus->generator == NULL || corpus->round.shared == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	error = read_lives(corpus, err);
	return error != 0 ? error : run_rounds(corpus, budget, err);
}

void
corpus_destroy(struct corpus *corpus)
{
	if (corpus == NULL)
		return;
	generator_destroy(corpus->generator);
	if (corpus->round.shared != NULL)
		munmap(corpus->round.shared, sizeof(*corpus->round.shared));
	free(corpus->novel.at);
	free(corpus);
}

bool
corpus_gave_up(const struct corpus *corpus)
{
	return corpus != NULL && corpus->gave_up;
}

const struct campaign_entry *
corpus_novel(const struct corpus *corpus, size_t index)
{
	return index < corpus->novel.count
	    ? &corpus->items->at[corpus->novel.at[index]]
	    : NULL;
}

void
corpus_counts(const struct corpus *corpus, struct corpus_counts *counts)
{
	*counts = (struct corpus_counts){ .runs = corpus->items->count,
		.exhaustive = corpus->rank,
		.exhaustive_all = generator_exhaustive(corpus->generator) };
	for (size_t i = 0; i < REACH_BYTES; i++)
		counts->code_reached += (uint64_t)__builtin_popcount(
		    corpus->reached.code[i]);
}
