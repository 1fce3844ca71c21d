/*
 * The classes of mutants, and the score.
 */
#include <string.h>

#include "harness/mutate/mutate.h"

static const struct {
	const char *name, *text;
} classes[] = {
#define CLASS(id, name, text) { name, text },
#include "harness/mutate/syntax/class.def"
#undef CLASS
};

const char *mutate_class_name(enum mutate_class class)
{
	TZ_ASSERT((unsigned)class < MUTATE_CLASSES);
	return classes[class].name;
}

const char *mutate_class_text(enum mutate_class class)
{
	TZ_ASSERT((unsigned)class < MUTATE_CLASSES);
	return classes[class].text;
}

enum mutate_class
mutate_class_find(const char *name)
{
	unsigned i = 0;

	while (i < MUTATE_CLASSES && strcmp(classes[i].name, name) != 0)
		i++;
	return (enum mutate_class)i;
}

void
mutate_score(const struct mutate_list *list, const struct mutate_run *run,
    struct mutate_score *score)
{
	size_t judged;

	*score = (struct mutate_score){ .tenths = -1 };
	for (size_t i = 0; i < list->drawn_count; i++) {
		if (!run->result[i].known)
			continue;
		score->count[run->result[i].class]++;
		score->all++;
	}
	judged = score->count[MUTATE_KILLED] + score->count[MUTATE_SURVIVED];
	if (judged != 0)
		score->tenths = (int)(1000 * score->count[MUTATE_KILLED] /
		    judged);
}
