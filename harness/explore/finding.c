/*
 * What a story holds in memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/explore/finding.h"

void
finding_story_free(struct finding_story *story)
{
	free(story->event);
	free(story->event_place);
	free(story->span);
	free(story->tick);
	free(story->passing_event);
	free(story->console);
	memset(story, 0, sizeof(*story));
}

int
finding_rank_compare(const uint64_t a[3], const uint64_t b[3])
{
	for (unsigned i = 0; i < 3; i++) {
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	}
	return 0;
}

void
finding_format_place(
    const struct finding_place *place, char text[FINDING_NAME_BYTES])
{
	const char *slash = strrchr(place->file, '/');

	if (place->line == 0)
		snprintf(text, FINDING_NAME_BYTES, "%s", place->function);
	else
		snprintf(text, FINDING_NAME_BYTES, "%.50s %.30s:%d",
		    place->function, slash != NULL ? slash + 1 : place->file,
		    place->line);
}

/* Where the row is listed with these kinds of deviations; .symptom_count: nowhere. */
static unsigned
find_symptom(
    const struct finding *finding, const struct finding_symptom *symptom)
{
	unsigned i = 0;

	while (i < finding->symptom_count &&
	    (finding->symptom[i].check != symptom->check ||
		strcmp(finding->symptom[i].kinds, symptom->kinds) != 0 ||
		strcmp(finding->symptom[i].where, symptom->where) != 0))
		i++;
	return i;
}

void
finding_add_symptom(
    struct finding *finding, const struct finding_symptom *symptom)
{
	unsigned at = find_symptom(finding, symptom);
	char where[FINDING_NAME_BYTES];

	finding_format_place(&finding->place, where);
	if (finding->check == symptom->check &&
	    strcmp(finding->kinds, symptom->kinds) == 0 &&
	    strcmp(where, symptom->where) == 0)
		return;
	if (at != finding->symptom_count) {
		if (finding_rank_compare(
			finding->symptom[at].rank, symptom->rank) <= 0)
			return;
		finding->symptom_count--;
		memmove(&finding->symptom[at], &finding->symptom[at + 1],
		    (finding->symptom_count - at) * sizeof(*symptom));
	}
	for (at = 0; at < finding->symptom_count &&
	     finding_rank_compare(finding->symptom[at].rank, symptom->rank) < 0;
	     at++)
		;
	if (finding->symptom_count == FINDING_SYMPTOMS_MAX) {
		finding->symptom_more = true;
		if (at == FINDING_SYMPTOMS_MAX)
			return;
		finding->symptom_count--;
	}
	memmove(&finding->symptom[at + 1], &finding->symptom[at],
	    (finding->symptom_count - at) * sizeof(*symptom));
	finding->symptom[at] = *symptom;
	finding->symptom_count++;
}

void
finding_absorb(struct finding *finding, const struct finding *other)
{
	struct finding_symptom own = { .check = other->check };

	memcpy(own.kinds, other->kinds, sizeof(own.kinds));
	memcpy(own.message, other->message, sizeof(own.message));
	memcpy(own.token, other->token, sizeof(own.token));
	finding_format_place(&other->place, own.where);
	memcpy(own.rank, other->rank, sizeof(own.rank));
	finding_add_symptom(finding, &own);
	for (unsigned i = 0; i < other->symptom_count; i++)
		finding_add_symptom(finding, &other->symptom[i]);
	finding->symptom_more |= other->symptom_more;
}

static bool
is_crash(const struct finding *finding)
{
	return check_info(finding->check)->family == FAMILY_CRASH;
}

/* The operation that STEP, one of a sequence, names: "1config.5-" is config. */
static size_t
operation_of(const char **step)
{
	*step += strspn(*step, "0123456789");
	return strcspn(*step, ".+-");
}

/* Has SEQUENCE an operation named like the one of LENGTH at NAME? */
static bool
has_operation(const char *sequence, const char *name, size_t length)
{
	while (*sequence != '\0') {
		const char *step = sequence;

		if (operation_of(&step) == length &&
		    strncmp(step, name, length) == 0)
			return true;
		sequence += strcspn(sequence, "+");
		sequence += *sequence == '+';
	}
	return false;
}

/* Are all operations of FEW among those of MANY? */
static bool
is_within(const char *few, const char *many)
{
	while (*few != '\0') {
		const char *step = few;
		size_t length = operation_of(&step);

		if (!has_operation(many, step, length))
			return false;
		few += strcspn(few, "+");
		few += *few == '+';
	}
	return true;
}

/* The same operations, kinds of deviations and class. */
static bool
is_same_run(const struct finding *one, const struct finding *other)
{
	return strcmp(one->steps, other->steps) == 0 &&
	    strcmp(one->kinds, other->kinds) == 0;
}

/*
 * An assertion that fails, and what the code after it does in a build without
 * assertions.
 */
static bool
is_assertion(const struct finding *one, const struct finding *other)
{
	return one->check == CHECK_PANIC && other->check != CHECK_PANIC &&
	    is_crash(other) && one->class == other->class &&
	    one->place.function[0] != '\0' &&
	    strcmp(one->place.function, other->place.function) == 0 &&
	    strcmp(one->entry, other->entry) == 0 &&
	    one->place.line <= other->place.line;
}

bool
finding_is_same(const struct finding *one, const struct finding *other)
{
	if (one->judged != other->judged || !one->judged)
		return one->judged == other->judged &&
		    one->cause == other->cause;
	if (one->cause == other->cause &&
	    (!is_crash(one) || one->object[0] != '\0'))
		return true;
	if (one->cause == other->cause &&
	    (one->class == FINDING_BASE) == (other->class == FINDING_BASE))
		return true;
	/* What needs no deviation needs none where more is done. */
	if (one->cause == other->cause)
		return one->class == FINDING_BASE
		    ? is_within(one->steps, other->steps)
		    : is_within(other->steps, one->steps);
	if (is_assertion(one, other) || is_assertion(other, one))
		return true;
	return is_same_run(one, other) &&
	    ((is_crash(one) && is_crash(other)) || one->check == other->check ||
		check_is_related(one->check, other->check));
}
