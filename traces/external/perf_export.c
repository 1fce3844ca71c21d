#include "traces/external/perf_export.h"

#include "emu/profile/profile.h"
#include "traces/external/perf_data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILTER_BYTES    4096
#define RANGES          4
#define MSR_ADDR0_A     0x580u
#define MSR_ADDR3_B     0x587u
#define KERNEL_START    TZ_BIT(63)
#define CTL_ADDR_FILTER 1u
/* Bits of IA32_RTIT_CTL that a perf.data has once for all traces: all but TraceEn. */
#define CTL_SETTINGS (~UINT64_C(1))

struct export
{
	const struct bundle *bundle;
	struct tz_error *err;
	struct event *events;
	size_t event_count;
	uint64_t ctl;              /* 0: not traced yet */
	uint64_t addr[2 * RANGES]; /* ADDR0_A, ADDR0_B, ADDR1_A ... */
	char filter[FILTER_BYTES];
};

/* TraceEn rises with CTL and the ranges in ADDR: true if both equal the first ones. */
static bool
export_is_same(struct export *export, uint64_t ctl, const uint64_t *addr)
{
	bool first = export->ctl == 0;
	bool filtered = tz_bits(ctl, 47, 32) != 0;

	if (first) {
		export->ctl = ctl;
		memcpy(export->addr, addr, sizeof(export->addr));
	}
	return ctl == export->ctl &&
	    (!filtered ||
		memcmp(export->addr, addr, sizeof(export->addr)) == 0);
}

/* Finds the CTL and ranges of all traces; several settings are an error. */
static int
export_settings(struct export *export)
{
	uint64_t addr[BUNDLE_CPUS_MAX][2 * RANGES] = { { 0 } };

	for (size_t i = 0; i < export->event_count; i++) {
		const struct event *event = &export->events[i];

		if (event->cpu >= BUNDLE_CPUS_MAX)
			continue; /* ../verify/account.c reports such a bundle */
		if (event->kind == EVENT_MSR_WRITE && event->a >= MSR_ADDR0_A &&
		    event->a <= MSR_ADDR3_B)
			addr[event->cpu][event->a - MSR_ADDR0_A] = event->b;
		if (event->kind == EVENT_TRACE_ON &&
		    !export_is_same(export, event->a, addr[event->cpu]))
			return tz_error(export->err, TZ_EUSAGE,
			    "%s: traced with CTL %#" PRIx64 " and %#" PRIx64
			    ", or other ranges: a perf.data has one setting",
			    export->bundle->path, export->ctl, event->a);
	}
	return export->ctl != 0
	    ? 0
	    : tz_error(export->err, TZ_EUSAGE, "%s: no trace in it",
		  export->bundle->path);
}

/* All CPUs need the same signature; those of a hybrid processor have it. */
static int
export_models(const struct export *export)
{
	const struct bundle_info *info = &export->bundle->info;
	const struct bundle_model *first = &info->model[0];

	for (unsigned i = 1; i < info->cpu_count; i++)
		if (info->model[i].signature != first->signature)
			return tz_error(export->err, TZ_EUSAGE,
			    "%s: CPU 0 is a %s, CPU %u a %s: a perf.data has "
			    "one processor model",
			    export->bundle->path, first->profile, i,
			    info->model[i].profile);
	return 0;
}

/* Appends a filter in perf's syntax: "filter START/SIZE@FILE". */
static bool
export_add_filter(
    struct export *export, uint64_t start, uint64_t bytes, const char *file)
{
	size_t used = strlen(export->filter);
	size_t room = sizeof(export->filter) - used;

	return (size_t)snprintf(&export->filter[used], room,
		   "%sfilter %#" PRIx64 "/%#" PRIx64 "%s%s",
		   used == 0 ? "" : ",", start, bytes, file == NULL ? "" : "@/",
		   file == NULL ? "" : file) < room;
}

/* Adds a filter for the part of [A, B] in a program, by its offset in the file. */
static bool
export_filter_program(struct export *export, const struct bundle_image *image,
    uint64_t a, uint64_t b)
{
	uint64_t last = image->va + image->bytes - 1;

	if (image->va >= KERNEL_START || a > last || b < image->va)
		return true;
	a = a > image->va ? a : image->va;
	b = b < last ? b : last;
	return export_add_filter(
	    export, a - image->va + image->offset, b - a + 1, image->file);
}

/* perf needs the filters to interpret a TIP.PGD without an IP. */
static int
export_filters(struct export *export)
{
	const struct bundle *bundle = export->bundle;
	bool room = true;

	for (unsigned n = 0; n < RANGES; n++) {
		uint64_t a = export->addr[2 * n], b = export->addr[2 * n + 1];

		if (tz_bits(export->ctl, 35 + 4 * n, 32 + 4 * n) !=
		    CTL_ADDR_FILTER)
			continue;
		if (b >= KERNEL_START)
			room &= export_add_filter(export, a, b - a + 1, NULL);
		for (size_t i = 0; i < bundle->image_count; i++)
			room &= export_filter_program(
			    export, &bundle->images[i], a, b);
	}
	return room
	    ? 0
	    : tz_error(export->err, TZ_EUSAGE,
		  "%s: too many programs in its filter ranges", bundle->path);
}

/* The E-cores, if there are P-cores, too. */
static uint64_t
export_atom_cpus(const struct bundle *bundle)
{
	uint64_t atom = 0, other = 0;

	for (unsigned i = 0; i < bundle->info.cpu_count; i++) {
		struct bundle_model model = bundle_model_of(bundle, 1u << i);
		const struct profile *profile = profile_find(model.profile);

		if (profile != NULL && profile->core_type == PROFILE_CORE_ATOM)
			atom |= TZ_BIT(i);
		else
			other |= TZ_BIT(i);
	}
	return other != 0 ? atom : 0;
}

static struct perf_data *
export_create(struct export *export)
{
	const struct bundle_info *info = &export->bundle->info;
	const char *name = info->model[0].profile;
	const struct profile *profile = profile_find(name);
	struct perf_data_config config = { .ctl = export->ctl,
		.signature = info->model[0].signature,
		.cpu_count = info->cpu_count,
		.atom_cpus = export_atom_cpus(export->bundle),
		.filter = export->filter };
	struct perf_data *data;

	if (profile == NULL) {
		(void)tz_error(export->err, TZ_ENOENT,
		    "%s: profile %s: no such profile", export->bundle->path,
		    name);
		return NULL;
	}
	config.tsc_num = profile->tsc_num;
	config.tsc_den = profile->tsc_den;
	config.tsc_hz = profile_tsc_hz(profile);
	data = perf_data_create(&config);
	if (data == NULL)
		(void)tz_error(export->err, TZ_EIO, "perf.data: out of memory");
	return data;
}

/* A kernel map must have offset 0: extends it to the start of the file. */
static void
export_map(struct perf_data *data, const struct bundle_image *image)
{
	char name[BUNDLE_NAME_BYTES + 1];
	struct perf_data_map map = { .name = name,
		.va = image->va,
		.bytes = image->bytes,
		.offset = image->offset };

	snprintf(name, sizeof(name), "/%s", image->file);
	if (map.va >= KERNEL_START) {
		map.va -= map.offset;
		map.bytes += map.offset;
		map.offset = 0;
	}
	perf_data_map(data, &map);
}

static int
export_trace(const struct export *export, struct perf_data *data, size_t index)
{
	const struct bundle_stream *stream = &export->bundle->streams[index];
	struct perf_data_trace trace = { .cpu = stream->id };
	uint64_t key = stream->id;
	uint8_t *bytes;
	int error = bundle_read_stream(
	    export->bundle, index, &bytes, &trace.count, export->err);

	if (error != 0)
		return error;
	if (stream->thread)
		key |= EVENT_STREAM_THREAD;
	for (size_t i = 0; i < export->event_count; i++) {
		const struct event *event = &export->events[i];

		if (event->a != key)
			continue;
		if (event->kind == EVENT_DRAIN)
			trace.tsc = event->cycles;
		trace.lost |= event->kind == EVENT_LOST && event->c != 0;
	}
	trace.bytes = bytes;
	perf_data_trace(data, &trace);
	free(bytes);
	return 0;
}

static int
export_write(
    struct export *export, const char *path, struct perf_export_result *result)
{
	const struct bundle *bundle = export->bundle;
	struct perf_data *data = export_create(export);
	int error = 0;

	if (data == NULL)
		return -TZ_EIO;
	for (size_t i = 0; i < bundle->image_count; i++)
		export_map(data, &bundle->images[i]);
	for (size_t i = 0; error == 0 && i < bundle->stream_count; i++)
		error = export_trace(export, data, i);
	if (error == 0)
		error = perf_data_write(
		    data, path, &result->bytes, export->err);
	result->traces = bundle->stream_count;
	perf_data_destroy(data);
	return error;
}

int
perf_export(const struct bundle *bundle, const char *path,
    struct perf_export_result *result, struct tz_error *err)
{
	struct export *export = calloc(1, sizeof(*export));
	int error;

	if (export == NULL)
		return tz_error(err, TZ_EIO, "%s: out of memory", path);
	export->bundle = bundle;
	export->err = err;
	error = bundle_read_events(
	    bundle, &export->events, &export->event_count, err);
	if (error == 0)
		error = export_settings(export);
	if (error == 0)
		error = export_models(export);
	if (error == 0)
		error = export_filters(export);
	if (error == 0)
		error = export_write(export, path, result);
	free(export->events);
	free(export);
	return error;
}
