/*
 * The processors of one machine: the profile of each CPU, and the errata that are
 * on.  One line of text describes them, on a command line, in a token and in a
 * report:
 *
 *   NAME[*COUNT][,NAME[*COUNT]]...[+ERRATUM]...[+cost]
 *
 * CPU n has the n-th name of the list, and the list repeats: on four CPUs,
 * "alderlake-p,alderlake-e" is P, E, P, E and "alderlake-p*2,alderlake-e*2" is P, P, E,
 * E. An erratum is on for each CPU whose model has it.  With "cost", instructions take
 * the time of the cost model (emu/cpu/cost) on every CPU; else a cycle each.
 */
#ifndef TOPAZ_EMU_PROFILE_CPU_SET_H
#define TOPAZ_EMU_PROFILE_CPU_SET_H

#include "emu/profile/profile.h"

#define CPU_SET_MAX        8 /* names, with counts expanded */
#define CPU_SET_TEXT_BYTES 256
#define CPU_SET_COST_KEY   "cost"

struct cpu_set {
	unsigned count; /* 1..CPU_SET_MAX: the shortest list with this
			   repetition */
	struct profile profile[CPU_SET_MAX]; /* with .errata_on and .cost */
	/*
	 * The description in canonical form: without COUNTs, and only of
	 * [a-z0-9,+-], so that it needs no quoting in a shell.
	 */
	char text[CPU_SET_TEXT_BYTES];
};

/*
 * Parses TEXT and ERRATA (further keys, comma-separated, or NULL).  If names differ
 * the machine is a hybrid part, and CPUID of every profile reports that.
 * -TZ_EUSAGE: bad list or count; two models whose clocks differ (a machine has one
 * crystal clock and one TSC); an erratum that no model has; -TZ_ENOENT: no such
 * profile or erratum.
 */
int cpu_set_parse(const char *text, const char *errata, struct cpu_set *cpu_set,
    struct tz_error *err);

/* All CPUs are PROFILE. */
void cpu_set_set(struct cpu_set *cpu_set, const struct profile *profile);

/* The time of instructions is the cost model's, as with "cost" in the text. */
void cpu_set_use_cost(struct cpu_set *cpu_set);
/* True if it is. */
bool cpu_set_has_cost(const struct cpu_set *cpu_set);

/*
 * Removes FEATURE from CPU, below CPU_COUNT (at most CPU_SET_MAX).  The CPUs then
 * differ, and their CPUID reports a hybrid part.  .text does not change.
 */
void cpu_set_without(struct cpu_set *cpu_set, unsigned cpu, unsigned cpu_count,
    const struct profile_feature_mask *feature);

/* The profile of CPU, valid as long as CPU_SET exists. */
const struct profile *cpu_set_of(const struct cpu_set *cpu_set, unsigned cpu);

#endif
