#include "harness/explore/linux/linux_findings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "harness/explore/linux/linux_perf.h"
#include "harness/finding/mistakes.h"

bool
linux_findings_token(struct linux_run *run, const char *profile,
    const struct schedule *schedule, char *text, size_t text_size)
{
	struct token token = { .name = LINUX_DRIVER,
		.cpus = linux_run_cpus(run),
		.schedule = *schedule,
		.check = linux_run_check(run) };

	snprintf(token.profile, sizeof(token.profile), "%s", profile);
	return token_format(&token, text, text_size);
}

static void
fill_place(const struct linux_explore *explore, uint64_t va,
    struct finding_place *place)
{
	uint64_t offset;
	const char *name = linux_code_name(
	    linux_run_code(explore->run), va, &offset);

	snprintf(place->function, sizeof(place->function), "%s", name);
	place->offset_bytes = (uint32_t)offset;
}

/* "TEXT, at FUNCTION+OFFSET": the kernel has no lines. */
static void
fill_message(const struct linux_explore *explore,
    const struct check_violation *violation, char message[FINDING_TEXT_BYTES])
{
	uint64_t offset;
	const char *name = linux_code_name(
	    linux_run_code(explore->run), violation->site.rip, &offset);

	if (name[0] == '\0')
		snprintf(message, FINDING_TEXT_BYTES, "%s", violation->text);
	else
		snprintf(message, FINDING_TEXT_BYTES, "%s, at %s+%#" PRIx64,
		    violation->text, name, offset);
}

static enum finding_class
class_of(const struct stats_group *group)
{
	if (group->schedule.count == 0)
		return FINDING_BASE;
	return stats_needs_fault(group) ? FINDING_FAULT : FINDING_SCHEDULE;
}

/* Where the deviation was, and at how many of the places that were tried it fails. */
static void
fill_window(const struct linux_explore *explore,
    const struct stats_group *group, struct finding *finding)
{
	const struct boundary *boundary;

	if (group->schedule.count == 0)
		return;
	boundary = linux_explore_boundary(
	    explore, &group->schedule.deviation[0]);
	if (boundary != NULL)
		fill_place(explore, boundary->rip, &finding->window_first);
	finding->window_last = finding->window_first;
	finding->window_failing = (uint32_t)group->failing;
	for (unsigned i = 0; i < explore->areas; i++) {
		if (group->kinds >> explore->area[i].kind & 1)
			finding->window_count +=
			    (uint32_t)(explore->stats->area[i].done -
				explore->stats->area[i].impossible);
	}
}

/* The same mistake in another build: its row, its function and the kernel's own place. */
static void
fill_fingerprint(
    const struct check_violation *violation, struct finding *finding)
{
	uint64_t hash = outcome_family(finding->check);

	hash = XXH3_64bits_withSeed(
	    finding->place.function, strlen(finding->place.function), hash);
	hash = XXH3_64bits_withSeed(
	    violation->object, strlen(violation->object), hash);
	hash = XXH3_64bits_withSeed(
	    finding->kinds, strlen(finding->kinds), hash);
	snprintf(
	    finding->fingerprint, FINDING_PRINT_BYTES, "%016" PRIx64, hash);
}

static void
fill_finding(const struct linux_explore *explore, const char *profile,
    const struct stats_group *group, struct finding *finding)
{
	const struct check_violation *violation = &group->violation;

	*finding = (struct finding){ .check = violation->id,
		.judged = !outcome_is_unjudged(violation),
		.cause = group->cause,
		.own = group->own,
		.rank = { group->rank.area, group->rank.first, 0 },
		.class = class_of(group),
		.cpu = violation->cpu,
		.insns = violation->insns,
		.event = violation->event,
		.scenario = "script" };
	snprintf(finding->driver, sizeof(finding->driver), LINUX_DRIVER);
	snprintf(finding->profile, sizeof(finding->profile), "%s", profile);
	fill_place(explore, violation->site.rip, &finding->place);
	snprintf(
	    finding->object, sizeof(finding->object), "%s", violation->object);
	schedule_kinds(
	    &group->schedule, finding->kinds, sizeof(finding->kinds));
	(void)linux_findings_token(explore->run, profile, &group->schedule,
	    finding->token, sizeof(finding->token));
	fill_message(explore, violation, finding->message);
	fill_window(explore, group, finding);
	fill_fingerprint(violation, finding);
}

static void
fill_group(const struct linux_explore *explore, const char *profile,
    const struct stats_group *from, struct finding_group *group)
{
	struct finding_symptom *symptom = &group->symptom;
	struct finding_place place = { .line = 0 };

	*group = (struct finding_group){ .cause = from->cause,
		.own = from->own,
		.kinds = from->kinds,
		.check = from->violation.id,
		.fault = stats_needs_fault(from),
		.event = from->violation.event,
		.mistake = from->cause,
		.made = -1 };
	symptom->check = from->violation.id;
	symptom->rank[0] = from->rank.area;
	symptom->rank[1] = from->rank.first;
	schedule_kinds(&from->schedule, symptom->kinds, sizeof(symptom->kinds));
	fill_place(explore, from->violation.site.rip, &place);
	finding_format_place(&place, symptom->where);
	fill_message(explore, &from->violation, symptom->message);
	(void)linux_findings_token(explore->run, profile, &from->schedule,
	    symptom->token, sizeof(symptom->token));
}

static int
fill_groups(const struct linux_explore *explore, const char *profile,
    struct finding_summary *summary, struct tz_error *err)
{
	uint32_t count = explore->stats->group_count;
	size_t *first = calloc(count + 1, sizeof(*first));

	summary->group = calloc(count + 1, sizeof(*summary->group));
	summary->made = calloc(count + 1, sizeof(*summary->made));
	if (first == NULL || summary->group == NULL || summary->made == NULL) {
		free(first);
		return tz_error(err, TZ_EIO, "out of memory for findings");
	}
	for (uint32_t i = 0; i < count; i++)
		fill_group(explore, profile, &explore->stats->group[i],
		    &summary->group[i]);
	summary->group_count = count;
	mistakes_part(summary->group, count, first);
	for (uint32_t i = 0; i < count; i++) {
		if (first[i] != i)
			continue;
		summary->group[i].made = (int)summary->made_count;
		fill_finding(explore, profile, &explore->stats->group[i],
		    &summary->made[summary->made_count++]);
	}
	free(first);
	return mistakes_sum(summary, err);
}

static void
fill_coverage(
    const struct linux_explore *explore, struct finding_summary *summary)
{
	for (unsigned i = 0; i < explore->areas &&
	     summary->coverage_count < TZ_ARRAY_LEN(summary->coverage);
	     i++) {
		const struct linux_area *area = &explore->area[i];
		const struct stats_area *stats = &explore->stats->area[i];
		struct finding_coverage *row =
		    &summary->coverage[summary->coverage_count++];

		*row = (struct finding_coverage){ .done = stats->done,
			.total = area->total,
			.failing = stats->failing,
			.unjudged = stats->unjudged,
			.base_fails = stats->base_fails != 0,
			.base_unjudged = stats->base_unjudged != 0,
			.cut = explore->interrupted ||
			    stats->done < area->kept };
		snprintf(row->what, sizeof(row->what), "depth 1, %s",
		    deviation_info(area->kind)->word);
		if (area->kept == area->total)
			snprintf(row->how, sizeof(row->how), "exhaustive");
		else if (area->visits == 0)
			snprintf(row->how, sizeof(row->how),
			    "sampled, of the first execution of each "
			    "instruction");
		else
			snprintf(row->how, sizeof(row->how),
			    "sampled, the first %u executions of each "
			    "instruction",
			    area->visits);
		summary->schedules += stats->done;
	}
}

/* The rows that need what only a manifest or topaz's own kernel knows. */
static void
fill_unjudged(
    const struct linux_explore *explore, struct finding_summary *summary)
{
	check_rows left = check_all() & ~linux_perf_rows();

	for (unsigned i = 0; i < REASON_COUNT; i++) {
		for (unsigned j = 0; j < CHECK_COUNT; j++) {
			uint64_t schedules = explore->stats->unjudged[i][j];

			if (i == REASON_WITHOUT && (left >> j & 1) != 0)
				schedules = summary->schedules;
			if (schedules != 0)
				summary->unjudged[summary->unjudged_count++] =
				    (struct finding_unjudged){ (enum check_id)j,
					    (enum check_reason)i, schedules };
		}
	}
}

int
linux_findings(const struct linux_explore *explore, const char *profile,
    struct finding_summary *summary, struct tz_error *err)
{
	snprintf(summary->driver, sizeof(summary->driver), LINUX_DRIVER);
	snprintf(summary->profile, sizeof(summary->profile), "%s", profile);
	summary->shards = 1;
	summary->shard[0] = 1;
	fill_coverage(explore, summary);
	fill_unjudged(explore, summary);
	return fill_groups(explore, profile, summary, err);
}
