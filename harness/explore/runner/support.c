#include "harness/explore/runner/support.h"

#include "emu/pt/msr/msr.h"

/* True if WRMSR accepts the values of EXPECT on a CPU of PROFILE. */
static bool
takes(const struct profile *profile, const struct check_expect *expect)
{
	enum msr_id id = msr_find(expect->msr);
	uint64_t value = expect->value;

	if (id == MSR_CTL)
		value |= CTL_TRACE_EN | CTL_TOPA;
	return id == MSR_COUNT || msr_accepts(profile, id, 0, value);
}

enum support
support_of(const struct cpu_set *cpu_set, unsigned cpu_count,
    const struct manifest *manifest, const struct sequence *sequence,
    unsigned step, const char **field)
{
	struct check_expect expect[CHECK_EXPECT_MAX];
	int count = sequence_expect_own(manifest, sequence, step, expect);
	unsigned taking = 0;

	*field = NULL;
	for (unsigned cpu = 0; cpu < cpu_count; cpu++) {
		const struct profile *profile = cpu_set_of(cpu_set, cpu);
		int taken = 0;

		while (taken < count && takes(profile, &expect[taken]))
			taken++;
		taking += taken >= count;
		if (taken < count)
			*field = expect[taken].field;
	}
	return taking == cpu_count ? SUPPORT_ALL
	    : taking != 0          ? SUPPORT_SOME
				   : SUPPORT_NONE;
}

bool
support_is_usual(const struct cpu_set *cpu_set, unsigned cpu_count,
    const struct profile *usual)
{
	const struct profile_feature_mask *feature;

	for (size_t i = 0; (feature = profile_feature_at(i)) != NULL; i++) {
		if (profile_feature_is_optional(feature) ||
		    !profile_has(usual, feature))
			continue;
		for (unsigned cpu = 0; cpu < cpu_count; cpu++) {
			if (!profile_has(cpu_set_of(cpu_set, cpu), feature))
				return false;
		}
	}
	return true;
}
