/*
 * The processors of one machine: which profile each of its CPUs has, and the errata
 * that show.  One line of text says it, for a command line, a token and a report:
 *
 *   NAME[*COUNT][,NAME[*COUNT]]...[+ERRATUM]...
 *
 * CPU n has the n-th name of the list, and behind its end the list begins again:
 * "alderlake-p,alderlake-e" is P, E, P, E on four CPUs, "alderlake-p*2,alderlake-e*2"
 * P, P, E, E.  An erratum shows on each CPU whose model has it.
 */
#ifndef TOPAZ_EMU_PROFILE_CPU_SET_H
#define TOPAZ_EMU_PROFILE_CPU_SET_H

#include "emu/profile/profile.h"

#define CPU_SET_MAX        8 /* names, after their counts */
#define CPU_SET_TEXT_BYTES 256

struct cpu_set {
	unsigned count; /* 1..CPU_SET_MAX: the shortest list that says it */
	struct profile profile[CPU_SET_MAX]; /* with .errata_on */
	/*
	 * As above, the same for all that say the same: without COUNTs, and of
	 * [a-z0-9,+-] only, so that a shell takes it as it is.
	 */
	char text[CPU_SET_TEXT_BYTES];
};

/*
 * Reads TEXT, and ERRATA, further keys by comma, or NULL.  Where names differ the
 * machine is a hybrid part, and every profile says so.  -TZ_EUSAGE: bad list or
 * count; two models whose clocks differ (a machine has one crystal clock and one
 * TSC); an erratum that no model has; -TZ_ENOENT: no such profile or erratum.
 */
int cpu_set_parse(const char *text, const char *errata, struct cpu_set *cpu_set,
    struct tz_error *err);

/* All CPUs are PROFILE. */
void cpu_set_set(struct cpu_set *cpu_set, const struct profile *profile);

/*
 * CPU, below CPU_COUNT (at most CPU_SET_MAX), lacks FEATURE; the CPUs of the
 * machine differ then, and say so, as those of a hybrid part.  .text stays.
 */
void cpu_set_without(struct cpu_set *cpu_set, unsigned cpu, unsigned cpu_count,
    const struct profile_feature_mask *feature);

/* That of CPU, for as long as MIX stands. */
const struct profile *cpu_set_of(const struct cpu_set *cpu_set, unsigned cpu);

#endif
