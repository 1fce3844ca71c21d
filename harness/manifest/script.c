/* From a sequence to the program's orders: arguments, data, what is fixed up. */
#include <string.h>

#include "harness/manifest/model.h"

#define DATA_ALIGN 16u

struct builder {
	const struct manifest *manifest;
	unsigned cpu_count, data_used;
	bool full;
	struct script *script;
};

/* Room for BYTES of data; 0 and .full if there is none. */
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

/* VALUE as an argument or a pointer; BLOCK is where its block of data is. */
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

/* The field PLACE at AT of the data; .full is not set yet. */
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

		if (!step_reaches(op, from, i))
			continue;
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
