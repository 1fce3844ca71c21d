#include "harness/manifest/yaml_position.h"

#include <stdlib.h>
#include <string.h>

#include <yaml.h>

static bool
document_open(const char *text, size_t text_bytes, yaml_document_t *document)
{
	yaml_parser_t parser;
	bool good;

	if (!yaml_parser_initialize(&parser))
		return false;
	yaml_parser_set_input_string(
	    &parser, (const unsigned char *)text, text_bytes);
	good = yaml_parser_load(&parser, document) != 0;
	yaml_parser_delete(&parser);
	return good;
}

static bool
scalar_is(const yaml_node_t *node, const char *text, size_t bytes)
{
	return node != NULL && node->type == YAML_SCALAR_NODE &&
	    node->data.scalar.length == bytes &&
	    memcmp(node->data.scalar.value, text, bytes) == 0;
}

/* The child of NODE for the path component KEY, or NULL. */
static yaml_node_t *
descend(yaml_document_t *document, const yaml_node_t *node, const char *key,
    size_t bytes)
{
	const yaml_node_pair_t *pair;
	size_t index = strtoul(key, NULL, 10);

	if (node->type == YAML_SEQUENCE_NODE) {
		const yaml_node_item_t *item = node->data.sequence.items.start;

		if (index >= (size_t)(node->data.sequence.items.top - item))
			return NULL;
		return yaml_document_get_node(document, item[index]);
	}
	if (node->type != YAML_MAPPING_NODE)
		return NULL;
	for (pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top; pair++) {
		if (scalar_is(yaml_document_get_node(document, pair->key), key,
			bytes))
			return yaml_document_get_node(document, pair->value);
	}
	return NULL;
}

static struct position
position_of(const yaml_node_t *node)
{
	return (struct position){ (unsigned)node->start_mark.line + 1,
		(unsigned)node->start_mark.column + 1 };
}

struct position
position_find(const char *text, size_t text_bytes, const char *path)
{
	struct position position = { 1, 1 };
	yaml_document_t document;
	yaml_node_t *node;
	size_t bytes;

	if (!document_open(text, text_bytes, &document))
		return position;
	node = yaml_document_get_root_node(&document);
	while (node != NULL) {
		position = position_of(node);
		bytes = strcspn(path, "/");
		if (bytes == 0)
			break;
		node = descend(&document, node, path, bytes);
		path += bytes;
		if (*path == '/')
			path++;
	}
	yaml_document_delete(&document);
	return position;
}

static bool
is_before(struct position a, struct position b)
{
	return a.line != b.line ? a.line < b.line : a.column < b.column;
}

/* Uses tokens, which are available also if the text ends within a mapping. */
struct position
position_key(
    const char *text, size_t text_bytes, const char *key, struct position from)
{
	struct position found = from;
	bool is_key = false, done = false;
	yaml_parser_t parser;
	yaml_token_t token;

	if (!yaml_parser_initialize(&parser))
		return from;
	yaml_parser_set_input_string(
	    &parser, (const unsigned char *)text, text_bytes);
	while (!done && yaml_parser_scan(&parser, &token)) {
		struct position at = { (unsigned)token.start_mark.line + 1,
			(unsigned)token.start_mark.column + 1 };

		if (token.type == YAML_STREAM_END_TOKEN)
			done = true;
		if (token.type == YAML_SCALAR_TOKEN && is_key &&
		    token.data.scalar.length == strlen(key) &&
		    memcmp(token.data.scalar.value, key, strlen(key)) == 0 &&
		    !is_before(at, from)) {
			found = at;
			done = true;
		}
		is_key = token.type == YAML_KEY_TOKEN;
		yaml_token_delete(&token);
	}
	yaml_parser_delete(&parser);
	return found;
}

struct position
position_problem(const char *text, size_t text_bytes)
{
	struct position at = { 1, 1 };
	yaml_parser_t parser;
	yaml_event_t event;
	bool done = false;

	if (!yaml_parser_initialize(&parser))
		return at;
	yaml_parser_set_input_string(
	    &parser, (const unsigned char *)text, text_bytes);
	while (!done) {
		if (!yaml_parser_parse(&parser, &event)) {
			at.line = (unsigned)parser.problem_mark.line + 1;
			at.column = (unsigned)parser.problem_mark.column + 1;
			break;
		}
		done = event.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	return at;
}
