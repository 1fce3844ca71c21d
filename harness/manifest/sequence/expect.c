/*
 * The MSR values that an accepted configuration requires.  Several configurations may be
 * in force: of several instances, or of buffers with one each.  Then only the values on
 * which all of them agree are expected, because a CPU may trace with any of them.
 */
#include <string.h>

#include "harness/manifest/model.h"

bool
step_number(const struct op *op, const struct sequence_step *step,
    const char *name, uint64_t *number)
{
	unsigned i;

	for (i = 0; i < op->place_count; i++) {
		const struct value *value = step_value(op, step, i);
		unsigned bytes = op->place[i].bytes;

		if (strcmp(op->place[i].name, name) != 0)
			continue;
		*number = value->number;
		if (bytes != 0 && bytes < 8)
			*number &= TZ_BIT(8 * bytes) - 1;
		return value->kind == VALUE_NUMBER && step_reaches(op, step, i);
	}
	return false;
}

static bool
holds(const struct op *op, const struct sequence_step *step,
    const struct schema_condition *condition, bool absent)
{
	uint64_t number;

	if (condition == NULL)
		return absent;
	return step_number(op, step, condition->field, &number) &&
	    (number & condition->mask) == condition->equals;
}

/* The value that ROW requires under the configuration of STEP; false: no requirement. */
static bool
row_expect(const struct op *op, const struct sequence_step *step,
    const struct schema_msr *row, struct check_expect *expect)
{
	uint64_t value = row->add, number;
	unsigned i;

	if (!holds(op, step, row->when, true) ||
	    holds(op, step, row->unless, false))
		return false;
	for (i = 0; i < row->fields_count; i++) {
		if (!step_number(op, step, row->fields[i], &number))
			return false;
		value += number;
	}
	*expect = (struct check_expect){
		.msr = row->msr,
		.mask = row->mask,
		.value = value << row->shift & row->mask,
		.field = row->fields_count != 0 ? row->fields[0]
		    : row->when != NULL         ? row->when->field
						: "",
	};
	return true;
}

static int
step_expect(const struct manifest *manifest, const struct sequence_step *step,
    struct check_expect expect[CHECK_EXPECT_MAX])
{
	const struct op *op = &manifest->op[step->op];
	const struct schema *schema = manifest->schema;
	int count = 0;
	unsigned i;

	if (step_is_invalid(op, step))
		return 0;
	for (i = 0; i < schema->msrs_count && count < CHECK_EXPECT_MAX; i++) {
		if (row_expect(op, step, &schema->msrs[i], &expect[count]))
			count++;
	}
	return count;
}

static int
keep_common(struct check_expect *expect, int count,
    const struct check_expect *other, int other_count)
{
	int kept = 0, i, j;

	for (i = 0; i < count; i++) {
		for (j = 0; j < other_count; j++) {
			if (expect[i].msr == other[j].msr &&
			    expect[i].mask == other[j].mask &&
			    expect[i].value == other[j].value)
				break;
		}
		if (j < other_count)
			expect[kept++] = expect[i];
	}
	return kept;
}

int
sequence_expect(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step,
    struct check_expect expect[CHECK_EXPECT_MAX])
{
	const struct sequence_step *at = &sequence->step[step];
	struct check_expect other[CHECK_EXPECT_MAX];
	bool seen[SCHEMA_INSTANCES_MAX] = { false };
	const struct op *op;
	unsigned i;
	int count;

	TZ_ASSERT(step < sequence->count);
	op = &manifest->op[at->op];
	if (!op->schema->configures)
		return -1;
	count = step_expect(manifest, at, expect);
	seen[op->instance] = true;
	for (i = step; i-- > 0;) {
		at = &sequence->step[i];
		op = &manifest->op[at->op];
		if (!op->schema->configures ||
		    (seen[op->instance] && !op->schema->accumulates))
			continue;
		seen[op->instance] = true;
		count = keep_common(
		    expect, count, other, step_expect(manifest, at, other));
	}
	return count;
}

int
sequence_expect_own(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step,
    struct check_expect expect[CHECK_EXPECT_MAX])
{
	TZ_ASSERT(step < sequence->count);
	return step_expect(manifest, &sequence->step[step], expect);
}

/* The first slot among the values of STEP; SCRIPT_NO_SLOT: none. */
static unsigned
slot_of(const struct op *op, const struct sequence_step *step)
{
	for (unsigned i = 0; i < op->place_count; i++) {
		const struct value *value = step_value(op, step, i);

		if (value->kind == VALUE_SLOT)
			return value->slot;
	}
	return SCRIPT_NO_SLOT;
}

/*
 * The step before STEP whose result is in SLOT when STEP runs; STEP: none.  *SURE is false
 * if several such steps may run concurrently: it is not known which one is the last.
 */
static unsigned
producer(const struct manifest *manifest, const struct sequence *sequence,
    unsigned step, unsigned slot, bool *sure)
{
	unsigned count = 0, last = step;
	bool async = false;

	for (unsigned i = 0; i < step; i++) {
		async |= sequence->step[i].async;
		if (slot == SCRIPT_NO_SLOT ||
		    manifest->op[sequence->step[i].op].slot != slot)
			continue;
		last = i;
		count++;
	}
	*sure = count <= 1 || !async;
	return last;
}

unsigned
sequence_context(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step)
{
	unsigned context = 0, at = step, from;
	bool sure = true;

	TZ_ASSERT(step < sequence->count);
	for (;;) {
		const struct sequence_step *here = &sequence->step[at];
		const struct op *op = &manifest->op[here->op];

		/* With a configuration for each buffer there is no single context. */
		if (op->schema->accumulates)
			return 0;
		if (op->schema->instances && op->slot != SCRIPT_NO_SLOT)
			context = at + 1;
		from = producer(
		    manifest, sequence, at, slot_of(op, here), &sure);
		if (from == at || !sure)
			return sure ? context : 0;
		at = from;
	}
}

bool
sequence_period(const struct manifest *manifest,
    const struct sequence *sequence, unsigned step, uint64_t *events)
{
	const struct op *op = &manifest->op[sequence->step[step].op];

	return op->schema->period != NULL &&
	    step_number(op, &sequence->step[step], op->schema->period, events);
}
