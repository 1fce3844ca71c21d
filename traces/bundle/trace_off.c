/* Reading of cpuN.fell, declared in traces/bundle/bundle.h. */
#include "traces/bundle/bundle.h"

#include "harness/host/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
trace_off_compare(const void *a, const void *b)
{
	const struct fell_record *left = a, *right = b;

	return (left->header.offset > right->header.offset) -
	    (left->header.offset < right->header.offset);
}

/* Finds the records in FILE; with records NULL only counts them. */
static int
trace_off_scan(
    struct fell *fell, const char *name, size_t bytes, struct tz_error *err)
{
	size_t at = 0;

	fell->count = 0;
	while (at < bytes) {
		struct fell_header header;

		if (bytes - at < sizeof(header))
			return tz_error(err, TZ_EFORMAT,
			    "%s: half a record at byte %zu", name, at);
		memcpy(&header, &fell->file[at], sizeof(header));
		at += sizeof(header);
		if (header.bytes > bytes - at)
			return tz_error(err, TZ_EFORMAT,
			    "%s: record of %llu bytes at byte %zu exceeds the "
			    "file",
			    name, (unsigned long long)header.bytes, at);
		if (fell->records != NULL)
			fell->records[fell->count] =
			    (struct fell_record){ header, &fell->file[at] };
		fell->count++;
		at += header.bytes;
	}
	return 0;
}

int
bundle_read_trace_off(const struct bundle *bundle, unsigned cpu,
    struct fell *fell, struct tz_error *err)
{
	char path[4096], name[32];
	size_t size;
	int error;

	memset(fell, 0, sizeof(*fell));
	snprintf(name, sizeof(name), "cpu%u.fell", cpu);
	if ((size_t)snprintf(path, sizeof(path), "%s/%s", bundle->path, name) >=
	    sizeof(path))
		return tz_error(err, TZ_EUSAGE, "%s: path too long", name);
	error = input_read(path, INPUT_PART, &fell->file, &size, err);
	if (error == -TZ_ENOENT)
		return 0; /* this CPU never traced */
	if (error == 0)
		error = trace_off_scan(fell, name, size, err);
	if (error != 0) {
		trace_off_free(fell);
		return error;
	}
	fell->records = calloc(fell->count + 1, sizeof(*fell->records));
	if (fell->records == NULL) {
		trace_off_free(fell);
		return tz_error(err, TZ_EIO, "%s: out of memory", name);
	}
	error = trace_off_scan(fell, name, size, err);
	TZ_ASSERT(error == 0);
	qsort(fell->records, fell->count, sizeof(*fell->records),
	    trace_off_compare);
	return 0;
}

void
trace_off_free(struct fell *fell)
{
	free(fell->records);
	free(fell->file);
	memset(fell, 0, sizeof(*fell));
}

/* Index of the first record that ends after OFFSET. */
static size_t
trace_off_find(const struct fell *fell, uint64_t offset)
{
	size_t low = 0, high = fell->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct fell_header *header = &fell->records[mid].header;

		if (header->offset + header->bytes <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint64_t
trace_off_copy(
    const struct fell *fell, uint64_t offset, uint64_t count, uint8_t *bytes)
{
	uint64_t done = 0;

	for (size_t i = trace_off_find(fell, offset); done < count; i++) {
		const struct fell_record *record;
		uint64_t skip, part;

		if (i == fell->count)
			break;
		record = &fell->records[i];
		if (record->header.offset > offset + done)
			break;
		skip = offset + done - record->header.offset;
		if (skip >= record->header.bytes)
			continue;
		part = record->header.bytes - skip;
		if (part > count - done)
			part = count - done;
		memcpy(&bytes[done], &record->bytes[skip], part);
		done += part;
	}
	return done;
}
