#include "harness/explore/search/concurrent.h"

#include <stdio.h>

#include "harness/explore/parts/campaign_area.h"
#include "harness/explore/parts/campaign_entry.h"
#include "harness/explore/parts/campaign_part.h"

#define PAIRS_MAX 512
#define SESSION \
 (MANIFEST_CONFIGURES | MANIFEST_STARTS | MANIFEST_STOPS | MANIFEST_UNLOADS)

/* The set-ups with two CPUs, cyclically. */
static const struct setup *
setup_of(size_t number)
{
	size_t count = 0, i;

	for (i = 0; setup_at(i) != NULL; i++)
		count += setup_at(i)->cpus == 2;
	number %= count;
	for (i = 0; setup_at(i)->cpus != 2 || number-- != 0; i++)
		;
	return setup_at(i);
}

/* Adds a pair; false: no room for it. */
static bool
add_pair(struct campaign *campaign, const struct sequence *sequence,
    unsigned first, size_t number)
{
	const struct setup *setup = setup_of(number);
	struct campaign_entry entry = { .cpus = setup->cpus,
		.settings = campaign_entry_settings(
		    build_cache_manifest(campaign->build_cache), sequence),
		.sequence = *sequence };
	struct campaign_area *area;
	size_t index;

	snprintf(entry.layout, sizeof(entry.layout), "%s", setup->layout);
	index = campaign_entry_add(&campaign->entries, &entry);
	area = index == SIZE_MAX
	    ? NULL
	    : campaign_area_add(campaign, AREA_CALLS, (uint32_t)index);
	if (area == NULL)
		return false;
	/* Each operation has a CPU of its own: no preemption is needed. */
	area->kinds = UINT32_C(1) << DEVIATION_SWITCH;
	area->first = first;
	return true;
}

/* True if both operations of the pair change the session. */
static bool
is_of_session(const struct manifest *manifest, const struct sequence *sequence,
    unsigned first)
{
	return (sequence_flags(manifest, sequence, first) & SESSION) != 0 &&
	    (sequence_flags(manifest, sequence, first + 1) & SESSION) != 0;
}

/*
 * Adds the pairs of one life cycle that change the session, or the others, up to MAX
 * in total.
 */
static int
add_pairs(struct campaign *campaign, const char *text, bool of_session,
    size_t max, size_t *count, struct tz_error *err)
{
	const struct manifest *manifest = build_cache_manifest(
	    campaign->build_cache);
	struct sequence life, sequence;
	struct sequence_pairs pairs = { .manifest = manifest, .life = &life };
	unsigned first;
	int error = sequence_parse(manifest, text, &life, err);

	while (error == 0 && *count < max &&
	    sequence_pairs_next(&pairs, &sequence, &first)) {
		if (is_of_session(manifest, &sequence, first) != of_session)
			continue;
		if (!add_pair(campaign, &sequence, first, *count))
			return tz_error(err, TZ_EIO, "too many pairs");
		++*count;
	}
	return error;
}

static int
add_lives(struct campaign *campaign, size_t max, struct tz_error *err)
{
	const struct manifest *manifest = build_cache_manifest(
	    campaign->build_cache);
	size_t count = 0;
	const char *text;
	int error = 0;

	for (unsigned round = 0; round < 2; round++) {
		for (size_t i = 0;
		     error == 0 && (text = manifest_life(manifest, i)) != NULL;
		     i++)
			error = add_pairs(
			    campaign, text, round == 0, max, &count, err);
	}
	return error;
}

struct concurrent {
	struct campaign *campaign;
	uint32_t begin, end; /* areas */
};

/* One worker runs a pair and all its schedules. */
static void
do_pair(struct campaign *campaign, uint32_t number, struct trial_share *share,
    struct stats *stats)
{
	const struct campaign_area *area = &campaign->area[number];
	const struct campaign_entry *entry = &campaign->entries.at[area->entry];
	const struct trial_options options = { .kinds = area->kinds,
		.merge = campaign->options.merge,
		.calls = true,
		.first = area->first,
		.last = area->first };
	const struct schedule none = { .count = 0 };
	const struct rank rank = { number, 0, 0 };
	struct trial trial;
	struct tz_error err;
	uint64_t total;

	if (campaign_entry_open(campaign, entry, options, &trial, &err) != 0)
		return;
	total = trial_count(&trial);
	share->keep = total <= CONCURRENT_SCHEDULES
	    ? TRIAL_KEEP_ALL
	    : TRIAL_KEEP_ALL / total * CONCURRENT_SCHEDULES;
	stats_add(stats, rank, &none, &trial.base, NULL);
	stats_count(stats, number, &trial.base, NULL);
	trial_one(&trial, share, stats, number);
	trial_close(&trial);
}

static void
work(void *arg, unsigned worker, const volatile bool *stop, struct stats *stats)
{
	const struct concurrent *concurrent = arg;
	const struct campaign_options *options = &concurrent->campaign->options;
	struct trial_share share = {
		.workers = 1, .seed = options->seed, .stop = stop
	};
	unsigned first, step;

	campaign_part_share(concurrent->campaign, worker, &first, &step);
	for (uint32_t i = concurrent->begin + first;
	     i < concurrent->end && !*stop; i += step)
		do_pair(concurrent->campaign, i, &share, stats);
	/* A pair of another worker adds nothing to this one's share. */
	for (uint32_t i = concurrent->begin; i < concurrent->end && !*stop; i++)
		campaign_part_end(concurrent->campaign, i, worker, stats);
}

int
concurrent_explore(
    struct campaign *campaign, uint64_t budget, struct tz_error *err)
{
	struct concurrent concurrent = { .campaign = campaign,
		.begin = (uint32_t)campaign->area_count };
	size_t max = budget / CONCURRENT_SCHEDULES;
	int error;

	if (max > PAIRS_MAX)
		max = PAIRS_MAX;
	if (!(campaign->options.kinds >> DEVIATION_SWITCH & 1) ||
	    campaign_part_is_over(campaign))
		return 0;
	error = add_lives(campaign, max, err);
	concurrent.end = (uint32_t)campaign->area_count;
	if (error != 0 || concurrent.begin == concurrent.end)
		return error;
	for (uint32_t i = concurrent.begin; i < concurrent.end; i++)
		campaign->area[i].expected = CONCURRENT_SCHEDULES;
	return campaign_part_run(campaign, "two operations at once",
	    (concurrent.end - concurrent.begin) * CONCURRENT_SCHEDULES /
		campaign->options.shards,
	    work, &concurrent, err);
}
