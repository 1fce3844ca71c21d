/*
 * Layout: how the guest of a run is set up, as words joined by ',' (table in layout.c).
 */
#ifndef TOPAZ_HARNESS_EXPLORE_RUNNER_LAYOUT_H
#define TOPAZ_HARNESS_EXPLORE_RUNNER_LAYOUT_H

#include "emu/profile/cpu_set.h"

#define LAYOUT_ABSENT_MAX     8
#define LAYOUT_ALL_CPUS       CPU_SET_MAX
#define LAYOUT_SETTINGS_BYTES 192

struct layout {
	bool invariants; /* the driver is compiled with INVARIANTS */
	char settings[LAYOUT_SETTINGS_BYTES]; /* guest boot parameters */
	/* of all CPUs; NULL: as the user chose */
	const struct profile *profile;
	struct layout_absent {
		const struct profile_feature_mask *feature;
		unsigned cpu; /* without that feature, or LAYOUT_ALL_CPUS */
	} absent[LAYOUT_ABSENT_MAX];
	size_t absent_count;
};

/* -TZ_EUSAGE: unknown word, named in ERR. */
int layout_parse(
    const char *words, struct layout *layout, struct tz_error *err);

/*
 * Applies LAYOUT to CPU_SET, the user's choice, for CPU_COUNT CPUs.  -TZ_EUSAGE: LAYOUT
 * names a CPU that does not exist.
 */
int layout_cpu_set(const struct layout *layout, unsigned cpu_count,
    struct cpu_set *cpu_set, struct tz_error *err);

/* All layout words, for lists; NULL after the last. */
struct layout_word {
	const char *word, *text;
};
const struct layout_word *layout_word_at(size_t index);

#endif
