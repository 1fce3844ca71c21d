/*
 * Operators on statements: they delete, drop or reorder statements.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/mutate/syntax/finder.h"

/* Deletes the statement NODE except its semicolon. */
static void
delete_statement(struct finder *finder, uint32_t node)
{
	struct range at;

	if (finder_statement(finder, node, &at))
		finder_add(finder, at, finder_blank(finder, at, ";"));
}

static bool
is_call(const struct finder *finder, uint32_t node)
{
	char *name;
	bool is = finder_is_call(finder, node, &name);

	free(name);
	return is;
}

/* Pauses are not deleted: only the timing would change. */
void
find_delete_call(struct finder *finder, uint32_t node)
{
	enum call_class class = finder_class(finder, node);

	if (finder_is_statement(finder, node) && is_call(finder, node) &&
	    class != CALL_SYNC && class != CALL_PAUSE)
		delete_statement(finder, node);
}

void
find_drop_sync(struct finder *finder, uint32_t node)
{
	if (finder_is_statement(finder, node) &&
	    finder_class(finder, node) == CALL_SYNC)
		delete_statement(finder, node);
}

void
find_delete_assignment(struct finder *finder, uint32_t node)
{
	if (finder_is_statement(finder, node) &&
	    finder_is_assignment(finder, node))
		delete_statement(finder, node);
}

/* True if NODE is the last statement of a function; deleting its return changes nothing. */
static bool
is_last(const struct syntax *syntax, uint32_t number)
{
	uint32_t parent = syntax->node[number].parent;

	return syntax->node[parent].kind == NODE_BLOCK &&
	    syntax->node[parent].last == number &&
	    syntax->node[syntax->node[parent].parent].kind == NODE_FUNCTION;
}

void
find_delete_jump(struct finder *finder, uint32_t node)
{
	static const struct {
		enum node_kind kind;
		const char *keyword;
	} jumps[] = {
		{ NODE_RETURN, "return" },
		{ NODE_GOTO, "goto" },
		{ NODE_BREAK, "break" },
		{ NODE_CONTINUE, "continue" },
	};

	for (size_t i = 0; i < TZ_ARRAY_LEN(jumps); i++) {
		if (finder->syntax->node[node].kind == jumps[i].kind &&
		    finder_has_keyword(finder, node, jumps[i].keyword) &&
		    finder_is_statement(finder, node) &&
		    !is_last(finder->syntax, node))
			delete_statement(finder, node);
	}
}

void
find_delete_else(struct finder *finder, uint32_t number)
{
	const struct syntax *syntax = finder->syntax;
	const struct node *node = &syntax->node[number];
	uint32_t token;
	struct range at;

	if (node->kind != NODE_IF || syntax_children(syntax, number) != 3 ||
	    !finder_has_keyword(finder, number, "if"))
		return;
	token = syntax_token(
	    syntax, syntax->node[syntax_child(syntax, number, 1)].at.end);
	while (token < syntax->token_count &&
	    (syntax->token[token].kind == TOKEN_COMMENT ||
		syntax_token_is(syntax, token, ";")))
		token++;
	if (!syntax_token_is(syntax, token, "else"))
		return;
	at = syntax->node[node->last].at;
	if (syntax->text[at.end - 1] != '}' &&
	    !finder_statement(finder, node->last, &at))
		return;
	at.begin = syntax->token[token].at.begin;
	finder_add(finder, at, finder_blank(finder, at, ""));
}

void
find_delete_field(struct finder *finder, uint32_t number)
{
	const struct syntax *syntax = finder->syntax;
	const struct node *node = &syntax->node[number];
	uint32_t first, after;
	struct range at = node->at;

	if (node->parent == SYNTAX_NONE ||
	    syntax->node[node->parent].kind != NODE_INITIALISERS)
		return;
	first = syntax_token(syntax, at.begin);
	after = syntax_token(syntax, at.end);
	if (!syntax_token_is(syntax, first, ".") &&
	    !syntax_token_is(syntax, first, "["))
		return;
	if (syntax_token_is(syntax, after, ","))
		at.end = syntax->token[after].at.end;
	finder_add(finder, at, finder_blank(finder, at, ""));
}

/* The range of the arguments of the call NODE, from its '('. */
static struct range
arguments_of(const struct syntax *syntax, uint32_t node)
{
	struct range at = syntax->node[node].at;

	while (at.begin < at.end && syntax->text[at.begin] != '(')
		at.begin++;
	return at;
}

static bool
is_partner(const struct finder *finder, uint32_t node, uint32_t lock,
    const char *partner)
{
	const struct syntax *syntax = finder->syntax;
	struct range one, other;
	char *name;
	bool is;

	if (!finder_is_statement(finder, node) ||
	    !finder_is_call(finder, node, &name))
		return false;
	is = strcmp(name, partner) == 0;
	free(name);
	one = arguments_of(syntax, node);
	other = arguments_of(syntax, lock);
	return is && one.end - one.begin == other.end - other.begin &&
	    memcmp(syntax->text + one.begin, syntax->text + other.begin,
		one.end - one.begin) == 0;
}

void
find_drop_lock(struct finder *finder, uint32_t node)
{
	const struct syntax *syntax = finder->syntax;
	uint32_t owner = syntax_owner(syntax, node);
	struct edit edit[MUTANT_EDITS_MAX];
	const struct call_row *row;
	unsigned count = 0;
	char *name;

	if (owner == SYNTAX_NONE || !finder_is_statement(finder, node) ||
	    !finder_is_call(finder, node, &name))
		return;
	row = call_find(finder->own, finder->own_count, name);
	free(name);
	if (row == NULL || row->class != CALL_LOCK)
		return;
	/* The nodes of a function are contiguous. */
	for (uint32_t i = node; i < syntax->node_count &&
	     syntax_owner(syntax, i) == owner && count < MUTANT_EDITS_MAX;
	     i++) {
		struct range at;

		if (i != node && !is_partner(finder, i, node, row->partner))
			continue;
		if (!finder_statement(finder, i, &at))
			continue;
		edit[count++] = (struct edit){ at,
			finder_blank(finder, at, ";") };
	}
	if (count >= 2)
		finder_add_edits(finder, edit, count);
	else if (count == 1)
		free(edit[0].text);
}

/* True for a statement of a waiting loop: empty, or a pause. */
static bool
is_idle(const struct finder *finder, uint32_t number)
{
	const struct syntax *syntax = finder->syntax;
	const struct node *node = &syntax->node[number];

	if (node->kind == NODE_BLOCK) {
		for (uint32_t child = node->first; child != SYNTAX_NONE;
		     child = syntax->node[child].next) {
			if (syntax->node[child].kind != NODE_NULL &&
			    finder_class(finder, child) != CALL_PAUSE)
				return false;
		}
		return true;
	}
	return node->kind == NODE_NULL ||
	    finder_class(finder, number) == CALL_PAUSE;
}

void
find_drop_wait(struct finder *finder, uint32_t number)
{
	const struct syntax *syntax = finder->syntax;
	const struct node *node = &syntax->node[number];
	struct range condition, at;
	uint32_t body;

	if (node->kind != NODE_WHILE && node->kind != NODE_FOR &&
	    node->kind != NODE_DO)
		return;
	body = node->kind == NODE_DO ? node->first : node->last;
	if (body == SYNTAX_NONE || !finder_is_statement(finder, number) ||
	    !finder_condition(finder, number, &condition) ||
	    !is_idle(finder, body))
		return;
	at = node->at;
	if (syntax->text[at.end - 1] != '}' &&
	    !finder_statement(finder, number, &at))
		return;
	finder_add(finder, at, finder_blank(finder, at, ";"));
}

/* The first label of the function of NODE after the one called NAME. */
static uint32_t
label_after(const struct syntax *syntax, uint32_t node, struct range name)
{
	uint32_t owner = syntax_owner(syntax, node);
	bool found = false;

	for (uint32_t i = owner; i < syntax->node_count; i++) {
		struct range at;

		if (syntax->node[i].kind != NODE_LABEL ||
		    syntax_owner(syntax, i) != owner)
			continue;
		if (found)
			return i;
		at = syntax
			 ->token[syntax_token(syntax, syntax->node[i].at.begin)]
			 .at;
		found = at.end - at.begin == name.end - name.begin &&
		    memcmp(syntax->text + at.begin, syntax->text + name.begin,
			at.end - at.begin) == 0;
	}
	return SYNTAX_NONE;
}

void
find_skip_cleanup(struct finder *finder, uint32_t number)
{
	const struct syntax *syntax = finder->syntax;
	const struct node *node = &syntax->node[number];
	uint32_t token, next;
	struct range name, label;

	if (node->kind != NODE_GOTO ||
	    !finder_has_keyword(finder, number, "goto"))
		return;
	token = syntax_next_token(syntax, syntax_token(syntax, node->at.begin));
	if (token >= syntax->token_count ||
	    syntax->token[token].kind != TOKEN_IDENTIFIER)
		return;
	name = syntax->token[token].at;
	next = label_after(syntax, number, name);
	if (next == SYNTAX_NONE)
		return;
	label =
	    syntax->token[syntax_token(syntax, syntax->node[next].at.begin)].at;
	finder_add(finder, name, finder_text(finder, "", label, ""));
}

/* True if NODE is or contains a call. */
static bool
has_call(const struct finder *finder, uint32_t number)
{
	const struct syntax *syntax = finder->syntax;
	uint32_t end = syntax->node[number].at.end;

	/* The descendants of a node follow it. */
	for (uint32_t i = number;
	     i < syntax->node_count && syntax->node[i].at.begin < end; i++) {
		if (syntax->node[i].kind == NODE_CALL)
			return true;
	}
	return is_call(finder, number);
}

/* True if NODE may be moved: a call or an assignment, not a declaration. */
static bool
is_movable(const struct finder *finder, uint32_t node, struct range *at)
{
	enum call_class class = finder_class(finder, node);

	return finder_is_statement(finder, node) &&
	    (is_call(finder, node) || finder_is_assignment(finder, node)) &&
	    class != CALL_ASSERTION && class != CALL_MESSAGE &&
	    finder_statement(finder, node, at);
}

/* True if the bytes of PART occur in WHOLE. */
static bool
has_text(const struct syntax *syntax, struct range whole, struct range part)
{
	uint32_t bytes = part.end - part.begin;

	for (uint32_t at = whole.begin; at + bytes <= whole.end; at++) {
		if (memcmp(syntax->text + at, syntax->text + part.begin,
			bytes) == 0)
			return true;
	}
	return false;
}

/*
 * True if the order of two assignments does not matter: neither contains the target of
 * the other, and neither contains a call.
 */
static bool
is_order_free(const struct finder *finder, uint32_t one, uint32_t other)
{
	const struct syntax *syntax = finder->syntax;
	const struct node *a = &syntax->node[one], *b = &syntax->node[other];

	if (has_call(finder, one) || has_call(finder, other) ||
	    a->first == SYNTAX_NONE || b->first == SYNTAX_NONE)
		return false;
	return !has_text(syntax, b->at, syntax->node[a->first].at) &&
	    !has_text(syntax, a->at, syntax->node[b->first].at);
}

void
find_swap_statements(struct finder *finder, uint32_t node)
{
	const struct syntax *syntax = finder->syntax;
	uint32_t next = syntax->node[node].next;
	struct range one, other, between, all;
	char *second, *rest;

	if (next == SYNTAX_NONE || !is_movable(finder, node, &one) ||
	    !is_movable(finder, next, &other) || one.end > other.begin ||
	    is_order_free(finder, node, next))
		return;
	between = (struct range){ one.end, other.begin };
	all = (struct range){ one.begin, other.end };
	second = finder_text(finder, "", other, "");
	rest = finder_text(finder, "", between, "");
	if (second != NULL && rest != NULL) {
		char *head = malloc(strlen(second) + strlen(rest) + 1);

		if (head != NULL) {
			strcpy(head, second);
			strcat(head, rest);
			finder_add(
			    finder, all, finder_text(finder, head, one, ""));
		}
		finder->list->failed |= head == NULL;
		free(head);
	} else {
		finder->list->failed = true;
	}
	free(second);
	free(rest);
}
