#include "traces/perf_data/perf_features.h"

#include "traces/decode/vector.h"
#include "traces/perf_data/perf_bytes.h"
#include "traces/perf_data/perf_format.h"

#include <inttypes.h>
#include <string.h>

/* A build id record: header, pid, 20 bytes, their number, 3 bytes, name. */
#define BUILD_ID_NAME  36
#define BUILD_ID_BYTES 12
#define BUILD_ID_COUNT 32

int
perf_section_read(const struct perf_file *file, uint64_t at, const char *what,
    struct perf_section *section, struct tz_error *err)
{
	if (at > file->count || file->count - at < PERF_SECTION_BYTES)
		return tz_error(err, TZ_EFORMAT,
		    "%s: at byte %" PRIu64 ": the file ends before the place "
		    "of its %s",
		    file->path, at, what);
	section->at = at;
	section->offset = perf_u64(&file->bytes[at]);
	section->bytes = perf_u64(&file->bytes[at + 8]);
	if (section->offset > file->count ||
	    file->count - section->offset < section->bytes)
		return tz_error(err, TZ_EFORMAT,
		    "%s: at byte %" PRIu64 ": %s: %" PRIu64
		    " bytes at %#" PRIx64 " go beyond the end, %#" PRIx64,
		    file->path, at, what, section->bytes, section->offset,
		    file->count);
	return 0;
}

/* A section that is read from its first byte to its last. */
struct cursor {
	const struct perf_file *file;
	uint64_t at, end; /* in the file */
	const char *name; /* of the section */
	struct tz_error *err;
};

static int
damaged(const struct cursor *cursor, const char *cause)
{
	return tz_error(cursor->err, TZ_EFORMAT,
	    "%s: at byte %" PRIu64 ": %s: %s", cursor->file->path, cursor->at,
	    cursor->name, cause);
}

static int
take_u32(struct cursor *cursor, uint32_t *value)
{
	if (cursor->end - cursor->at < 4)
		return damaged(cursor, "it ends within a number");
	*value = perf_u32(&cursor->file->bytes[cursor->at]);
	cursor->at += 4;
	return 0;
}

/* A length and so many bytes, one of which ends the text. */
static int
take_text(struct cursor *cursor, const char **text)
{
	const char *begin;
	uint32_t bytes = 0;
	int error = take_u32(cursor, &bytes);

	if (error != 0)
		return error;
	if (bytes > cursor->end - cursor->at)
		return damaged(cursor, "a text goes beyond its end");
	begin = (const char *)&cursor->file->bytes[cursor->at];
	if (memchr(begin, '\0', bytes) == NULL)
		return damaged(cursor, "a text has no NUL at its end");
	*text = begin;
	cursor->at += bytes;
	return 0;
}

static int
read_build_id(struct perf_file *file, struct cursor *cursor, size_t *room)
{
	const uint8_t *bytes = &file->bytes[cursor->at];
	uint64_t left = cursor->end - cursor->at;
	struct perf_build_id *id;
	uint16_t size;

	if (left < BUILD_ID_NAME)
		return damaged(cursor, "it ends within a build id");
	size = perf_u16(bytes + 6);
	if (size <= BUILD_ID_NAME || size > left)
		return damaged(cursor, "the size of a build id is wrong");
	if (memchr(bytes + BUILD_ID_NAME, '\0',
		(size_t)(size - BUILD_ID_NAME)) == NULL)
		return damaged(cursor, "a name has no NUL at its end");
	if (!GROW(file->build_ids, *room, file->build_id_count + 1))
		return tz_error(
		    cursor->err, TZ_EIO, "%s: out of memory", file->path);
	id = &file->build_ids[file->build_id_count++];
	*id = (struct perf_build_id){ .pid = perf_u32(bytes + 8),
		.name = (const char *)bytes + BUILD_ID_NAME,
		.bytes = bytes + BUILD_ID_BYTES,
		.count = PERF_BUILD_ID_BYTES };
	if ((perf_u16(bytes + 4) & PERF_MISC_BUILD_ID_SIZE) != 0 &&
	    bytes[BUILD_ID_COUNT] < PERF_BUILD_ID_BYTES)
		id->count = bytes[BUILD_ID_COUNT];
	cursor->at += size;
	return 0;
}

static int
read_build_ids(struct perf_file *file, struct cursor *cursor)
{
	size_t room = 0;
	int error = 0;

	while (error == 0 && cursor->at < cursor->end)
		error = read_build_id(file, cursor, &room);
	return error;
}

static int
read_pmus(struct perf_file *file, struct cursor *cursor)
{
	uint32_t count = 0;
	size_t room = 0;
	int error = take_u32(cursor, &count);

	for (uint32_t i = 0; error == 0 && i < count; i++) {
		struct perf_pmu pmu = { 0 };

		error = take_u32(cursor, &pmu.type);
		if (error == 0)
			error = take_text(cursor, &pmu.name);
		if (error != 0)
			break;
		if (!GROW(file->pmus, room, file->pmu_count + 1))
			return tz_error(cursor->err, TZ_EIO,
			    "%s: out of memory", file->path);
		file->pmus[file->pmu_count++] = pmu;
	}
	return error;
}

static int
read_cores(struct perf_file *file, struct cursor *cursor)
{
	uint32_t count = 0;
	size_t room = 0;
	int error = take_u32(cursor, &count);

	for (uint32_t i = 0; error == 0 && i < count; i++) {
		struct perf_core core = { NULL, NULL };

		error = take_text(cursor, &core.pmu);
		if (error == 0)
			error = take_text(cursor, &core.cpus);
		if (error != 0)
			break;
		if (!GROW(file->cores, room, file->core_count + 1))
			return tz_error(cursor->err, TZ_EIO,
			    "%s: out of memory", file->path);
		file->cores[file->core_count++] = core;
	}
	return error;
}

/* The names of the events, in the order of their attributes. */
static int
read_event_desc(struct perf_file *file, struct cursor *cursor)
{
	uint32_t count = 0, bytes = 0, ids = 0;
	int error = take_u32(cursor, &count);

	if (error == 0)
		error = take_u32(cursor, &bytes);
	for (uint32_t i = 0; error == 0 && i < count; i++) {
		const char *name = "";

		if (bytes > cursor->end - cursor->at)
			return damaged(cursor, "attributes go beyond its end");
		cursor->at += bytes;
		error = take_u32(cursor, &ids);
		if (error == 0)
			error = take_text(cursor, &name);
		if (error == 0 && ids > (cursor->end - cursor->at) / 8)
			return damaged(cursor, "identifiers go beyond its end");
		if (error == 0 && i < file->attr_count)
			file->attrs[i].name = name;
		cursor->at += UINT64_C(8) * ids;
	}
	return error;
}

static int
refuse_dir(const struct cursor *cursor)
{
	return tz_error(cursor->err, TZ_EUSAGE,
	    "%s: at byte %" PRIu64 ": %s: records are in other files, as `perf "
	    "record --threads` writes them; record without it",
	    cursor->file->path, cursor->at, cursor->name);
}

/* One section; those that are not of interest are left out. */
static int
read_one(struct perf_file *file, unsigned feature, struct cursor *cursor)
{
	switch (feature) {
	case PERF_FEATURE_BUILD_ID:
		cursor->name = "build ids";
		return read_build_ids(file, cursor);
	case PERF_FEATURE_HOSTNAME:
		cursor->name = "host name";
		return take_text(cursor, &file->hostname);
	case PERF_FEATURE_OSRELEASE:
		cursor->name = "release of the OS";
		return take_text(cursor, &file->osrelease);
	case PERF_FEATURE_VERSION:
		cursor->name = "version of perf";
		return take_text(cursor, &file->version);
	case PERF_FEATURE_ARCH:
		cursor->name = "architecture";
		return take_text(cursor, &file->arch);
	case PERF_FEATURE_CPUDESC:
		cursor->name = "description of the CPU";
		return take_text(cursor, &file->cpudesc);
	case PERF_FEATURE_CPUID:
		cursor->name = "identification of the CPU";
		return take_text(cursor, &file->cpuid);
	case PERF_FEATURE_EVENT_DESC:
		cursor->name = "descriptions of events";
		return read_event_desc(file, cursor);
	case PERF_FEATURE_PMU_MAPPINGS:
		cursor->name = "list of PMUs";
		return read_pmus(file, cursor);
	case PERF_FEATURE_HYBRID_TOPOLOGY:
		cursor->name = "kinds of cores";
		return read_cores(file, cursor);
	case PERF_FEATURE_DIR_FORMAT:
		cursor->name = "directory format";
		return refuse_dir(cursor);
	default:
		return 0;
	}
}

int
perf_features_read(struct perf_file *file, uint64_t at, const uint8_t *bits,
    struct tz_error *err)
{
	int error = 0;

	for (unsigned n = 0; error == 0 && n < PERF_FEATURE_BITS; n++) {
		struct perf_section section;
		struct cursor cursor;

		if ((bits[n / 8] >> n % 8 & 1) == 0)
			continue;
		error = perf_section_read(
		    file, at, "feature section", &section, err);
		if (error != 0)
			break;
		at += PERF_SECTION_BYTES;
		cursor = (struct cursor){ .file = file,
			.at = section.offset,
			.end = section.offset + section.bytes,
			.err = err };
		error = read_one(file, n, &cursor);
	}
	return error;
}
