#define _GNU_SOURCE
#include "harness/explore/describe/describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum finding_class
class_of(const struct schedule *schedule)
{
	enum finding_class class = FINDING_BASE;

	for (unsigned i = 0; i < schedule->count; i++) {
		if (deviation_info(schedule->deviation[i].kind)->class ==
		    DEVIATION_CLASS_FAULT)
			return FINDING_FAULT;
		class = FINDING_SCHEDULE;
	}
	return class;
}

/* Formats the text of VIOLATION and the operation of SEQUENCE in which it occurred. */
static void
format_message(const struct manifest *manifest, const struct sequence *sequence,
    const struct check_violation *violation, char message[FINDING_TEXT_BYTES])
{
	bool in_step = violation->step < sequence->count;

	snprintf(message, FINDING_TEXT_BYTES, "%s%s%s", violation->text,
	    in_step ? ", in operation " : "",
	    in_step
		? manifest_op_name(manifest, sequence->step[violation->step].op)
		: "");
}

static void
fill_finding(const struct minimiser *minimiser, struct finding *finding)
{
	struct build_cache *build_cache = minimiser->campaign->build_cache;
	const struct identity *identity = &minimiser->identity;
	const struct check_violation *violation = &identity->root;
	struct runner *runner;
	struct tz_error err;

	*finding = (struct finding){ .check = violation->id,
		.judged = !outcome_is_unjudged(violation),
		.cause = identity->cause,
		.own = minimiser->witness.own,
		.class = class_of(&minimiser->witness.schedule),
		.cpu = violation->cpu,
		.insns = violation->insns,
		.event = violation->event,
		.place = identity->place,
		.state_hash = identity->state_hash };
	snprintf(finding->driver, sizeof(finding->driver), "%s",
	    build_cache_config(build_cache)->driver);
	snprintf(finding->profile, sizeof(finding->profile), "%s",
	    build_cache_models(build_cache));
	snprintf(finding->sha256, sizeof(finding->sha256), "%s",
	    build_cache_sha256(build_cache));
	memcpy(finding->entry, identity->entry, sizeof(finding->entry));
	memcpy(finding->object, identity->object, sizeof(finding->object));
	if (identity->entry_place.line != identity->place.line)
		finding_format_place(&identity->entry_place, finding->through);
	schedule_kinds(&minimiser->witness.schedule, finding->kinds,
	    sizeof(finding->kinds));
	sequence_format(build_cache_manifest(build_cache),
	    &minimiser->witness.entry.sequence, finding->steps,
	    sizeof(finding->steps));
	snprintf(finding->scenario, sizeof(finding->scenario), "%s",
	    minimiser->witness.entry.name[0] != '\0'
		? minimiser->witness.entry.name
		: "sequence");
	minimiser_token(minimiser->campaign, &minimiser->witness.entry,
	    &minimiser->witness.schedule, finding->token,
	    sizeof(finding->token));
	if (campaign_entry_runner(minimiser->campaign,
		&minimiser->witness.entry, &runner, &err) == 0) {
		finding->insns = runner_relative(
		    runner, violation->cpu, violation->insns);
		finding->cycles = runner_relative_cycles(
		    runner, violation->cycles);
	}
	format_message(build_cache_manifest(build_cache),
	    &minimiser->witness.entry.sequence, violation, finding->message);
	snprintf(finding->fingerprint, FINDING_PRINT_BYTES, "%016" PRIx64,
	    identity_print(build_cache, finding));
}

void
describe_symptom(struct campaign *campaign, const struct stats_group *group,
    const struct identity *identity, struct finding_symptom *symptom)
{
	const struct campaign_entry *entry = campaign_entry_of(campaign, group);

	*symptom = (struct finding_symptom){ .check = identity->violation.id,
		.rank = {
		    group->rank.area, group->rank.first, group->rank.second } };
	schedule_kinds(
	    &group->schedule, symptom->kinds, sizeof(symptom->kinds));
	minimiser_token(campaign, entry, &group->schedule, symptom->token,
	    sizeof(symptom->token));
	format_message(build_cache_manifest(campaign->build_cache),
	    &entry->sequence, &identity->violation, symptom->message);
	finding_format_place(&identity->own_place, symptom->where);
}

int
describe_finding(struct campaign *campaign, const struct stats_group *group,
    const struct identity *identity, struct finding *finding,
    struct failure_window *known, struct tz_error *err)
{
	struct minimiser *minimiser = calloc(1, sizeof(*minimiser));
	int error;

	if (minimiser == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	minimiser->campaign = campaign;
	minimiser->witness.entry = *campaign_entry_of(campaign, group);
	minimiser->witness.schedule = group->schedule;
	minimiser->witness.id = group->violation.id;
	minimiser->witness.own = group->own;
	minimiser->identity = *identity;
	if (minimiser_run(minimiser)) {
		fill_finding(minimiser, finding);
		finding->rank[0] = group->rank.area;
		finding->rank[1] = group->rank.first;
		finding->rank[2] = group->rank.second;
		error = failure_window_find(minimiser, finding, known, err);
	} else {
		error = tz_error(err, TZ_EFORMAT,
		    "'%s' does not show again: please report this",
		    group->violation.text);
	}
	free(minimiser);
	return error;
}
