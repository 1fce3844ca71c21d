/*
 * Finds the records of a perf.data file, and checks each: perf_record_scan().
 */
#include "traces/decode/vector.h"
#include "traces/perf_data/perf_bytes.h"
#include "traces/perf_data/perf_event.h"
#include "traces/perf_data/perf_features.h"
#include "traces/perf_data/perf_record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HEADER 8 /* of a record: type, misc, size */

/* The bytes that a record has at least, after its header, and where a text begins. */
static const struct form {
	uint16_t type, bytes;
	bool text; /* after these bytes */
} forms[] = {
	{ PERF_MMAP, 32, true },
	{ PERF_LOST, 16, false },
	{ PERF_COMM, 8, true },
	{ PERF_EXIT, 24, false },
	{ PERF_FORK, 24, false },
	{ PERF_MMAP2, 64, true },
	{ PERF_AUX, 24, false },
	{ PERF_ITRACE_START, 8, false },
	{ PERF_LOST_SAMPLES, 8, false },
	{ PERF_SWITCH_CPU_WIDE, 8, false },
	{ PERF_TEXT_POKE, 12, false },
	{ PERF_AUXTRACE_INFO, 8, false },
	{ PERF_AUXTRACE, 40, false },
	{ PERF_STAT, 40, false },
	{ PERF_COMPRESSED2, 8, false },
};

struct scan {
	struct perf_file *file;
	struct tz_error *err;
	struct zfile_feed *feed;
	size_t room;
	/* For each COMPRESSED record, the end of its content in the unpacked bytes. */
	size_t *ends;
	size_t end_count, end_room, end_next;
	size_t unpacked; /* unpacked bytes whose records were added */
};

static int
damaged(const struct scan *scan, const struct perf_record *record,
    const char *cause)
{
	return tz_error(scan->err, TZ_EFORMAT,
	    "%s: at byte %" PRIu64 ": record of type %u: %s", scan->file->path,
	    record->offset, record->type, cause);
}

static int
no_memory(const struct scan *scan)
{
	return tz_error(
	    scan->err, TZ_EIO, "%s: out of memory", scan->file->path);
}

/* The bytes of the fields that follow each record of an event with SAMPLE_TYPE. */
static unsigned
trailer_bytes(uint64_t sample_type)
{
	const uint64_t fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
	    PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
	    PERF_SAMPLE_IDENTIFIER;

	return 8 * (unsigned)__builtin_popcountll(sample_type & fields);
}

/* Reads the fields of SAMPLE_TYPE at BYTES, which has them all. */
static void
read_fields(struct perf_record *record, uint64_t sample_type,
    const uint8_t *bytes, bool sample)
{
	if (sample)
		bytes += (sample_type & PERF_SAMPLE_IDENTIFIER ? 8 : 0) +
		    (sample_type & PERF_SAMPLE_IP ? 8 : 0);
	if (sample_type & PERF_SAMPLE_TID) {
		record->pid = perf_u32(bytes);
		record->tid = perf_u32(bytes + 4);
		bytes += 8;
	}
	if (sample_type & PERF_SAMPLE_TIME) {
		record->time = perf_u64(bytes);
		bytes += 8;
	}
	if (sample && (sample_type & PERF_SAMPLE_ADDR))
		bytes += 8;
	if (sample_type & PERF_SAMPLE_ID) {
		record->id = perf_u64(bytes);
		bytes += 8;
	}
	if (sample_type & PERF_SAMPLE_STREAM_ID)
		bytes += 8;
	if (sample_type & PERF_SAMPLE_CPU)
		record->cpu = perf_u32(bytes);
}

static int
check_sample(const struct scan *scan, struct perf_record *record)
{
	const uint64_t fields = PERF_SAMPLE_IP | PERF_SAMPLE_ADDR;
	const struct perf_attr *attr;
	const uint8_t *bytes = record->bytes + HEADER;
	unsigned wanted;

	record->body = (uint16_t)(record->count - HEADER);
	if (record->body < 8)
		return damaged(scan, record, "no sample in it");
	attr = perf_event_of(scan->file, bytes);
	wanted = trailer_bytes(attr->sample_type) +
	    8 * (unsigned)__builtin_popcountll(attr->sample_type & fields);
	if (record->body < wanted)
		return damaged(
		    scan, record, "shorter than the fields of its event");
	read_fields(record, attr->sample_type, bytes, true);
	if (attr->sample_type & PERF_SAMPLE_IDENTIFIER)
		record->id = perf_u64(bytes);
	return 0;
}

/* Reads the trailer of a record of the kernel; sets .body. */
static int
check_trailer(const struct scan *scan, struct perf_record *record)
{
	const struct perf_attr *attr = &scan->file->attrs[0];
	unsigned trailer;

	record->body = (uint16_t)(record->count - HEADER);
	if (record->type >= PERF_USER_TYPES ||
	    !(attr->flags & PERF_ATTR_SAMPLE_ID_ALL))
		return 0;
	if (record->body >= 8)
		attr = perf_event_of(
		    scan->file, record->bytes + record->count - 8);
	trailer = trailer_bytes(attr->sample_type);
	if (record->body < trailer)
		return damaged(
		    scan, record, "shorter than the fields of its event");
	record->body = (uint16_t)(record->body - trailer);
	read_fields(record, attr->sample_type,
	    record->bytes + HEADER + record->body, false);
	if (attr->sample_type & PERF_SAMPLE_IDENTIFIER)
		record->id = perf_u64(record->bytes + record->count - 8);
	return 0;
}

static int
check_form(const struct scan *scan, struct perf_record *record)
{
	const uint8_t *body = record->bytes + HEADER;

	for (size_t i = 0; i < TZ_ARRAY_LEN(forms); i++) {
		const struct form *form = &forms[i];

		if (form->type != record->type)
			continue;
		if (record->body < form->bytes)
			return damaged(scan, record, "too short");
		if (form->text &&
		    memchr(body + form->bytes, '\0',
			(size_t)(record->body - form->bytes)) == NULL)
			return damaged(
			    scan, record, "a name has no NUL at its end");
	}
	if (record->type == PERF_TEXT_POKE &&
	    record->body - 12u <
		(unsigned)perf_u16(body + 8) + perf_u16(body + 10))
		return damaged(scan, record, "too short for its bytes of code");
	if (record->type == PERF_ITRACE_START) {
		record->pid = perf_u32(body);
		record->tid = perf_u32(body + 4);
	}
	return 0;
}

/* A record of COUNT bytes or less begins at BYTES. */
static int
check_record(const struct scan *scan, struct perf_record *record,
    const uint8_t *bytes, uint64_t count)
{
	int error;

	record->type = (uint16_t)perf_u32(bytes);
	record->bytes = bytes;
	record->misc = perf_u16(bytes + 4);
	record->count = perf_u16(bytes + 6);
	record->pid = record->tid = PERF_NO_PID;
	record->cpu = PERF_NO_CPU;
	if (perf_u32(bytes) > UINT16_MAX)
		return damaged(scan, record, "no such type");
	if (record->count < HEADER || record->count > count)
		return damaged(scan, record, "its size is wrong");
	error = record->type == PERF_SAMPLE ? check_sample(scan, record)
					    : check_trailer(scan, record);
	return error != 0 ? error : check_form(scan, record);
}

static int
add_record(struct scan *scan, const struct perf_record *record)
{
	struct perf_file *file = scan->file;

	if (!GROW(file->records, scan->room, file->record_count + 1))
		return no_memory(scan);
	file->records[file->record_count++] = *record;
	return 0;
}

/* The trace bytes after an AUXTRACE record, 0 for any other. */
static int
trace_bytes(const struct scan *scan, const struct perf_record *record,
    uint64_t left, uint64_t *bytes)
{
	*bytes = 0;
	if (record->type != PERF_AUXTRACE)
		return 0;
	*bytes = perf_u64(record->bytes + HEADER);
	return *bytes <= left
	    ? 0
	    : damaged(
		  scan, record, "the trace after it goes beyond the records");
}

/* The compressed content of RECORD. */
static int
packed_content(const struct scan *scan, const struct perf_record *record,
    const uint8_t **bytes, size_t *count)
{
	uint64_t stated;

	*bytes = record->bytes + HEADER;
	*count = record->body;
	if (record->type == PERF_COMPRESSED)
		return 0;
	stated = perf_u64(*bytes);
	*bytes += 8;
	*count -= 8;
	if (stated > *count)
		return damaged(scan, record, "its size is wrong");
	*count = (size_t)stated;
	return 0;
}

/* Unpacks RECORD; its content continues that of the compressed record before. */
static int
unpack(struct scan *scan, const struct perf_record *record)
{
	const uint8_t *bytes;
	size_t count;
	int error = packed_content(scan, record, &bytes, &count);

	if (error == 0 && scan->feed == NULL)
		error = zfile_feed_create(
		    scan->file->path, &scan->feed, scan->err);
	if (error == 0)
		error = zfile_feed_add(
		    scan->feed, bytes, count, record->offset, scan->err);
	if (error != 0)
		return error;
	if (!GROW(scan->ends, scan->end_room, scan->end_count + 1))
		return no_memory(scan);
	(void)zfile_feed_content(scan->feed, &scan->ends[scan->end_count++]);
	return 0;
}

/* Adds the records that the compressed record at OFFSET completes. */
static int
add_unpacked(struct scan *scan, uint64_t offset)
{
	size_t count, end = scan->ends[scan->end_next++];
	const uint8_t *bytes = zfile_feed_content(scan->feed, &count);
	int error = 0;

	while (error == 0 && end - scan->unpacked >= HEADER) {
		struct perf_record record = { .offset = offset };
		const uint8_t *at = bytes + scan->unpacked;

		/* The rest of it is in the next compressed record. */
		if (perf_u16(at + 6) > end - scan->unpacked)
			break;
		error = check_record(scan, &record, at, end - scan->unpacked);
		if (error == 0 &&
		    (record.type == PERF_AUXTRACE ||
			record.type == PERF_COMPRESSED ||
			record.type == PERF_COMPRESSED2))
			error = damaged(
			    scan, &record, "in a compressed record");
		if (error == 0)
			error = add_record(scan, &record);
		scan->unpacked += record.count;
	}
	if (error == 0 && scan->end_next == scan->end_count &&
	    scan->unpacked != end && !scan->file->unfinished)
		error = tz_error(scan->err, TZ_EFORMAT,
		    "%s: at byte %" PRIu64 ": the end of a compressed record "
		    "is missing",
		    scan->file->path, offset);
	return error;
}

/* One pass over the records: ADD them, or unpack what is compressed. */
static int
walk(struct scan *scan, const struct perf_section *data, bool add)
{
	const uint8_t *bytes = scan->file->bytes;
	uint64_t at = data->offset, end = at + data->bytes;
	int error = 0;

	while (error == 0 && at < end) {
		struct perf_record record = { .offset = at };
		uint64_t trace = 0;

		if (scan->file->unfinished &&
		    (end - at < HEADER || perf_u16(&bytes[at + 6]) > end - at))
			break;
		if (end - at < HEADER)
			return tz_error(scan->err, TZ_EFORMAT,
			    "%s: at byte %" PRIu64 ": %" PRIu64
			    " bytes are no record",
			    scan->file->path, at, end - at);
		error = check_record(scan, &record, &bytes[at], end - at);
		if (error == 0)
			error = trace_bytes(
			    scan, &record, end - at - record.count, &trace);
		if (error != 0)
			break;
		if (record.type == PERF_COMPRESSED ||
		    record.type == PERF_COMPRESSED2)
			error = add ? add_unpacked(scan, at)
				    : unpack(scan, &record);
		else if (add)
			error = add_record(scan, &record);
		at += record.count + trace;
	}
	return error;
}

int
perf_record_scan(struct perf_file *file, const struct perf_section *data,
    struct zfile_feed **feed, struct tz_error *err)
{
	struct scan scan = { .file = file, .err = err };
	int error = walk(&scan, data, false);

	if (error == 0)
		error = walk(&scan, data, true);
	free(scan.ends);
	*feed = scan.feed;
	return error;
}
