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

/* Has OUTCOME the violation that becomes a finding? */
static bool
has_own(const struct small *small, const struct outcome *outcome)
{
	for (unsigned i = 0; i < outcome->count; i++) {
		if (outcome->violation[i].violation.id == small->witness.id &&
		    outcome->violation[i].own == small->witness.own)
			return true;
	}
	return false;
}

/* Where the place was not known at once, another mistake may show the same. */
static bool
is_same_mistake(struct small *small, const struct campaign_entry *entry,
    const struct schedule *schedule)
{
	const struct witness witness = { *entry, *schedule, small->witness.id,
		small->witness.own };
	struct identity identity;

	if (small->identity.root.site.rip != 0)
		return true;
	return identity_find(small->campaign, &witness, &identity) &&
	    identity.cause == small->identity.cause;
}

/* Does SCHEDULE on ENTRY show the same?  Errors count as no. */
static bool
shows(struct small *small, const struct campaign_entry *entry,
    const struct schedule *schedule)
{
	struct trial_options options = { .bare = small->witness.id !=
		    CHECK_NOT_RUN,
		.must_run = small->witness.id == CHECK_NOT_RUN,
		.insns_max = small->campaign->options.insns_max };
	struct trial place;
	struct runner *runner;
	struct outcome outcome;
	struct tz_error err;
	bool shown;

	if (campaign_runner(small->campaign, entry, &runner, &err) != 0 ||
	    trial_open(&place, runner, &entry->sequence, &options, &err) != 0)
		return false;
	outcome = place.base;
	if (small->witness.id == CHECK_DECODED)
		(void)decoded_run(
		    &place, schedule, NULL, STEPPING_NONE, &outcome);
	else if (schedule->count != 0)
		trial_run(&place, schedule, &outcome);
	shown = has_own(small, &outcome);
	trial_close(&place);
	return shown && is_same_mistake(small, entry, schedule);
}

/* LAYOUT without its word number INDEX; false: it has no such word. */
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

/* The plainest set-up: likewise. */
static void
drop_words(struct small *small)
{
	struct campaign_entry entry = small->witness.entry;
	unsigned index = 0;

	if (small->witness.schedule.count != 0 || entry.name[0] != '\0')
		return;
	while (!small_hurries(small) &&
	    drop_word(small->witness.entry.layout, index, entry.layout)) {
		if (shows(small, &entry, &small->witness.schedule))
			small->witness.entry = entry;
		else
			index++;
	}
}

/* Fewest operations: only without deviations, whose places would move. */
static void
drop_steps(struct small *small)
{
	const struct manifest *manifest = workshop_manifest(
	    small->campaign->workshop);

	if (small->witness.schedule.count != 0 ||
	    small->witness.entry.name[0] != '\0')
		return;
	for (unsigned i = small->witness.entry.sequence.count; i-- > 0;) {
		struct campaign_entry entry = small->witness.entry;

		if (i >= small->witness.entry.sequence.count ||
		    small_hurries(small))
			continue;
		sequence_drop(manifest, &small->witness.entry.sequence, i,
		    &entry.sequence);
		entry.settings = campaign_settings(manifest, &entry.sequence);
		if (entry.sequence.count <
			small->witness.entry.sequence.count &&
		    shows(small, &entry, &small->witness.schedule))
			small->witness.entry = entry;
	}
}

/* Fewest deviations. */
static void
drop_deviations(struct small *small)
{
	for (unsigned i = small->witness.schedule.count;
	     i-- > 0 && !small_hurries(small);) {
		struct schedule schedule = small->witness.schedule;

		memmove(&schedule.deviation[i], &schedule.deviation[i + 1],
		    (schedule.count - i - 1) * sizeof(schedule.deviation[0]));
		schedule.count--;
		if (shows(small, &small->witness.entry, &schedule))
			small->witness.schedule = schedule;
	}
}

void
small_token(const struct small *small, const struct schedule *schedule,
    char *text, size_t text_size)
{
	struct workshop *workshop = small->campaign->workshop;
	const struct campaign_entry *entry = &small->witness.entry;
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

/* MESSAGE: what VIOLATION says, and in which operation of SEQUENCE. */
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
fill_finding(const struct small *small, struct finding *finding)
{
	struct workshop *workshop = small->campaign->workshop;
	const struct identity *identity = &small->identity;
	const struct check_violation *violation = &identity->root;
	struct runner *runner;
	struct tz_error err;

	*finding = (struct finding){ .check = violation->id,
		.judged = !outcome_is_unjudged(violation),
		.cause = identity->cause,
		.own = small->witness.own,
		.class = class_of(&small->witness.schedule),
		.cpu = violation->cpu,
		.insns = violation->insns,
		.event = violation->event,
		.place = identity->place,
		.state_hash = identity->state_hash };
	snprintf(finding->driver, sizeof(finding->driver), "%s",
	    workshop_config(workshop)->driver);
	snprintf(finding->profile, sizeof(finding->profile), "%s",
	    workshop_models(workshop));
	snprintf(finding->sha256, sizeof(finding->sha256), "%s",
	    workshop_sha256(workshop));
	memcpy(finding->entry, identity->entry, sizeof(finding->entry));
	memcpy(finding->object, identity->object, sizeof(finding->object));
	if (identity->entry_place.line != identity->place.line)
		finding_format_place(&identity->entry_place, finding->through);
	schedule_kinds(
	    &small->witness.schedule, finding->kinds, sizeof(finding->kinds));
	sequence_format(workshop_manifest(workshop),
	    &small->witness.entry.sequence, finding->steps,
	    sizeof(finding->steps));
	snprintf(finding->scenario, sizeof(finding->scenario), "%s",
	    small->witness.entry.name[0] != '\0' ? small->witness.entry.name
						 : "sequence");
	small_token(small, &small->witness.schedule, finding->token,
	    sizeof(finding->token));
	if (campaign_runner(
		small->campaign, &small->witness.entry, &runner, &err) == 0) {
		finding->insns = runner_relative(
		    runner, violation->cpu, violation->insns);
		finding->cycles = runner_relative_cycles(
		    runner, violation->cycles);
	}
	format_message(workshop_manifest(workshop),
	    &small->witness.entry.sequence, violation, finding->message);
	snprintf(finding->fingerprint, FINDING_PRINT_BYTES, "%016" PRIx64,
	    identity_print(workshop, finding));
}

void
describe_symptom(struct campaign *campaign, const struct tally_group *group,
    const struct identity *identity, struct finding_symptom *symptom)
{
	struct small small = { .campaign = campaign,
		.witness.entry = *campaign_entry_of(campaign, group),
		.witness.schedule = group->schedule };

	*symptom = (struct finding_symptom){ .check = identity->violation.id,
		.rank = {
		    group->rank.area, group->rank.first, group->rank.second } };
	schedule_kinds(
	    &group->schedule, symptom->kinds, sizeof(symptom->kinds));
	small_token(
	    &small, &group->schedule, symptom->token, sizeof(symptom->token));
	format_message(workshop_manifest(campaign->workshop),
	    &small.witness.entry.sequence, &identity->violation,
	    symptom->message);
	finding_format_place(&identity->own_place, symptom->where);
}

int
describe_finding(struct campaign *campaign, const struct tally_group *group,
    const struct identity *identity, struct finding *finding,
    struct describe_kept *kept, struct tz_error *err)
{
	struct small *small = calloc(1, sizeof(*small));
	int error;

	if (small == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	small->campaign = campaign;
	small->witness.entry = *campaign_entry_of(campaign, group);
	small->witness.schedule = group->schedule;
	small->witness.id = group->violation.id;
	small->witness.own = group->own;
	small->identity = *identity;
	drop_deviations(small);
	drop_words(small);
	drop_steps(small);
	if (!identity_find(campaign, &small->witness, &small->identity)) {
		free(small);
		return tz_error(err, TZ_EFORMAT,
		    "'%s' does not show again: please report this",
		    group->violation.text);
	}
	fill_finding(small, finding);
	finding->rank[0] = group->rank.area;
	finding->rank[1] = group->rank.first;
	finding->rank[2] = group->rank.second;
	error = small_window(small, finding, kept, err);
	free(small);
	return error;
}

/* Where the driver was at the first violation, or else where the run ended. */
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
	runner_explain(*runner, true);
	replayed->compared = decoded_run(
	    &place, &token->schedule, ear, stepping, &replayed->outcome);
	runner_explain(*runner, false);
	replayed->result = *runner_result(*runner);
	replayed->state_hash = runner_hash(*runner);
	runner_counts(*runner, &counts);
	replayed->events = counts.events;
	find_where(*runner, replayed);
	trial_close(&place);
	return 0;
}
