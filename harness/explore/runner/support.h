/*
 * Whether the CPUs of a machine support the configuration of a step of a sequence:
 * whether WRMSR accepts, on each CPU, the values that the manifest says are written.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_RUNNER_SUPPORT_H
#define TOPAZ_HARNESS_EXPLORE_RUNNER_SUPPORT_H

#include "emu/profile/cpu_set.h"
#include "harness/manifest/manifest.h"

enum support { SUPPORT_NONE, SUPPORT_SOME, SUPPORT_ALL };

/*
 * Which of CPU_COUNT CPUs of CPU_SET support what step STEP requests; all if it
 * requests nothing.  *FIELD: the first field that no CPU supports, or NULL.
 */
enum support support_of(const struct cpu_set *cpu_set, unsigned cpu_count,
    const struct manifest *manifest, const struct sequence *sequence,
    unsigned step, const char **field);

/*
 * True if each CPU has all features of USUAL, except those that a configuration may do
 * without (profile_feature_is_optional()).
 */
bool support_is_usual(const struct cpu_set *cpu_set, unsigned cpu_count,
    const struct profile *usual);

#endif
