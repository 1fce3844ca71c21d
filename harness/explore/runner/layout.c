#include "harness/explore/runner/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_FEATURE "no-"
#define PROFILE    "profile-"

static const struct layout_word words[] = {
	{ "guard", "each allocation alone on its pages, freed ones unmapped" },
	{ "linear", "physical pages in ascending order" },
	{ "ndebug", "the driver is compiled without INVARIANTS" },
	{ "pages", "each allocation begins a page, as with memguard(9)" },
	{ "seed", "seedN: which items of the heap are taken at boot" },
	{ "stale", "trace registers as another kernel left them: no RESET" },
	{ NO_FEATURE,
	    "no-FEATURE: CPUs without it; no-FEATURE@N: CPU N alone" },
	{ PROFILE, "profile-NAME: CPUs of that profile" },
};

const struct layout_word *
layout_word_at(size_t index)
{
	return index < TZ_ARRAY_LEN(words) ? &words[index] : NULL;
}

static bool
add_setting(struct layout *layout, const char *key, const char *value)
{
	size_t used = strlen(layout->settings);
	size_t room = sizeof(layout->settings) - used;

	return snprintf(layout->settings + used, room, "%s%s=%s",
		   used != 0 ? " " : "", key, value) < (int)room;
}

/* Adds "FEATURE" or "FEATURE@CPU". */
static bool
add_absent(struct layout *layout, const char *text)
{
	size_t length = strcspn(text, "@");
	unsigned cpu = LAYOUT_ALL_CPUS;
	char name[32];

	snprintf(name, sizeof(name), "%.*s", (int)length, text);
	if (text[length] == '@') {
		text += length + 1;
		if (*text < '0' || *text >= '0' + CPU_SET_MAX ||
		    text[1] != '\0')
			return false;
		cpu = (unsigned)(*text - '0');
	}
	if (layout->absent_count == LAYOUT_ABSENT_MAX)
		return false;
	layout->absent[layout->absent_count] =
	    (struct layout_absent){ profile_feature_find(name), cpu };
	return layout->absent[layout->absent_count++].feature != NULL;
}

static bool
add_word(struct layout *layout, const char *word)
{
	if (strcmp(word, "guard") == 0)
		return add_setting(layout, "heap", "guard");
	if (strcmp(word, "pages") == 0)
		return add_setting(layout, "heap", "pages");
	if (strcmp(word, "linear") == 0)
		return add_setting(layout, "linear_frames", "1");
	if (strcmp(word, "stale") == 0)
		return add_setting(layout, "stale_rtit", "1");
	if (strcmp(word, "ndebug") == 0) {
		layout->invariants = false;
		return true;
	}
	if (strncmp(word, NO_FEATURE, strlen(NO_FEATURE)) == 0)
		return add_absent(layout, word + strlen(NO_FEATURE));
	if (strncmp(word, PROFILE, strlen(PROFILE)) == 0) {
		layout->profile = profile_find(word + strlen(PROFILE));
		return layout->profile != NULL;
	}
	return strncmp(word, "seed", 4) == 0 && word[4] != '\0' &&
	    strspn(word + 4, "0123456789") == strlen(word + 4) &&
	    add_setting(layout, "heap_seed", word + 4);
}

int
layout_parse(const char *text, struct layout *layout, struct tz_error *err)
{
	char word[64];

	*layout = (struct layout){ .invariants = true };
	while (*text != '\0') {
		size_t length = strcspn(text, ",");

		snprintf(word, sizeof(word), "%.*s", (int)length, text);
		if (length >= sizeof(word) || !add_word(layout, word))
			return tz_error(err, TZ_EUSAGE,
			    "layout '%s': no such word; see: topaz list "
			    "layouts",
			    word);
		text += length;
		text += *text == ',';
	}
	return 0;
}

int
layout_cpu_set(const struct layout *layout, unsigned cpu_count,
    struct cpu_set *cpu_set, struct tz_error *err)
{
	if (layout->profile != NULL) {
		bool cost = cpu_set_has_cost(cpu_set);

		cpu_set_set(cpu_set, layout->profile);
		if (cost)
			cpu_set_use_cost(cpu_set);
	}
	for (size_t i = 0; i < layout->absent_count; i++) {
		const struct layout_absent *absent = &layout->absent[i];

		if (absent->cpu < cpu_count) {
			cpu_set_without(
			    cpu_set, absent->cpu, cpu_count, absent->feature);
			continue;
		}
		if (absent->cpu != LAYOUT_ALL_CPUS)
			return tz_error(err, TZ_EUSAGE,
			    "layout 'no-%s@%u': there is no CPU %u",
			    absent->feature->name, absent->cpu, absent->cpu);
		for (unsigned j = 0; j < cpu_set->count; j++)
			profile_without(&cpu_set->profile[j],
			    &cpu_set->profile[j], absent->feature, 1);
	}
	return 0;
}
