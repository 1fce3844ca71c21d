#include "harness/explore/search/life_values.h"

#include "harness/explore/parts/campaign_entry.h"

bool
life_value_asks(
    const struct sequence_values *values, const struct sequence *sequence)
{
	struct check_expect expect[CHECK_EXPECT_MAX], own[CHECK_EXPECT_MAX];
	const struct sequence *life = &values->life[values->at];
	int count, own_count, same = 0;

	if (!(sequence_flags(values->manifest, sequence, values->step) &
		MANIFEST_CONFIGURES))
		return false;
	count = sequence_expect_own(
	    values->manifest, sequence, values->step, expect);
	own_count = sequence_expect_own(
	    values->manifest, life, values->step, own);
	while (same < count && same < own_count &&
	    expect[same].msr == own[same].msr &&
	    expect[same].mask == own[same].mask &&
	    expect[same].value == own[same].value)
		same++;
	return count > 0 && (same < count || same < own_count);
}

unsigned
life_value_cpus(const struct sequence_values *values, unsigned cpus_max)
{
	const struct sequence *life = &values->life[values->at];
	const char *settings = campaign_entry_settings(values->manifest, life);
	unsigned cpus = 1;

	while (cpus < cpus_max &&
	    !sequence_succeeds(
		values->manifest, life, cpus, settings, values->step))
		cpus++;
	return cpus;
}

bool
life_value_next(struct sequence_values *values, struct sequence *sequence)
{
	while (sequence_values_next(values, sequence)) {
		if (!life_value_asks(values, sequence))
			return true;
	}
	return false;
}
