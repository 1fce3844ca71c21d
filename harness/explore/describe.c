#define _GNU_SOURCE
#include "harness/explore/describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/explore/decoded.h"
#include "harness/explore/setups.h"
#include "harness/explore/small.h"

void
describe_place(struct runner *runner, uint64_t va, struct finding_place *place)
{
	struct symbol_place symbol;

	*place = (struct finding_place){ .line = 0 };
	symbols_find(runner_symbols(runner), va, NULL, &symbol);
	if (symbol.name != NULL) {
		snprintf(place->function, sizeof(place->function), "%s",
		    symbol.name);
		place->offset_bytes = (uint32_t)symbol.offset_bytes;
	}
	if (symbol.file != NULL) {
		snprintf(place->file, sizeof(place->file), "%s", symbol.file);
		place->line = symbol.line;
	}
}

/* Does SCHEDULE on ENTRY show the cause?  Errors count as no. */
static bool
shows(struct small *small, const struct campaign_entry *entry,
    const struct schedule *schedule)
{
	struct trial_options options = { .merge = false };
	struct trial place;
	struct runner *runner;
	struct outcome outcome;
	struct tz_error err;
	bool shown;

	if (campaign_runner(small->campaign, entry, &runner, &err) != 0 ||
	    trial_open(&place, runner, &entry->sequence, &options, &err) != 0)
		return false;
	outcome = place.base;
	if (small->cause == decoded_cause())
		(void)decoded_run(
		    &place, schedule, NULL, STEPPING_NONE, &outcome);
	else if (schedule->count != 0)
		trial_run(&place, schedule, &outcome);
	shown = outcome_has(&outcome, small->cause);
	if (shown) {
		small->outcome = outcome;
		small->state_hash = runner_hash(runner);
	}
	trial_close(&place);
	return shown;
}

/* Fewest operations: only without deviations, whose places would move. */
static void
drop_steps(struct small *small)
{
	const struct manifest *manifest = workshop_manifest(
	    small->campaign->workshop);

	if (small->schedule.count != 0 || small->entry.name[0] != '\0')
		return;
	for (unsigned i = small->entry.sequence.count; i-- > 0;) {
		struct campaign_entry entry = small->entry;

		if (i >= small->entry.sequence.count || small_hurries(small))
			continue;
		sequence_drop(
		    manifest, &small->entry.sequence, i, &entry.sequence);
		entry.settings = campaign_settings(manifest, &entry.sequence);
		if (entry.sequence.count < small->entry.sequence.count &&
		    shows(small, &entry, &small->schedule))
			small->entry = entry;
	}
}

/* Fewest deviations. */
static void
drop_deviations(struct small *small)
{
	for (unsigned i = small->schedule.count;
	     i-- > 0 && !small_hurries(small);) {
		struct schedule schedule = small->schedule;

		memmove(&schedule.deviation[i], &schedule.deviation[i + 1],
		    (schedule.count - i - 1) * sizeof(schedule.deviation[0]));
		schedule.count--;
		if (shows(small, &small->entry, &schedule))
			small->schedule = schedule;
	}
}

void
small_token(const struct small *small, const struct schedule *schedule,
    char *text, size_t text_size)
{
	struct workshop *workshop = small->campaign->workshop;
	const struct campaign_entry *entry = &small->entry;
	struct token token = { .seed = small->campaign->options.seed,
		.schedule = *schedule };
	struct tz_error err;

	if (workshop_check(workshop, &token.check, &err) != 0)
		token.check = 0;
	memcpy(token.layout, entry->layout, sizeof(token.layout));
	snprintf(token.profile, sizeof(token.profile), "%s",
	    workshop_models(workshop));
	if (entry->name[0] != '\0') {
		snprintf(token.name, sizeof(token.name), "%s", entry->name);
	} else {
		snprintf(token.name, sizeof(token.name), "%s",
		    workshop_config(workshop)->driver);
		token.cpus = entry->cpus;
		sequence_format(workshop_manifest(workshop), &entry->sequence,
		    token.steps, sizeof(token.steps));
	}
	if (!token_format(&token, text, text_size))
		text[0] = '\0';
}

static void
find_place(struct runner *runner, const struct check_violation *violation,
    struct finding_place *place)
{
	uint64_t rip = outcome_rip(runner, violation);

	*place = (struct finding_place){ .line = 0 };
	if (rip != 0)
		describe_place(runner, rip, place);
}

static enum finding_class
class_of(const struct schedule *schedule)
{
	enum finding_class class = FINDING_BASE;

	for (unsigned i = 0; i < schedule->count; i++) {
		if (act_info(schedule->deviation[i].act)->class ==
		    ACT_CLASS_FAULT)
			return FINDING_FAULT;
		class = FINDING_SCHEDULE;
	}
	return class;
}

static void
fill_finding(struct small *small, struct finding *finding)
{
	struct workshop *workshop = small->campaign->workshop;
	const struct check_violation *violation = NULL;
	struct runner *runner;
	struct tz_error err;

	for (unsigned i = 0; i < small->outcome.count; i++) {
		if (small->outcome.violation[i].cause == small->cause)
			violation = &small->outcome.violation[i].violation;
	}
	TZ_ASSERT(violation != NULL);
	*finding = (struct finding){ .check = violation->id,
		.cause = small->cause,
		.class = class_of(&small->schedule),
		.cpu = violation->cpu,
		.insns = violation->insns,
		.event = violation->event,
		.state_hash = small->state_hash };
	snprintf(finding->driver, sizeof(finding->driver), "%s",
	    workshop_config(workshop)->driver);
	snprintf(finding->profile, sizeof(finding->profile), "%s",
	    workshop_models(workshop));
	snprintf(finding->sha256, sizeof(finding->sha256), "%s",
	    workshop_sha256(workshop));
	snprintf(
	    finding->message, sizeof(finding->message), "%s", violation->text);
	schedule_kinds(
	    &small->schedule, finding->kinds, sizeof(finding->kinds));
	sequence_format(workshop_manifest(workshop), &small->entry.sequence,
	    finding->steps, sizeof(finding->steps));
	snprintf(finding->scenario, sizeof(finding->scenario), "%s",
	    small->entry.name[0] != '\0' ? small->entry.name : "sequence");
	small_token(
	    small, &small->schedule, finding->token, sizeof(finding->token));
	if (campaign_runner(small->campaign, &small->entry, &runner, &err) == 0)
		find_place(runner, violation, &finding->place);
	finding->insns = runner_relative(
	    runner, violation->cpu, violation->insns);
	snprintf(finding->message, sizeof(finding->message), "%s%s%s",
	    violation->text,
	    violation->step < small->entry.sequence.count ? ", in operation "
							  : "",
	    violation->step < small->entry.sequence.count
		? manifest_op_name(workshop_manifest(workshop),
		      small->entry.sequence.step[violation->step].op)
		: "");
}

int
describe_finding(struct campaign *campaign, const struct tally_group *group,
    struct finding *finding, struct describe_kept *kept, struct tz_error *err)
{
	struct small *small = calloc(1, sizeof(*small));
	int error;

	if (small == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	small->campaign = campaign;
	small->entry = *campaign_entry_of(campaign, group);
	small->schedule = group->schedule;
	small->cause = group->cause;
	if (!shows(small, &small->entry, &small->schedule)) {
		free(small);
		return tz_error(err, TZ_EFORMAT,
		    "'%s' does not show again: please report this",
		    group->violation.text);
	}
	drop_deviations(small);
	drop_steps(small);
	/* The last run may have been one that did not show it. */
	TZ_ASSERT(shows(small, &small->entry, &small->schedule));
	fill_finding(small, finding);
	finding->rank[0] = group->rank.area;
	finding->rank[1] = group->rank.first;
	finding->rank[2] = group->rank.second;
	error = small_window(small, finding, kept, err);
	free(small);
	return error;
}

int
describe_replay(struct setups *setups, const struct manifest *manifest,
    const struct token *token, const struct runner_ear *ear,
    enum machine_stepping stepping, struct replayed *replayed,
    struct runner **runner, struct tz_error *err)
{
	struct campaign_entry entry;
	struct trial_options options = { .merge = false };
	struct runner_counts counts;
	struct trial place;
	int error = campaign_entry_read(manifest, token, &entry, err);

	if (error == 0)
		error = setups_get(setups, entry.cpus, entry.layout,
		    entry.settings, runner, err);
	if (error == 0)
		error = trial_open(
		    &place, *runner, &entry.sequence, &options, err);
	if (error != 0)
		return error;
	(void)decoded_run(
	    &place, &token->schedule, ear, stepping, &replayed->outcome);
	replayed->result = *runner_result(*runner);
	replayed->state_hash = runner_hash(*runner);
	runner_counts(*runner, &counts);
	replayed->events = counts.events;
	if (replayed->outcome.count != 0)
		find_place(*runner, &replayed->outcome.violation[0].violation,
		    &replayed->where);
	else
		describe_place(*runner, replayed->result.rip, &replayed->where);
	trial_close(&place);
	return 0;
}
