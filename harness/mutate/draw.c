/*
 * Draws the mutants to run: a stratified sample.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "harness/mutate/mutate.h"

struct ticket {
	uint64_t number; /* random, from the seed */
	bool taken;
};

void
mutate_id(const struct mutate_list *list, const struct mutant *mutant,
    char id[MUTATE_ID_BYTES])
{
	TZ_ASSERT(mutant->source < list->source_count);
	snprintf(id, MUTATE_ID_BYTES, "%s:%s:%s:%u",
	    list->source[mutant->source].name, mutant->owner,
	    operator_info(mutant->op)->name, mutant->number);
}

static bool
is_same_owner(const struct mutant *a, const struct mutant *b)
{
	return a->source == b->source && strcmp(a->owner, b->owner) == 0;
}

/* The number of mutants taken that have the operator and the owner of INDEX. */
static size_t
taken_of(
    const struct mutate_list *list, const struct ticket *ticket, size_t index)
{
	const struct mutant *one = &list->mutants.at[index];
	size_t count = 0;

	for (size_t i = 0; i < list->mutants.count; i++) {
		const struct mutant *other = &list->mutants.at[i];

		count += ticket[i].taken && other->op == one->op &&
		    is_same_owner(one, other);
	}
	return count;
}

/* Takes a mutant of OP whose owner has the fewest taken so far.  False: none left. */
static bool
take_next(const struct mutate_list *list, struct ticket *ticket,
    enum mutant_operator op)
{
	size_t best = SIZE_MAX, best_taken = SIZE_MAX;

	for (size_t i = 0; i < list->mutants.count; i++) {
		size_t taken;

		if (list->mutants.at[i].op != op || ticket[i].taken)
			continue;
		taken = taken_of(list, ticket, i);
		if (taken < best_taken ||
		    (taken == best_taken &&
			ticket[i].number < ticket[best].number)) {
			best = i;
			best_taken = taken;
		}
	}
	if (best == SIZE_MAX)
		return false;
	ticket[best].taken = true;
	return true;
}

static int
keep_taken(
    struct mutate_list *list, const struct ticket *ticket, struct tz_error *err)
{
	list->drawn_count = 0;
	free(list->drawn);
	list->drawn = calloc(list->mutants.count + 1, sizeof(*list->drawn));
	if (list->drawn == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	for (size_t i = 0; i < list->mutants.count; i++) {
		if (ticket[i].taken)
			list->drawn[list->drawn_count++] = i;
	}
	return 0;
}

int
mutate_draw(
    struct mutate_list *list, uint64_t seed, size_t count, struct tz_error *err)
{
	struct ticket *ticket = calloc(
	    list->mutants.count + 1, sizeof(*ticket));
	size_t taken = 0;
	int error;

	if (ticket == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	for (size_t i = 0; i < list->mutants.count; i++) {
		char id[MUTATE_ID_BYTES];

		mutate_id(list, &list->mutants.at[i], id);
		ticket[i].number = XXH3_64bits_withSeed(id, strlen(id), seed);
		ticket[i].taken = count == 0;
	}
	while (taken < count && taken < list->mutants.count) {
		for (unsigned op = 0; op < OPERATOR_COUNT && taken < count;
		     op++)
			taken += take_next(
			    list, ticket, (enum mutant_operator)op);
	}
	error = keep_taken(list, ticket, err);
	free(ticket);
	return error;
}

int
mutate_choose(struct mutate_list *list, const char *ids, struct tz_error *err)
{
	struct ticket *ticket = calloc(
	    list->mutants.count + 1, sizeof(*ticket));
	int error = 0;

	if (ticket == NULL)
		return tz_error(err, TZ_EIO, "out of memory");
	while (error == 0 && *ids != '\0') {
		size_t bytes = strcspn(ids, ","), i;
		char id[MUTATE_ID_BYTES];

		for (i = 0; i < list->mutants.count; i++) {
			mutate_id(list, &list->mutants.at[i], id);
			if (strlen(id) == bytes && memcmp(id, ids, bytes) == 0)
				break;
		}
		if (i == list->mutants.count)
			error = tz_error(err, TZ_EUSAGE,
			    "--only %.*s: no such mutant; see: --list",
			    (int)bytes, ids);
		else
			ticket[i].taken = true;
		ids += bytes;
		ids += *ids == ',';
	}
	if (error == 0)
		error = keep_taken(list, ticket, err);
	free(ticket);
	return error;
}
