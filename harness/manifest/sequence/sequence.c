/* Sequences: their text form, the states of their steps, removal of steps. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/manifest/model.h"

uint8_t
op_actor(const struct op *op, uint8_t preferred)
{
	uint8_t actor = preferred;

	while ((op->actors >> actor & 1) == 0)
		actor = (uint8_t)((actor + 1) % SCRIPT_ACTORS);
	return actor;
}

const struct value *
op_variant(const struct op *op, unsigned number, unsigned *place)
{
	unsigned i;

	for (i = 0; i < op->place_count; i++) {
		const struct place *at = &op->place[i];

		if (number >= at->first &&
		    number - at->first < at->variant_count) {
			*place = i;
			return &at->variant[number - at->first];
		}
	}
	return NULL;
}

const struct value *
step_value(
    const struct op *op, const struct sequence_step *step, unsigned place)
{
	const struct value *value;
	unsigned i, of;

	for (i = 0; i < step->variant_count; i++) {
		value = op_variant(op, step->variant[i], &of);
		if (value != NULL && of == place)
			return value;
	}
	return &op->place[place].is;
}

bool
step_reaches(
    const struct op *op, const struct sequence_step *step, unsigned place)
{
	unsigned parent = op->place[place].parent;

	while (parent != MODEL_NONE) {
		if (step_value(op, step, parent) != &op->place[parent].is)
			return false;
		parent = op->place[parent].parent;
	}
	return true;
}

bool
step_is_invalid(const struct op *op, const struct sequence_step *step)
{
	const struct value *value;
	unsigned i, place;

	for (i = 0; i < step->variant_count; i++) {
		value = op_variant(op, step->variant[i], &place);
		if (value != NULL && value->invalid)
			return true;
	}
	return false;
}

uint64_t
step_states(const struct manifest *manifest, const struct sequence_step *step,
    uint64_t states)
{
	const struct op *op = &manifest->op[step->op];

	if (((op->needs | op->guards) & ~states) != 0 ||
	    (op->excludes & states) != 0 || step_is_invalid(op, step))
		return states;
	return (states & ~op->takes) | op->gives;
}

unsigned
sequence_flags(const struct manifest *manifest, const struct sequence *sequence,
    unsigned step)
{
	const struct schema_operation *op;

	TZ_ASSERT(step < sequence->count);
	op = manifest->op[sequence->step[step].op].schema;
	return (op->configures ? MANIFEST_CONFIGURES : 0) |
	    (op->starts ? MANIFEST_STARTS : 0) |
	    (op->stops ? MANIFEST_STOPS : 0) |
	    (op->unloads ? MANIFEST_UNLOADS : 0) |
	    (op->rereads ? MANIFEST_REREADS : 0) |
	    (op->collects ? MANIFEST_COLLECTS : 0) |
	    (op->refuses ? MANIFEST_REFUSES : 0) |
	    (op->takes_count != 0 ? MANIFEST_TAKES : 0) |
	    (op->gives_count + op->takes_count != 0 ? MANIFEST_CHANGES : 0);
}

static size_t
find_op(const struct manifest *manifest, const char *name, size_t bytes)
{
	size_t i;

	for (i = 0; i < manifest->op_count; i++) {
		if (strlen(manifest->op[i].name) == bytes &&
		    memcmp(manifest->op[i].name, name, bytes) == 0)
			break;
	}
	return i;
}

/* Parses TEXT[0..BYTES) as one step; returns the cause of an error, or NULL. */
static const char *
parse_step(const struct manifest *manifest, const char *text, size_t bytes,
    struct sequence_step *step)
{
	const char *end = text + bytes;
	const struct op *op;
	unsigned number, place, i;
	size_t found, name;

	*step = (struct sequence_step){ .op = 0 };
	if (bytes != 0 && text[0] >= '0' && text[0] <= '9')
		step->actor = (uint8_t)(*text++ - '0');
	if (step->actor >= SCRIPT_ACTORS)
		return "no such actor";
	if (end > text && end[-1] == '-') {
		step->async = true;
		end--;
	}
	name = strspn(text, "abcdefghijklmnopqrstuvwxyz");
	found = find_op(manifest, text, name);
	if (found == manifest->op_count)
		return "no such operation";
	step->op = (uint16_t)found;
	op = &manifest->op[found];
	if ((op->actors >> step->actor & 1) == 0)
		return "not an operation of this actor";
	for (text += name; text < end; text += strspn(text, "0123456789")) {
		if (*text != '.' || text + 1 == end || text[1] < '0' ||
		    text[1] > '9')
			return "not [ACTOR]OPERATION[.VARIANT]...[-]";
		number = (unsigned)strtoul(++text, NULL, 10);
		if (op_variant(op, number, &place) == NULL)
			return "no such variant";
		if (step->variant_count == SEQUENCE_VARIANTS_MAX)
			return "too many variants";
		for (i = 0; i < step->variant_count; i++) {
			unsigned other;

			if (op_variant(op, step->variant[i], &other) != NULL &&
			    other == place)
				return "two variants of one value";
		}
		step->variant[step->variant_count++] = (uint16_t)number;
	}
	return NULL;
}

bool
sequence_has_op(const struct sequence *sequence, size_t op)
{
	for (unsigned i = 0; i < sequence->count; i++) {
		if (sequence->step[i].op == op)
			return true;
	}
	return false;
}

int
sequence_parse(const struct manifest *manifest, const char *text,
    struct sequence *sequence, struct tz_error *err)
{
	const char *why;
	size_t bytes;

	sequence->count = 0;
	for (;; text += bytes + 1) {
		bytes = strcspn(text, "+");
		if (sequence->count == SCRIPT_STEPS_MAX)
			return tz_error(err, TZ_EUSAGE, "more than %d steps",
			    SCRIPT_STEPS_MAX);
		why = parse_step(
		    manifest, text, bytes, &sequence->step[sequence->count]);
		if (why != NULL)
			return tz_error(err, TZ_EUSAGE, "step %u, \"%.*s\": %s",
			    sequence->count, (int)bytes, text, why);
		sequence->count++;
		if (text[bytes] == '\0')
			return 0;
	}
}

bool
sequence_format(const struct manifest *manifest,
    const struct sequence *sequence, char *text, size_t text_size)
{
	size_t used = 0;
	unsigned i, j;

	TZ_ASSERT(text_size != 0);
	text[0] = '\0';
	for (i = 0; i < sequence->count; i++) {
		const struct sequence_step *step = &sequence->step[i];
		char one[80], actor[8] = "";
		int bytes;

		TZ_ASSERT(step->op < manifest->op_count);
		if (step->actor != 0)
			snprintf(actor, sizeof(actor), "%u", step->actor);
		bytes = snprintf(one, sizeof(one), "%s%s%s", i != 0 ? "+" : "",
		    actor, manifest->op[step->op].name);
		for (j = 0; j < step->variant_count; j++)
			bytes += snprintf(one + bytes,
			    sizeof(one) - (size_t)bytes, ".%u",
			    step->variant[j]);
		if (step->async)
			one[bytes++] = '-';
		if (used + (size_t)bytes >= text_size)
			return false;
		memcpy(text + used, one, (size_t)bytes);
		used += (size_t)bytes;
		text[used] = '\0';
	}
	return true;
}

static void
remove_step(struct sequence *sequence, unsigned step)
{
	memmove(&sequence->step[step], &sequence->step[step + 1],
	    (sequence->count - step - 1) * sizeof(sequence->step[0]));
	sequence->count--;
}

unsigned
sequence_repair(const struct manifest *manifest, struct sequence *sequence)
{
	uint64_t states = manifest->initial;
	unsigned removed = 0, i = 0;
	bool over = false;

	while (i < sequence->count) {
		const struct sequence_step *step = &sequence->step[i];
		const struct op *op = &manifest->op[step->op];

		if (over ||
		    (op->schema->strict && (op->needs & ~states) != 0)) {
			remove_step(sequence, i);
			removed++;
			continue;
		}
		/* If the end is asynchronous, one more step races with it. */
		over = (op->schema->ends && !step->async) ||
		    (i != 0 && sequence->step[i - 1].async &&
			manifest->op[sequence->step[i - 1].op].schema->ends);
		states = step_states(manifest, step, states);
		i++;
	}
	return removed;
}

bool
step_uses(const struct op *op, const struct sequence_step *step, uint16_t slot)
{
	const struct value *value;
	unsigned i;

	for (i = 0; i < op->place_count; i++) {
		value = step_value(op, step, i);
		if (value->kind == VALUE_SLOT && value->slot == slot &&
		    step_reaches(op, step, i))
			return true;
	}
	return false;
}

/* True if STEP uses a slot of which all earlier results are GONE. */
static bool
depends(const struct manifest *manifest, const struct sequence *sequence,
    unsigned step, const bool *gone)
{
	const struct sequence_step *at = &sequence->step[step];
	const struct op *op = &manifest->op[at->op];
	uint16_t slot;

	for (slot = 0; slot < manifest->slot_count; slot++) {
		unsigned from = step;
		bool kept = false, lost = false;

		if (!step_uses(op, at, slot))
			continue;
		while (from-- > 0) {
			if (manifest->op[sequence->step[from].op].slot != slot)
				continue;
			kept = kept || !gone[from];
			lost = lost || gone[from];
		}
		if (lost && !kept)
			return true;
	}
	return false;
}

void
sequence_drop(const struct manifest *manifest, const struct sequence *from,
    unsigned step, struct sequence *to)
{
	bool gone[SCRIPT_STEPS_MAX] = { false };
	struct sequence result = { .count = 0 };
	unsigned i;

	TZ_ASSERT(step < from->count);
	gone[step] = true;
	for (i = step + 1; i < from->count; i++)
		gone[i] = depends(manifest, from, i, gone);
	for (i = 0; i < from->count; i++) {
		if (!gone[i])
			result.step[result.count++] = from->step[i];
	}
	sequence_repair(manifest, &result);
	*to = result;
}
