#include "harness/mutate/syntax/syntax.h"

#include <stdlib.h>
#include <string.h>

static void
macros_free(struct macro *macro, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		free(macro[i].name);
	free(macro);
}

void
syntax_free(struct syntax *syntax)
{
	for (uint32_t i = 0; i < syntax->node_count; i++)
		free(syntax->node[i].name);
	free(syntax->node);
	macros_free(syntax->use, syntax->use_count);
	macros_free(syntax->define, syntax->define_count);
	free(syntax->token);
	free(syntax->text);
	*syntax = (struct syntax){ .text = NULL };
}

int64_t
syntax_add(struct syntax *syntax, uint32_t parent, const struct node *from)
{
	uint32_t number = syntax->node_count;
	struct node *node;
	uint32_t last;

	if (number == syntax->node_room) {
		uint32_t room = number == 0 ? 1024 : 2 * number;

		node = realloc(syntax->node, room * sizeof(*node));
		if (node == NULL)
			return -1;
		syntax->node = node;
		syntax->node_room = room;
	}
	TZ_ASSERT(parent < number || number == 0);
	node = &syntax->node[number];
	*node = *from;
	node->parent = number == 0 ? SYNTAX_NONE : parent;
	node->first = node->last = node->next = SYNTAX_NONE;
	syntax->node_count++;
	if (number == 0)
		return 0;
	last = syntax->node[parent].last;
	if (last == SYNTAX_NONE)
		syntax->node[parent].first = number;
	else
		syntax->node[last].next = number;
	syntax->node[parent].last = number;
	return number;
}

uint32_t
syntax_child(const struct syntax *syntax, uint32_t node, uint32_t index)
{
	uint32_t child = syntax->node[node].first;

	while (child != SYNTAX_NONE && index-- != 0)
		child = syntax->node[child].next;
	return child;
}

uint32_t
syntax_children(const struct syntax *syntax, uint32_t node)
{
	uint32_t count = 0;

	for (uint32_t child = syntax->node[node].first; child != SYNTAX_NONE;
	     child = syntax->node[child].next)
		count++;
	return count;
}

uint32_t
syntax_strip(const struct syntax *syntax, uint32_t number)
{
	const struct node *node = &syntax->node[number];

	while (node->kind == NODE_OTHER && node->first != SYNTAX_NONE &&
	    syntax->node[node->first].next == SYNTAX_NONE &&
	    syntax->node[node->first].at.begin == node->at.begin &&
	    syntax->node[node->first].at.end == node->at.end) {
		number = node->first;
		node = &syntax->node[number];
	}
	return number;
}

uint32_t
syntax_owner(const struct syntax *syntax, uint32_t node)
{
	while (node != SYNTAX_NONE &&
	    syntax->node[node].kind != NODE_FUNCTION &&
	    syntax->node[node].kind != NODE_DATA)
		node = syntax->node[node].parent;
	return node;
}

uint32_t
syntax_token(const struct syntax *syntax, uint32_t offset)
{
	uint32_t low = 0, high = syntax->token_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (syntax->token[middle].at.begin < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t
syntax_next_token(const struct syntax *syntax, uint32_t index)
{
	do
		index++;
	while (index < syntax->token_count &&
	    syntax->token[index].kind == TOKEN_COMMENT);
	return index;
}

bool
syntax_token_is(const struct syntax *syntax, uint32_t index, const char *text)
{
	struct range at;

	if (index >= syntax->token_count)
		return false;
	at = syntax->token[index].at;
	return at.end - at.begin == strlen(text) &&
	    memcmp(syntax->text + at.begin, text, strlen(text)) == 0;
}

uint32_t
syntax_only_token(const struct syntax *syntax, struct range range)
{
	uint32_t only = syntax->token_count;

	for (uint32_t i = syntax_token(syntax, range.begin);
	     i < syntax->token_count && syntax->token[i].at.end <= range.end;
	     i++) {
		if (syntax->token[i].kind == TOKEN_COMMENT ||
		    syntax_token_is(syntax, i, "(") ||
		    syntax_token_is(syntax, i, ")"))
			continue;
		if (only != syntax->token_count)
			return syntax->token_count;
		only = i;
	}
	return only;
}

bool
syntax_is_whole(const struct syntax *syntax, struct range range)
{
	uint32_t first = syntax_token(syntax, range.begin);
	uint32_t after = syntax_token(syntax, range.end);

	return range.begin < range.end && first < syntax->token_count &&
	    syntax->token[first].at.begin == range.begin && after > first &&
	    syntax->token[after - 1].at.end == range.end;
}

uint32_t
syntax_line(const struct syntax *syntax, uint32_t offset)
{
	uint32_t line = 1;

	TZ_ASSERT(offset <= syntax->text_bytes);
	for (uint32_t i = 0; i < offset; i++)
		line += syntax->text[i] == '\n';
	return line;
}
