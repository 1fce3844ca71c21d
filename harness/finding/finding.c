/*
 * Comparing findings and joining their symptoms.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/finding/finding.h"

void
finding_timeline_free(struct finding_timeline *timeline)
{
	free(timeline->event);
	free(timeline->event_place);
	free(timeline->span);
	free(timeline->tick);
	free(timeline->passing_event);
	free(timeline->console);
	memset(timeline, 0, sizeof(*timeline));
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

int
finding_compare(const struct finding *a, const struct finding *b)
{
	int by_rank = finding_rank_compare(a->rank, b->rank);

	if (a->judged != b->judged)
		return a->judged ? -1 : 1;
	if (by_rank != 0)
		return by_rank;
	if (a->check != b->check)
		return a->check < b->check ? -1 : 1;
	if (a->place.line != b->place.line)
		return a->place.line < b->place.line ? -1 : 1;
	return strcmp(a->token, b->token);
}

/* True if each word of FEW, joined by '+', is in MANY. */
static bool
has_kinds(const char *many, const char *few)
{
	while (*few != '\0') {
		size_t length = strcspn(few, "+");
		const char *at = many;

		while (*at != '\0' &&
		    (strcspn(at, "+") != length ||
			strncmp(at, few, length) != 0)) {
			at += strcspn(at, "+");
			at += *at == '+';
		}
		if (*at == '\0')
			return false;
		few += length;
		few += *few == '+';
	}
	return true;
}

/* True if FEW has the row and place of MANY and no other kinds of deviations. */
static bool
is_enough(const struct finding_symptom *few, const struct finding_symptom *many)
{
	return few->check == many->check &&
	    strcmp(few->where, many->where) == 0 &&
	    has_kinds(many->kinds, few->kinds) &&
	    (strcmp(few->kinds, many->kinds) != 0 ||
		finding_rank_compare(few->rank, many->rank) <= 0);
}

/* Converts FINDING to a symptom of another. */
static void
as_symptom(const struct finding *finding, struct finding_symptom *symptom)
{
	*symptom = (struct finding_symptom){ .check = finding->check };
	memcpy(symptom->kinds, finding->kinds, sizeof(symptom->kinds));
	memcpy(symptom->message, finding->message, sizeof(symptom->message));
	memcpy(symptom->token, finding->token, sizeof(symptom->token));
	memcpy(symptom->rank, finding->rank, sizeof(symptom->rank));
	finding_format_place(&finding->place, symptom->where);
}

/* Removes the symptoms that SYMPTOM makes redundant. */
static void
drop_symptoms(struct finding *finding, const struct finding_symptom *symptom)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < finding->symptom_count; i++) {
		if (!is_enough(symptom, &finding->symptom[i]))
			finding->symptom[kept++] = finding->symptom[i];
	}
	finding->symptom_count = kept;
}

void
finding_add_symptom(
    struct finding *finding, const struct finding_symptom *symptom)
{
	struct finding_symptom own;
	unsigned at = 0;

	as_symptom(finding, &own);
	if (is_enough(&own, symptom))
		return;
	for (unsigned i = 0; i < finding->symptom_count; i++) {
		if (is_enough(&finding->symptom[i], symptom))
			return;
	}
	drop_symptoms(finding, symptom);
	while (at < finding->symptom_count &&
	    finding_rank_compare(finding->symptom[at].rank, symptom->rank) < 0)
		at++;
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
	struct finding_symptom own;

	as_symptom(other, &own);
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

/*
 * Skips the digits at the start of *STEP, a step of a sequence, and returns the
 * length of the operation's name: "1config.5-" is config.
 */
static size_t
operation_of(const char **step)
{
	*step += strspn(*step, "0123456789");
	return strcspn(*step, ".+-");
}

/* True if SEQUENCE contains the operation with the name of LENGTH at NAME. */
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

/* True if all operations of FEW are in MANY. */
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

/* True for the same operations, kinds of deviations and class. */
static bool
is_same_run(const struct finding *one, const struct finding *other)
{
	return strcmp(one->steps, other->steps) == 0 &&
	    strcmp(one->kinds, other->kinds) == 0;
}

/*
 * True for an assertion that fails and the failure of the code after it in a build
 * without assertions.
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
	/* A failure that needs no deviation needs none in a longer sequence either. */
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
