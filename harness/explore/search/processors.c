#include "harness/explore/search/processors.h"

#include <stdio.h>
#include <string.h>

#include "harness/explore/runner/support.h"
#include "harness/explore/search/life_values.h"

/* A profile with every feature that a configuration may use. */
#define COMPLETE "alderlake-n"
#define CPUS     2

void
processors_begin(
    struct processors *processors, const struct sequence_values *values)
{
	*processors = (struct processors){ .lives = *values };
}

/* Adds ",no-FEATURE", with "@CPU" if only that CPU does not have it. */
static void
add_word(struct processors *processors,
    const struct profile_feature_mask *feature, unsigned cpu)
{
	size_t used = strlen(processors->words);
	char where[16] = "";

	if (cpu != LAYOUT_ALL_CPUS)
		snprintf(where, sizeof(where), "@%u", cpu);
	snprintf(processors->words + used, sizeof(processors->words) - used,
	    ",no-%s%s", feature->name, where);
}

static size_t
feature_count(void)
{
	size_t count = 0;

	while (profile_feature_at(count) != NULL)
		count++;
	return count;
}

/* The NUMBER-th feature that any tracing needs; NULL: there are fewer. */
static const struct profile_feature_mask *
needed_feature(size_t number)
{
	const struct profile_feature_mask *feature;

	for (size_t i = 0; (feature = profile_feature_at(i)) != NULL; i++) {
		if (!profile_feature_is_optional(feature) && number-- == 0)
			return feature;
	}
	return NULL;
}

/*
 * Adds the words for the hybrid processor with index NUMBER: one CPU does not have
 * features that the others have.  False: NUMBER is past the last of them.
 */
static bool
add_differing(struct processors *processors, size_t number)
{
	const struct profile_feature_mask *feature;

	if (!manifest_is_hybrid(processors->lives.manifest))
		return false;
	if (number >= CPUS * 2) {
		number -= CPUS * 2;
		processors->whole = true;
		feature = needed_feature(number / CPUS);
		if (feature != NULL)
			add_word(
			    processors, feature, (unsigned)(number % CPUS));
		return feature != NULL;
	}
	for (size_t i = 0; (feature = profile_feature_at(i)) != NULL; i++) {
		if (profile_feature_is_optional(feature) &&
		    feature->subleaf == number % 2)
			add_word(processors, feature, (unsigned)(number / 2));
	}
	return true;
}

/*
 * Sets up processor .number.  0 has all features; then follow those without one
 * feature; then, for each CPU, those where only that CPU has no flags (leaf 14H,
 * sub-leaf 0), and no counts and values (sub-leaf 1): each configuration is
 * refused for one of them; then those where Intel PT, ToPA or XSAVES is missing on
 * one CPU.  *END is set after the last.
 */
static bool
open_processor(struct processors *processors, bool *end)
{
	const struct profile_feature_mask *feature;
	size_t number = processors->number, count = feature_count();
	struct layout layout;
	struct tz_error err;

	snprintf(
	    processors->words, sizeof(processors->words), "profile-" COMPLETE);
	processors->differ = number > count;
	processors->whole = false;
	if (processors->differ) {
		*end = !add_differing(processors, number - count - 1);
	} else if (number != 0) {
		feature = profile_feature_at(number - 1);
		processors->whole = !profile_feature_is_optional(feature);
		add_word(processors, feature, LAYOUT_ALL_CPUS);
	}
	processors->values = processors->lives;
	return !*end && layout_parse(processors->words, &layout, &err) == 0 &&
	    layout_cpu_set(&layout, CPUS, &processors->cpu_set, &err) == 0;
}

/*
 * True if this is the first life cycle with the step's operation; it represents all
 * of them.
 */
static bool
is_first(const struct sequence_values *values)
{
	size_t op = values->life[values->at].step[values->step].op;

	for (size_t i = 0; i < values->at; i++) {
		if (sequence_has_op(&values->life[i], op))
			return false;
	}
	return true;
}

/* True if the step configures with values that a correct driver refuses. */
static bool
is_refused(
    const struct sequence_values *values, const struct sequence *sequence)
{
	return (sequence_flags(values->manifest, sequence, values->step) &
		   MANIFEST_CONFIGURES) != 0 &&
	    sequence_refused(values->manifest, sequence, values->step) != NULL;
}

/*
 * If CPUs differ, only configurations that some of them support, but not all, are run.
 * If all CPUs have the same missing feature, a configuration that requests it is run in
 * each life cycle, the others in one.  Where nothing is missing, invalid ones are run in
 * one, too: without the feature, a driver refuses them for that reason.
 */
static bool
is_wanted(const struct processors *processors, const struct sequence *sequence)
{
	const struct sequence_values *values = &processors->values;
	enum support support;
	const char *field;

	if (processors->number == 0 && is_refused(values, sequence))
		return is_first(values);
	if (!life_value_asks(values, sequence))
		return false;
	support = support_of(&processors->cpu_set, CPUS, values->manifest,
	    sequence, values->step, &field);
	if (processors->differ)
		return support == SUPPORT_SOME;
	return processors->number == 0 || support == SUPPORT_NONE ||
	    is_first(values);
}

/*
 * The number of CPUs to run the life cycle's step on: where it can be judged; all if the
 * CPUs differ.
 */
static unsigned
cpus_for(const struct processors *processors)
{
	return processors->differ ? CPUS
				  : life_value_cpus(&processors->values, CPUS);
}

/*
 * The next life cycle, unchanged or with a step's values, in this order; false: no
 * more.
 */
static bool
next_life(struct processors *processors, struct sequence *sequence)
{
	struct sequence_values *values = &processors->values;

	if (!processors->whole) {
		while (sequence_values_next(values, sequence)) {
			if (is_wanted(processors, sequence))
				return true;
		}
		return false;
	}
	if (values->at == values->life_count)
		return false;
	*sequence = values->life[values->at++];
	return true;
}

bool
processors_next(struct processors *processors, struct sequence *sequence,
    unsigned *cpus, char layout[TOKEN_WORDS_BYTES])
{
	bool end = false;

	for (; !end; processors->number++, processors->open = false) {
		if (!processors->open)
			processors->open = open_processor(processors, &end);
		if (processors->open && next_life(processors, sequence)) {
			*cpus = processors->whole ? CPUS : cpus_for(processors);
			memcpy(layout, processors->words, TOKEN_WORDS_BYTES);
			return true;
		}
	}
	return false;
}
