/*
 * What a campaign covered, and what it did not, in lines.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/explore/corpus.h"
#include "harness/explore/describe.h"

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
	entry = &campaign->entry[area->entry];
	if (entry->name[0] != '\0')
		return entry->name;
	sequence_format(workshop_manifest(campaign->workshop), &entry->sequence,
	    text, FINDING_NAME_BYTES);
	return campaign->options.subject != NULL ? campaign->options.subject
						 : "sequences with new code";
}

/* n * k^(changes - 1), the inverse of the bound of priority-based sampling. */
static double
pct_inverse(const struct campaign *campaign, const struct campaign_area *area)
{
	double product = campaign->entry[area->entry].cpus;

	for (unsigned i = 1; i < area->changes; i++)
		product *= (double)area->boundaries;
	return product;
}

static void
describe_how(const struct campaign *campaign, const struct campaign_area *area,
    char how[FINDING_NAME_BYTES])
{
	struct corpus_counts counts;

	if (campaign->interrupted) {
		snprintf(how, FINDING_NAME_BYTES, "interrupted");
		return;
	}
	switch (area->kind) {
	case AREA_TWO:
		if (area->keep < TRIAL_KEEP_ALL) {
			double share = (double)area->keep /
			    (double)TRIAL_KEEP_ALL;

			snprintf(how, FINDING_NAME_BYTES, "sampled, %.2g %%",
			    100.0 * share * share);
			return;
		}
		__attribute__((fallthrough));
	case AREA_ONE:
	case AREA_CALLS:
		if (area->keep < TRIAL_KEEP_ALL)
			snprintf(how, FINDING_NAME_BYTES, "sampled, %.2g %%",
			    100.0 * (double)area->keep /
				(double)TRIAL_KEEP_ALL);
		else if (campaign->options.shards > 1)
			snprintf(how, FINDING_NAME_BYTES,
			    "exhaustive over all %u shards",
			    campaign->options.shards);
		else
			snprintf(how, FINDING_NAME_BYTES, "exhaustive");
		return;
	case AREA_FAULT:
		snprintf(how, FINDING_NAME_BYTES, "exhaustive");
		return;
	case AREA_RANDOM:
		snprintf(how, FINDING_NAME_BYTES,
		    "sampled by priorities; a bug of depth %u: 1/%.2g a "
		    "schedule",
		    area->changes, pct_inverse(campaign, area));
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

/* Sequences are many: their areas share a line. */
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

void
describe_coverage(
    const struct campaign *campaign, struct finding_summary *summary)
{
	char what[FINDING_NAME_BYTES], text[FINDING_NAME_BYTES];

	summary->coverage_count = 0;
	summary->schedules = summary->decoded = 0;
	for (size_t i = 0; i < campaign->area_count; i++) {
		const struct campaign_area *area = &campaign->area[i];
		const struct tally_area *tally = &campaign->tally->area[i];
		struct finding_coverage *line;

		snprintf(what, sizeof(what), "%s, %.70s", kind_name(area),
		    name_of(campaign, area, text));
		line = line_of(summary, what);
		line->done += tally->done;
		line->total += area->total != 0 ? area->total : tally->done;
		line->merged += tally->merged;
		line->failing += tally->failing;
		/* Where areas share a line, it is no more than the least of them. */
		if (line->how[0] == '\0' || area->keep < TRIAL_KEEP_ALL)
			describe_how(campaign, area, line->how);
		summary->schedules += tally->done;
		summary->decoded += tally->decoded;
	}
}
