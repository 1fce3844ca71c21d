#define _GNU_SOURCE
#include "harness/explore/search/faults.h"

#include <stdio.h>
#include <string.h>

#include "emu/profile/profile.h"
#include "harness/explore/parts/campaign_area.h"
#include "harness/explore/parts/campaign_entry.h"
#include "harness/explore/parts/campaign_part.h"
#include "harness/host/stop.h"

/* Faults in the guest's set-up, in addition to missing CPU features. */
static const struct fault_row layouts[] = {
	{ "guard", FAULT_LAYOUT, DEVIATION_COUNT, "boot",
	    "table memory is aligned no more than the OS promises",
	    "FreeBSD malloc(9)" },
	{ "seed1", FAULT_LAYOUT, DEVIATION_COUNT, "boot",
	    "other neighbours on the heap", "FreeBSD malloc(9)" },
	{ "linear", FAULT_LAYOUT, DEVIATION_COUNT, "boot",
	    "physical pages in a row; they are not, otherwise",
	    "SDM vol. 3, 33.2.7.2 \"Table of Physical Addresses (ToPA)\"" },
};

/* Operations by another process at an unexpected time. */
static const struct fault_row steps[] = {
	{ "offline", FAULT_STEP, DEVIATION_COUNT, "each operation",
	    "the other CPU goes offline", "FreeBSD smp(4)" },
	{ "kill", FAULT_STEP, DEVIATION_COUNT, "each operation",
	    "the traced process is killed", "FreeBSD kill(2)" },
	{ "unload", FAULT_STEP, DEVIATION_COUNT, "each operation",
	    "the driver is unloaded", "FreeBSD kldunload(2)" },
	{ "exit", FAULT_STEP, DEVIATION_COUNT, "each operation",
	    "the owner exits", "FreeBSD exit(3)" },
};

static size_t
feature_count(void)
{
	size_t count = 0;

	while (profile_feature_at(count) != NULL)
		count++;
	return count;
}

bool
fault_at(size_t index, struct fault_row *row)
{
	for (unsigned i = 0; i < DEVIATION_COUNT; i++) {
		enum deviation_kind kind = (enum deviation_kind)i;
		const struct deviation_info *info = deviation_info(kind);

		if (!(info->searches & DEVIATION_IN_FAULTS) || index-- != 0)
			continue;
		*row = (struct fault_row){ info->word, FAULT_DEVIATION, kind,
			info->when == DEVIATION_WHEN_FALLIBLE_CALL
			    ? "each call that can fail"
			    : "each boundary",
			info->text, info->citation };
		return true;
	}
	if (index < TZ_ARRAY_LEN(layouts)) {
		*row = layouts[index];
		return true;
	}
	index -= TZ_ARRAY_LEN(layouts);
	if (index < TZ_ARRAY_LEN(steps)) {
		*row = steps[index];
		return true;
	}
	index -= TZ_ARRAY_LEN(steps);
	if (index >= feature_count())
		return false;
	*row = (struct fault_row){ profile_feature_at(index)->name,
		FAULT_LAYOUT, DEVIATION_COUNT, "boot",
		"the CPU lacks the feature (layout no-NAME)",
		"SDM vol. 2, \"CPUID\"" };
	return true;
}

/* The layout word of a row: the feature's name with prefix "no-". */
static void
layout_word(const struct fault_row *row, char word[TOKEN_WORDS_BYTES])
{
	bool plain = false;

	for (size_t i = 0; i < TZ_ARRAY_LEN(layouts); i++)
		plain |= strcmp(row->name, layouts[i].name) == 0;
	snprintf(
	    word, TOKEN_WORDS_BYTES, "%s%s", plain ? "" : "no-", row->name);
}

/*
 * Adds one area for each row and entry, in that order, so that an area determines
 * its row.
 */
static int
add_deviation_areas(struct campaign *campaign, enum deviation_kind kind,
    uint32_t entries, uint64_t share, struct tz_error *err)
{
	for (uint32_t i = 0; i < entries; i++) {
		struct campaign_area *area = campaign_area_add(
		    campaign, AREA_ONE, i);
		int error;

		if (area == NULL)
			return tz_error(err, TZ_EUSAGE, "too many scenarios");
		area->kinds = UINT32_C(1) << kind;
		error = campaign_area_survey(campaign, area, err);
		if (error != 0)
			return error;
		if (area->total > share)
			area->keep = TRIAL_KEEP_ALL / area->total * share;
	}
	return 0;
}

/*
 * Runs ENTRY in the default schedule and compares it with BASE, its run without the
 * fault.
 */
static void
try_entry(struct campaign *campaign, const struct campaign_entry *entry,
    struct runner *runner, const struct outcome *base, uint32_t area)
{
	struct trial_options options = {
		.insns_max = campaign->options.insns_max
	};
	const struct schedule none = { .count = 0 };
	size_t number = campaign_entry_add(&campaign->entries, entry);
	struct stats_area *counts = &campaign->stats->area[area];
	struct rank rank = { area, (uint32_t)number, 0 };
	struct trial place;
	struct tz_error err;

	/* Every shard adds all entries, because a rank refers to an entry by number. */
	if (number == SIZE_MAX || !campaign_part_is_own(campaign, number) ||
	    trial_open(&place, runner, &entry->sequence, &options, &err) != 0)
		return;
	counts->done++;
	stats_count(campaign->stats, area, &place.base, base);
	stats_count_fault(counts, &place.base, base);
	stats_add(campaign->stats, rank, &none, &place.base, base);
	trial_close(&place);
}

static int
base_of(struct campaign *campaign, uint32_t number, struct outcome *base,
    struct tz_error *err)
{
	const struct trial_options options = { .merge = false };
	struct trial place;
	int error = campaign_entry_open(
	    campaign, &campaign->entries.at[number], options, &place, err);

	if (error != 0)
		return error;
	*base = place.base;
	trial_close(&place);
	return 0;
}

/* Runs each scenario with the guest set up with the fault. */
static int
try_layout(struct campaign *campaign, const struct fault_row *row,
    uint32_t entries, uint32_t area, struct tz_error *err)
{
	char word[TOKEN_WORDS_BYTES];

	layout_word(row, word);
	for (uint32_t i = 0; i < entries; i++) {
		struct campaign_entry entry = campaign->entries.at[i];
		struct runner *runner;
		struct outcome base;
		int error = base_of(campaign, i, &base, err);

		if (error != 0)
			return error;
		/* Too long only if a user names many layout words. */
		if (entry.layout[0] == '\0')
			snprintf(
			    entry.layout, sizeof(entry.layout), "%s", word);
		else if (strlen(entry.layout) + strlen(word) + 2 <
		    sizeof(entry.layout))
			strcat(strcat(entry.layout, ","), word);
		error = runner_open(campaign->build_cache, entry.cpus,
		    entry.layout, entry.settings, &runner, err);
		if (error != 0)
			return error;
		try_entry(campaign, &entry, runner, &base, area);
		runner_close(runner);
	}
	return 0;
}

/*
 * Makes the driver be loaded by an operation, if the manifest has one, and not at
 * boot.
 */
static void
load_first(const struct manifest *manifest, struct campaign_entry *entry)
{
	struct sequence load;
	struct tz_error err;

	if (campaign_entry_settings(manifest, &entry->sequence)[0] != '\0' ||
	    entry->sequence.count == SCRIPT_STEPS_MAX ||
	    sequence_parse(manifest, "load", &load, &err) != 0)
		return;
	memmove(&entry->sequence.step[1], &entry->sequence.step[0],
	    entry->sequence.count * sizeof(load.step[0]));
	entry->sequence.step[0] = load.step[0];
	entry->sequence.count++;
	entry->settings = manifest_settings(manifest);
}

/* Runs ENTRY with STEP inserted before step AT. */
static int
try_at(struct campaign *campaign, const struct campaign_entry *from,
    unsigned at, const struct sequence_step *step, const struct outcome *base,
    uint32_t area, struct tz_error *err)
{
	struct campaign_entry entry = *from;
	struct sequence *sequence = &entry.sequence;
	struct runner *runner;
	int error = campaign_entry_runner(campaign, from, &runner, err);

	if (error != 0 || sequence->count == SCRIPT_STEPS_MAX)
		return error;
	memmove(&sequence->step[at + 1], &sequence->step[at],
	    (sequence->count - at) * sizeof(*step));
	sequence->step[at] = *step;
	sequence->count++;
	try_entry(campaign, &entry, runner, base, area);
	return 0;
}

/* Runs with an additional operation, before each of the others and at the end. */
static int
try_step(struct campaign *campaign, const struct fault_row *row,
    uint32_t entries, uint32_t area, struct tz_error *err)
{
	const struct manifest *manifest = build_cache_manifest(
	    campaign->build_cache);
	struct sequence one;

	/* A driver's manifest may not have the operation. */
	if (sequence_parse(manifest, row->name, &one, err) != 0)
		return 0;
	for (uint32_t i = 0; i < entries; i++) {
		struct campaign_entry with = campaign->entries.at[i];
		struct outcome base;
		int error = base_of(campaign, i, &base, err);

		with.name[0] = '\0';
		/* The driver can be unloaded only if an operation loaded it. */
		if (strcmp(row->name, "unload") == 0)
			load_first(manifest, &with);
		for (unsigned at = 1; error == 0 && at <= with.sequence.count;
		     at++)
			error = try_at(campaign, &with, at, &one.step[0], &base,
			    area, err);
		if (error != 0)
			return error;
	}
	return 0;
}

unsigned
faults_deviations(uint32_t kinds)
{
	kinds &= deviation_kinds(DEVIATION_IN_FAULTS);
	return (unsigned)__builtin_popcount(kinds);
}

/* The number of schedules of one deviation in one entry. */
static uint64_t
share_of(const struct campaign_options *options, uint32_t entries)
{
	uint64_t budget = options->budget != 0 ? options->budget
					       : FAULTS_BUDGET_DEFAULT;
	uint64_t parts = (uint64_t)faults_deviations(options->kinds) * entries;

	if (options->each_point)
		return UINT64_MAX;
	return parts == 0 ? 0 : budget / parts + 1;
}

int
faults_explore(struct campaign *campaign, struct tz_error *err)
{
	uint32_t entries = (uint32_t)campaign->entries.count;
	uint64_t share = share_of(&campaign->options, entries);
	struct campaign_areas areas = { .name = "placements of faults" };
	struct fault_row row;
	int error = 0;

	/* The first areas are the default schedule: failures that need no fault. */
	for (size_t i = 0; error == 0 && fault_at(i, &row) &&
	     !campaign_part_is_over(campaign);
	     i++) {
		if (row.kind == FAULT_DEVIATION) {
			if (campaign->options.kinds >> row.deviation & 1)
				error = add_deviation_areas(campaign,
				    row.deviation, entries, share, err);
			continue;
		}
		if (campaign->options.kinds_named)
			continue;
		if (campaign_area_add(campaign, AREA_FAULT, (uint32_t)i) ==
		    NULL)
			return tz_error(err, TZ_EUSAGE, "too many scenarios");
		error = row.kind == FAULT_LAYOUT
		    ? try_layout(campaign, &row, entries,
			  (uint32_t)campaign->area_count - 1, err)
		    : try_step(campaign, &row, entries,
			  (uint32_t)campaign->area_count - 1, err);
		/* This process did it for all jobs. */
		if (error == 0 && !stop_requested())
			campaign_part_end_all(
			    campaign, campaign->area_count - 1);
	}
	areas.end = (uint32_t)campaign->area_count;
	return error != 0 ? error : campaign_area_run(campaign, &areas, err);
}

/* True if AREA belongs to ROW, which has number INDEX. */
static bool
is_of(
    const struct campaign_area *area, const struct fault_row *row, size_t index)
{
	return row->kind == FAULT_DEVIATION
	    ? area->kind == AREA_ONE &&
		area->kinds == UINT32_C(1) << row->deviation
	    : area->kind == AREA_FAULT && area->entry == index;
}

static void
find_first(const struct campaign *campaign, const struct fault_row *row,
    size_t index, struct fault_result *result)
{
	for (uint32_t i = 0; i < campaign->stats->group_count; i++) {
		const struct stats_group *group = &campaign->stats->group[i];
		bool crash = outcome_is_crash(group->violation.id);

		if (!is_of(&campaign->area[group->rank.area], row, index) ||
		    (row->kind == FAULT_DEVIATION &&
			group->schedule.count == 0))
			continue;
		if (crash && result->first_broken == NULL)
			result->first_broken = group;
		if (!crash && result->first_silent == NULL)
			result->first_silent = group;
	}
}

void
faults_result(
    const struct campaign *campaign, size_t index, struct fault_result *result)
{
	struct fault_row row;

	*result = (struct fault_result){ .points = 0 };
	TZ_ASSERT(fault_at(index, &row));
	snprintf(result->name, sizeof(result->name), "%s", row.name);
	for (size_t i = 0; i < campaign->area_count; i++) {
		const struct stats_area *area = &campaign->stats->area[i];

		if (!is_of(&campaign->area[i], &row, index))
			continue;
		result->points += area->detected + area->tolerated +
		    area->silent + area->broken + area->framework;
		result->detected += area->detected;
		result->tolerated += area->tolerated;
		result->silent += area->silent;
		result->broken += area->broken;
		result->framework += area->framework;
	}
	find_first(campaign, &row, index, result);
}
