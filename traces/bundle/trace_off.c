/* Reading of cpuN.trace-off, declared in traces/bundle/bundle.h. */
#include "traces/bundle/bundle.h"

#include "harness/host/input.h"
#include "traces/decode/vector.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads COUNT bytes from AT on; returns how many there are. */
static size_t
trace_off_read(
    const struct trace_off *trace_off, uint64_t at, size_t count, void *bytes)
{
	uint8_t *to = bytes;
	size_t done = 0;

	while (done < count) {
		ssize_t got = pread(fileno(trace_off->file), to + done,
		    count - done, (off_t)(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

static int
trace_off_compare(const void *a, const void *b)
{
	const struct trace_off_record *left = a, *right = b;

	return (left->header.offset > right->header.offset) -
	    (left->header.offset < right->header.offset);
}

/* Finds the records in the file. */
static int
trace_off_scan(
    struct trace_off *trace_off, const char *name, struct tz_error *err)
{
	uint64_t at = 0;
	size_t room = 0;
	struct stat st;

	if (fstat(fileno(trace_off->file), &st) != 0)
		return tz_error(err, TZ_EIO, "%s: %s", name, strerror(errno));
	while (at < (uint64_t)st.st_size) {
		uint64_t left = (uint64_t)st.st_size - at;
		struct trace_off_header header;

		if (left < sizeof(header) ||
		    trace_off_read(trace_off, at, sizeof(header), &header) !=
			sizeof(header))
			return tz_error(err, TZ_EFORMAT,
			    "%s: half a record at byte %" PRIu64, name, at);
		at += sizeof(header);
		left -= sizeof(header);
		if (header.bytes > left)
			return tz_error(err, TZ_EFORMAT,
			    "%s: record of %" PRIu64 " bytes at byte %" PRIu64
			    " exceeds the file",
			    name, header.bytes, at);
		if (!GROW(trace_off->records, room, trace_off->count + 1))
			return tz_error(err, TZ_EIO, "%s: out of memory", name);
		trace_off->records[trace_off->count++] =
		    (struct trace_off_record){ header, at };
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
	int error = -TZ_ENOENT;

	memset(trace_off, 0, sizeof(*trace_off));
	for (size_t i = 0; i < TZ_ARRAY_LEN(endings) && error == -TZ_ENOENT;
	     i++) {
		snprintf(name, sizeof(name), "cpu%u.%s", cpu, endings[i]);
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", bundle->path,
			name) >= sizeof(path))
			return tz_error(
			    err, TZ_EUSAGE, "%s: path too long", name);
		error = input_open(path, INPUT_PART, &trace_off->file, err);
	}
	if (error == -TZ_ENOENT)
		return 0; /* this CPU never traced */
	if (error == 0)
		error = trace_off_scan(trace_off, name, err);
	if (error != 0) {
		trace_off_free(trace_off);
		return error;
	}
	if (trace_off->count != 0)
		qsort(trace_off->records, trace_off->count,
		    sizeof(*trace_off->records), trace_off_compare);
	return 0;
}

void
trace_off_free(struct trace_off *trace_off)
{
	free(trace_off->records);
	if (trace_off->file != NULL)
		fclose(trace_off->file);
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
		if (trace_off_read(trace_off, record->at + skip, part,
			&bytes[done]) != part)
			break;
		done += part;
	}
	return done;
}
