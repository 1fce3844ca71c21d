/*
 * How a guest is set up for a run: words joined by ',' (a table in layout.c).
 */
#ifndef TOPAZ_HARNESS_EXPLORE_RUNNER_LAYOUT_H
#define TOPAZ_HARNESS_EXPLORE_RUNNER_LAYOUT_H

#include "emu/profile/cpu_set.h"

#define LAYOUT_ABSENT_MAX     8
#define LAYOUT_ALL_CPUS       CPU_SET_MAX
#define LAYOUT_SETTINGS_BYTES 192

struct layout {
	bool invariants; /* the driver is compiled with INVARIANTS */
	char settings[LAYOUT_SETTINGS_BYTES]; /* words for the guest */
	const struct profile *profile; /* of all CPUs; NULL: as the user says */
	struct layout_absent {
		const struct profile_feature_mask *feature;
		unsigned cpu; /* that lacks it, or LAYOUT_ALL_CPUS */
	} absent[LAYOUT_ABSENT_MAX];
	size_t absent_count;
};

/* -TZ_EUSAGE: names the word that is none. */
int layout_parse(
    const char *words, struct layout *layout, struct tz_error *err);

/*
 * MIX, what the user says, as LAYOUT has it on CPU_COUNT CPUs.  -TZ_EUSAGE: a CPU that
 * there is not.
 */
int layout_cpu_set(const struct layout *layout, unsigned cpu_count,
    struct cpu_set *cpu_set, struct tz_error *err);

/* The words that there are, for lists: NULL past the last. */
struct layout_word {
	const char *word, *text;
};
const struct layout_word *layout_word_at(size_t index);

#endif
