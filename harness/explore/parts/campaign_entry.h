/*
 * The entries of a campaign: one sequence on one set-up of the guest each, from
 * scenarios, tokens and generators.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_PARTS_CAMPAIGN_ENTRY_H
#define TOPAZ_HARNESS_EXPLORE_PARTS_CAMPAIGN_ENTRY_H

#include "harness/explore/parts/campaign_state.h"
#include "harness/explore/runner/runner_pool.h"

/* Adds a copy and returns its index, or SIZE_MAX: no memory. */
size_t campaign_entry_add(
    struct campaign_entries *entries, const struct campaign_entry *entry);

/* The entry that a group of the statistics belongs to. */
const struct campaign_entry *campaign_entry_of(
    const struct campaign *campaign, const struct stats_group *group);

/* A runner for ENTRY; it stays open for later calls.  Errors as of runner_open(). */
int campaign_entry_runner(struct campaign *campaign,
    const struct campaign_entry *entry, struct runner **runner,
    struct tz_error *err);

/*
 * Opens a trial of ENTRY, with OPTIONS and the campaign's .insns_max.  Errors as of
 * campaign_entry_runner() and trial_open().
 */
int campaign_entry_open(struct campaign *campaign,
    const struct campaign_entry *entry, struct trial_options options,
    struct trial *trial, struct tz_error *err);

/*
 * Guest boot parameters for SEQUENCE: the manifest's if the sequence loads the driver
 * itself; if not, none: the driver is loaded at boot.
 */
const char *campaign_entry_settings(
    const struct manifest *manifest, const struct sequence *sequence);

/*
 * Fills ENTRY from a token's subject.  -TZ_ENOENT: no such scenario; -TZ_EUSAGE:
 * invalid steps.  ENTRY refers to MANIFEST.
 */
int campaign_entry_read(const struct manifest *manifest,
    const struct token *token, struct campaign_entry *entry,
    struct tz_error *err);

/*
 * The reverse: fills in the subject, the profile and the check of TOKEN, which is
 * empty.
 */
void campaign_entry_write(struct build_cache *build_cache,
    const struct campaign_entry *entry, struct token *token);

#endif
