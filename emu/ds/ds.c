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

/* SDM vol. 3, 17.4.6 "CPL-Qualified Branch Trace Mechanism". */
bool
ds_records_branches(const struct ds *ds, bool user)
{
	uint64_t on = DS_DEBUGCTL_TR | DS_DEBUGCTL_BTS;
	uint64_t off = user ? DS_DEBUGCTL_BTS_OFF_USR : DS_DEBUGCTL_BTS_OFF_OS;

	return (ds->debugctl & on) == on && (ds->debugctl & off) == 0;
}

/* The four fields of a buffer in the save area. */
struct buffer {
	uint64_t base, index, maximum, threshold;
};

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

/*
 * Writes a record at the index and moves the index behind it.  CIRCULAR: to the base
 * instead if there is no room for another one.
 */
static void
store_record(const struct ds *ds, const struct ds_port *port, enum ds_area at,
    bool circular, const void *record, size_t bytes, struct ds_result *result)
{
	struct buffer buffer;
	uint64_t index;

	memset(result, 0, sizeof(*result));
	if (!port->read(port->arg, field(ds, at), &buffer, sizeof(buffer),
		&result->fault)) {
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
	    port->write(port->arg, field(ds, at + 1), &index, sizeof(index),
		&result->fault))
		return;
	result->end = DS_WRITE_FAULT;
	result->pmi = false;
}

void
ds_store_branch(const struct ds *ds, const struct ds_port *port,
    const struct ds_branch *branch, struct ds_result *result)
{
	bool interrupts = (ds->debugctl & DS_DEBUGCTL_BTINT) != 0;

	store_record(ds, port, DS_AREA_BTS_BASE, !interrupts, branch,
	    sizeof(*branch), result);
	result->pmi &= interrupts;
}

uint64_t
ds_hash(const struct ds *ds)
{
	uint64_t words[] = { ds->debugctl, ds->area };

	return XXH3_64bits(words, sizeof(words));
}
