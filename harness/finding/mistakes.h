/*
 * Which groups of violations are one mistake of the driver, and the findings of a
 * summary from that.  No machine is needed: the groups of all shards of an exploration
 * give the findings that one exploration of the whole gives.
 */
#ifndef TOPAZ_HARNESS_FINDING_MISTAKES_H
#define TOPAZ_HARNESS_FINDING_MISTAKES_H

#include "harness/finding/finding.h"

/*
 * Fills FIRST, for each of COUNT groups in order, with the index of the first of its
 * mistake, which represents it: one that follows from no other violation, where there
 * is one.  Of the same violations, which several shards have, the first counts:
 * SIZE_MAX for the others.
 */
void mistakes_part(
    const struct finding_group *group, size_t count, size_t *first);

/*
 * Adds FROM's groups to INTO's, another shard of the same exploration: in order, as
 * stats_sort() has them.  -TZ_EIO: no memory.
 */
int mistakes_join(struct finding_summary *into,
    const struct finding_summary *from, struct tz_error *err);

/*
 * Fills SUMMARY->finding from its groups: with what else shows each mistake, and
 * without those that turn out to be another one now that they are small.  -TZ_EIO: no
 * memory.
 */
int mistakes_sum(struct finding_summary *summary, struct tz_error *err);

#endif
