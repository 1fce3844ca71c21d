#include "harness/explore/describe/minimiser.h"

#include <stdio.h>
#include <string.h>

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
	const struct trial_options options = { .bare = minimiser->witness.id !=
		    CHECK_NOT_RUN,
		.must_run = minimiser->witness.id == CHECK_NOT_RUN };
	struct trial place;
	struct outcome outcome;
	struct tz_error err;
	bool shown;

	if (campaign_entry_open(
		minimiser->campaign, entry, options, &place, &err) != 0)
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
		entry.settings = campaign_entry_settings(
		    manifest, &entry.sequence);
		/* A token without steps names a scenario. */
		if (entry.sequence.count != 0 &&
		    entry.sequence.count <
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

/*
 * True if each try takes a run to its limit and then a judgement whether it waits without
 * end (identity.c), minutes in all: such a run is kept as it is.
 */
static bool
is_endless(const struct minimiser *minimiser)
{
	return minimiser->witness.id == CHECK_LIMIT &&
	    minimiser->identity.root.site.rip == 0;
}

bool
minimiser_run(struct minimiser *minimiser)
{
	if (!is_endless(minimiser)) {
		drop_deviations(minimiser);
		drop_words(minimiser);
		drop_steps(minimiser);
	}
	return identity_find(
	    minimiser->campaign, &minimiser->witness, &minimiser->identity);
}

void
minimiser_token(const struct campaign *campaign,
    const struct campaign_entry *entry, const struct schedule *schedule,
    char *text, size_t text_size)
{
	struct token token = { .seed = campaign->options.seed,
		.schedule = *schedule };

	campaign_entry_write(campaign->build_cache, entry, &token);
	if (!token_format(&token, text, text_size))
		text[0] = '\0';
}
