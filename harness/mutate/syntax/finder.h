/*
 * Common parts of the mutation operators: the source, and functions to query it and to
 * add a mutant.  Private to harness/mutate.
 */
#ifndef TOPAZ_HARNESS_MUTATE_SYNTAX_FINDER_H
#define TOPAZ_HARNESS_MUTATE_SYNTAX_FINDER_H

#include "harness/mutate/mutant.h"

struct finder {
	const struct syntax *syntax;
	const struct call_row *own; /* the manifest's rows for calls */
	size_t own_count;
	struct range *quiet; /* assertions and messages: they are not mutated */
	uint32_t quiet_count;
	struct mutant_list *list;
	enum mutant_operator op; /* that is being applied */
};

#define OPERATOR(id, name, find, text, reason) \
 void find(struct finder *finder, uint32_t node);
#include "harness/mutate/syntax/operator.def"
#undef OPERATOR

/*
 * Adds a mutant of one edit: the bytes AT become TEXT, which the list then owns (NULL: no
 * memory).  Nothing is added if AT is not whole tokens, is in an assertion or a message,
 * or is outside functions and data.
 */
void finder_add(struct finder *finder, struct range at, char *text);
/* The same for several edits, in order. */
void finder_add_edits(
    struct finder *finder, const struct edit *edit, unsigned count);

/* PREFIX, the bytes AT of the source, SUFFIX; NULL: no memory. */
char *finder_text(const struct finder *finder, const char *prefix,
    struct range at, const char *suffix);
/* TEXT and the newlines of AT: replaces AT and keeps line numbers.  NULL: no memory. */
char *finder_blank(
    const struct finder *finder, struct range at, const char *text);

/* True if NODE is a statement, not a part of one. */
bool finder_is_statement(const struct finder *finder, uint32_t node);
/* *AT: NODE, a statement, with its semicolon.  False: the file has no semicolon there. */
bool finder_statement(
    const struct finder *finder, uint32_t node, struct range *at);
/* True if NODE is an assignment, ++ or --. */
bool finder_is_assignment(const struct finder *finder, uint32_t node);
/*
 * True if NODE, a statement, is only a call.  Then *NAME is the name of the function or
 * macro, or "" for a call through a pointer; the caller frees it.
 */
bool finder_is_call(const struct finder *finder, uint32_t node, char **name);
/* The class of NODE, a statement that is a call; CALL_NONE: no row matches. */
enum call_class finder_class(const struct finder *finder, uint32_t node);
/* True if the source has KEYWORD at the start of NODE; false: a macro made NODE. */
bool finder_has_keyword(
    const struct finder *finder, uint32_t node, const char *keyword);
/* The condition of NODE: if, while, do, for or ?:.  False: none, or a macro made it. */
bool finder_condition(
    const struct finder *finder, uint32_t node, struct range *at);
/* The token between the two operands of NODE; token_count: a macro made NODE. */
uint32_t finder_operator(const struct finder *finder, uint32_t node);

#endif
