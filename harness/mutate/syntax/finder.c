#define _GNU_SOURCE
#include "harness/mutate/syntax/finder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
is_within(struct range inner, struct range outer)
{
	return inner.begin >= outer.begin && inner.end <= outer.end;
}

/*
 * True if AT begins in an assertion or a message.  A statement ends after it, because it
 * includes the semicolon.
 */
static bool
is_quiet(const struct finder *finder, struct range at)
{
	for (uint32_t i = 0; i < finder->quiet_count; i++) {
		if (at.begin >= finder->quiet[i].begin &&
		    at.begin < finder->quiet[i].end)
			return true;
	}
	return false;
}

/* The name of the function, data or macro that contains AT; NULL: none. */
static const char *
owner_of(const struct syntax *syntax, struct range at, bool *in_function)
{
	*in_function = false;
	for (uint32_t i = 0; i < syntax->define_count; i++) {
		if (is_within(at, syntax->define[i].at))
			return syntax->define[i].name;
	}
	for (uint32_t i = 0; i < syntax->node_count; i++) {
		const struct node *node = &syntax->node[i];

		if ((node->kind == NODE_FUNCTION || node->kind == NODE_DATA) &&
		    is_within(at, node->at)) {
			*in_function = node->kind == NODE_FUNCTION;
			return node->name;
		}
	}
	return NULL;
}

static bool
is_good(const struct finder *finder, const struct edit *edit, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (edit[i].text == NULL)
			finder->list->failed = true;
		if (edit[i].text == NULL ||
		    !syntax_is_whole(finder->syntax, edit[i].at) ||
		    is_quiet(finder, edit[i].at))
			return false;
		if (i != 0 && edit[i].at.begin < edit[i - 1].at.end)
			return false;
	}
	return count != 0;
}

void
finder_add_edits(struct finder *finder, const struct edit *edit, unsigned count)
{
	bool in_function;
	const char *owner = owner_of(finder->syntax, edit[0].at, &in_function);
	struct mutant mutant = { .op = finder->op,
		.line = syntax_line(finder->syntax, edit[0].at.begin),
		.in_function = in_function,
		.edit_count = count };

	TZ_ASSERT(count <= MUTANT_EDITS_MAX);
	memcpy(mutant.edit, edit, count * sizeof(*edit));
	if (owner != NULL && is_good(finder, edit, count)) {
		mutant.owner = strdup(owner);
		finder->list->failed |= mutant.owner == NULL;
	}
	if (mutant.owner != NULL) {
		mutant_add(finder->list, &mutant);
		return;
	}
	for (unsigned i = 0; i < count; i++)
		free(edit[i].text);
}

void
finder_add(struct finder *finder, struct range at, char *text)
{
	const struct edit edit = { at, text };

	finder_add_edits(finder, &edit, 1);
}

char *
finder_text(const struct finder *finder, const char *prefix, struct range at,
    const char *suffix)
{
	char *text;

	if (asprintf(&text, "%s%.*s%s", prefix, (int)(at.end - at.begin),
		finder->syntax->text + at.begin, suffix) < 0)
		return NULL;
	return text;
}

char *
finder_blank(const struct finder *finder, struct range at, const char *text)
{
	size_t used = strlen(text);
	char *blank = malloc(used + (at.end - at.begin) + 1);

	if (blank == NULL)
		return NULL;
	memcpy(blank, text, used);
	for (uint32_t i = at.begin; i < at.end; i++) {
		if (finder->syntax->text[i] == '\n')
			blank[used++] = '\n';
	}
	blank[used] = '\0';
	return blank;
}

bool
finder_is_statement(const struct finder *finder, uint32_t number)
{
	/* The parents of a statement, and which of their children are statements. */
	static const struct {
		enum node_kind kind;
		bool first, between, last;
	} places[] = {
		{ NODE_BLOCK, true, true, true },
		{ NODE_IF, false, true, true },
		{ NODE_DO, true, false, false },
		{ NODE_WHILE, false, false, true },
		{ NODE_FOR, false, false, true },
		{ NODE_SWITCH, false, false, true },
		{ NODE_CASE, false, false, true },
		{ NODE_LABEL, true, false, true },
	};
	const struct syntax *syntax = finder->syntax;
	const struct node *node = &syntax->node[number];
	const struct node *parent;

	if (node->parent == SYNTAX_NONE)
		return false;
	parent = &syntax->node[node->parent];
	for (size_t i = 0; i < TZ_ARRAY_LEN(places); i++) {
		if (places[i].kind != parent->kind)
			continue;
		/* The only child of a default is its statement. */
		if (parent->last == number && places[i].last)
			return true;
		return parent->first == number
		    ? places[i].first
		    : places[i].between && parent->last != number;
	}
	return false;
}

bool
finder_statement(const struct finder *finder, uint32_t node, struct range *at)
{
	const struct syntax *syntax = finder->syntax;
	uint32_t token = syntax_token(syntax, syntax->node[node].at.end);

	*at = syntax->node[node].at;
	if (token != 0 && syntax_token_is(syntax, token - 1, ";") &&
	    syntax->token[token - 1].at.end == at->end)
		return true;
	if (token < syntax->token_count &&
	    syntax->token[token].kind == TOKEN_COMMENT)
		token = syntax_next_token(syntax, token);
	if (!syntax_token_is(syntax, token, ";"))
		return false;
	at->end = syntax->token[token].at.end;
	return true;
}

uint32_t
finder_operator(const struct finder *finder, uint32_t number)
{
	const struct syntax *syntax = finder->syntax;
	const struct node *node = &syntax->node[number];
	struct range between;

	if (node->first == SYNTAX_NONE || node->first == node->last)
		return syntax->token_count;
	between.begin = syntax->node[node->first].at.end;
	between.end = syntax->node[node->last].at.begin;
	if (between.begin >= between.end)
		return syntax->token_count;
	return syntax_only_token(syntax, between);
}

bool
finder_is_assignment(const struct finder *finder, uint32_t number)
{
	const struct syntax *syntax = finder->syntax;
	const struct node *node = &syntax->node[number];
	uint32_t first = syntax_token(syntax, node->at.begin);
	uint32_t after = syntax_token(syntax, node->at.end);

	if (node->kind == NODE_BINARY)
		return syntax_token_is(
		    syntax, finder_operator(finder, number), "=");
	if (node->kind != NODE_UNARY)
		return node->kind == NODE_COMPOUND_ASSIGN;
	return syntax_token_is(syntax, first, "++") ||
	    syntax_token_is(syntax, first, "--") ||
	    (after != 0 &&
		(syntax_token_is(syntax, after - 1, "++") ||
		    syntax_token_is(syntax, after - 1, "--")));
}

/* NODE without transparent nodes and a cast to void. */
static uint32_t
strip_void(const struct syntax *syntax, uint32_t number)
{
	number = syntax_strip(syntax, number);
	if (syntax->node[number].kind == NODE_CAST &&
	    syntax->node[number].last != SYNTAX_NONE)
		number = syntax_strip(syntax, syntax->node[number].last);
	return number;
}

/* True if the tokens of AT are exactly NAME(...), also of a built-in or a macro. */
static bool
is_invocation(const struct syntax *syntax, struct range at)
{
	uint32_t token = syntax_token(syntax, at.begin);
	unsigned depth = 0;

	if (token >= syntax->token_count ||
	    syntax->token[token].kind != TOKEN_IDENTIFIER)
		return false;
	token = syntax_next_token(syntax, token);
	if (!syntax_token_is(syntax, token, "("))
		return false;
	for (; token < syntax->token_count &&
	     syntax->token[token].at.end <= at.end;
	     token = syntax_next_token(syntax, token)) {
		depth += syntax_token_is(syntax, token, "(");
		depth -= syntax_token_is(syntax, token, ")");
		if (depth == 0)
			return syntax->token[token].at.end == at.end;
	}
	return false;
}

bool
finder_is_call(const struct finder *finder, uint32_t number, char **name)
{
	const struct syntax *syntax = finder->syntax;
	const struct node *node;

	number = strip_void(syntax, number);
	node = &syntax->node[number];
	*name = NULL;
	if (is_invocation(syntax, node->at)) {
		uint32_t token = syntax_token(syntax, node->at.begin);
		struct range at = syntax->token[token].at;

		*name = strndup(syntax->text + at.begin, at.end - at.begin);
	} else if (node->kind == NODE_CALL) {
		*name = strdup("");
	} else {
		return false;
	}
	finder->list->failed |= *name == NULL;
	return *name != NULL;
}

enum call_class
finder_class(const struct finder *finder, uint32_t node)
{
	const struct call_row *row;
	char *name;

	if (!finder_is_call(finder, node, &name))
		return CALL_NONE;
	row = call_find(finder->own, finder->own_count, name);
	free(name);
	return row != NULL ? row->class : CALL_NONE;
}

bool
finder_has_keyword(
    const struct finder *finder, uint32_t node, const char *keyword)
{
	const struct syntax *syntax = finder->syntax;
	uint32_t begin = syntax->node[node].at.begin;
	uint32_t token = syntax_token(syntax, begin);

	return syntax_token_is(syntax, token, keyword) &&
	    syntax->token[token].at.begin == begin;
}

/* The range between the first and the second semicolon in the parentheses of a for. */
static bool
for_condition(
    const struct finder *finder, uint32_t node, struct range *condition)
{
	const struct syntax *syntax = finder->syntax;
	uint32_t token = syntax_token(syntax, syntax->node[node].at.begin);
	uint32_t first = 0, last = 0;
	unsigned depth = 0, semicolons = 0;

	do {
		token = syntax_next_token(syntax, token);
		depth += syntax_token_is(syntax, token, "(");
		depth -= syntax_token_is(syntax, token, ")");
		if (depth == 1 && syntax_token_is(syntax, token, ";")) {
			semicolons++;
		} else if (semicolons == 1) {
			first = first == 0 ? token : first;
			last = token;
		}
	} while (token < syntax->token_count && depth != 0 && semicolons < 2);
	if (semicolons != 2 || first == 0)
		return false;
	condition->begin = syntax->token[first].at.begin;
	condition->end = syntax->token[last].at.end;
	return true;
}

bool
finder_condition(const struct finder *finder, uint32_t number, struct range *at)
{
	static const struct {
		enum node_kind kind;
		const char *keyword; /* at its start; NULL: none */
	} kinds[] = {
		{ NODE_IF, "if" },
		{ NODE_WHILE, "while" },
		{ NODE_DO, "do" },
		{ NODE_FOR, "for" },
		{ NODE_CONDITIONAL, NULL },
	};
	const struct node *node = &finder->syntax->node[number];
	uint32_t condition = node->kind == NODE_DO ? node->last : node->first;
	size_t i = 0;

	while (i < TZ_ARRAY_LEN(kinds) && kinds[i].kind != node->kind)
		i++;
	if (i == TZ_ARRAY_LEN(kinds) || condition == SYNTAX_NONE ||
	    (kinds[i].keyword != NULL &&
		!finder_has_keyword(finder, number, kinds[i].keyword)))
		return false;
	if (node->kind == NODE_FOR)
		return for_condition(finder, number, at);
	*at = finder->syntax->node[condition].at;
	/* If a macro made the condition, it has the range of the whole node. */
	return at->begin != node->at.begin || at->end != node->at.end;
}
