/* The entries of a campaign: scenarios, and sequences without a name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/explore/search/campaign.h"

size_t
campaign_add_entry(
    struct campaign *campaign, const struct campaign_entry *entry)
{
	if (campaign->entry_count == campaign->entry_room) {
		size_t room = campaign->entry_room == 0
		    ? 64
		    : 2 * campaign->entry_room;
		struct campaign_entry *more = realloc(
		    campaign->entry, room * sizeof(*more));

		if (more == NULL)
			return SIZE_MAX;
		campaign->entry = more;
		campaign->entry_room = room;
	}
	campaign->entry[campaign->entry_count] = *entry;
	return campaign->entry_count++;
}

const char *
campaign_settings(
    const struct manifest *manifest, const struct sequence *sequence)
{
	for (unsigned i = 0; i < sequence->count; i++) {
		if (strcmp(manifest_op_name(manifest, sequence->step[i].op),
			"load") == 0)
			return manifest_settings(manifest);
	}
	return "";
}

int
campaign_entry_read(const struct manifest *manifest, const struct token *token,
    struct campaign_entry *entry, struct tz_error *err)
{
	const struct manifest_scenario *scenario;

	*entry = (struct campaign_entry){ .cpus = token->cpus,
		.settings = manifest_settings(manifest) };
	memcpy(entry->layout, token->layout, sizeof(entry->layout));
	if (token->steps[0] != '\0') {
		int error = sequence_parse(
		    manifest, token->steps, &entry->sequence, err);

		entry->cpus = token->cpus != 0 ? token->cpus : 1;
		entry->settings = campaign_settings(manifest, &entry->sequence);
		return error;
	}
	scenario = manifest_scenario(manifest, token->name);
	if (scenario == NULL)
		return tz_error(err, TZ_ENOENT,
		    "%s: no such scenario; see: topaz list scenarios",
		    token->name);
	snprintf(entry->name, sizeof(entry->name), "%s", scenario->name);
	entry->settings = scenario->settings;
	if (token->cpus == 0)
		entry->cpus = scenario->cpus;
	return sequence_parse(manifest, scenario->steps, &entry->sequence, err);
}

void
campaign_entry_write(struct build_cache *build_cache,
    const struct campaign_entry *entry, struct token *token)
{
	struct tz_error err;

	if (build_cache_check(build_cache, &token->check, &err) != 0)
		token->check = 0;
	memcpy(token->layout, entry->layout, sizeof(token->layout));
	snprintf(token->profile, sizeof(token->profile), "%s",
	    build_cache_models(build_cache));
	if (entry->name[0] != '\0') {
		snprintf(token->name, sizeof(token->name), "%s", entry->name);
		return;
	}
	snprintf(token->name, sizeof(token->name), "%s",
	    build_cache_config(build_cache)->driver);
	token->cpus = entry->cpus;
	sequence_format(build_cache_manifest(build_cache), &entry->sequence,
	    token->steps, sizeof(token->steps));
}

static int
read_entry(
    struct campaign *campaign, const struct token *token, struct tz_error *err)
{
	struct campaign_entry entry;
	int error = campaign_entry_read(
	    build_cache_manifest(campaign->build_cache), token, &entry, err);

	if (error == 0 && campaign_add_entry(campaign, &entry) == SIZE_MAX)
		error = tz_error(err, TZ_EIO, "out of memory");
	return error;
}

int
campaign_make_entries(struct campaign *campaign, struct tz_error *err)
{
	const struct manifest *manifest = build_cache_manifest(
	    campaign->build_cache);
	struct token token = { .cpus = 0 };
	int error = 0;

	if (campaign->options.subject != NULL) {
		error = token_parse_subject(
		    campaign->options.subject, &token, err);
		return error != 0 ? error : read_entry(campaign, &token, err);
	}
	for (size_t i = 0; error == 0 && i < manifest_scenario_count(manifest);
	     i++) {
		snprintf(token.name, sizeof(token.name), "%s",
		    manifest_scenario_at(manifest, i)->name);
		error = read_entry(campaign, &token, err);
	}
	if (error == 0 && campaign->entry_count == 0 &&
	    !campaign->options.sequences)
		error = tz_error(err, TZ_ENOENT, "%s: there is no scenario",
		    build_cache_config(campaign->build_cache)->driver);
	return error;
}
