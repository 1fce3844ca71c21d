/*
 * From the statistics of an exploration of a booted kernel to a summary that
 * harness/report prints.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_LINUX_LINUX_FINDINGS_H
#define TOPAZ_HARNESS_EXPLORE_LINUX_LINUX_FINDINGS_H

#include "harness/explore/linux/linux_explore.h"
#include "harness/finding/finding.h"

#define LINUX_DRIVER "linux-pt"

/* The token of SCHEDULE.  PROFILE: as in emu/profile/cpu_set.h. */
bool linux_findings_token(struct linux_run *run, const char *profile,
    const struct schedule *schedule, char *text, size_t text_size);

/*
 * Fills in SUMMARY's driver, profile, findings and coverage.  Each group of violations
 * is a finding unless it is a symptom of another one.  -TZ_EIO: no memory.
 */
int linux_findings(const struct linux_explore *explore, const char *profile,
    struct finding_summary *summary, struct tz_error *err);

#endif
