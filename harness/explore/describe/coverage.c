#include "harness/explore/describe/coverage.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/explore/parts/campaign_part.h"
#include "harness/explore/search/concurrent.h"
#include "harness/explore/search/corpus.h"

static const char *
name_of(const struct campaign *campaign, const struct campaign_area *area,
    char text[FINDING_NAME_BYTES])
{
	const struct campaign_entry *entry;

	if (area->kind == AREA_SEQUENCES)
		return "generated sequences";
	if (area->kind == AREA_FAULT)
		return "faults of set-up and surroundings";
	if (area->kind == AREA_CALLS)
		return "two operations at once";
	entry = &campaign->entries.at[area->entry];
	if (entry->name[0] != '\0')
		return entry->name;
	sequence_format(build_cache_manifest(campaign->build_cache),
	    &entry->sequence, text, FINDING_NAME_BYTES);
	return campaign->options.subject != NULL ? campaign->options.subject
						 : "sequences with new code";
}

/*
 * Upper bound of the mean number of schedules of trial_random() per schedule that has
 * exactly a given PMI and d - 1 given switches, d = .changes - 1.  One in two schedules
 * has d deviations; one in two is spread; of the boundaries^d possible draws, d! orders
 * are the given deviations; one in d has the PMI at the right one; and each switch has
 * the right CPU with probability 1/.cpus.
 */
static double
random_inverse(
    const struct campaign *campaign, const struct campaign_area *area)
{
	double cpus = campaign->entries.at[area->entry].cpus;
	double inverse = 4 * (double)area->boundaries;

	for (unsigned i = 1; i + 1 < area->changes; i++)
		inverse *= (double)area->boundaries * cpus / i;
	return inverse;
}

static void
format_how(const struct campaign *campaign, const struct campaign_area *area,
    char how[FINDING_NAME_BYTES])
{
	struct corpus_counts counts;
	double percent = 100.0 * (double)area->keep / (double)TRIAL_KEEP_ALL;
	int digits = percent < 99.5 ? 2 : 3;

	if (area->endless) {
		snprintf(how, FINDING_NAME_BYTES,
		    "none: the default schedule does not end");
		return;
	}
	switch (area->kind) {
	case AREA_TWO:
		if (area->each_max != 0) {
			snprintf(how, FINDING_NAME_BYTES,
			    "sampled, about %" PRIu64
			    " after %.*g %% of the first",
			    area->each_max, digits, percent);
			return;
		}
		__attribute__((fallthrough));
	case AREA_ONE:
		if (area->keep < TRIAL_KEEP_ALL)
			snprintf(how, FINDING_NAME_BYTES, "sampled, %.*g %%",
			    digits, percent);
		else
			snprintf(how, FINDING_NAME_BYTES, "exhaustive");
		return;
	case AREA_CALLS:
		snprintf(how, FINDING_NAME_BYTES,
		    "sampled, about %u of each pair", CONCURRENT_SCHEDULES);
		return;
	case AREA_FAULT:
		snprintf(how, FINDING_NAME_BYTES, "exhaustive");
		return;
	case AREA_RANDOM:
		/* A PMI and one switch, in either order, if .changes is 3. */
		snprintf(how, FINDING_NAME_BYTES,
		    "sampled at random; each of %u given deviations: 1 in "
		    "%.2g",
		    area->changes - 1, random_inverse(campaign, area));
		return;
	case AREA_SEQUENCES:
		corpus_counts(campaign->corpus, &counts);
		snprintf(how, FINDING_NAME_BYTES,
		    "%" PRIu64 " of %" PRIu64 " short ones; %" PRIu64
		    " instructions of the driver reached",
		    counts.exhaustive, counts.exhaustive_all,
		    counts.code_reached);
		return;
	}
}

static bool
is_sampled(const struct campaign_area *area)
{
	return area->keep < TRIAL_KEEP_ALL || area->each_max != 0;
}

static const char *
kind_name(const struct campaign_area *area)
{
	static const char *const names[] = {
		[AREA_ONE] = "depth 1",
		[AREA_TWO] = "depth 2",
		[AREA_RANDOM] = "beyond",
		[AREA_SEQUENCES] = "depth 0",
		[AREA_CALLS] = "depth 1",
		[AREA_FAULT] = "depth 0",
	};

	return names[area->kind];
}

/* The areas of generated sequences share one line, because they are many. */
static struct finding_coverage *
line_of(struct finding_summary *summary, const char *what)
{
	struct finding_coverage *line;

	for (size_t i = 0; i < summary->coverage_count; i++) {
		if (strcmp(summary->coverage[i].what, what) == 0)
			return &summary->coverage[i];
	}
	if (summary->coverage_count == TZ_ARRAY_LEN(summary->coverage))
		return &summary->coverage[summary->coverage_count - 1];
	line = &summary->coverage[summary->coverage_count++];
	*line = (struct finding_coverage){ .done = 0 };
	snprintf(line->what, sizeof(line->what), "%s", what);
	return line;
}

/* The counts of the default schedule of the same entry. */
static const struct stats_area *
base_of(const struct campaign *campaign, size_t index)
{
	const struct campaign_area *area = &campaign->area[index];

	for (size_t i = 0; i < index; i++) {
		if ((area->kind == AREA_TWO || area->kind == AREA_RANDOM) &&
		    campaign->area[i].kind == AREA_ONE &&
		    campaign->area[i].entry == area->entry)
			return &campaign->stats->area[i];
	}
	return &campaign->stats->area[index];
}

static void
add_unjudged(struct finding_summary *summary, enum check_id check,
    enum check_reason reason, uint64_t schedules)
{
	if (schedules == 0)
		return;
	TZ_ASSERT(summary->unjudged_count < TZ_ARRAY_LEN(summary->unjudged));
	summary->unjudged[summary->unjudged_count++] =
	    (struct finding_unjudged){ check, reason, schedules };
}

/* Adds the rows that were not judged, by reason. */
static void
fill_unjudged(const struct campaign *campaign, struct finding_summary *summary)
{
	const struct stats *stats = campaign->stats;

	summary->unjudged_count = 0;
	for (unsigned i = 0; i < REASON_COUNT; i++) {
		for (unsigned j = 0; j < CHECK_COUNT; j++)
			add_unjudged(summary, (enum check_id)j,
			    (enum check_reason)i, stats->unjudged[i][j]);
	}
	add_unjudged(summary, CHECK_DECODED, REASON_SAMPLED,
	    summary->decoded < summary->schedules
		? summary->schedules - summary->decoded
		: 0);
}

/* Marks a shard of which a part was not run to its end. */
static void
mark_cut(struct finding_summary *summary)
{
	memset(summary->shard_cut, 0, sizeof(summary->shard_cut));
	for (size_t i = 0; i < summary->coverage_count; i++) {
		if (summary->coverage[i].cut)
			memcpy(summary->shard_cut, summary->shard,
			    sizeof(summary->shard));
	}
}

/* The reason why a part of the exploration was not completed. */
static const char *
cut_reason(const struct campaign *campaign)
{
	if (campaign->parts.interrupted)
		return "interrupted";
	if (campaign->parts.ended_early)
		return "ended at a finding";
	if (corpus_gave_up(campaign->corpus))
		return "given up: many sequences reach their limit";
	return "did not run";
}

void
coverage_fill(const struct campaign *campaign, struct finding_summary *summary)
{
	char what[FINDING_NAME_BYTES], text[FINDING_NAME_BYTES];

	summary->coverage_count = 0;
	summary->schedules = summary->decoded = 0;
	for (size_t i = 0; i < campaign->area_count; i++) {
		const struct campaign_area *area = &campaign->area[i];
		const struct stats_area *stats = &campaign->stats->area[i];
		struct finding_coverage *line;

		snprintf(what, sizeof(what), "%s, %.70s", kind_name(area),
		    name_of(campaign, area, text));
		line = line_of(summary, what);
		line->done += stats->done;
		line->total += area->total != 0 ? area->total : stats->done;
		line->merged += stats->merged;
		line->failing += stats->failing;
		line->unjudged += stats->unjudged;
		line->base_fails |= base_of(campaign, i)->base_fails != 0;
		line->base_unjudged |= base_of(campaign, i)->base_unjudged != 0;
		/* If areas share a line, it describes the least complete of them. */
		if (!campaign_part_ended(campaign, i)) {
			line->cut = true;
			snprintf(line->how, sizeof(line->how), "%s",
			    cut_reason(campaign));
		} else if (!line->cut &&
		    (line->how[0] == '\0' || is_sampled(area))) {
			format_how(campaign, area, line->how);
			if (stats->timed != 0 && campaign->options.merge)
				strncat(line->how, ", timed: fewer merged",
				    sizeof(line->how) - strlen(line->how) - 1);
		}
		summary->schedules += stats->done;
		summary->decoded += stats->decoded;
	}
	fill_unjudged(campaign, summary);
	summary->shards = campaign->options.shards;
	summary->shard[(campaign->options.shard - 1) / 8] |= (uint8_t)(1u
	    << (campaign->options.shard - 1) % 8);
	/* Lists parts that were not begun. */
	if (campaign->parts.ended_early || corpus_gave_up(campaign->corpus)) {
		struct finding_coverage *line = line_of(summary, "all else");

		line->cut = true;
		snprintf(
		    line->how, sizeof(line->how), "%s", cut_reason(campaign));
	}
	mark_cut(summary);
}
