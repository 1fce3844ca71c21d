/* Compiles operations: numbers their values and resolves their references. */
#define _GNU_SOURCE
#include "harness/manifest/compile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
block_index(const struct compiler *compiler, const char *name, uint16_t *block)
{
	const struct schema *schema = compiler->manifest->schema;
	uint16_t i;

	for (i = 0; i < schema->data_count; i++) {
		if (strcmp(schema->data[i].name, name) == 0) {
			*block = i;
			return 0;
		}
	}
	return compile_error(compiler, "\"%s\": no such block of data", name);
}

static const enum value_kind cpus_kinds[] = {
	[SCHEMA_CPUS_ALL] = VALUE_CPUS_ALL,
	[SCHEMA_CPUS_ABSENT] = VALUE_CPUS_ABSENT,
	[SCHEMA_CPUS_COUNT] = VALUE_CPUS_COUNT,
};

static int
compile_value(struct compiler *compiler, const struct schema_value *from,
    struct value *to)
{
	int given = (from->value != NULL) + (from->slot != NULL) +
	    (from->data != NULL) + (from->text != NULL) +
	    (from->cpus != SCHEMA_CPUS_NONE) + from->instance;

	*to = (struct value){ .invalid = from->invalid, .error = from->error };
	if (given > 1)
		return compile_error(compiler,
		    "more than one of value, slot, data, text, cpus, instance");
	if (from->value != NULL)
		to->number = *from->value;
	if (from->cpus != SCHEMA_CPUS_NONE)
		to->kind = cpus_kinds[from->cpus];
	if (from->text != NULL) {
		to->kind = VALUE_TEXT;
		to->text = from->text;
	}
	if (from->slot != NULL) {
		to->kind = VALUE_SLOT;
		return compile_known_slot(compiler, from->slot, &to->slot);
	}
	if (from->data != NULL) {
		to->kind = VALUE_DATA;
		return block_index(compiler, from->data, &to->block);
	}
	return 0;
}

/* Checks that VALUE fits into the field PLACE. */
static int
check_field(const struct compiler *compiler, const struct place *place,
    const struct value *value)
{
	unsigned bits = place->bytes * 8;

	switch (value->kind) {
	case VALUE_NUMBER:
		/* A negative number fits if its sign extension does. */
		if (bits < 64 && value->number >> bits != 0 &&
		    value->number >> (bits - 1) != UINT64_MAX >> (bits - 1))
			return compile_error(compiler,
			    "\"%s\": %#" PRIx64 " has more than %u bits",
			    place->name, value->number, bits);
		return 0;
	case VALUE_TEXT:
		if (strlen(value->text) > place->bytes)
			return compile_error(compiler,
			    "\"%s\": the text has more than %u characters",
			    place->name, place->bytes);
		return 0;
	case VALUE_SLOT:
	case VALUE_DATA:
		return place->bytes == 8 ||
			(place->bytes == 4 && value->kind == VALUE_SLOT)
		    ? 0
		    : compile_error(
			  compiler, "\"%s\" has to have 8 bytes", place->name);
	case VALUE_CPUS_ALL:
	case VALUE_CPUS_ABSENT:
	case VALUE_CPUS_COUNT:
		break;
	}
	return 0;
}

static int
check_place(const struct compiler *compiler, const struct schema_block *block,
    const struct place *place)
{
	bool number = place->bytes == 1 || place->bytes == 2 ||
	    place->bytes == 4 || place->bytes == 8;
	unsigned room = place->is.kind == VALUE_SLOT ? 8 : place->bytes;

	if (place->at > block->bytes || room > block->bytes - place->at)
		return compile_error(compiler,
		    "\"%s\": at %u there are not %u bytes in \"%s\"",
		    place->name, place->at, room, block->name);
	if (!number && place->is.kind != VALUE_TEXT)
		return compile_error(compiler,
		    "\"%s\": 1, 2, 4 or 8 bytes, not %u", place->name,
		    place->bytes);
	return check_field(compiler, place, &place->is);
}

/* Compiles one argument or field with its variants; PATH is its place in the manifest. */
static int
compile_place(struct compiler *compiler, struct op *op, const char *path,
    const struct schema_place *from, const struct schema_block *block,
    struct place *to)
{
	unsigned i;
	int error;

	compile_at(compiler, "%s", path);
	*to = (struct place){
		.name = from->name != NULL ? from->name : "",
		.at = from->at,
		.bytes = from->bytes,
		.parent = MODEL_NONE,
		.first = (uint16_t)(op->variant_count + 1),
		.variant = calloc(
		    from->variants_count + 1, sizeof(struct value)),
	};
	if (to->variant == NULL)
		return tz_error(compiler->err, TZ_EIO, "out of memory");
	error = compile_value(compiler, &from->is, &to->is);
	if (from->is.instance)
		to->is.number = op->instance;
	if (error == 0 && block != NULL)
		error = check_place(compiler, block, to);
	for (i = 0; error == 0 && i < from->variants_count; i++) {
		compile_at(compiler, "%s/variants/%u", path, i);
		to->variant_count++;
		error = compile_value(
		    compiler, &from->variants[i], &to->variant[i]);
		if (error == 0 && block != NULL)
			error = check_field(compiler, to, &to->variant[i]);
	}
	op->variant_count += from->variants_count;
	return error;
}

/* The places of the block that place INDEX points to. */
static int
add_block(struct compiler *compiler, struct op *op, unsigned index)
{
	unsigned number = op->place[index].is.block;
	const struct schema_block *block =
	    &compiler->manifest->schema->data[number];
	char path[64];
	unsigned i;
	int error = 0;

	for (i = 0; error == 0 && i < block->fields_count; i++) {
		snprintf(path, sizeof(path), "data/%u/fields/%u", number, i);
		compile_at(compiler, "%s", path);
		if (op->place_count == MODEL_PLACES_MAX)
			return compile_error(compiler,
			    "operation \"%s\" has more than %u values: does "
			    "its data point to itself?",
			    op->name, MODEL_PLACES_MAX);
		error = compile_place(compiler, op, path, &block->fields[i],
		    block, &op->place[op->place_count]);
		op->place[op->place_count].parent = (uint16_t)index;
		op->place_count++;
	}
	return error;
}

static int
compile_places(struct compiler *compiler, struct op *op, unsigned number)
{
	const struct schema_operation *from = op->schema;
	char path[64];
	unsigned i;
	int error = 0;

	op->place = calloc(MODEL_PLACES_MAX, sizeof(*op->place));
	if (op->place == NULL)
		return tz_error(compiler->err, TZ_EIO, "out of memory");
	for (i = 0; error == 0 && i < from->args_count; i++) {
		snprintf(
		    path, sizeof(path), "operations/%u/args/%u", number, i);
		error = compile_place(compiler, op, path, &from->args[i], NULL,
		    &op->place[op->place_count++]);
	}
	for (i = 0; error == 0 && i < op->place_count; i++) {
		if (op->place[i].is.kind == VALUE_DATA)
			error = add_block(compiler, op, i);
	}
	return error;
}

/* The place NAME, which holds a number or points to a block that does. */
static int
position_place(const struct compiler *compiler, const struct op *op,
    const char *name, uint16_t *index)
{
	unsigned i;

	*index = MODEL_NONE;
	if (name == NULL)
		return 0;
	for (i = 0; i < op->place_count; i++) {
		const struct place *place = &op->place[i];

		if (place->parent == MODEL_NONE ||
		    strcmp(place->name, name) != 0)
			continue;
		if (place->is.kind != VALUE_NUMBER &&
		    place->is.kind != VALUE_DATA)
			return compile_error(compiler,
			    "\"%s\": a position is a number or behind a "
			    "pointer to one",
			    name);
		*index = (uint16_t)i;
		return 0;
	}
	return compile_error(
	    compiler, "\"%s\": the operation has no such field", name);
}

/* Checks "answers": they must be in the first block that the operation is passed. */
static int
check_answers(struct compiler *compiler, const struct op *op, unsigned number)
{
	const struct manifest *manifest = compiler->manifest;
	unsigned i = 0;
	uint32_t room;

	while (i < op->place_count && op->place[i].is.kind != VALUE_DATA)
		i++;
	room = i < op->place_count
	    ? manifest->schema->data[op->place[i].is.block].bytes
	    : 0;
	for (i = 0; i < op->schema->answers_count; i++) {
		const struct schema_answer *row = &op->schema->answers[i];

		compile_at(compiler, "operations/%u/answers/%u", number, i);
		if ((row->bytes != 1 && row->bytes != 2 && row->bytes != 4 &&
			row->bytes != 8) ||
		    row->at > room || row->bytes > room - row->at ||
		    row->per > room || 8 > room - row->per)
			return compile_error(compiler,
			    "\"%s\": not 1, 2, 4 or 8 bytes in the block that "
			    "the operation is handed",
			    row->name);
		if ((row->mask != NULL && *row->mask == 0) ||
		    (row->bits != NULL && *row->bits == 0))
			return compile_error(
			    compiler, "\"%s\": a mask of 0", row->name);
		if ((row->is == SCHEMA_IS_GIVEN) != (row->of != NULL))
			return compile_error(compiler,
			    "\"%s\": what is given has \"of\", an operation; "
			    "nothing else has",
			    row->name);
	}
	return 0;
}

static int
compile_position(struct compiler *compiler, struct op *op, unsigned number)
{
	const struct schema_at *from = op->schema->position;
	int error;

	compile_at(compiler, "operations/%u/position", number);
	op->position = (struct op_position){ .page = MODEL_NONE,
		.offset = MODEL_NONE };
	if (from == NULL)
		return 0;
	if ((from->mapped != NULL) ==
	    (from->page != NULL || from->offset != NULL))
		return compile_error(compiler,
		    "a position is either \"mapped\" or has \"page\", "
		    "\"offset\" or both");
	if (from->mapped != NULL && *from->mapped > UINT32_MAX)
		return compile_error(
		    compiler, "\"mapped\": at most %u", UINT32_MAX);
	if (from->mapped != NULL) {
		op->position.kind = SCRIPT_POSITION_MAPPED;
		op->position.at = (uint32_t)*from->mapped;
		return 0;
	}
	op->position.kind = SCRIPT_POSITION_DATA;
	error = position_place(compiler, op, from->page, &op->position.page);
	if (error == 0)
		error = position_place(
		    compiler, op, from->offset, &op->position.offset);
	return error;
}

/* Checks "period": the number of a field. */
static int
check_period_field(
    struct compiler *compiler, const struct op *op, unsigned number)
{
	const char *name = op->schema->period;
	unsigned i = 0;

	compile_at(compiler, "operations/%u/period", number);
	if (name == NULL)
		return 0;
	while (i < op->place_count &&
	    (op->place[i].parent == MODEL_NONE ||
		op->place[i].is.kind != VALUE_NUMBER ||
		strcmp(op->place[i].name, name) != 0))
		i++;
	if (i == op->place_count)
		return compile_error(compiler,
		    "\"%s\": the operation has no such field with a number",
		    name);
	return 0;
}

static int
compile_actors(const struct compiler *compiler, struct op *op)
{
	const struct schema_operation *from = op->schema;
	unsigned i;

	op->actors = from->actors_count == 0 ? (1u << SCRIPT_ACTORS) - 1 : 0;
	for (i = 0; i < from->actors_count; i++) {
		if (from->actors[i] >= SCRIPT_ACTORS)
			return compile_error(compiler,
			    "actor %u: they are numbered from 0 to %u",
			    from->actors[i], SCRIPT_ACTORS - 1);
		op->actors |= (uint8_t)(1u << from->actors[i]);
	}
	return 0;
}

static int
check_name(const struct compiler *compiler, const char *name)
{
	size_t bytes = strspn(name, "abcdefghijklmnopqrstuvwxyz");

	if (bytes == 0 || name[bytes] != '\0')
		return compile_error(
		    compiler, "\"%s\": letters a to z only", name);
	return 0;
}

/* Compiles name, call and result, to which other operations refer. */
static int
compile_head(struct compiler *compiler, struct op *op, unsigned number)
{
	const struct schema_operation *from = op->schema;
	const struct manifest *manifest = compiler->manifest;
	const struct op *other;
	int error;

	compile_at(compiler, "operations/%u/name", number);
	error = check_name(compiler, from->name);
	if (error != 0)
		return error;
	if (snprintf(op->name, sizeof(op->name), "%s%s", from->name,
		compiler->suffix != NULL ? compiler->suffix : "") >=
	    (int)sizeof(op->name))
		return compile_error(
		    compiler, "\"%s\": more than 31 letters", from->name);
	for (other = manifest->op; other < op; other++) {
		if (strcmp(other->name, op->name) == 0)
			return compile_error(compiler,
			    "\"%s\": two operations of that name", op->name);
	}
	compile_at(compiler, "operations/%u/call", number);
	op->call = call_number(from->call);
	if (op->call == 0)
		return compile_error(
		    compiler, "\"%s\": no such call", from->call);
	op->slot = SCRIPT_NO_SLOT;
	compile_at(compiler, "operations/%u/result", number);
	if (from->result != NULL)
		error = compile_slot(compiler, from->result, &op->slot);
	compile_at(compiler, "operations/%u/", number);
	return error == 0 ? compile_states(compiler, "gives", from->gives,
				from->gives_count, &op->gives)
			  : error;
}

/* Resolves the operation's references to states, slots and blocks. */
static int
compile_rest(struct compiler *compiler, struct op *op, unsigned number)
{
	const struct schema_operation *from = op->schema;
	int error;

	compile_at(compiler, "operations/%u/", number);
	error = compile_known_states(
	    compiler, "needs", from->needs, from->needs_count, &op->needs);
	if (error == 0)
		error = compile_known_states(compiler, "takes", from->takes,
		    from->takes_count, &op->takes);
	if (error == 0)
		error = compile_known_states(compiler, "may_take",
		    from->may_take, from->may_take_count, &op->may_take);
	if (error == 0)
		error = compile_known_states(compiler, "guards", from->guards,
		    from->guards_count, &op->guards);
	if (error == 0)
		error = compile_known_states(compiler, "excludes",
		    from->excludes, from->excludes_count, &op->excludes);
	compile_at(compiler, "operations/%u/actors", number);
	if (error == 0)
		error = compile_actors(compiler, op);
	if (error == 0)
		error = compile_places(compiler, op, number);
	if (error == 0)
		error = compile_position(compiler, op, number);
	if (error == 0)
		error = check_period_field(compiler, op, number);
	if (error == 0)
		error = check_answers(compiler, op, number);
	return error;
}

/* Adds the operation NUMBER once for each of its instances. */
static int
add_ops(struct compiler *compiler, unsigned number)
{
	struct manifest *manifest = compiler->manifest;
	const struct schema *schema = manifest->schema;
	const struct schema_operation *from = &schema->operations[number];
	unsigned count = from->instances ? schema->instances_count : 1;
	int error = 0;

	for (unsigned i = 0; error == 0 && i < count; i++) {
		struct op *op = &manifest->op[manifest->op_count++];

		op->schema = from;
		op->instance = i;
		compiler->suffix = from->instances ? schema->instances[i]
						   : NULL;
		error = compile_head(compiler, op, number);
	}
	return error;
}

int
compile_ops(struct compiler *compiler)
{
	struct manifest *manifest = compiler->manifest;
	const struct schema *schema = manifest->schema;
	int error = 0;

	manifest->op = calloc(
	    (size_t)schema->operations_count * SCHEMA_INSTANCES_MAX + 1,
	    sizeof(*manifest->op));
	if (manifest->op == NULL)
		return tz_error(compiler->err, TZ_EIO, "out of memory");
	for (unsigned i = 0; error == 0 && i < schema->operations_count; i++)
		error = add_ops(compiler, i);
	for (size_t i = 0; error == 0 && i < manifest->op_count; i++) {
		struct op *op = &manifest->op[i];

		compiler->suffix = op->schema->instances
		    ? schema->instances[op->instance]
		    : NULL;
		error = compile_rest(
		    compiler, op, (unsigned)(op->schema - schema->operations));
	}
	compiler->suffix = NULL;
	return error;
}
