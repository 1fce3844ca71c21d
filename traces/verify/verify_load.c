/*
 * What a bundle says of a run besides its trace bytes: execution log, events, frames and
 * images.
 */
#include "traces/bundle/image.h"
#include "traces/decode/vector.h"
#include "traces/perf_data/perf_aux.h"
#include "traces/perf_data/perf_event.h"
#include "traces/perf_data/perf_intel_bts.h"
#include "traces/verify/counters/counters.h"
#include "traces/verify/delivery/branches.h"
#include "traces/verify/delivery/drains.h"
#include "traces/verify/delivery/file_delivery.h"
#include "traces/verify/delivery/perf_delivery.h"
#include "traces/verify/records/records.h"
#include "traces/verify/verify_internal.h"

#include <stdlib.h>

static int
verify_load_exec_log(struct verify_work *work, unsigned cpu, struct code *code)
{
	char name[BUNDLE_NAME_BYTES];
	FILE *file;
	int error = bundle_open_exec_log(
	    work->bundle, cpu, name, &file, work->err);

	if (error != 0)
		return error;
	error = exec_log_read_packed(
	    name, file, code, &work->logs[cpu], work->err);
	fclose(file);
	if (error != 0)
		return error;
	return flow_cpu_create(work->logs[cpu], &work->cpus[cpu], work->err);
}

static int
verify_note_psbs(
    struct verify_work *work, const struct event *events, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct verify_psbs *psbs = &work->psbs[events[i].cpu];

		if (events[i].kind != EVENT_PSB)
			continue;
		if (!GROW(psbs->psbs, psbs->room, psbs->count + 1))
			return tz_error(
			    work->err, TZ_EIO, "events: out of memory");
		psbs->psbs[psbs->count++] = (struct verify_psb){
			.offset = events[i].c,
			.insns = events[i].insns,
		};
	}
	return 0;
}

/* Pairs the units' events of the begin and end of overflows. */
static int
verify_note_overflows(
    struct verify_work *work, const struct event *events, size_t count)
{
	uint64_t begin[BUNDLE_CPUS_MAX] = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct verify_overflows *list = &work->overflows[events[i].cpu];

		if (events[i].kind != EVENT_OVERFLOW)
			continue;
		if (events[i].a != 0) {
			begin[events[i].cpu] = events[i].insns;
			continue;
		}
		if (!GROW(list->overflows, list->room, list->count + 1))
			return tz_error(
			    work->err, TZ_EIO, "events: out of memory");
		list->overflows[list->count++] = (struct verify_overflow){
			.offset = events[i].c,
			.begin = begin[events[i].cpu],
			.end = events[i].insns,
		};
	}
	return 0;
}

/* True if counters have counted something for perf. */
static bool
verify_has_counters(const struct perf_file *file)
{
	for (size_t i = 0; i < file->attr_count; i++)
		if (perf_event_is_counted(file, &file->attrs[i]))
			return true;
	return false;
}

/* What perf got of traces and of branch records. */
static int
verify_take_perf(struct verify_work *work, struct event **events, size_t *count)
{
	struct perf_intel_bts bts;

	if (perf_intel_bts_read(work->perf, &bts))
		return branches_verify(work, bts.snapshot, *events, *count);
	if (perf_aux_info(work->perf) == NULL &&
	    verify_has_counters(work->perf))
		return 0;
	return perf_delivery_read(work, events, count);
}

static int
verify_load_events(struct verify_work *work)
{
	struct event *events;
	size_t count;
	int error = bundle_read_events(
	    work->bundle, &events, &count, work->err);

	if (error == 0 && work->perf != NULL)
		error = verify_take_perf(work, &events, &count);
	else if (error == 0 && file_delivery_needed(work, events, count))
		error = file_delivery_read(work, &events, &count);
	if (error == 0)
		error = account_replay(events, count, work->result->files,
		    &work->account, work->err);
	if (error == 0)
		error = verify_note_psbs(work, events, count);
	if (error == 0)
		error = verify_note_overflows(work, events, count);
	if (error == 0)
		error = records_verify(work, events, count);
	if (error == 0)
		error = counters_verify(work, events, count);
	free(events);
	return error;
}

/* The code for the decoder: the execution log's, or that of the images. */
static int
verify_load_code(struct verify_work *work)
{
	for (unsigned cpu = 0; cpu < work->bundle->info.cpu_count; cpu++)
		work->code.used |= work->logs[cpu]->code != NULL;
	if (!work->code.used)
		return image_create(work->bundle, &work->image, work->err);
	work->reader = (struct image_reader){ log_code_read, &work->code };
	return image_create_reader(&work->reader, &work->image, work->err);
}

static int
verify_open_perf_data(struct verify_work *work)
{
	const char *other = work->options->perf_data;
	char path[4096];

	if (!work->bundle->has_perf_data && other != NULL)
		return tz_error(work->err, TZ_EUSAGE,
		    "%s: the bundle has no perf.data that it could replace",
		    other);
	if (!work->bundle->has_perf_data)
		return 0;
	snprintf(path, sizeof(path), "%s%s",
	    other != NULL ? other : work->bundle->path,
	    other != NULL ? "" : "/perf.data");
	return perf_file_open(path, &work->perf, work->err);
}

int
verify_load(struct verify_work *work)
{
	const struct bundle *bundle = work->bundle;
	struct code *code = code_create(bundle->images, bundle->image_count);
	int error = 0;

	if (code == NULL)
		return tz_error(work->err, TZ_EIO, "code: out of memory");
	for (unsigned cpu = 0; cpu < bundle->info.cpu_count && error == 0;
	     cpu++) {
		error = verify_load_exec_log(work, cpu, code);
		if (error == 0)
			error = bundle_read_trace_off(
			    bundle, cpu, &work->trace_off[cpu], work->err);
	}
	code_destroy(code);
	if (error == 0)
		error = verify_open_perf_data(work);
	if (error == 0)
		error = verify_load_events(work);
	if (error == 0)
		error = verify_load_code(work);
	work->source.account = &work->account;
	work->source.cpus = work->cpus;
	return error;
}

void
verify_unload(struct verify_work *work)
{
	for (unsigned cpu = 0; cpu < BUNDLE_CPUS_MAX; cpu++) {
		flow_cpu_destroy(&work->cpus[cpu]);
		exec_log_file_free(work->logs[cpu]);
		trace_off_free(&work->trace_off[cpu]);
		free(work->psbs[cpu].psbs);
		free(work->overflows[cpu].overflows);
	}
	account_free(&work->account);
	image_destroy(&work->image);
	delivery_free(&work->delivery);
	perf_file_close(work->perf);
}
