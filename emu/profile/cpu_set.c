#include "emu/profile/cpu_set.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define MIX_NAME_BYTES 32
#define MIX_BAD_COUNT  0

/* Copies a word of LENGTH bytes; a word that is too long is not a name either. */
static void
cpu_set_word(char word[MIX_NAME_BYTES], const char *from, size_t length)
{
	snprintf(word, MIX_NAME_BYTES, "%.*s", (int)length, from);
}

/* The count after the '*' in [AT, AT + LENGTH): one digit, or MIX_BAD_COUNT. */
static unsigned
cpu_set_count(const char *at, size_t length)
{
	if (length != 1 || *at < '1' || *at > '0' + CPU_SET_MAX)
		return MIX_BAD_COUNT;
	return (unsigned)(*at - '0');
}

/* Adds NAME[*COUNT], LENGTH bytes at ITEM of the list TEXT. */
static int
cpu_set_add_item(struct cpu_set *cpu_set, const char *text, const char *item,
    size_t length, struct tz_error *err)
{
	size_t name_bytes = strcspn(item, "*,+");
	const struct profile *profile;
	char name[MIX_NAME_BYTES];
	unsigned count = 1;

	cpu_set_word(name, item, name_bytes);
	if (name[0] == '\0')
		return tz_error(
		    err, TZ_EUSAGE, "--profile %s: a name is missing", text);
	if (name_bytes < length)
		count = cpu_set_count(
		    item + name_bytes + 1, length - name_bytes - 1);
	if (count == MIX_BAD_COUNT)
		return tz_error(err, TZ_EUSAGE,
		    "--profile %s: %.*s: behind '*' is a count of CPUs, 1 to "
		    "%d",
		    text, (int)length, item, CPU_SET_MAX);
	profile = profile_find(name);
	if (profile == NULL)
		return tz_error(err, TZ_ENOENT,
		    "--profile %.*s: no such profile; see: topaz list profiles",
		    (int)name_bytes, item);
	for (; count > 0; count--) {
		if (cpu_set->count == CPU_SET_MAX)
			return tz_error(err, TZ_EUSAGE,
			    "--profile %s: it is for more than %d CPUs", text,
			    CPU_SET_MAX);
		cpu_set->profile[cpu_set->count++] = *profile;
	}
	return 0;
}

/* True if the list is a repetition of its first PERIOD names. */
static bool
cpu_set_repeats(const struct cpu_set *cpu_set, unsigned period)
{
	for (unsigned i = period; i < cpu_set->count; i++)
		if (strcmp(cpu_set->profile[i].name,
			cpu_set->profile[i - period].name) != 0)
			return false;
	return cpu_set->count % period == 0;
}

/* All CPUs must have the same crystal clock and the same TSC frequency. */
static int
cpu_set_check_clocks(
    const struct cpu_set *cpu_set, const char *text, struct tz_error *err)
{
	const struct profile *first = &cpu_set->profile[0];

	for (unsigned i = 1; i < cpu_set->count; i++) {
		const struct profile *other = &cpu_set->profile[i];

		if (other->crystal_hz == first->crystal_hz &&
		    other->tsc_num == first->tsc_num &&
		    other->tsc_den == first->tsc_den &&
		    other->cbr == first->cbr)
			continue;
		return tz_error(err, TZ_EUSAGE,
		    "--profile %s: a machine has one crystal clock and one "
		    "TSC, those of %s are %u and %llu Hz, those of %s %u and "
		    "%llu Hz",
		    text, first->name, first->crystal_hz,
		    (unsigned long long)profile_tsc_hz(first), other->name,
		    other->crystal_hz,
		    (unsigned long long)profile_tsc_hz(other));
	}
	return 0;
}

static void
cpu_set_make_hybrid(struct cpu_set *cpu_set)
{
	unsigned gp = UINT_MAX, fixed = UINT_MAX;

	for (unsigned i = 0; i < cpu_set->count; i++) {
		const struct profile *profile = &cpu_set->profile[i];

		if (profile_gp_counters(profile) < gp)
			gp = profile_gp_counters(profile);
		if (profile_fixed_counters(profile) < fixed)
			fixed = profile_fixed_counters(profile);
	}
	for (unsigned i = 0; i < cpu_set->count; i++)
		profile_set_hybrid(&cpu_set->profile[i], gp, fixed);
}

static int
cpu_set_read_list(
    struct cpu_set *cpu_set, const char *text, struct tz_error *err)
{
	const char *at = text;
	unsigned period = 1;
	int error;

	for (;; at++) {
		size_t length = strcspn(at, ",+");

		error = cpu_set_add_item(cpu_set, text, at, length, err);
		if (error != 0)
			return error;
		at += length;
		if (*at != ',')
			break;
	}
	while (!cpu_set_repeats(cpu_set, period))
		period++;
	cpu_set->count = period;
	if (cpu_set->count > 1)
		cpu_set_make_hybrid(cpu_set);
	return cpu_set_check_clocks(cpu_set, text, err);
}

/* At this point the text is the list of names. */
static int
cpu_set_add_erratum(
    struct cpu_set *cpu_set, const char *key, struct tz_error *err)
{
	enum profile_erratum erratum = profile_erratum_find(key);
	bool had = false;

	if (erratum == PROFILE_ERRATUM_COUNT)
		return tz_error(err, TZ_ENOENT,
		    "--errata %s: no such erratum; see: topaz list errata",
		    key);
	for (unsigned i = 0; i < cpu_set->count; i++) {
		struct profile *profile = &cpu_set->profile[i];

		had = had || (profile->errata >> erratum & 1) != 0;
		profile->errata_on |= profile->errata & UINT32_C(1) << erratum;
	}
	return had
	    ? 0
	    : tz_error(err, TZ_EUSAGE, "--errata %s: %s does not have it", key,
		  cpu_set->text);
}

/* Appends SEPARATOR, if it is not '\0', and WORD to the text. */
static void
cpu_set_append(struct cpu_set *cpu_set, char separator, const char *word)
{
	size_t used = strlen(cpu_set->text);
	const char before[] = { separator, '\0' };

	/* The text has room for all names and keys of the tables together. */
	TZ_ASSERT(used + strlen(word) + 2 <= sizeof(cpu_set->text));
	snprintf(cpu_set->text + used, sizeof(cpu_set->text) - used, "%s%s",
	    before, word);
}

static void
cpu_set_set_cost(struct cpu_set *cpu_set)
{
	for (unsigned i = 0; i < cpu_set->count; i++)
		cpu_set->profile[i].cost = true;
}

void
cpu_set_use_cost(struct cpu_set *cpu_set)
{
	if (cpu_set_has_cost(cpu_set))
		return;
	cpu_set_set_cost(cpu_set);
	cpu_set_append(cpu_set, '+', CPU_SET_COST_KEY);
}

bool
cpu_set_has_cost(const struct cpu_set *cpu_set)
{
	return cpu_set->profile[0].cost;
}

/*
 * Adds the keys in LIST, which are separated by SEPARATOR; "cost" is one among those of a
 * profile.
 */
static int
cpu_set_add_errata(struct cpu_set *cpu_set, const char *list, char separator,
    struct tz_error *err)
{
	const char separators[] = { separator, '\0' };
	int error = 0;

	while (error == 0) {
		size_t length = strcspn(list, separators);
		char key[MIX_NAME_BYTES];

		cpu_set_word(key, list, length);
		if (separator == '+' && strcmp(key, CPU_SET_COST_KEY) == 0)
			cpu_set_set_cost(cpu_set);
		else
			error = cpu_set_add_erratum(cpu_set, key, err);
		list += length;
		if (*list++ == '\0')
			break;
	}
	return error;
}

static void
cpu_set_format_list(struct cpu_set *cpu_set)
{
	cpu_set->text[0] = '\0';
	for (unsigned i = 0; i < cpu_set->count; i++)
		cpu_set_append(
		    cpu_set, i == 0 ? '\0' : ',', cpu_set->profile[i].name);
}

static void
cpu_set_format_errata(struct cpu_set *cpu_set)
{
	uint32_t on = 0;

	for (unsigned i = 0; i < cpu_set->count; i++)
		on |= cpu_set->profile[i].errata_on;
	for (enum profile_erratum n = 0; n < PROFILE_ERRATUM_COUNT; n++)
		if (on >> n & 1)
			cpu_set_append(cpu_set, '+', profile_erratum_name(n));
}

int
cpu_set_parse(const char *text, const char *errata, struct cpu_set *cpu_set,
    struct tz_error *err)
{
	const char *plus = strchr(text, '+');
	int error;

	cpu_set->count = 0;
	error = cpu_set_read_list(cpu_set, text, err);
	if (error != 0)
		return error;
	cpu_set_format_list(cpu_set);
	if (plus != NULL)
		error = cpu_set_add_errata(cpu_set, plus + 1, '+', err);
	if (error == 0 && errata != NULL)
		error = cpu_set_add_errata(cpu_set, errata, ',', err);
	if (error == 0)
		cpu_set_format_errata(cpu_set);
	if (error == 0 && cpu_set_has_cost(cpu_set))
		cpu_set_append(cpu_set, '+', CPU_SET_COST_KEY);
	return error;
}

void
cpu_set_set(struct cpu_set *cpu_set, const struct profile *profile)
{
	cpu_set->count = 1;
	cpu_set->profile[0] = *profile;
	cpu_set_format_list(cpu_set);
	cpu_set_format_errata(cpu_set);
	if (cpu_set_has_cost(cpu_set))
		cpu_set_append(cpu_set, '+', CPU_SET_COST_KEY);
}

const struct profile *
cpu_set_of(const struct cpu_set *cpu_set, unsigned cpu)
{
	TZ_ASSERT(cpu_set->count >= 1 && cpu_set->count <= CPU_SET_MAX);
	return &cpu_set->profile[cpu % cpu_set->count];
}

void
cpu_set_without(struct cpu_set *cpu_set, unsigned cpu, unsigned cpu_count,
    const struct profile_feature_mask *feature)
{
	TZ_ASSERT(cpu < cpu_count && cpu_count <= CPU_SET_MAX);
	TZ_ASSERT(cpu_set->count <= cpu_count);
	for (unsigned i = cpu_set->count; i < cpu_count; i++)
		cpu_set->profile[i] = cpu_set->profile[i % cpu_set->count];
	cpu_set->count = cpu_count;
	cpu_set_make_hybrid(cpu_set);
	profile_without(
	    &cpu_set->profile[cpu], &cpu_set->profile[cpu], feature, 1);
}
