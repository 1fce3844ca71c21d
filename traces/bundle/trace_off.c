/* Reading of cpuN.trace-off, declared in traces/bundle/bundle.h. */
#include "traces/bundle/bundle.h"

#include "harness/host/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
trace_off_compare(const void *a, const void *b)
{
	const struct trace_off_record *left = a, *right = b;

	return (left->header.offset > right->header.offset) -
	    (left->header.offset < right->header.offset);
}

/* Finds the records in the file; if .records is NULL, only counts them. */
static int
trace_off_scan(struct trace_off *trace_off, const char *name, size_t bytes,
    struct tz_error *err)
{
	size_t at = 0;

	trace_off->count = 0;
	while (at < bytes) {
		struct trace_off_header header;

		if (bytes - at < sizeof(header))
			return tz_error(err, TZ_EFORMAT,
			    "%s: half a record at byte %zu", name, at);
		memcpy(&header, &trace_off->file[at], sizeof(header));
		at += sizeof(header);
		if (header.bytes > bytes - at)
			return tz_error(err, TZ_EFORMAT,
			    "%s: record of %llu bytes at byte %zu exceeds the "
			    "file",
			    name, (unsigned long long)header.bytes, at);
		if (trace_off->records != NULL)
			trace_off->records[trace_off->count] =
			    (struct trace_off_record){ header,
				    &trace_off->file[at] };
		trace_off->count++;
		at += header.bytes;
	}
	return 0;
}

int
bundle_read_trace_off(const struct bundle *bundle, unsigned cpu,
    struct trace_off *trace_off, struct tz_error *err)
{
	/* "fell" is the ending in older bundles. */
	static const char *const endings[] = { "trace-off", "fell" };
	char path[4096], name[32];
	size_t size;
	int error = -TZ_ENOENT;

	memset(trace_off, 0, sizeof(*trace_off));
	for (size_t i = 0; i < TZ_ARRAY_LEN(endings) && error == -TZ_ENOENT;
	     i++) {
		snprintf(name, sizeof(name), "cpu%u.%s", cpu, endings[i]);
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", bundle->path,
			name) >= sizeof(path))
			return tz_error(
			    err, TZ_EUSAGE, "%s: path too long", name);
		error = input_read(
		    path, INPUT_PART, &trace_off->file, &size, err);
	}
	if (error == -TZ_ENOENT)
		return 0; /* this CPU never traced */
	if (error == 0)
		error = trace_off_scan(trace_off, name, size, err);
	if (error != 0) {
		trace_off_free(trace_off);
		return error;
	}
	trace_off->records = calloc(
	    trace_off->count + 1, sizeof(*trace_off->records));
	if (trace_off->records == NULL) {
		trace_off_free(trace_off);
		return tz_error(err, TZ_EIO, "%s: out of memory", name);
	}
	error = trace_off_scan(trace_off, name, size, err);
	TZ_ASSERT(error == 0);
	qsort(trace_off->records, trace_off->count, sizeof(*trace_off->records),
	    trace_off_compare);
	return 0;
}

void
trace_off_free(struct trace_off *trace_off)
{
	free(trace_off->records);
	free(trace_off->file);
	memset(trace_off, 0, sizeof(*trace_off));
}

/* Index of the first record that ends after OFFSET. */
static size_t
trace_off_find(const struct trace_off *trace_off, uint64_t offset)
{
	size_t low = 0, high = trace_off->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct trace_off_header *header =
		    &trace_off->records[mid].header;

		if (header->offset + header->bytes <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint64_t
trace_off_copy(const struct trace_off *trace_off, uint64_t offset,
    uint64_t count, uint8_t *bytes)
{
	uint64_t done = 0;

	for (size_t i = trace_off_find(trace_off, offset); done < count; i++) {
		const struct trace_off_record *record;
		uint64_t skip, part;

		if (i == trace_off->count)
			break;
		record = &trace_off->records[i];
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
