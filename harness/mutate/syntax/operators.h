/*
 * What mutation operators share: the source they look at, and how they add a
 * mutant.  Private to harness/mutate.
 */
#ifndef TOPAZ_HARNESS_MUTATE_SYNTAX_OPERATORS_H
#define TOPAZ_HARNESS_MUTATE_SYNTAX_OPERATORS_H

#include "harness/mutate/mutant.h"

struct finder {
	const struct syntax *syntax;
	const struct call_row *own; /* further names of calls */
	size_t own_count;
	struct range
	    *quiet; /* assertions and messages: nothing in them changes */
	uint32_t quiet_count;
	struct mutant_list *list;
	enum mutant_operator op; /* that is at work */
};

#define OPERATOR(id, name, find, text, reason) \
 void find(struct finder *finder, uint32_t node);
#include "harness/mutate/syntax/operator.def"
#undef OPERATOR

/*
 * Adds a mutant of one edit: the bytes AT become TEXT, which the list then owns (NULL:
 * no memory).  Nothing is added where AT is not whole tokens, in an assertion or a
 * message, or in neither a function nor data.
 */
void finder_add(struct finder *finder, struct range at, char *text);
/* The same for several edits, in order. */
void finder_add_edits(
    struct finder *finder, const struct edit *edit, unsigned count);

/* PREFIX, the bytes AT of the source, SUFFIX; NULL: no memory. */
char *finder_text(const struct finder *finder, const char *prefix,
    struct range at, const char *suffix);
/* TEXT and the newlines of AT: what is left where AT goes away; NULL: no memory. */
char *finder_blank(
    const struct finder *finder, struct range at, const char *text);

/* Is NODE a statement, not a part of one? */
bool finder_is_statement(const struct finder *finder, uint32_t node);
/* NODE, a statement, with its semicolon.  False: the file shows none. */
bool finder_statement(
    const struct finder *finder, uint32_t node, struct range *at);
/* Is NODE an assignment, or ++ or --? */
bool finder_is_assignment(const struct finder *finder, uint32_t node);
/*
 * Is NODE, a statement, a call and nothing else?  Then NAME, to be freed, is the
 * function's or the macro's; "": it is called through a pointer.
 */
bool finder_is_call(const struct finder *finder, uint32_t node, char **name);
/* The class of the call that NODE, a statement, is; CALL_NONE: none of call.def. */
enum call_class finder_class(const struct finder *finder, uint32_t node);
/* Does the source have KEYWORD where NODE begins?  Else a macro made it. */
bool finder_has_keyword(
    const struct finder *finder, uint32_t node, const char *keyword);
/* The condition that if, while, do, for or ?: NODE has.  False: none, or a macro's. */
bool finder_condition(
    const struct finder *finder, uint32_t node, struct range *at);
/* The token between the two operands of NODE; token_count: a macro made it. */
uint32_t finder_operator(const struct finder *finder, uint32_t node);

#endif
