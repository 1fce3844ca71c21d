/*
 * Whether the CPUs of a machine can be configured as a step of a sequence wants: what
 * WRMSR accepts on each, of the values that the manifest says are written.
 */
#ifndef TOPAZ_HARNESS_EXPLORE_SEARCH_SUPPORT_H
#define TOPAZ_HARNESS_EXPLORE_SEARCH_SUPPORT_H

#include "emu/profile/cpu_set.h"
#include "harness/manifest/manifest.h"

enum support { SUPPORT_NONE, SUPPORT_SOME, SUPPORT_ALL };

/*
 * Which of CPU_COUNT CPUs of MIX take what step STEP asks for; all if it asks for nothing.
 * *FIELD: of those that no CPU takes the first, or NULL.
 */
enum support support_of(const struct cpu_set *cpu_set, unsigned cpu_count,
    const struct manifest *manifest, const struct sequence *sequence,
    unsigned step, const char **field);

/*
 * Has each CPU all that the first profile has, but for what a configuration may do
 * without (profile_feature_is_optional())?
 */
bool support_is_usual(const struct cpu_set *cpu_set, unsigned cpu_count);

#endif
