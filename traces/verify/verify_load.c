/*
 * What a bundle says of a run besides its trace bytes: execution log, events, frames and
 * images.
 */
#include "traces/bundle/image.h"
#include "traces/decode/vector.h"
#include "traces/verify/counters/counters.h"
#include "traces/verify/perf/delivery.h"
#include "traces/verify/records/records.h"
#include "traces/verify/verify_internal.h"

#include <stdlib.h>

static int
verify_load_exec_log(struct verify_work *work, unsigned cpu, struct code *code)
{
	char name[BUNDLE_NAME_BYTES];
	uint32_t *words;
	size_t count;
	int error;

	snprintf(name, sizeof(name), "truth-cpu%u.zst", cpu);
	error = bundle_read_exec_log(
	    work->bundle, cpu, &words, &count, work->err);
	if (error != 0)
		return error;
	error = exec_log_read(
	    name, words, count, code, &work->logs[cpu], work->err);
	free(words);
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

static int
verify_load_events(struct verify_work *work)
{
	struct event *events;
	size_t count;
	int error = bundle_read_events(
	    work->bundle, &events, &count, work->err);

	if (error == 0 && work->perf_data[0] != '\0')
		error = delivery_read(work, &events, &count);
	if (error == 0)
		error = account_replay(
		    events, count, &work->account, work->err);
	if (error == 0)
		error = verify_note_psbs(work, events, count);
	if (error == 0)
		error = verify_note_overflows(work, events, count);
	/* The events do not say what perf asked of counters and of the Debug Store. */
	if (error == 0 && work->perf_data[0] == '\0')
		error = records_verify(work, events, count);
	if (error == 0 && work->perf_data[0] == '\0')
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

static void
verify_find_perf_data(struct verify_work *work)
{
	const char *other = work->options->perf_data;

	if (work->bundle->has_perf_data)
		snprintf(work->perf_data, sizeof(work->perf_data), "%s%s",
		    other != NULL ? other : work->bundle->path,
		    other != NULL ? "" : "/perf.data");
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
	verify_find_perf_data(work);
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
}
