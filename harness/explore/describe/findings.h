/*
 * From the groups of violations that a campaign counted to its findings: one for each
 * mistake of the driver, with everything that shows it, and one for each reason why
 * runs could not be judged.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_DESCRIBE_FINDINGS_H
#define TOPAZ_HARNESS_EXPLORE_DESCRIBE_FINDINGS_H

#include "harness/explore/describe/describe.h"

struct findings;

/*
 * Fills SUMMARY->finding from CAMPAIGN's groups, in all its jobs.  *INTERRUPTED is set
 * if the user stopped that: findings are then larger than they need be.  -TZ_EIO: no
 * memory, or a worker died.  FINDINGS is to be freed after success.
 */
int findings_make(struct campaign *campaign, struct finding_summary *summary,
    bool *interrupted, struct findings **findings, struct tz_error *err);
void findings_free(struct findings *findings);

/* Groups that did not show again, each with a line: bugs of topaz. */
size_t findings_unshown(const struct findings *findings);
const char *findings_unshown_text(
    const struct findings *findings, size_t index);

/* What is known of the window of SUMMARY's finding INDEX. */
struct describe_kept *findings_kept(struct findings *findings, size_t index);

#endif
