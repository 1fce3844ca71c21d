/*
 * Makes the findings of a campaign from the groups of violations that it counted: one
 * for each mistake of the driver, with all its symptoms, and one for each reason why
 * runs could not be judged.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_DESCRIBE_FINDINGS_H
#define TOPAZ_HARNESS_EXPLORE_DESCRIBE_FINDINGS_H

#include "harness/explore/describe/describe.h"

struct findings;

/*
 * Fills SUMMARY->finding from CAMPAIGN's groups, in .jobs processes.  *INTERRUPTED is
 * set if the user interrupted it: findings may then not be minimal.  -TZ_EIO: no
 * memory, or a worker died.  FINDINGS must be freed after success.
 */
int findings_make(struct campaign *campaign, struct finding_summary *summary,
    bool *interrupted, struct findings **findings, struct tz_error *err);
void findings_free(struct findings *findings);

/*
 * The number of groups that did not occur again, each with an error line: bugs of
 * topaz.
 */
size_t findings_unshown(const struct findings *findings);
const char *findings_unshown_text(
    const struct findings *findings, size_t index);

/* The known outcomes of the window of SUMMARY's finding INDEX. */
struct failure_window *findings_window(struct findings *findings, size_t index);

#endif
