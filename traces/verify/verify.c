#include "traces/verify/verify_internal.h"

#include <inttypes.h>
#include <string.h>

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

	uint32_t expected = work->options->rows;

	/* perf reads all that there is, but a snapshot only what is there last. */
	if (work->result->perf.snapshot)
		expected |= 1u << ACCOUNT_OVERWRITTEN |
		    1u << ACCOUNT_UNREPORTED;
	else if (work->result->files)
		expected = (expected & ~(1u << ACCOUNT_TAIL)) |
		    1u << ACCOUNT_OVERWRITTEN;
	else if (work->result->perf.present)
		expected &= ~(1u << ACCOUNT_TAIL);
	if (rows[row] == 0 || (expected & 1u << row) != 0)
		return false;
	/* A prefix is a finding only if no hole explains it. */
	return row != ACCOUNT_PREFIX ||
	    ((work->result->perf.truncated == 0 || !stream->stopped) &&
		(rows[ACCOUNT_LOST] | rows[ACCOUNT_OVERWRITTEN] |
		    rows[ACCOUNT_UNREPORTED] | rows[ACCOUNT_STALE]) == 0);
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

	/* Then delivery/file_delivery.c has said it. */
	if (work->result->files)
		return;
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
	for (size_t i = 0; i < result->counter_count; i++)
		written += result->counters[i].unknown
		    ? 0
		    : result->counters[i].values + result->counters[i].read;
	result->nothing = written == 0;
	verify_unload(&work);
	if (error != 0)
		verify_result_free(result);
	return error;
}
