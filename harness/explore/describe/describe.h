/*
 * Makes a finding that a human reads from a group of violations.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_DESCRIBE_DESCRIBE_H
#define TOPAZ_HARNESS_EXPLORE_DESCRIBE_DESCRIBE_H

#include "harness/explore/describe/failure_window.h"

/*
 * Makes FINDING of GROUP, whose IDENTITY is known: minimised, and with its window, whose
 * outcomes are saved in KNOWN (all 0, or NULL).  While CAMPAIGN's .hurry is true,
 * nothing is minimised and no window is determined.  -TZ_EFORMAT: the violation does not
 * occur again (a bug of topaz); others as of runner_open().
 */
int describe_finding(struct campaign *campaign, const struct stats_group *group,
    const struct identity *identity, struct finding *finding,
    struct failure_window *known, struct tz_error *err);
/* Makes SYMPTOM of GROUP, whose IDENTITY is known. */
void describe_symptom(struct campaign *campaign,
    const struct stats_group *group, const struct identity *identity,
    struct finding_symptom *symptom);

#endif
