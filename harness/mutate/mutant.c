/*
 * Lists of mutants: in source order, without duplicate changes.
 */
#include "harness/mutate/mutant.h"

#include <stdlib.h>
#include <string.h>

static void
free_strings(struct mutant *mutant)
{
	free(mutant->owner);
	for (unsigned i = 0; i < mutant->edit_count; i++)
		free(mutant->edit[i].text);
}

void
mutant_add(struct mutant_list *list, const struct mutant *mutant)
{
	struct mutant copy = *mutant;

	if (list->count == list->room) {
		size_t room = list->room == 0 ? 256 : 2 * list->room;
		struct mutant *grown = reallocarray(
		    list->at, room, sizeof(*grown));

		if (grown == NULL) {
			free_strings(&copy);
			list->failed = true;
			return;
		}
		list->at = grown;
		list->room = room;
	}
	list->at[list->count++] = copy;
}

void
mutant_list_free(struct mutant_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free_strings(&list->at[i]);
	free(list->at);
	*list = (struct mutant_list){ .at = NULL };
}

static int
compare_edits(const struct mutant *a, const struct mutant *b)
{
	for (unsigned i = 0; i < a->edit_count && i < b->edit_count; i++) {
		const struct edit *x = &a->edit[i], *y = &b->edit[i];
		int text;

		if (x->at.begin != y->at.begin)
			return x->at.begin < y->at.begin ? -1 : 1;
		if (x->at.end != y->at.end)
			return x->at.end < y->at.end ? -1 : 1;
		text = strcmp(x->text, y->text);
		if (text != 0)
			return text;
	}
	return (int)a->edit_count - (int)b->edit_count;
}

static int
compare(const void *a, const void *b)
{
	const struct mutant *x = a, *y = b;

	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if (x->edit[0].at.begin != y->edit[0].at.begin)
		return x->edit[0].at.begin < y->edit[0].at.begin ? -1 : 1;
	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	return compare_edits(x, y);
}

/* True if a mutant before LAST makes the same change.  The mutants are sorted. */
static bool
is_repeated(const struct mutant *first, const struct mutant *last)
{
	for (const struct mutant *at = last; at != first; at--) {
		if (at[-1].source != last->source ||
		    at[-1].edit[0].at.begin != last->edit[0].at.begin)
			return false;
		if (at[-1].edit_count == last->edit_count &&
		    compare_edits(&at[-1], last) == 0)
			return true;
	}
	return false;
}

static uint32_t
next_number(const struct mutant_list *list, size_t index)
{
	const struct mutant *one = &list->at[index];

	for (size_t i = index; i-- != 0;) {
		const struct mutant *other = &list->at[i];

		if (other->source == one->source && other->op == one->op &&
		    strcmp(other->owner, one->owner) == 0)
			return other->number + 1;
	}
	return 1;
}

void
mutant_list_settle(struct mutant_list *list)
{
	size_t kept = 0;

	if (list->count == 0)
		return;
	qsort(list->at, list->count, sizeof(*list->at), compare);
	for (size_t i = 0; i < list->count; i++) {
		struct mutant one = list->at[i];

		list->at[kept] = one;
		if (is_repeated(list->at, &list->at[kept]))
			free_strings(&one);
		else
			kept++;
	}
	list->count = kept;
	for (size_t i = 0; i < list->count; i++)
		list->at[i].number = next_number(list, i);
}
