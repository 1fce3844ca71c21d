#include "harness/explore/parts/campaign_entry.h"

#include <stdio.h>
#include <string.h>

#include "harness/explore/runner/array.h"

size_t
campaign_entry_add(
    struct campaign_entries *entries, const struct campaign_entry *entry)
{
	struct campaign_entry *at = array_grow(
	    entries->at, entries->count, &entries->room, sizeof(*at));

	if (at == NULL)
		return SIZE_MAX;
	entries->at = at;
	entries->at[entries->count] = *entry;
	return entries->count++;
}

const struct campaign_entry *
campaign_entry_of(
    const struct campaign *campaign, const struct stats_group *group)
{
	const struct campaign_area *area = &campaign->area[group->rank.area];

	if (area->kind == AREA_SEQUENCES)
		return &campaign->generated.at[group->rank.first];
	/* A fault that is no deviation has entries of its own. */
	return &campaign->entries.at[area->kind == AREA_FAULT ? group->rank.first
							      : area->entry];
}

int
campaign_entry_runner(struct campaign *campaign,
    const struct campaign_entry *entry, struct runner **runner,
    struct tz_error *err)
{
	return runner_pool_get(campaign->runner_pool, entry->cpus,
	    entry->layout, entry->settings, runner, err);
}

int
campaign_entry_open(struct campaign *campaign,
    const struct campaign_entry *entry, struct trial_options options,
    struct trial *trial, struct tz_error *err)
{
	struct runner *runner;
	int error = campaign_entry_runner(campaign, entry, &runner, err);

	options.insns_max = campaign->options.insns_max;
	return error != 0
	    ? error
	    : trial_open(trial, runner, &entry->sequence, &options, err);
}

const char *
campaign_entry_settings(
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
		entry->settings = campaign_entry_settings(
		    manifest, &entry->sequence);
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
