/* The DS save area and the BTS buffer. */
#include "emu/ds/ds.h"

#include <string.h>
#include <xxhash.h>

#define WORD_BYTES UINT64_C(8)

void
ds_reset(struct ds *ds, const struct profile *profile)
{
	memset(ds, 0, sizeof(*ds));
	ds->profile = profile;
}

/* SDM vol. 3, 18.4.6 "CPL-Qualified Branch Trace Mechanism". */
bool
ds_records_branches(const struct ds *ds, bool user)
{
	uint64_t on = DS_DEBUGCTL_TR | DS_DEBUGCTL_BTS;
	uint64_t off = user ? DS_DEBUGCTL_BTS_OFF_USR : DS_DEBUGCTL_BTS_OFF_OS;

	return (ds->debugctl & on) == on && (ds->debugctl & off) == 0;
}

/* The fields of a buffer in the save area, and where they are. */
struct buffer {
	uint64_t base, index, maximum, threshold;
};

struct place {
	enum ds_area base, index, maximum, threshold;
};

static const struct place bts = { DS_AREA_BTS_BASE, DS_AREA_BTS_INDEX,
	DS_AREA_BTS_MAXIMUM, DS_AREA_BTS_THRESHOLD };
static const struct place pebs = { DS_AREA_PEBS_BASE, DS_AREA_PEBS_INDEX,
	DS_AREA_PEBS_MAXIMUM, DS_AREA_PEBS_THRESHOLD };

#define BUFFER_FIELDS 4

static struct gva
field(const struct ds *ds, enum ds_area at)
{
	return (struct gva){ ds->area + at * WORD_BYTES };
}

static bool
has_room(const struct buffer *buffer, uint64_t bytes)
{
	return buffer->index >= buffer->base &&
	    buffer->index <= buffer->maximum &&
	    buffer->maximum - buffer->index >= bytes;
}

static bool
read_buffer(const struct ds *ds, const struct ds_port *port,
    const struct place *place, struct buffer *buffer, struct gva *fault)
{
	uint64_t word[BUFFER_FIELDS];

	if (!port->read(
		port->arg, field(ds, place->base), word, sizeof(word), fault))
		return false;
	*buffer = (struct buffer){
		.base = word[0],
		.index = word[place->index - place->base],
		.maximum = word[place->maximum - place->base],
		.threshold = word[place->threshold - place->base],
	};
	return true;
}

/*
 * Writes a record at the index and moves the index behind it.  CIRCULAR: to the base
 * instead if there is no room for another one.
 */
static void
store_record(const struct ds *ds, const struct ds_port *port,
    const struct place *place, bool circular, const void *record, size_t bytes,
    struct ds_result *result)
{
	struct buffer buffer;
	uint64_t index;

	memset(result, 0, sizeof(*result));
	if (!read_buffer(ds, port, place, &buffer, &result->fault)) {
		result->end = DS_READ_FAULT;
		return;
	}
	if (circular && !has_room(&buffer, bytes))
		buffer.index = buffer.base;
	result->record.u = buffer.index;
	if (!has_room(&buffer, bytes)) {
		result->end = DS_FULL;
		return;
	}
	index = buffer.index + bytes;
	result->pmi = index >= buffer.threshold;
	buffer.index = index;
	if (circular && !has_room(&buffer, bytes))
		index = buffer.base;
	if (port->write(
		port->arg, result->record, record, bytes, &result->fault) &&
	    port->write(port->arg, field(ds, place->index), &index,
		sizeof(index), &result->fault))
		return;
	result->end = DS_WRITE_FAULT;
	result->pmi = false;
}

void
ds_store_branch(const struct ds *ds, const struct ds_port *port,
    const struct ds_branch *branch, struct ds_result *result)
{
	bool interrupts = (ds->debugctl & DS_DEBUGCTL_BTINT) != 0;

	store_record(
	    ds, port, &bts, !interrupts, branch, sizeof(*branch), result);
	result->pmi &= interrupts;
}

struct field {
	unsigned offset, first, last;
	enum ds_value value;
};

static const struct field fields[] = {
#define RECORD(offset, first, last, value) { offset, first, last, DS_##value },
#include "emu/ds/record.def"
#undef RECORD
};

enum group { GROUP_BASIC, GROUP_MEMORY, GROUP_GPR };

static const struct {
	enum group group;
	unsigned index;
	enum ds_value value;
} adaptive[] = {
#define ADAPTIVE(group, index, value) { GROUP_##group, index, DS_##value },
#include "emu/ds/adaptive.def"
#undef ADAPTIVE
};

#define RECORD_WORDS_MAX 64

/* The words of a record in a format before 4; returns their number. */
static size_t
fill_fixed(unsigned format, const struct ds_sample *sample, uint64_t *record)
{
	size_t words = 0;
	uint64_t filled = 0;

	for (size_t i = 0; i < TZ_ARRAY_LEN(fields); i++) {
		const struct field *field = &fields[i];
		size_t at = field->offset / WORD_BYTES;

		if (format < field->first || format > field->last)
			continue;
		record[at] = sample->value[field->value];
		filled |= TZ_BIT(at);
		words = at + 1;
	}
	TZ_ASSERT(filled == TZ_BIT(words) - 1);
	return words;
}

static size_t
fill_adaptive(uint64_t groups, const struct ds_sample *sample, uint64_t *record)
{
	size_t words = 0;

	for (size_t i = 0; i < TZ_ARRAY_LEN(adaptive); i++) {
		enum group group = adaptive[i].group;

		if (group == GROUP_BASIC || (groups >> (group - 1) & 1) != 0)
			record[words++] = sample->value[adaptive[i].value];
	}
	record[0] = groups | words * WORD_BYTES << 48;
	return words;
}

void
ds_store_sample(const struct ds *ds, const struct ds_port *port,
    const struct ds_sample *sample, uint64_t groups, struct ds_result *result)
{
	unsigned format = profile_pebs_format(ds->profile);
	uint64_t record[RECORD_WORDS_MAX];
	struct ds_sample known = *sample;
	size_t words;

	known.value[DS_ZERO] = 0;
	words = format < 4 ? fill_fixed(format, &known, record)
			   : fill_adaptive(groups, &known, record);
	store_record(
	    ds, port, &pebs, false, record, words * WORD_BYTES, result);
}

/* Linux, struct debug_store: with format 4, eight general-purpose counters come first. */
bool
ds_reset_value(const struct ds *ds, const struct ds_port *port,
    unsigned counter, bool fixed, uint64_t *value, struct gva *fault)
{
	struct gva at = field(ds, DS_AREA_PEBS_RESET);

	at.u += (counter + (fixed ? 8 : 0)) * WORD_BYTES;
	return port->read(port->arg, at, value, sizeof(*value), fault);
}

uint64_t
ds_hash(const struct ds *ds)
{
	uint64_t words[] = { ds->debugctl, ds->area };

	return XXH3_64bits(words, sizeof(words));
}
