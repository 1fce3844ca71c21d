/*
 * Decides which groups of violations are one mistake of the driver, and makes the
 * findings of a summary.  Needs no machine: the groups of all shards of an exploration
 * give the same findings as one exploration of the whole.
 */
#ifndef TOPAZ_HARNESS_FINDING_MISTAKES_H
#define TOPAZ_HARNESS_FINDING_MISTAKES_H

#include "harness/finding/finding.h"

/*
 * Sets FIRST[i], for each of the COUNT groups in order, to the index of the group that
 * represents its mistake: if possible, one that is no symptom of another violation.  If
 * several shards have the same violation, the first counts; FIRST is SIZE_MAX for the
 * others.
 */
void mistakes_part(
    const struct finding_group *group, size_t count, size_t *first);

/*
 * Adds the groups of FROM, another shard of the same exploration, to INTO, in the order
 * of stats_sort().  -TZ_EIO: no memory.
 */
int mistakes_join(struct finding_summary *into,
    const struct finding_summary *from, struct tz_error *err);

/*
 * Fills SUMMARY->finding from its groups: adds the symptoms of each mistake, and drops
 * findings that, after minimisation, are the same mistake as another.  -TZ_EIO: no
 * memory.
 */
int mistakes_sum(struct finding_summary *summary, struct tz_error *err);

#endif
