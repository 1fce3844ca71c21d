#define _GNU_SOURCE
#include "harness/explore/describe/describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/explore/describe/minimiser.h"
#include "harness/explore/runner/runner_pool.h"

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

/* True if OUTCOME has the violation that becomes a finding. */
static bool
has_own(const struct minimiser *minimiser, const struct outcome *outcome)
{
	for (unsigned i = 0; i < outcome->count; i++) {
		if (outcome->violation[i].violation.id ==
			minimiser->witness.id &&
		    outcome->violation[i].own == minimiser->witness.own)
			return true;
	}
	return false;
}

/* If the place was not known at once, another mistake may cause the same violation. */
static bool
is_same_mistake(struct minimiser *minimiser, const struct campaign_entry *entry,
    const struct schedule *schedule)
{
	const struct witness witness = { *entry, *schedule,
		minimiser->witness.id, minimiser->witness.own };
	struct identity identity;

	if (minimiser->identity.root.site.rip != 0)
		return true;
	return identity_find(minimiser->campaign, &witness, &identity) &&
	    identity.cause == minimiser->identity.cause;
}

/* True if SCHEDULE on ENTRY shows the same violation.  Errors count as false. */
static bool
shows(struct minimiser *minimiser, const struct campaign_entry *entry,
    const struct schedule *schedule)
{
	struct trial_options options = { .bare = minimiser->witness.id !=
		    CHECK_NOT_RUN,
		.must_run = minimiser->witness.id == CHECK_NOT_RUN,
		.insns_max = minimiser->campaign->options.insns_max };
	struct trial place;
	struct runner *runner;
	struct outcome outcome;
	struct tz_error err;
	bool shown;

	if (campaign_runner(minimiser->campaign, entry, &runner, &err) != 0 ||
	    trial_open(&place, runner, &entry->sequence, &options, &err) != 0)
		return false;
	outcome = place.base;
	if (minimiser->witness.id == CHECK_DECODED)
		(void)trial_run_decoded(
		    &place, schedule, NULL, STEPPING_NONE, &outcome);
	else if (schedule->count != 0)
		trial_run(&place, schedule, &outcome);
	shown = has_own(minimiser, &outcome);
	trial_close(&place);
	return shown && is_same_mistake(minimiser, entry, schedule);
}

/* Copies LAYOUT without word number INDEX; false: no such word. */
static bool
drop_word(const char *layout, unsigned index, char shorter[TOKEN_WORDS_BYTES])
{
	const char *at = layout;
	size_t before, length;

	for (; index != 0 && *at != '\0'; index--) {
		at += strcspn(at, ",");
		at += *at == ',';
	}
	if (*at == '\0')
		return false;
	before = (size_t)(at - layout);
	length = strcspn(at, ",");
	length += at[length] == ',';
	snprintf(shorter, TOKEN_WORDS_BYTES, "%.*s%s", (int)before, layout,
	    at + length);
	before = strlen(shorter);
	if (before != 0 && shorter[before - 1] == ',')
		shorter[before - 1] = '\0';
	return true;
}

/* Removes layout words that are not needed. */
static void
drop_words(struct minimiser *minimiser)
{
	struct campaign_entry entry = minimiser->witness.entry;
	unsigned index = 0;

	if (minimiser->witness.schedule.count != 0 || entry.name[0] != '\0')
		return;
	while (!minimiser_hurries(minimiser) &&
	    drop_word(minimiser->witness.entry.layout, index, entry.layout)) {
		if (shows(minimiser, &entry, &minimiser->witness.schedule))
			minimiser->witness.entry = entry;
		else
			index++;
	}
}

/* Removes operations, if there are no deviations: their places would change. */
static void
drop_steps(struct minimiser *minimiser)
{
	const struct manifest *manifest = build_cache_manifest(
	    minimiser->campaign->build_cache);

	if (minimiser->witness.schedule.count != 0 ||
	    minimiser->witness.entry.name[0] != '\0')
		return;
	for (unsigned i = minimiser->witness.entry.sequence.count; i-- > 0;) {
		struct campaign_entry entry = minimiser->witness.entry;

		if (i >= minimiser->witness.entry.sequence.count ||
		    minimiser_hurries(minimiser))
			continue;
		sequence_drop(manifest, &minimiser->witness.entry.sequence, i,
		    &entry.sequence);
		entry.settings = campaign_settings(manifest, &entry.sequence);
		if (entry.sequence.count <
			minimiser->witness.entry.sequence.count &&
		    shows(minimiser, &entry, &minimiser->witness.schedule))
			minimiser->witness.entry = entry;
	}
}

/* Removes deviations that are not needed. */
static void
drop_deviations(struct minimiser *minimiser)
{
	for (unsigned i = minimiser->witness.schedule.count;
	     i-- > 0 && !minimiser_hurries(minimiser);) {
		struct schedule schedule = minimiser->witness.schedule;

		memmove(&schedule.deviation[i], &schedule.deviation[i + 1],
		    (schedule.count - i - 1) * sizeof(schedule.deviation[0]));
		schedule.count--;
		if (shows(minimiser, &minimiser->witness.entry, &schedule))
			minimiser->witness.schedule = schedule;
	}
}

void
minimiser_token(const struct minimiser *minimiser,
    const struct schedule *schedule, char *text, size_t text_size)
{
	struct build_cache *build_cache = minimiser->campaign->build_cache;
	const struct campaign_entry *entry = &minimiser->witness.entry;
	struct token token = { .seed = minimiser->campaign->options.seed,
		.schedule = *schedule };
	struct tz_error err;

	if (build_cache_check(build_cache, &token.check, &err) != 0)
		token.check = 0;
	memcpy(token.layout, entry->layout, sizeof(token.layout));
	snprintf(token.profile, sizeof(token.profile), "%s",
	    build_cache_models(build_cache));
	if (entry->name[0] != '\0') {
		snprintf(token.name, sizeof(token.name), "%s", entry->name);
	} else {
		snprintf(token.name, sizeof(token.name), "%s",
		    build_cache_config(build_cache)->driver);
		token.cpus = entry->cpus;
		sequence_format(build_cache_manifest(build_cache),
		    &entry->sequence, token.steps, sizeof(token.steps));
	}
	if (!token_format(&token, text, text_size))
		text[0] = '\0';
}

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
	minimiser_token(minimiser, &minimiser->witness.schedule, finding->token,
	    sizeof(finding->token));
	if (campaign_runner(minimiser->campaign, &minimiser->witness.entry,
		&runner, &err) == 0) {
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
	struct minimiser minimiser = { .campaign = campaign,
		.witness.entry = *campaign_entry_of(campaign, group),
		.witness.schedule = group->schedule };

	*symptom = (struct finding_symptom){ .check = identity->violation.id,
		.rank = {
		    group->rank.area, group->rank.first, group->rank.second } };
	schedule_kinds(
	    &group->schedule, symptom->kinds, sizeof(symptom->kinds));
	minimiser_token(&minimiser, &group->schedule, symptom->token,
	    sizeof(symptom->token));
	format_message(build_cache_manifest(campaign->build_cache),
	    &minimiser.witness.entry.sequence, &identity->violation,
	    symptom->message);
	finding_format_place(&identity->own_place, symptom->where);
}

int
describe_finding(struct campaign *campaign, const struct stats_group *group,
    const struct identity *identity, struct finding *finding,
    struct describe_kept *kept, struct tz_error *err)
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
	drop_deviations(minimiser);
	drop_words(minimiser);
	drop_steps(minimiser);
	if (!identity_find(
		campaign, &minimiser->witness, &minimiser->identity)) {
		free(minimiser);
		return tz_error(err, TZ_EFORMAT,
		    "'%s' does not show again: please report this",
		    group->violation.text);
	}
	fill_finding(minimiser, finding);
	finding->rank[0] = group->rank.area;
	finding->rank[1] = group->rank.first;
	finding->rank[2] = group->rank.second;
	error = minimiser_window(minimiser, finding, kept, err);
	free(minimiser);
	return error;
}

/*
 * Finds where the driver was at the first violation, or, without one, where the run
 * ended.
 */
static void
find_where(struct runner *runner, struct replayed *replayed)
{
	const struct check_violation *first =
	    &replayed->outcome.violation[0].violation;
	uint64_t rip = replayed->result.rip;

	if (replayed->outcome.count != 0 && first->blame.rip != 0)
		rip = first->blame.rip;
	if (replayed->outcome.count != 0 && first->site.rip != 0)
		rip = first->site.rip;
	identity_place(runner, rip, &replayed->where);
}

int
describe_replay(struct runner_pool *runner_pool,
    const struct manifest *manifest, const struct token *token,
    const struct runner_observer *observer, enum machine_stepping stepping,
    struct replayed *replayed, struct runner **runner, struct tz_error *err)
{
	struct campaign_entry entry;
	struct trial_options options = { .merge = false };
	struct runner_counts counts;
	struct trial place;
	int error = campaign_entry_read(manifest, token, &entry, err);

	if (error == 0)
		error = runner_pool_get(runner_pool, entry.cpus, entry.layout,
		    entry.settings, runner, err);
	if (error == 0)
		error = trial_open(
		    &place, *runner, &entry.sequence, &options, err);
	if (error != 0)
		return error;
	runner_explain(*runner, true);
	replayed->compared = trial_run_decoded(
	    &place, &token->schedule, observer, stepping, &replayed->outcome);
	runner_explain(*runner, false);
	replayed->result = *runner_result(*runner);
	replayed->state_hash = runner_hash(*runner);
	runner_counts(*runner, &counts);
	replayed->events = counts.events;
	find_where(*runner, replayed);
	trial_close(&place);
	return 0;
}
