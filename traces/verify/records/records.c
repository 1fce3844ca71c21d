#include "traces/verify/records/records.h"

#include "emu/guest_abi.h"
#include "emu/profile/profile.h"
#include "traces/decode/vector.h"
#include "traces/verify/records/branch_flow.h"
#include "traces/verify/records/event_order.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define ESCAPE       UINT64_MAX /* the source of a record that is no branch */
#define TASK_ARRIVES 2
#define TASK_DEPARTS 3

struct pair {
	uint64_t from, to;
};

/* The records of one process's task, or of one CPU. */
struct stream {
	uint64_t id; /* pid, or ABI_RECORDS_CPU or ABI_RECORDS_PEBS | CPU */
	uint64_t cr3, area, room; /* .room 0: there is no buffer */
	bool asked, switches;
	size_t result; /* index of its struct verify_records */
	/* What the buffer has been given since it was read or made, and what was read. */
	size_t given_count, given_room, read_count, read_room;
	struct pair *given, *read;
	bool reading; /* records of one reading come one after the other */
};

struct records {
	struct verify_work *work;
	struct branch_flow flow[BUNDLE_CPUS_MAX];
	bool differs[BUNDLE_CPUS_MAX]; /* its comparison has ended */
	uint64_t stored[BUNDLE_CPUS_MAX];
	uint64_t homeless; /* stored where no buffer is */
	uint64_t unstored; /* read where none is */
	size_t stream_count, stream_room;
	struct stream *streams;
	bool no_memory;
};

static struct verify_records *
result_of(struct records *records, const struct stream *stream)
{
	return &records->work->result->records[stream->result];
}

static bool
is_cpu(const struct stream *stream)
{
	return (stream->id & (ABI_RECORDS_CPU | ABI_RECORDS_PEBS)) != 0;
}

/* PEBS records: their buffer is not circular, and each is an instruction in .from. */
static bool
is_pebs(const struct stream *stream)
{
	return (stream->id & ABI_RECORDS_PEBS) != 0;
}

static void
name_stream(const struct stream *stream, char name[32])
{
	snprintf(name, 32, "%s%" PRIu32 "%s", is_cpu(stream) ? "cpu" : "pid",
	    (uint32_t)stream->id, is_pebs(stream) ? "-pebs" : "");
}

/* Text for FROM and TO in a finding. */
static void
name_pair(const struct records *records, uint64_t from, uint64_t to,
    char text[VERIFY_NAME_BYTES])
{
	const struct symbolizer *symbolizer =
	    records->work->options->symbolizer;
	char names[2][VERIFY_NAME_BYTES / 2 - 8];
	uint64_t at[2] = { from, to };

	for (unsigned i = 0; i < 2; i++)
		if (symbolizer == NULL ||
		    !symbolizer->name(
			symbolizer->arg, at[i], names[i], sizeof(names[i])))
			snprintf(
			    names[i], sizeof(names[i]), "0x%" PRIx64, at[i]);
	snprintf(text, VERIFY_NAME_BYTES, "%s -> %s", names[0], names[1]);
}

static struct stream *
find_id(struct records *records, uint64_t id)
{
	for (size_t i = 0; i < records->stream_count; i++)
		if (records->streams[i].id == id)
			return &records->streams[i];
	return NULL;
}

static struct stream *
find_area(struct records *records, uint64_t area)
{
	for (size_t i = 0; i < records->stream_count; i++)
		if (records->streams[i].room != 0 &&
		    !is_pebs(&records->streams[i]) &&
		    records->streams[i].area == area)
			return &records->streams[i];
	return NULL;
}

static struct stream *
find_space(struct records *records, uint64_t cr3)
{
	for (size_t i = 0; i < records->stream_count; i++)
		if (!is_cpu(&records->streams[i]) &&
		    records->streams[i].cr3 == cr3)
			return &records->streams[i];
	return NULL;
}

/* The stream of ID, made if it is new; NULL: no memory. */
static struct stream *
stream_of(struct records *records, uint64_t id)
{
	struct stream *stream = find_id(records, id);

	if (stream != NULL)
		return stream;
	if (!GROW(records->streams, records->stream_room,
		records->stream_count + 1)) {
		records->no_memory = true;
		return NULL;
	}
	stream = &records->streams[records->stream_count++];
	*stream = (struct stream){ .id = id };
	return stream;
}

/* The stream's part of the result, once it has a buffer.  False: no memory. */
static bool
open_result(struct records *records, struct stream *stream)
{
	struct verify_result *result = records->work->result;

	for (size_t i = 0; i < result->record_count; i++) {
		if (result->records[i].id != stream->id)
			continue;
		stream->result = i;
		return true;
	}
	if (!GROW(result->records, result->record_room,
		result->record_count + 1)) {
		records->no_memory = true;
		return false;
	}
	stream->result = result->record_count++;
	result->records[stream->result] = (struct verify_records){
		.id = stream->id, .pebs = is_pebs(stream)
	};
	name_stream(stream, result->records[stream->result].name);
	return true;
}

static void
add_pair(struct records *records, struct pair **list, size_t *count,
    size_t *room, uint64_t from, uint64_t to)
{
	if (!GROW(*list, *room, *count + 1)) {
		records->no_memory = true;
		return;
	}
	(*list)[(*count)++] = (struct pair){ from, to };
}

/* The first difference of a process's records is a finding; others are counted. */
static void tell(struct records *records, const struct stream *stream,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void
tell(struct records *records, const struct stream *stream, const char *fmt, ...)
{
	struct verify_records *result = result_of(records, stream);
	va_list ap;

	va_start(ap, fmt);
	verify_add_difference(records->work, result->name, &result->differences,
	    result->difference, fmt, ap);
	va_end(ap);
}

/* Record INDEX of a reading is not the one that was stored as its INDEX + SKIPPED-th. */
static void
tell_wrong(struct records *records, const struct stream *stream, size_t index,
    size_t skipped)
{
	const struct pair *given = &stream->given[index + skipped];
	const struct pair *read = &stream->read[index];
	char was[VERIFY_NAME_BYTES], is[VERIFY_NAME_BYTES];

	name_pair(records, given->from, given->to, was);
	name_pair(records, read->from, read->to, is);
	tell(records, stream,
	    "record %zu of a reading of %zu is %s, executed was %s (%zu stored, "
	    "room for %" PRIu64 ")",
	    index, stream->read_count, is, was, stream->given_count,
	    stream->room);
}

/* One reading took .read: the newest of what was .given, whole rounds of it missing. */
static void
close_reading(struct records *records, struct stream *stream)
{
	struct verify_records *result;
	size_t missing, i;
	bool whole;

	if (!stream->reading)
		return;
	stream->reading = false;
	result = result_of(records, stream);
	if (stream->read_count > stream->given_count) {
		tell(records, stream, "%zu records were read, but %zu stored",
		    stream->read_count, stream->given_count);
		stream->given_count = stream->read_count = 0;
		return;
	}
	missing = stream->given_count - stream->read_count;
	whole = missing % stream->room == 0 &&
	    (missing == 0 || !is_pebs(stream));
	for (i = 0; i < stream->read_count; i++) {
		/* What is missing is the oldest, unless the number is wrong. */
		const struct pair *given = &stream->given[i + whole * missing];
		const struct pair *read = &stream->read[i];

		if (given->from != read->from || given->to != read->to)
			break;
	}
	if (i < stream->read_count)
		tell_wrong(records, stream, i, whole * missing);
	if (!whole)
		tell(records, stream,
		    "%zu records are missing in a reading, the buffer has room "
		    "for %" PRIu64,
		    missing, stream->room);
	result->matched += i;
	result->overwritten += missing;
	stream->given_count = stream->read_count = 0;
}

/* The buffer has one more record. */
static void
give(struct records *records, struct stream *stream, uint64_t from, uint64_t to)
{
	close_reading(records, stream);
	add_pair(records, &stream->given, &stream->given_count,
	    &stream->given_room, from, to);
}

static void
note_buffer(struct records *records, const struct event *event)
{
	struct stream *stream = stream_of(records, event->a);

	if (stream == NULL)
		return;
	close_reading(records, stream);
	if (stream->room != 0)
		result_of(records, stream)->left += stream->given_count;
	stream->given_count = stream->room = 0;
	if (event->c == 0 || !open_result(records, stream))
		return;
	stream->area = event->b;
	stream->room = event->c;
}

/* A task of the process arrived at its save area, or departed from it. */
static void
pass_area(struct records *records, const struct branch *branch)
{
	struct stream *stream = find_area(records, branch->from);

	if (stream != NULL && stream->switches)
		give(records, stream, ESCAPE, TASK_DEPARTS);
	stream = find_area(records, branch->to);
	if (stream != NULL && stream->switches)
		give(records, stream, ESCAPE, TASK_ARRIVES);
}

/* A branch in ring 3 on CPU, of which STREAM must have a record if it was asked for. */
static void
miss(
    struct records *records, struct stream *stream, const struct branch *branch)
{
	char text[VERIFY_NAME_BYTES];

	if (stream == NULL || !stream->asked || stream->room == 0)
		return;
	result_of(records, stream)->missed++;
	name_pair(records, branch->from, branch->to, text);
	tell(records, stream, "recording was on for it, but off at %s", text);
}

static void
pass_unrecorded(
    struct records *records, unsigned cpu, const struct branch *branch)
{
	if (branch->cpl != 3)
		return;
	miss(records, find_space(records, branch->cr3), branch);
	miss(records, find_id(records, ABI_RECORDS_CPU | cpu), branch);
}

static bool
is_event(const struct branch *branch, const struct event *event)
{
	return branch->kind == BRANCH_TAKEN && event != NULL &&
	    branch->from == event->a && branch->to == event->b;
}

/*
 * The log's items of CPU that have no record, up to INSNS retired instructions.  An item
 * that has one or not is passed unless it is EVENT (NULL: none).
 */
static void
pass_until(struct records *records, unsigned cpu, uint64_t insns,
    const struct event *event)
{
	struct branch_flow *flow = &records->flow[cpu];

	for (;;) {
		const struct branch *branch = branch_flow_peek(flow);

		if (branch->kind == BRANCH_END || branch->insns > insns ||
		    (branch->recorded &&
			(!branch->perhaps || is_event(branch, event))) ||
		    records->differs[cpu])
			return;
		if (branch->kind == BRANCH_AREA)
			pass_area(records, branch);
		else if (!branch->perhaps)
			pass_unrecorded(records, cpu, branch);
		branch_flow_take(flow);
	}
}

/* BRANCH was stored: it belongs to the process whose save area is in use. */
static void
pass_recorded(
    struct records *records, unsigned cpu, const struct branch *branch)
{
	struct stream *stream = find_area(records, branch->area);
	char text[VERIFY_NAME_BYTES];

	if (stream == NULL) {
		/* ../perf/branches.h knows whose they are. */
		records->homeless += records->work->perf == NULL;
		return;
	}
	result_of(records, stream)->stored++;
	give(records, stream, branch->from, branch->to);
	if (is_cpu(stream) ? (uint32_t)stream->id == cpu
			   : branch->cpl != 3 || branch->cr3 == stream->cr3)
		return;
	name_pair(records, branch->from, branch->to, text);
	tell(records, stream, "its buffer has a branch of another %s, %s",
	    is_cpu(stream) ? "CPU" : "process", text);
}

static void
compare_stored(struct records *records, const struct event *event)
{
	unsigned cpu = event->cpu;
	struct branch_flow *flow = &records->flow[cpu];
	const struct branch *branch;
	char log[VERIFY_NAME_BYTES], record[VERIFY_NAME_BYTES];

	if (records->differs[cpu])
		return;
	pass_until(records, cpu, UINT64_MAX, event);
	branch = branch_flow_peek(flow);
	records->stored[cpu]++;
	if (is_event(branch, event)) {
		if (event->kind == EVENT_BTS_RECORD)
			pass_recorded(records, cpu, branch);
		branch_flow_take(flow);
		return;
	}
	records->differs[cpu] = true;
	name_pair(records, event->a, event->b, record);
	if (branch->kind == BRANCH_TAKEN)
		name_pair(records, branch->from, branch->to, log);
	else
		snprintf(log, sizeof(log), "none");
	verify_add_finding(records->work,
	    "cpu%u: branch record %" PRIu64 " is %s, the execution log has %s",
	    cpu, records->stored[cpu], record, log);
}

/*
 * A PEBS record.  ../counters has compared it with the execution log; here it is what the
 * buffer of its CPU has been given.
 */
static void
note_sample(struct records *records, const struct event *event)
{
	struct stream *stream = find_id(records, ABI_RECORDS_PEBS | event->cpu);

	if (stream == NULL)
		return; /* the guest says nothing of its buffer */
	if (stream->room == 0) {
		records->homeless++;
		return;
	}
	if (event->kind == EVENT_PEBS_LOST) {
		result_of(records, stream)->unstored++;
		return;
	}
	result_of(records, stream)->stored++;
	give(records, stream, event->a, 0);
}

static void
note_read(struct records *records, const struct event *event,
    const struct event *reading)
{
	struct stream *stream = reading != NULL ? find_id(records, reading->a)
						: NULL;

	if (stream == NULL || stream->room == 0) {
		records->unstored++;
		return;
	}
	result_of(records, stream)->read++;
	add_pair(records, &stream->read, &stream->read_count,
	    &stream->read_room, event->a, event->b);
}

/* Events whose place in the order of all CPUs counts. */
static bool
needs_order(const struct event *event)
{
	return event->kind == EVENT_RECORDS || event->kind == EVENT_RECORDING ||
	    event->kind == EVENT_RECORDS_READ || event->kind == EVENT_SPACE;
}

static void
note_process(struct records *records, const struct event *event)
{
	struct stream *stream = stream_of(records, event->a);

	if (stream == NULL)
		return;
	if (event->kind == EVENT_SPACE) {
		stream->cr3 = event->b;
		return;
	}
	stream->asked = event->b != 0;
	stream->switches = event->c != 0;
}

/* A reading begins, or goes on in another page; it may be of no records. */
static void
begin_reading(struct records *records, const struct event *event)
{
	struct stream *stream = find_id(records, event->a);

	if (stream != NULL && stream->room != 0)
		stream->reading = true;
}

static void
replay_event(struct records *records, const struct event *event,
    const struct event **reading)
{
	if (event->kind == EVENT_SPACE || event->kind == EVENT_RECORDING)
		note_process(records, event);
	else if (event->kind == EVENT_RECORDS)
		note_buffer(records, event);
	else if (event->kind == EVENT_RECORDS_READ) {
		*reading = event;
		begin_reading(records, event);
	} else if (event->kind == EVENT_RECORD_READ)
		note_read(records, event, *reading);
	else if (event->kind == EVENT_BTS_RECORD ||
	    event->kind == EVENT_BTS_LOST)
		compare_stored(records, event);
	else if (event->kind == EVENT_PEBS_RECORD ||
	    event->kind == EVENT_PEBS_LOST)
		note_sample(records, event);
}

static void
replay(struct records *records, const struct event *events, size_t count,
    const uint64_t *insns)
{
	const struct event *reading = NULL;
	unsigned cpus = records->work->bundle->info.cpu_count;

	for (size_t i = 0; i < count && !records->no_memory; i++) {
		if (needs_order(&events[i])) {
			for (unsigned cpu = 0; cpu < cpus; cpu++)
				pass_until(records, cpu, insns[cpu], NULL);
			insns += BUNDLE_CPUS_MAX;
		}
		replay_event(records, &events[i], &reading);
	}
}

/* Records that must exist, of which the CPU stored none. */
static void
finish(struct records *records)
{
	for (unsigned cpu = 0; cpu < records->work->bundle->info.cpu_count;
	     cpu++) {
		const struct branch *branch;
		char text[VERIFY_NAME_BYTES];

		pass_until(records, cpu, UINT64_MAX, NULL);
		branch = branch_flow_peek(&records->flow[cpu]);
		if (branch->kind == BRANCH_END || records->differs[cpu])
			continue;
		name_pair(records, branch->from, branch->to, text);
		verify_add_finding(records->work,
		    "cpu%u: %s must have been recorded, as record %" PRIu64,
		    cpu, text, records->stored[cpu] + 1);
	}
	for (size_t i = 0; i < records->stream_count; i++) {
		struct stream *stream = &records->streams[i];

		close_reading(records, stream);
		if (stream->room != 0)
			result_of(records, stream)->left += stream->given_count;
	}
	if (records->homeless != 0)
		verify_add_finding(records->work,
		    "%" PRIu64 " records went where no buffer is",
		    records->homeless);
	if (records->unstored != 0)
		verify_add_finding(records->work,
		    "%" PRIu64 " records were read of no buffer",
		    records->unstored);
}

static void
destroy(struct records *records)
{
	if (records == NULL)
		return;
	for (size_t i = 0; i < records->stream_count; i++) {
		free(records->streams[i].given);
		free(records->streams[i].read);
	}
	free(records->streams);
	free(records);
}

static void
start(struct records *records, struct verify_work *work)
{
	records->work = work;
	for (unsigned cpu = 0; cpu < work->bundle->info.cpu_count; cpu++) {
		const struct profile *profile = profile_find(
		    work->bundle->info.model[cpu].profile);

		branch_flow_start(&records->flow[cpu], work->logs[cpu],
		    profile != NULL &&
			profile_trace_excludes_branch_records(profile));
	}
}

int
records_verify(
    struct verify_work *work, const struct event *events, size_t count)
{
	struct records *records = calloc(1, sizeof(*records));
	uint64_t *insns = event_order(events, count, needs_order);
	bool no_memory = records == NULL || insns == NULL;

	if (!no_memory) {
		start(records, work);
		replay(records, events, count, insns);
		finish(records);
		no_memory = records->no_memory;
	}
	free(insns);
	destroy(records);
	return no_memory ? tz_error(work->err, TZ_EIO, "records: out of memory")
			 : 0;
}
