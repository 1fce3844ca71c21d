#include "traces/external/perf_data.h"

#include "traces/decode/vector.h"
#include "traces/perf_data/perf_format.h"

#include <errno.h>
#include <stdio.h>

/* The file: header, ids, attributes, records, features. */
#define FILE_HEADER_BYTES PERF_FILE_HEADER_BYTES
#define ATTR_BYTES        PERF_ATTR_VER5_BYTES
#define FILE_ATTR_BYTES   (ATTR_BYTES + 16)
#define EVENTS            2
#define IDS_OFFSET        FILE_HEADER_BYTES
#define ATTRS_OFFSET      (IDS_OFFSET + 8 * EVENTS)
#define DATA_OFFSET       (ATTRS_OFFSET + FILE_ATTR_BYTES * EVENTS)

#define ID_PT             1
#define ID_DUMMY          2
#define PMU_TYPE          8 /* any unused number */
#define TYPE_SOFTWARE     1
#define CONFIG_DUMMY      9

#define SAMPLE_TYPE                                                       \
 (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | \
     PERF_SAMPLE_IDENTIFIER)
#define READ_FORMAT_ID     TZ_BIT(2)
#define FEATURE_NAME_ALIGN 64

/* attr.config: bit 13 is BranchEn, and not always on. */
#define CONFIG_PASS_BRANCH UINT64_C(1)

/* IA32_RTIT_CTL, SDM vol. 3, 33.2.8.2; perf's formats use the same bits. */
#define CTL_CYC_EN   TZ_BIT(1)
#define CTL_OS       TZ_BIT(2)
#define CTL_USER     TZ_BIT(3)
#define CTL_MTC_EN   TZ_BIT(9)
#define CTL_TSC_EN   TZ_BIT(10)
#define CTL_DIS_RETC TZ_BIT(11)
#define CTL_MTC_FREQ UINT64_C(0x3c000)
/* TraceEn, OS, User, FabricEn, CR3Filter, ToPA, ADDRn_CFG: not in perf's config. */
#define CTL_NOT_PERFS UINT64_C(0x0000ffff000001cd)

#define KERNEL_START  TZ_BIT(63)
#define GUEST_PID     1 /* one address space is one process */
#define TIME_SHIFT    31
#define NS            UINT64_C(1000000000)
#define BUS_HZ        UINT64_C(100000000)

struct buffer {
	size_t count, room;
	uint8_t *bytes;
};

struct perf_data {
	struct perf_data_config config;
	bool memory; /* false: an allocation failed */
	struct buffer records;
	struct buffer index; /* of the AUXTRACE records */
	uint32_t traces;
};

static void
put(struct perf_data *data, struct buffer *buffer, const void *bytes,
    size_t count)
{
	data->memory &= GROW(
	    buffer->bytes, buffer->room, buffer->count + count);
	if (!data->memory)
		return;
	if (count != 0)
		memcpy(&buffer->bytes[buffer->count], bytes, count);
	buffer->count += count;
}

static void
put64(struct perf_data *data, struct buffer *buffer, uint64_t value)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	put(data, buffer, bytes, sizeof(bytes));
}

/* Two 32-bit words, the low one first. */
static void
put32(
    struct perf_data *data, struct buffer *buffer, uint32_t low, uint32_t high)
{
	put64(data, buffer, (uint64_t)high << 32 | low);
}

/* COUNT bytes and zeroes up to a multiple of ALIGN. */
static void
put_padded(struct perf_data *data, struct buffer *buffer, const void *bytes,
    size_t count, size_t align)
{
	static const uint8_t zeroes[FEATURE_NAME_ALIGN];

	put(data, buffer, bytes, count);
	if (count % align != 0)
		put(data, buffer, zeroes, align - count % align);
}

static void
put_text(struct perf_data *data, struct buffer *buffer, const char *text)
{
	put_padded(data, buffer, text, strlen(text) + 1, 8);
}

/* Begins a record; its size is filled in by end_record(). */
static size_t
begin_record(struct perf_data *data, enum perf_record_type type, unsigned misc)
{
	size_t at = data->records.count;

	put32(data, &data->records, type, misc);
	return at;
}

static void
end_record(struct perf_data *data, size_t at)
{
	size_t bytes = data->records.count - at;

	if (!data->memory)
		return;
	TZ_ASSERT(bytes <= UINT16_MAX);
	data->records.bytes[at + 6] = (uint8_t)bytes;
	data->records.bytes[at + 7] = (uint8_t)(bytes >> 8);
}

/* The .sample_type fields of a record other than a sample. */
static void
put_sample_id(struct perf_data *data, uint64_t id, uint32_t cpu)
{
	put32(data, &data->records, GUEST_PID, GUEST_PID);
	put64(data, &data->records, 0); /* time: before all traces */
	put32(data, &data->records, cpu, 0);
	put64(data, &data->records, id);
}

/* The order is that of perf's enum in util/intel-pt.h. */
static void
put_info(struct perf_data *data)
{
	const struct perf_data_config *config = &data->config;
	struct buffer *out = &data->records;
	size_t length = strlen(config->filter);
	size_t at = begin_record(data, PERF_AUXTRACE_INFO, 0);

	put32(data, out, PERF_AUXTRACE_INTEL_PT, 0);
	put64(data, out, PMU_TYPE);
	put64(data, out, TIME_SHIFT);
	put64(data, out, (NS << TIME_SHIFT) / config->tsc_hz); /* time mult */
	put64(data, out, 0);                                   /* time zero */
	put64(data, out, 1); /* cap user time zero */
	put64(data, out, CTL_TSC_EN);
	put64(data, out, CTL_DIS_RETC);
	put64(data, out, 0); /* have sched switch */
	put64(data, out, 0); /* snapshot mode */
	put64(data, out, 1); /* per-CPU mmaps */
	put64(data, out, CTL_MTC_EN);
	put64(data, out, CTL_MTC_FREQ);
	put64(data, out, config->tsc_num);
	put64(data, out, config->tsc_den);
	put64(data, out, CTL_CYC_EN);
	put64(data, out, config->tsc_hz / BUS_HZ); /* max. non-turbo ratio */
	put64(data, out, length);
	if (length != 0)
		put_text(data, out, config->filter);
	put64(data, out, 1); /* cap event trace */
	end_record(data, at);
}

static void
put_comm(struct perf_data *data)
{
	size_t at = begin_record(data, PERF_COMM, 0);

	put32(data, &data->records, GUEST_PID, GUEST_PID);
	put_text(data, &data->records, "guest");
	put_sample_id(data, ID_DUMMY, 0);
	end_record(data, at);
}

struct perf_data *
perf_data_create(const struct perf_data_config *config)
{
	struct perf_data *data = calloc(1, sizeof(*data));

	if (data == NULL)
		return NULL;
	data->config = *config;
	data->memory = true;
	put_info(data);
	put_comm(data);
	return data;
}

void
perf_data_destroy(struct perf_data *data)
{
	free(data->records.bytes);
	free(data->index.bytes);
	free(data);
}

/* perf treats a map above KERNEL_START with a file name as a module. */
void
perf_data_map(struct perf_data *data, const struct perf_data_map *map)
{
	bool kernel = map->va >= KERNEL_START;
	struct buffer *out = &data->records;
	size_t at = begin_record(data, kernel ? PERF_MMAP : PERF_MMAP2,
	    kernel ? PERF_MISC_KERNEL : PERF_MISC_USER);

	put32(
	    data, out, kernel ? UINT32_MAX : GUEST_PID, kernel ? 0 : GUEST_PID);
	put64(data, out, map->va);
	put64(data, out, map->bytes);
	put64(data, out, map->offset);
	if (!kernel) {
		put64(data, out, 0);    /* device */
		put64(data, out, 0);    /* inode */
		put64(data, out, 0);    /* inode generation */
		put32(data, out, 5, 2); /* PROT_READ | PROT_EXEC, MAP_PRIVATE */
	}
	put_text(data, out, map->name);
	put_sample_id(data, ID_DUMMY, 0);
	end_record(data, at);
}

void
perf_data_trace(struct perf_data *data, const struct perf_data_trace *trace)
{
	struct buffer *out = &data->records;
	uint64_t bytes = (trace->count + 7) / 8 * 8;
	size_t at = begin_record(data, PERF_ITRACE_START, 0);

	put32(data, out, GUEST_PID, GUEST_PID);
	put_sample_id(data, ID_PT, trace->cpu);
	end_record(data, at);
	at = begin_record(data, PERF_AUX, 0);
	put64(data, out, 0);
	put64(data, out, bytes);
	put64(data, out, trace->lost ? PERF_AUX_TRUNCATED : 0);
	put_sample_id(data, ID_PT, trace->cpu);
	end_record(data, at);

	put64(data, &data->index, DATA_OFFSET + out->count);
	put64(data, &data->index, PERF_AUXTRACE_BYTES); /* without its data */
	at = begin_record(data, PERF_AUXTRACE, 0);
	put64(data, out, bytes);
	put64(data, out, 0);
	/* With time 0 perf ignores TSC packets. */
	put64(data, out, trace->tsc != 0 ? trace->tsc : 1);
	put32(data, out, data->traces++, GUEST_PID);
	put32(data, out, trace->cpu, 0);
	end_record(data, at);
	put_padded(data, out, trace->bytes, trace->count, 8);
}

/* One struct perf_event_attr, and the place of its id. */
static void
put_attr(struct perf_data *data, struct buffer *out, uint64_t id)
{
	uint64_t ctl = data->config.ctl;
	uint64_t flags = PERF_ATTR_SAMPLE_ID_ALL | PERF_ATTR_EXCLUDE_HV;

	if ((ctl & CTL_OS) == 0)
		flags |= PERF_ATTR_EXCLUDE_KERNEL;
	if ((ctl & CTL_USER) == 0)
		flags |= PERF_ATTR_EXCLUDE_USER;
	if (id == ID_DUMMY)
		flags |= PERF_ATTR_MMAP | PERF_ATTR_COMM | PERF_ATTR_TASK |
		    PERF_ATTR_MMAP2;
	put32(data, out, id == ID_PT ? PMU_TYPE : TYPE_SOFTWARE, ATTR_BYTES);
	put64(data, out,
	    id == ID_PT ? (ctl & ~CTL_NOT_PERFS) | CONFIG_PASS_BRANCH
			: CONFIG_DUMMY);
	put64(data, out, 1); /* period */
	put64(data, out, SAMPLE_TYPE);
	put64(data, out, READ_FORMAT_ID);
	put64(data, out, flags);
	for (unsigned i = 48; i < ATTR_BYTES; i += 8)
		put64(data, out, 0);
	put64(data, out, IDS_OFFSET + 8 * (id - ID_PT));
	put64(data, out, 8);
}

static void
put_feature_text(struct perf_data *data, struct buffer *out, const char *text)
{
	size_t bytes = strlen(text) + 1;
	size_t padded = (bytes + FEATURE_NAME_ALIGN - 1) / FEATURE_NAME_ALIGN *
	    FEATURE_NAME_ALIGN;
	uint8_t length[4] = { (uint8_t)padded };

	put(data, out, length, sizeof(length));
	put_padded(data, out, text, bytes, FEATURE_NAME_ALIGN);
}

static void
put_cpuid(struct perf_data *data, struct buffer *out)
{
	uint32_t signature = data->config.signature;
	unsigned family = signature >> 8 & 0xf;
	unsigned model = (signature >> 4 & 0xf) | (signature >> 12 & 0xf0);
	char text[FEATURE_NAME_ALIGN];

	if (family == 0xf)
		family += signature >> 20 & 0xff;
	snprintf(text, sizeof(text), "GenuineIntel,%u,%u,%u", family, model,
	    signature & 0xf);
	put_feature_text(data, out, text);
}

/* The feature sections, by rising number. */
static const unsigned features[] = { PERF_FEATURE_HOSTNAME,
	PERF_FEATURE_OSRELEASE, PERF_FEATURE_ARCH, PERF_FEATURE_NRCPUS,
	PERF_FEATURE_CPUID, PERF_FEATURE_AUXTRACE,
	PERF_FEATURE_HYBRID_TOPOLOGY };

/* How many of them the file has: the last one only where there are two kinds of cores. */
static size_t
feature_count(const struct perf_data *data)
{
	return TZ_ARRAY_LEN(features) - (data->config.atom_cpus == 0);
}

/* The CPUs of a kind, by their numbers. */
static void
put_cores(
    struct perf_data *data, struct buffer *out, const char *pmu, uint64_t cpus)
{
	char text[4 * FEATURE_NAME_ALIGN];
	size_t used = 0;

	for (unsigned i = 0; i < data->config.cpu_count; i++)
		if (cpus >> i & 1)
			used += (size_t)snprintf(text + used,
			    sizeof(text) - used, used == 0 ? "%u" : ",%u", i);
	put_feature_text(data, out, pmu);
	put_feature_text(data, out, text);
}

static void
put_hybrid(struct perf_data *data, struct buffer *out)
{
	static const uint8_t kinds[4] = { 2 };
	uint64_t atom = data->config.atom_cpus;

	put(data, out, kinds, sizeof(kinds));
	put_cores(data, out, "cpu_core", ~atom);
	put_cores(data, out, "cpu_atom", atom);
}

static void
put_feature(struct perf_data *data, struct buffer *out, unsigned feature)
{
	unsigned cpus = data->config.cpu_count;

	if (feature == PERF_FEATURE_HOSTNAME ||
	    feature == PERF_FEATURE_OSRELEASE)
		put_feature_text(data, out, "topaz");
	else if (feature == PERF_FEATURE_ARCH)
		put_feature_text(data, out, "x86_64");
	else if (feature == PERF_FEATURE_NRCPUS)
		put32(data, out, cpus, cpus);
	else if (feature == PERF_FEATURE_CPUID)
		put_cpuid(data, out);
	else if (feature == PERF_FEATURE_HYBRID_TOPOLOGY)
		put_hybrid(data, out);
	else {
		put64(data, out, data->traces);
		put(data, out, data->index.bytes, data->index.count);
	}
}

/* The table of offsets and sizes, then the sections. */
static void
put_features(struct perf_data *data, struct buffer *out)
{
	uint64_t begin = DATA_OFFSET + data->records.count +
	    16 * feature_count(data);
	struct buffer body = { .count = 0 };

	for (size_t i = 0; i < feature_count(data); i++) {
		size_t at = body.count;

		put_feature(data, &body, features[i]);
		put64(data, out, begin + at);
		put64(data, out, body.count - at);
	}
	put(data, out, body.bytes, body.count);
	free(body.bytes);
}

static void
put_file_header(struct perf_data *data, struct buffer *out)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < feature_count(data); i++)
		bits |= TZ_BIT(features[i]);
	put(data, out, "PERFILE2", 8);
	put64(data, out, FILE_HEADER_BYTES);
	put64(data, out, FILE_ATTR_BYTES);
	put64(data, out, ATTRS_OFFSET);
	put64(data, out, FILE_ATTR_BYTES * EVENTS);
	put64(data, out, DATA_OFFSET);
	put64(data, out, data->records.count);
	put64(data, out, 0); /* event types: no longer used */
	put64(data, out, 0);
	put64(data, out, bits);
	for (unsigned i = 1; i < 4; i++)
		put64(data, out, 0);
	for (uint64_t id = ID_PT; id <= ID_DUMMY; id++)
		put64(data, out, id);
	for (uint64_t id = ID_PT; id <= ID_DUMMY; id++)
		put_attr(data, out, id);
}

int
perf_data_write(struct perf_data *data, const char *path, uint64_t *bytes,
    struct tz_error *err)
{
	struct buffer head = { .count = 0 }, tail = { .count = 0 };
	int error = 0;
	FILE *file;

	put_file_header(data, &head);
	put_features(data, &tail);
	if (!data->memory) {
		error = tz_error(err, TZ_EIO, "%s: out of memory", path);
	} else if ((file = fopen(path, "we")) == NULL) {
		error = tz_error(err, TZ_EIO, "%s: %s", path, strerror(errno));
	} else {
		TZ_ASSERT(head.count == DATA_OFFSET);
		(void)fwrite(head.bytes, 1, head.count, file);
		(void)fwrite(data->records.bytes, 1, data->records.count, file);
		(void)fwrite(tail.bytes, 1, tail.count, file);
		error = ferror(file);
		if ((fclose(file) | error) != 0)
			error = tz_error(
			    err, TZ_EIO, "%s: %s", path, strerror(errno));
	}
	*bytes = head.count + data->records.count + tail.count;
	free(head.bytes);
	free(tail.bytes);
	return error;
}
