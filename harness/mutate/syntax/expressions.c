#define _GNU_SOURCE
/*
 * Operators on expressions: conditions, comparisons, constants, arguments.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/mutate/syntax/finder.h"

static const struct {
	const char *from, *to;
} comparisons[] = {
	{ "<", "<=" },
	{ "<=", "<" },
	{ ">", ">=" },
	{ ">=", ">" },
	{ "==", "!=" },
	{ "!=", "==" },
};

/* The index in comparisons of NODE's operator; TZ_ARRAY_LEN(comparisons): none. */
static size_t
comparison_of(const struct finder *finder, uint32_t node)
{
	uint32_t token;
	size_t i;

	if (finder->syntax->node[node].kind != NODE_BINARY)
		return TZ_ARRAY_LEN(comparisons);
	token = finder_operator(finder, node);
	for (i = 0; i < TZ_ARRAY_LEN(comparisons); i++) {
		if (syntax_token_is(finder->syntax, token, comparisons[i].from))
			break;
	}
	return i;
}

static bool
is_logical(const struct finder *finder, uint32_t node)
{
	uint32_t token;

	if (finder->syntax->node[node].kind != NODE_BINARY)
		return false;
	token = finder_operator(finder, node);
	return syntax_token_is(finder->syntax, token, "&&") ||
	    syntax_token_is(finder->syntax, token, "||");
}

/* NODE without parentheses and transparent nodes. */
static uint32_t
strip_parens(const struct syntax *syntax, uint32_t node)
{
	node = syntax_strip(syntax, node);
	while (syntax->node[node].kind == NODE_PAREN &&
	    syntax->node[node].first != SYNTAX_NONE)
		node = syntax_strip(syntax, syntax->node[node].first);
	return node;
}

static void
negate(struct finder *finder, struct range at)
{
	finder_add(finder, at, finder_text(finder, "!(", at, ")"));
}

void
find_negate_condition(struct finder *finder, uint32_t number)
{
	const struct syntax *syntax = finder->syntax;
	const struct node *node = &syntax->node[number];
	struct range at;

	if (finder_condition(finder, number, &at))
		negate(finder, at);
	if (!is_logical(finder, number))
		return;
	for (uint32_t child = node->first; child != SYNTAX_NONE;
	     child = syntax->node[child].next) {
		uint32_t operand = strip_parens(syntax, child);

		/* comparison and and-or already mutate the other operands. */
		if (!is_logical(finder, operand) &&
		    comparison_of(finder, operand) == TZ_ARRAY_LEN(comparisons))
			negate(finder, syntax->node[child].at);
	}
}

void
find_and_or(struct finder *finder, uint32_t node)
{
	uint32_t token;
	bool is_and;

	if (!is_logical(finder, node))
		return;
	token = finder_operator(finder, node);
	is_and = syntax_token_is(finder->syntax, token, "&&");
	finder_add(finder, finder->syntax->token[token].at,
	    strdup(is_and ? "||" : "&&"));
}

/* True if NODE is a whole condition, which negate-condition mutates. */
static bool
is_condition(const struct finder *finder, uint32_t node)
{
	const struct syntax *syntax = finder->syntax;
	uint32_t parent = syntax->node[node].parent;
	struct range at;

	while (parent != SYNTAX_NONE &&
	    (syntax->node[parent].kind == NODE_PAREN ||
		syntax->node[parent].kind == NODE_OTHER)) {
		node = parent;
		parent = syntax->node[node].parent;
	}
	return parent != SYNTAX_NONE && finder_condition(finder, parent, &at) &&
	    at.begin == syntax->node[node].at.begin &&
	    at.end == syntax->node[node].at.end;
}

void
find_comparison(struct finder *finder, uint32_t node)
{
	size_t which = comparison_of(finder, node);
	const char *to;

	if (which == TZ_ARRAY_LEN(comparisons))
		return;
	to = comparisons[which].to;
	if (to[0] != comparisons[which].from[0] && is_condition(finder, node))
		return;
	finder_add(finder,
	    finder->syntax->token[finder_operator(finder, node)].at,
	    strdup(to));
}

/* The integer literal AT plus BY, in its base, with its suffix; NULL: not a literal. */
static char *
shifted(const struct finder *finder, struct range at, int by)
{
	char *literal = finder_text(finder, "", at, "");
	char *rest, *text = NULL;
	uint64_t value;
	int written;
	bool hex;

	if (literal == NULL)
		return NULL;
	errno = 0;
	value = strtoull(literal, &rest, 0);
	hex = literal[0] == '0' && (literal[1] == 'x' || literal[1] == 'X');
	if (errno != 0 || !isdigit((unsigned char)literal[0]) ||
	    strspn(rest, "uUlL") != strlen(rest) ||
	    (by > 0 && value == UINT64_MAX)) {
		free(literal);
		return NULL;
	}
	if (by < 0 && value == 0)
		written = asprintf(&text, "(-1%s)", rest);
	else
		written = asprintf(&text,
		    hex ? "0x%" PRIx64 "%s" : "%" PRIu64 "%s",
		    by > 0 ? value + 1 : value - 1, rest);
	free(literal);
	if (written < 0)
		finder->list->failed = true;
	return written < 0 ? NULL : text;
}

/* An octal literal becomes a decimal one: of octal literals, only 0 is common. */
static void
shift_token(struct finder *finder, uint32_t token, int by)
{
	const struct syntax *syntax = finder->syntax;
	char *text;

	if (token >= syntax->token_count ||
	    syntax->token[token].kind != TOKEN_LITERAL)
		return;
	text = shifted(finder, syntax->token[token].at, by);
	if (text != NULL)
		finder_add(finder, syntax->token[token].at, text);
}

/* Shifts literals, true and false in the bodies of the file's macros. */
static void
shift_macros(struct finder *finder, int by)
{
	const struct syntax *syntax = finder->syntax;
	const char *from = by > 0 ? "false" : "true";

	for (uint32_t i = 0; i < syntax->define_count; i++) {
		const struct range *body = &syntax->define[i].at;

		for (uint32_t token = syntax_token(syntax, body->begin);
		     token < syntax->token_count &&
		     syntax->token[token].at.end <= body->end;
		     token++)
			shift_token(finder, token, by);
	}
	for (uint32_t i = 0; i < syntax->use_count; i++) {
		if (strcmp(syntax->use[i].name, from) == 0)
			finder_add(finder, syntax->use[i].at,
			    strdup(by > 0 ? "true" : "false"));
	}
}

static bool
is_in_asm(const struct syntax *syntax, uint32_t node)
{
	while (node != SYNTAX_NONE && syntax->node[node].kind != NODE_ASM)
		node = syntax->node[node].parent;
	return node != SYNTAX_NONE;
}

static void
find_constant(struct finder *finder, uint32_t number, int by)
{
	const struct syntax *syntax = finder->syntax;
	const struct node *node = &syntax->node[number];
	uint32_t token;

	if (node->kind == NODE_FILE)
		shift_macros(finder, by);
	if (node->kind != NODE_INTEGER || is_in_asm(syntax, number))
		return;
	token = syntax_token(syntax, node->at.begin);
	if (token < syntax->token_count &&
	    syntax->token[token].at.end == node->at.end)
		shift_token(finder, token, by);
}

void
find_constant_up(struct finder *finder, uint32_t node)
{
	find_constant(finder, node, 1);
}

void
find_constant_down(struct finder *finder, uint32_t node)
{
	find_constant(finder, node, -1);
}

void
find_overwrite(struct finder *finder, uint32_t node)
{
	uint32_t token;

	if (finder->syntax->node[node].kind != NODE_COMPOUND_ASSIGN)
		return;
	token = finder_operator(finder, node);
	if (token < finder->syntax->token_count)
		finder_add(
		    finder, finder->syntax->token[token].at, strdup("="));
}

void
find_drop_complement(struct finder *finder, uint32_t number)
{
	const struct syntax *syntax = finder->syntax;
	const struct node *node = &syntax->node[number];

	if (node->kind == NODE_UNARY && finder_has_keyword(finder, number, "~"))
		finder_add(finder,
		    syntax->token[syntax_token(syntax, node->at.begin)].at,
		    strdup(""));
}

/* Swaps two operands that follow each other. */
static void
swap(struct finder *finder, struct range one, struct range other)
{
	const struct syntax *syntax = finder->syntax;
	const struct range all = { one.begin, other.end };
	char *text;

	if (asprintf(&text, "%.*s%.*s%.*s", (int)(other.end - other.begin),
		syntax->text + other.begin, (int)(other.begin - one.end),
		syntax->text + one.end, (int)(one.end - one.begin),
		syntax->text + one.begin) < 0)
		text = NULL;
	finder_add(finder, all, text);
}

void
find_swap_arguments(struct finder *finder, uint32_t number)
{
	const struct syntax *syntax = finder->syntax;
	const struct node *node = &syntax->node[number];
	uint32_t one, other;

	if (node->kind != NODE_CALL || node->first == SYNTAX_NONE)
		return;
	for (one = syntax->node[node->first].next; one != SYNTAX_NONE;
	     one = other) {
		const struct range a = syntax->node[one].at;
		struct range b;

		other = syntax->node[one].next;
		if (other == SYNTAX_NONE)
			return;
		b = syntax->node[other].at;
		if (syntax->node[one].type != syntax->node[other].type ||
		    a.end >= b.begin || !syntax_is_whole(syntax, a) ||
		    !syntax_is_whole(syntax, b))
			continue;
		if (a.end - a.begin == b.end - b.begin &&
		    memcmp(syntax->text + a.begin, syntax->text + b.begin,
			a.end - a.begin) == 0)
			continue;
		swap(finder, a, b);
	}
}
