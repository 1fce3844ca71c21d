/*
 * The mutation operators: their table, and all of them applied to a source.
 */
#include "harness/mutate/syntax/finder.h"

#include <stdlib.h>
#include <string.h>

static const struct operator_info infos[] = {
#define OPERATOR(id, name, find, text, reason) { name, text, reason },
#include "harness/mutate/syntax/operator.def"
#undef OPERATOR
};

static void (*const finds[])(struct finder *finder, uint32_t node) = {
#define OPERATOR(id, name, find, text, reason) find,
#include "harness/mutate/syntax/operator.def"
#undef OPERATOR
};

const struct operator_info *
operator_info(enum mutant_operator id)
{
	TZ_ASSERT((unsigned)id < OPERATOR_COUNT);
	return &infos[id];
}

enum mutant_operator
operator_find(const char *name)
{
	for (unsigned i = 0; i < OPERATOR_COUNT; i++) {
		if (strcmp(infos[i].name, name) == 0)
			return (enum mutant_operator)i;
	}
	return OPERATOR_COUNT;
}

static void
add_quiet(struct finder *finder, const char *name, struct range at)
{
	const struct call_row *row = call_find(
	    finder->own, finder->own_count, name);

	if (row != NULL &&
	    (row->class == CALL_ASSERTION || row->class == CALL_MESSAGE))
		finder->quiet[finder->quiet_count++] = at;
}

/* Finds the assertions and messages: macros and functions. */
static bool
find_quiet(struct finder *finder)
{
	const struct syntax *syntax = finder->syntax;
	size_t room = (size_t)syntax->use_count + syntax->node_count + 1;

	finder->quiet = calloc(room, sizeof(*finder->quiet));
	if (finder->quiet == NULL)
		return false;
	for (uint32_t i = 0; i < syntax->use_count; i++)
		add_quiet(finder, syntax->use[i].name, syntax->use[i].at);
	for (uint32_t i = 0; i < syntax->node_count; i++) {
		const struct node *node = &syntax->node[i];

		if (node->kind == NODE_CALL && node->name != NULL)
			add_quiet(finder, node->name, node->at);
	}
	return true;
}

void
operators_apply(const struct syntax *syntax, const struct call_row *own,
    size_t own_count, struct mutant_list *list)
{
	struct finder finder = { .syntax = syntax,
		.own = own,
		.own_count = own_count,
		.list = list };

	if (!find_quiet(&finder)) {
		list->failed = true;
		return;
	}
	for (uint32_t node = 0; node < syntax->node_count; node++) {
		for (unsigned i = 0; i < OPERATOR_COUNT; i++) {
			finder.op = (enum mutant_operator)i;
			finds[i](&finder, node);
		}
	}
	free(finder.quiet);
	mutant_list_settle(list);
}
