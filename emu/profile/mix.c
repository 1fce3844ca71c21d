#include "emu/profile/mix.h"

#include <stdio.h>
#include <string.h>

#define MIX_NAME_BYTES 32
#define MIX_BAD_COUNT  0

/* A word of LENGTH bytes as text of its own; too long a one is no name either. */
static void
mix_word(char word[MIX_NAME_BYTES], const char *from, size_t length)
{
	snprintf(word, MIX_NAME_BYTES, "%.*s", (int)length, from);
}

/* What stands behind the '*' in [AT, AT + LENGTH): one digit, or MIX_BAD_COUNT. */
static unsigned
mix_count(const char *at, size_t length)
{
	if (length != 1 || *at < '1' || *at > '0' + PROFILE_MIX_MAX)
		return MIX_BAD_COUNT;
	return (unsigned)(*at - '0');
}

/* Adds NAME[*COUNT], LENGTH bytes at ITEM of the list TEXT. */
static int
mix_add_item(struct profile_mix *mix, const char *text, const char *item,
    size_t length, struct tz_error *err)
{
	size_t name_bytes = strcspn(item, "*,+");
	const struct profile *profile;
	char name[MIX_NAME_BYTES];
	unsigned count = 1;

	mix_word(name, item, name_bytes);
	if (name[0] == '\0')
		return tz_error(
		    err, TZ_EUSAGE, "--profile %s: a name is missing", text);
	if (name_bytes < length)
		count = mix_count(
		    item + name_bytes + 1, length - name_bytes - 1);
	if (count == MIX_BAD_COUNT)
		return tz_error(err, TZ_EUSAGE,
		    "--profile %s: %.*s: behind '*' is a count of CPUs, 1 to "
		    "%d",
		    text, (int)length, item, PROFILE_MIX_MAX);
	profile = profile_find(name);
	if (profile == NULL)
		return tz_error(err, TZ_ENOENT,
		    "--profile %.*s: no such profile; see: topaz list profiles",
		    (int)name_bytes, item);
	for (; count > 0; count--) {
		if (mix->count == PROFILE_MIX_MAX)
			return tz_error(err, TZ_EUSAGE,
			    "--profile %s: it is for more than %d CPUs", text,
			    PROFILE_MIX_MAX);
		mix->profile[mix->count++] = *profile;
	}
	return 0;
}

/* Does the list say no more than its first PERIOD names do? */
static bool
mix_repeats(const struct profile_mix *mix, unsigned period)
{
	for (unsigned i = period; i < mix->count; i++)
		if (strcmp(mix->profile[i].name,
			mix->profile[i - period].name) != 0)
			return false;
	return mix->count % period == 0;
}

/* One crystal clock, and one TSC that all CPUs read. */
static int
mix_check_clocks(
    const struct profile_mix *mix, const char *text, struct tz_error *err)
{
	const struct profile *first = &mix->profile[0];

	for (unsigned i = 1; i < mix->count; i++) {
		const struct profile *other = &mix->profile[i];

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

static int
mix_read_list(struct profile_mix *mix, const char *text, struct tz_error *err)
{
	const char *at = text;
	unsigned period = 1;
	int error;

	for (;; at++) {
		size_t length = strcspn(at, ",+");

		error = mix_add_item(mix, text, at, length, err);
		if (error != 0)
			return error;
		at += length;
		if (*at != ',')
			break;
	}
	while (!mix_repeats(mix, period))
		period++;
	mix->count = period;
	for (unsigned i = 0; mix->count > 1 && i < mix->count; i++)
		profile_set_hybrid(&mix->profile[i]);
	return mix_check_clocks(mix, text, err);
}

/* The text so far is the list of names. */
static int
mix_add_erratum(struct profile_mix *mix, const char *key, struct tz_error *err)
{
	enum profile_erratum erratum = profile_erratum_find(key);
	bool had = false;

	if (erratum == PROFILE_ERRATUM_COUNT)
		return tz_error(err, TZ_ENOENT,
		    "--errata %s: no such erratum; see: topaz list errata",
		    key);
	for (unsigned i = 0; i < mix->count; i++) {
		struct profile *profile = &mix->profile[i];

		had = had || (profile->errata >> erratum & 1) != 0;
		profile->errata_on |= profile->errata & UINT32_C(1) << erratum;
	}
	return had ? 0
		   : tz_error(err, TZ_EUSAGE,
			 "--errata %s: %s does not have it", key, mix->text);
}

/* Keys at LIST, each but the first behind SEPARATOR. */
static int
mix_add_errata(struct profile_mix *mix, const char *list, char separator,
    struct tz_error *err)
{
	const char separators[] = { separator, '\0' };
	int error = 0;

	while (error == 0) {
		size_t length = strcspn(list, separators);
		char key[MIX_NAME_BYTES];

		mix_word(key, list, length);
		error = mix_add_erratum(mix, key, err);
		list += length;
		if (*list++ == '\0')
			break;
	}
	return error;
}

/* Adds to the text: SEPARATOR, if it is not '\0', and WORD. */
static void
mix_append(struct profile_mix *mix, char separator, const char *word)
{
	size_t used = strlen(mix->text);
	const char before[] = { separator, '\0' };

	/* All names and keys of the tables together have room. */
	TZ_ASSERT(used + strlen(word) + 2 <= sizeof(mix->text));
	snprintf(
	    mix->text + used, sizeof(mix->text) - used, "%s%s", before, word);
}

static void
mix_format_list(struct profile_mix *mix)
{
	mix->text[0] = '\0';
	for (unsigned i = 0; i < mix->count; i++)
		mix_append(mix, i == 0 ? '\0' : ',', mix->profile[i].name);
}

static void
mix_format_errata(struct profile_mix *mix)
{
	uint32_t on = 0;

	for (unsigned i = 0; i < mix->count; i++)
		on |= mix->profile[i].errata_on;
	for (enum profile_erratum n = 0; n < PROFILE_ERRATUM_COUNT; n++)
		if (on >> n & 1)
			mix_append(mix, '+', profile_erratum_name(n));
}

int
profile_mix_parse(const char *text, const char *errata, struct profile_mix *mix,
    struct tz_error *err)
{
	const char *plus = strchr(text, '+');
	int error;

	mix->count = 0;
	error = mix_read_list(mix, text, err);
	if (error != 0)
		return error;
	mix_format_list(mix);
	if (plus != NULL)
		error = mix_add_errata(mix, plus + 1, '+', err);
	if (error == 0 && errata != NULL)
		error = mix_add_errata(mix, errata, ',', err);
	if (error == 0)
		mix_format_errata(mix);
	return error;
}

void
profile_mix_set(struct profile_mix *mix, const struct profile *profile)
{
	mix->count = 1;
	mix->profile[0] = *profile;
	mix_format_list(mix);
	mix_format_errata(mix);
}

const struct profile *
profile_mix_of(const struct profile_mix *mix, unsigned cpu)
{
	TZ_ASSERT(mix->count >= 1 && mix->count <= PROFILE_MIX_MAX);
	return &mix->profile[cpu % mix->count];
}

void
profile_mix_without(struct profile_mix *mix, unsigned cpu, unsigned cpu_count,
    const struct profile_absent *feature)
{
	TZ_ASSERT(cpu < cpu_count && cpu_count <= PROFILE_MIX_MAX);
	TZ_ASSERT(mix->count <= cpu_count);
	for (unsigned i = mix->count; i < cpu_count; i++)
		mix->profile[i] = mix->profile[i % mix->count];
	mix->count = cpu_count;
	for (unsigned i = 0; i < cpu_count; i++)
		profile_set_hybrid(&mix->profile[i]);
	profile_without(&mix->profile[cpu], &mix->profile[cpu], feature, 1);
}
