#include "traces/verify/verify_internal.h"

#include "traces/bundle/image.h"
#include "traces/decode/vector.h"
#include "traces/verify/records.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

void
verify_add_finding(struct verify_work *work, const char *fmt, ...)
{
	struct verify_result *result = work->result;
	va_list ap;

	if (!GROW(result->findings, result->finding_room,
		result->finding_count + 1))
		return;
	va_start(ap, fmt);
	vsnprintf(result->findings[result->finding_count++].text,
	    VERIFY_TEXT_BYTES, fmt, ap);
	va_end(ap);
}

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

	if (error != 0)
		return error;
	error = account_replay(events, count, &work->account, work->err);
	if (error == 0)
		error = verify_note_psbs(work, events, count);
	if (error == 0)
		error = verify_note_overflows(work, events, count);
	if (error == 0)
		error = records_verify(work, events, count);
	free(events);
	return error;
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
		error = verify_load_events(work);
	if (error == 0)
		error = image_create(bundle, &work->image, work->err);
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
	if (work->image != NULL)
		image_destroy(work->image);
}

/* Compares how often TraceEn rose: by the execution log and by the units. */
static void
verify_check_intervals(struct verify_work *work)
{
	const struct account *account = &work->account;
	size_t counts[BUNDLE_CPUS_MAX] = { 0 };
	uint64_t homeless = 0;

	for (size_t i = 0; i < account->interval_count; i++) {
		const struct flow_interval *interval = flow_find(
		    &work->source, i);

		counts[account->intervals[i].cpu]++;
		if (account->intervals[i].stream == ACCOUNT_NONE &&
		    interval != NULL)
			homeless += interval->insns;
	}
	for (unsigned cpu = 0; cpu < work->bundle->info.cpu_count; cpu++) {
		if (counts[cpu] != work->cpus[cpu].count)
			verify_add_finding(work,
			    "cpu%u: TraceEn rose %zu times by the execution log, %zu "
			    "times by the PT unit",
			    cpu, work->cpus[cpu].count, counts[cpu]);
	}
	if (account->nobodys != 0)
		verify_add_finding(work,
		    "%" PRIu64 " trace bytes belong to no stream, first at "
		    "cpu%u offset %" PRIu64,
		    account->nobodys, account->nobodys_place.cpu,
		    account->nobodys_place.offset);
	if (homeless != 0)
		verify_add_finding(work,
		    "%" PRIu64 " traced instructions belong to no stream",
		    homeless);
}

/* True if ROW is a finding. */
static bool
verify_is_finding(const struct verify_work *work,
    const struct verify_stream *stream, unsigned row)
{
	const uint64_t *rows = stream->rows;

	if (rows[row] == 0 || (work->options->rows & 1u << row) != 0)
		return false;
	/* A prefix is a finding only if no hole explains it. */
	return row != ACCOUNT_PREFIX ||
	    (rows[ACCOUNT_LOST] | rows[ACCOUNT_OVERWRITTEN] |
		rows[ACCOUNT_UNREPORTED] | rows[ACCOUNT_STALE]) == 0;
}

/* Each row that the caller does not expect is a finding with size and place. */
static void
verify_judge_rows(struct verify_work *work, const struct verify_stream *stream,
    const struct account_stream *account)
{
	uint64_t sum = 0;

	for (unsigned row = 0; row < ACCOUNT_ROW_COUNT; row++) {
		const struct account_place *place = &stream->places[row];

		if (row != ACCOUNT_WRITTEN && row != ACCOUNT_STALE)
			sum += stream->rows[row];
		if (!verify_is_finding(work, stream, row))
			continue;
		if (row == ACCOUNT_STALE || row == ACCOUNT_PREFIX)
			verify_add_finding(work,
			    "%s: %" PRIu64 " bytes %s, first at byte %" PRIu64
			    " of the stream",
			    stream->name, stream->rows[row],
			    account_row_text((enum account_row)row),
			    place->offset);
		else
			verify_add_finding(work,
			    "%s: %" PRIu64 " bytes %s, first at cpu%u offset "
			    "%" PRIu64,
			    stream->name, stream->rows[row],
			    account_row_text((enum account_row)row), place->cpu,
			    place->offset);
	}
	if (sum != stream->rows[ACCOUNT_WRITTEN])
		verify_add_finding(work,
		    "%s: rows add up to %" PRIu64 " of %" PRIu64
		    " bytes written",
		    stream->name, sum, stream->rows[ACCOUNT_WRITTEN]);
	if (account->claimed > account->rows[ACCOUNT_LOST])
		verify_add_finding(work,
		    "%s: the driver reported %" PRIu64
		    " bytes lost that were not",
		    stream->name,
		    account->claimed - account->rows[ACCOUNT_LOST]);
}

/* A file with bytes of a stream that no event mentions is a finding. */
static void
verify_check_files(struct verify_work *work)
{
	const struct bundle *bundle = work->bundle;

	for (size_t i = 0; i < bundle->stream_count; i++) {
		const struct bundle_stream *file = &bundle->streams[i];
		uint64_t key = file->id;
		size_t j;

		if (file->thread)
			key |= EVENT_STREAM_THREAD;
		for (j = 0; j < work->account.stream_count; j++) {
			if (work->account.streams[j].key == key)
				break;
		}
		if (j == work->account.stream_count && file->bytes != 0)
			verify_add_finding(work,
			    "%s: %" PRIu64 " bytes that no event explains",
			    file->file, file->bytes);
	}
}

int
verify_bundle(const struct bundle *bundle, const struct verify_options *options,
    struct verify_result *result, struct tz_error *err)
{
	struct verify_work work = {
		.bundle = bundle,
		.options = options,
		.result = result,
		.err = err,
	};
	uint64_t written = 0;
	int error;

	memset(result, 0, sizeof(*result));
	error = verify_load(&work);
	if (error == 0) {
		verify_check_intervals(&work);
		verify_check_files(&work);
	}
	for (size_t i = 0; i < work.account.stream_count && error == 0; i++)
		error = verify_one_stream(&work, i);
	result->match = true;
	for (size_t i = 0; i < result->stream_count && error == 0; i++) {
		verify_judge_rows(
		    &work, &result->streams[i], &work.account.streams[i]);
		result->match &= !result->streams[i].difference.found;
		written += result->streams[i].rows[ACCOUNT_WRITTEN];
	}
	result->match &= result->finding_count == 0;
	for (size_t i = 0; i < result->record_count; i++)
		written += result->records[i].stored;
	result->nothing = written == 0;
	verify_unload(&work);
	if (error != 0)
		verify_result_free(result);
	return error;
}

void
verify_result_free(struct verify_result *result)
{
	free(result->streams);
	free(result->records);
	free(result->findings);
	memset(result, 0, sizeof(*result));
}
