/* Makes a script from a sequence: arguments, data, and the fix-ups of the data. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/manifest/model.h"

#define DATA_ALIGN 16u

struct builder {
	const struct manifest *manifest;
	unsigned cpu_count, data_used;
	bool full;
	struct script *script;
	const uint64_t *numbers; /* replace the places' numbers; or NULL */
};

/* Allocates BYTES of data; returns 0 and sets .full if there is no room. */
static unsigned
take_data(struct builder *builder, size_t bytes)
{
	unsigned at = builder->data_used;
	size_t room = (bytes + DATA_ALIGN - 1) & ~(size_t)(DATA_ALIGN - 1);

	if (room > SCRIPT_DATA_MAX - at) {
		builder->full = true;
		return 0;
	}
	builder->data_used += (unsigned)room;
	return at;
}

static void
add_fix(struct builder *builder, unsigned at, struct script_arg arg)
{
	struct script *script = builder->script;

	if (script->fix_count == SCRIPT_FIXES_MAX) {
		builder->full = true;
		return;
	}
	script->fix[script->fix_count++] = (struct script_fix){ at, arg };
}

static uint64_t
cpus_value(const struct builder *builder, enum value_kind kind)
{
	TZ_ASSERT(builder->cpu_count < 64);
	if (kind == VALUE_CPUS_COUNT)
		return builder->cpu_count;
	if (kind == VALUE_CPUS_ABSENT)
		return TZ_BIT(builder->cpu_count);
	return TZ_BIT(builder->cpu_count) - 1;
}

/* VALUE as an argument or a pointer; BLOCK is the offset of its block of data. */
static struct script_arg
argument(struct builder *builder, const struct value *value, unsigned block)
{
	struct script_arg arg = { SCRIPT_VALUE, 0 };
	size_t bytes;

	switch (value->kind) {
	case VALUE_NUMBER:
		arg.value = value->number;
		break;
	case VALUE_SLOT:
		arg.kind = SCRIPT_SLOT;
		arg.value = value->slot;
		break;
	case VALUE_DATA:
		arg.kind = SCRIPT_DATA;
		arg.value = block;
		break;
	case VALUE_TEXT:
		bytes = strlen(value->text) + 1;
		arg.kind = SCRIPT_DATA;
		arg.value = take_data(builder, bytes);
		if (!builder->full)
			memcpy(builder->script->data + arg.value, value->text,
			    bytes);
		break;
	case VALUE_CPUS_ALL:
	case VALUE_CPUS_ABSENT:
	case VALUE_CPUS_COUNT:
		arg.value = cpus_value(builder, value->kind);
		break;
	}
	return arg;
}

/* Writes the field PLACE at offset AT of the data; .full must not be set. */
static void
put_field(struct builder *builder, const struct place *place,
    const struct value *value, unsigned at, unsigned block)
{
	uint8_t *data = builder->script->data + at;
	struct script_arg arg;
	unsigned i;

	if (value->kind == VALUE_TEXT) {
		memcpy(data, value->text, strlen(value->text));
		return;
	}
	arg = argument(builder, value, block);
	if (arg.kind != SCRIPT_VALUE) {
		add_fix(builder, at, arg);
		return;
	}
	for (i = 0; i < place->bytes; i++)
		data[i] = (uint8_t)(arg.value >> (8 * i));
}

/* The offset and size of the number of place INDEX after the call; 0 bytes: absent. */
static void
position_part(const struct builder *builder, const struct op *op,
    const struct sequence_step *from, uint16_t index,
    const unsigned block[MODEL_PLACES_MAX], uint8_t *bytes, uint32_t *at)
{
	const struct place *place = &op->place[index];
	const struct value *value;

	*bytes = 0;
	*at = 0;
	if (index == MODEL_NONE || !step_reaches(op, from, index))
		return;
	value = step_value(op, from, index);
	if (value->kind == VALUE_DATA) {
		uint32_t size =
		    builder->manifest->schema->data[value->block].bytes;

		*bytes = (uint8_t)(size < 8 ? size : 8);
		*at = block[index];
	} else if (value->kind == VALUE_NUMBER &&
	    op->place[index].is.kind == VALUE_NUMBER) {
		*bytes = (uint8_t)place->bytes;
		*at = block[place->parent] + place->at;
	}
}

/* If a part of the position is absent in this step, the step returns no position. */
static void
put_position(const struct builder *builder, const struct op *op,
    const struct sequence_step *from, const unsigned block[MODEL_PLACES_MAX],
    struct script_position *to)
{
	const struct op_position *position = &op->position;

	*to = (struct script_position){ .kind = (uint8_t)position->kind,
		.offset_at = position->at };
	if (position->kind != SCRIPT_POSITION_DATA)
		return;
	position_part(builder, op, from, position->page, block, &to->page_bytes,
	    &to->page_at);
	position_part(builder, op, from, position->offset, block,
	    &to->offset_bytes, &to->offset_at);
	if ((position->page != MODEL_NONE && to->page_bytes == 0) ||
	    (position->offset != MODEL_NONE && to->offset_bytes == 0))
		to->kind = SCRIPT_NO_POSITION;
}

static void
put_step(struct builder *builder, const struct sequence_step *from)
{
	struct script *script = builder->script;
	struct script_step *to = &script->step[script->step_count++];
	const struct manifest *manifest = builder->manifest;
	const struct op *op = &manifest->op[from->op];
	unsigned block[MODEL_PLACES_MAX] = { 0 };
	unsigned i;

	*to = (struct script_step){
		.actor = from->actor,
		.flags = from->async ? SCRIPT_ASYNC : 0,
		.slot = op->slot,
		.call = op->call,
	};
	for (i = 0; i < op->place_count && !builder->full; i++) {
		const struct place *place = &op->place[i];
		const struct value *value = step_value(op, from, i);
		struct value number;

		if (!step_reaches(op, from, i))
			continue;
		if (builder->numbers != NULL && value->kind == VALUE_NUMBER) {
			number = *value;
			number.number = builder->numbers[i];
			value = &number;
		}
		if (value->kind == VALUE_DATA)
			block[i] = take_data(builder,
			    manifest->schema->data[value->block].bytes);
		if (builder->full)
			break;
		if (place->parent == MODEL_NONE)
			to->arg[i] = argument(builder, value, block[i]);
		else
			put_field(builder, place, value,
			    block[place->parent] + place->at, block[i]);
	}
	if (!builder->full)
		put_position(builder, op, from, block, &to->position);
}

int
sequence_script(const struct manifest *manifest,
    const struct sequence *sequence, unsigned cpu_count, struct script *script,
    struct tz_error *err)
{
	struct builder builder = {
		.manifest = manifest,
		.cpu_count = cpu_count,
		.script = script,
	};
	unsigned i;

	TZ_ASSERT(sequence->count <= SCRIPT_STEPS_MAX);
	memset(script, 0, sizeof(*script));
	for (i = 0; i < sequence->count; i++) {
		put_step(&builder, &sequence->step[i]);
		if (builder.full)
			return tz_error(err, TZ_EUSAGE,
			    "step %u, \"%s\": its data do not fit any more "
			    "into one script",
			    i, manifest->op[sequence->step[i].op].name);
	}
	return 0;
}

/* The value of the parameter KEY in WORDS; *BYTES: its length.  NULL: KEY is absent. */
static const char *
find_word(const char *words, const char *key, size_t *bytes)
{
	size_t key_bytes = strlen(key);

	while (*words != '\0') {
		*bytes = strcspn(words, " ");
		if (*bytes > key_bytes && words[key_bytes] == '=' &&
		    strncmp(words, key, key_bytes) == 0) {
			*bytes -= key_bytes + 1;
			return words + key_bytes + 1;
		}
		words += *bytes;
		words += strspn(words, " ");
	}
	return NULL;
}

/* Writes the parameter's value into its bits of *NUMBER. */
static int
apply_word(const struct run_word *word, const struct place *place,
    const char *text, size_t text_bytes, uint64_t *number, struct tz_error *err)
{
	uint64_t mask = word->mask, value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
	if (text_bytes == 0 || end != text + text_bytes || errno != 0)
		return tz_error(err, TZ_EUSAGE, "%s=%.*s: not a number",
		    word->word, (int)text_bytes, text);
	if (place->bytes < 8)
		mask &= TZ_BIT(8 * place->bytes) - 1;
	if (value << word->shift >> word->shift != value ||
	    (value << word->shift & ~mask) != 0)
		return tz_error(err, TZ_EUSAGE,
		    "%s=%.*s: \"%s\" has no room for it", word->word,
		    (int)text_bytes, text, place->name);
	*number = (*number & ~mask) | (value << word->shift & mask);
	return 0;
}

int
manifest_run_script(const struct manifest *manifest, const char *words,
    unsigned cpu_count, struct script *script, struct tz_error *err)
{
	const struct sequence_step step = { .op = manifest->configure };
	uint64_t numbers[MODEL_PLACES_MAX];
	struct builder builder = { .manifest = manifest,
		.cpu_count = cpu_count,
		.script = script,
		.numbers = numbers };
	const struct op *op;
	size_t bytes;
	unsigned i;
	int error = 0;

	memset(script, 0, sizeof(*script));
	if (manifest->configure == MODEL_NONE)
		return 0;
	op = &manifest->op[manifest->configure];
	for (i = 0; i < op->place_count; i++)
		numbers[i] = op->place[i].is.number;
	for (i = 0; error == 0 && i < manifest->word_count; i++) {
		const struct run_word *word = &manifest->word[i];
		const char *text = find_word(words, word->word, &bytes);

		if (text != NULL)
			error = apply_word(word, &op->place[word->place], text,
			    bytes, &numbers[word->place], err);
	}
	if (error != 0)
		return error;
	put_step(&builder, &step);
	if (builder.full)
		return tz_error(err, TZ_EUSAGE,
		    "\"%s\": its data do not fit into a script", op->name);
	return 0;
}
