#define _GNU_SOURCE
#include "traces/listed.h"

#include "traces/grow.h"
#include "traces/listed_work.h"
#include "traces/verify_work.h"

#include <errno.h>
#include <inttypes.h>

#define LISTED_LINE_BYTES 65536

struct listed_work {
	const struct listed_options *options;
	const char *name;
	struct listed_result *result;
	struct tz_error *err;
	struct listed_walk *walks; /* of .result->streams */
};

/* Lists the intervals of stream INDEX and what its trace cannot tell. */
static bool
listed_intervals(const struct verify_work *exec_log, size_t index,
    struct listed_walk *walk, struct listed_stream *stream)
{
	static const enum account_row early[] = { ACCOUNT_LOST, ACCOUNT_TAIL,
		ACCOUNT_OVERWRITTEN, ACCOUNT_UNREPORTED, ACCOUNT_STALE };
	const struct account *account = &exec_log->account;
	size_t room = 0;

	for (size_t i = 0; i < TZ_ARRAY_LEN(early); i++)
		stream->excused |= account->streams[index].rows[early[i]] != 0;
	for (size_t i = 0; i < account->interval_count; i++) {
		const struct flow_interval *interval = flow_find(
		    &exec_log->source, i);

		if (account->intervals[i].stream != index)
			continue;
		if (!GROW(walk->intervals, room, walk->interval_count + 1))
			return false;
		walk->intervals[walk->interval_count++] = i;
		stream->excused |= account->intervals[i].stopped ||
		    account->intervals[i].open;
		if (interval != NULL)
			stream->expected += interval->insns;
	}
	return true;
}

static bool
listed_add_stream(
    struct listed_work *work, const struct verify_work *exec_log, size_t index)
{
	const struct account_stream *account =
	    &exec_log->account.streams[index];
	size_t at = work->result->stream_count;
	struct listed_stream *stream = &work->result->streams[at];
	struct listed_walk *walk = &work->walks[at];

	stream->thread = (account->key & EVENT_STREAM_THREAD) != 0;
	stream->id = EVENT_STREAM_ID(account->key);
	if (work->options->id != DECODED_NO_CPU &&
	    work->options->id != stream->id)
		return true;
	snprintf(stream->name, sizeof(stream->name), "%s%u",
	    stream->thread ? "thread" : "cpu", stream->id);
	walk->stream = stream;
	walk->symbolizer = work->options->symbolizer;
	walk->exec_log = exec_log;
	work->result->stream_count++;
	return listed_intervals(exec_log, index, walk, stream) &&
	    listed_start(walk, &exec_log->source);
}

/* Makes a walk for each stream that is to be compared. */
static int
listed_open(struct listed_work *work, const struct verify_work *exec_log)
{
	size_t count = exec_log->account.stream_count;
	struct listed_result *result = work->result;

	result->streams = calloc(count + 1, sizeof(*result->streams));
	work->walks = calloc(count + 1, sizeof(*work->walks));
	if (result->streams == NULL || work->walks == NULL)
		return tz_error(work->err, TZ_EIO, "list: out of memory");
	for (size_t i = 0; i < count; i++)
		if (!listed_add_stream(work, exec_log, i))
			return tz_error(
			    work->err, TZ_EIO, "list: out of memory");
	if (result->stream_count != 0)
		return 0;
	if (work->options->id == DECODED_NO_CPU)
		return tz_error(
		    work->err, TZ_EUSAGE, "the bundle has no trace in it");
	return tz_error(work->err, TZ_EUSAGE,
	    "--cpu %u: the bundle has no trace of it", work->options->id);
}

static int
listed_complain(
    const struct listed_work *work, enum tz_errno code, const char *cause)
{
	return tz_error(work->err, code, "%s:%" PRIu64 ": %s", work->name,
	    work->result->lines, cause);
}

/*
 * Is a line of STREAM that names CPU?  Of a single thread every line is: where it
 * ran does not matter.  Several threads go by their numbers, as in an export.
 */
static bool
listed_is_of(const struct listed_result *result,
    const struct listed_stream *stream, uint32_t cpu)
{
	if (cpu == DECODED_NO_CPU || stream->thread)
		return result->stream_count == 1 || cpu == stream->id;
	return cpu == stream->id;
}

/* Whose LINE is: *WALK, NULL: of none that is compared. */
static int
listed_find(const struct listed_work *work, const struct decoded_line *line,
    struct listed_walk **walk)
{
	const struct listed_result *result = work->result;
	char cause[64];

	*walk = NULL;
	for (size_t i = 0; i < result->stream_count; i++) {
		const struct listed_stream *stream = &result->streams[i];

		if (listed_is_of(result, stream, line->cpu))
			*walk = &work->walks[i];
	}
	if (line->cpu == DECODED_NO_CPU && result->stream_count != 1)
		return listed_complain(work, TZ_EUSAGE,
		    "names none of the bundle's traces: choose one with "
		    "--cpu");
	if (*walk != NULL || work->options->id != DECODED_NO_CPU)
		return 0;
	snprintf(cause, sizeof(cause),
	    "CPU %" PRIu32 " has no trace in the bundle", line->cpu);
	return listed_complain(work, TZ_EUSAGE, cause);
}

/* A gap that names no CPU is one of all. */
static bool
listed_gaps(struct listed_work *work, uint32_t cpu)
{
	bool memory = true;

	for (size_t i = 0; i < work->result->stream_count; i++) {
		const struct listed_stream *stream = &work->result->streams[i];

		if (cpu == DECODED_NO_CPU ||
		    listed_is_of(work->result, stream, cpu))
			memory &= listed_gap(
			    &work->walks[i], work->result->lines);
	}
	return memory;
}

static int
listed_line(struct listed_work *work, const char *text)
{
	struct listed_result *result = work->result;
	struct decoded_line line;
	struct listed_walk *walk;
	bool memory = true;

	result->lines++;
	if (result->format == DECODED_ANY)
		result->format = decoded_recognise(text);
	/* What comes before is a comment or an error. */
	line = decoded_parse(
	    result->format == DECODED_ANY ? DECODED_PLAIN : result->format,
	    text);
	if (line.kind == DECODED_BAD && result->format == DECODED_ANY)
		line.cause = "a line of neither perf script, ptxed nor plain "
			     "addresses";
	if (line.kind == DECODED_BAD)
		return listed_complain(work, TZ_EFORMAT, line.cause);
	if (line.kind == DECODED_GAP)
		memory = listed_gaps(work, line.cpu);
	if (line.kind == DECODED_INSN) {
		int error = listed_find(work, &line, &walk);

		if (error != 0)
			return error;
		result->insns++;
		if (walk != NULL)
			memory = listed_take(walk, line.ip, result->lines);
	}
	return memory ? 0 : tz_error(work->err, TZ_EIO, "list: out of memory");
}

static int
listed_read(struct listed_work *work, FILE *file)
{
	char *text = malloc(LISTED_LINE_BYTES);
	int error = text != NULL
	    ? 0
	    : tz_error(work->err, TZ_EIO, "list: out of memory");

	while (error == 0 && fgets(text, LISTED_LINE_BYTES, file) != NULL) {
		size_t length = strlen(text);

		if (length == 0 ||
		    (length == LISTED_LINE_BYTES - 1 &&
			text[length - 1] != '\n')) {
			work->result->lines++;
			error = listed_complain(work, TZ_EFORMAT,
			    length == 0
				? "no text"
				: "a line of more than 65534 characters");
			continue;
		}
		if (text[length - 1] == '\n')
			text[length - 1] = '\0';
		error = listed_line(work, text);
	}
	if (error == 0 && ferror(file))
		error = tz_error(
		    work->err, TZ_EIO, "%s: %s", work->name, strerror(errno));
	free(text);
	if (error == 0 && work->result->insns == 0)
		error = tz_error(work->err, TZ_EFORMAT,
		    "%s: no instruction in its %" PRIu64 " lines", work->name,
		    work->result->lines);
	return error;
}

static void
listed_close(struct listed_work *work)
{
	for (size_t i = 0; i < work->result->stream_count; i++) {
		free(work->walks[i].intervals);
		free(work->walks[i].places);
	}
	free(work->walks);
}

int
listed_verify(const struct bundle *bundle, FILE *file, const char *name,
    const struct listed_options *options, struct listed_result *result,
    struct tz_error *err)
{
	struct verify_result unused = { .stream_count = 0 };
	struct verify_work exec_log = {
		.bundle = bundle, .result = &unused, .err = err
	};
	struct listed_work work = {
		.options = options, .name = name, .result = result, .err = err
	};
	int error;

	memset(result, 0, sizeof(*result));
	result->format = options->format;
	error = verify_load(&exec_log);
	if (error == 0)
		error = listed_open(&work, &exec_log);
	if (error == 0)
		error = listed_read(&work, file);
	result->match = true;
	for (size_t i = 0; error == 0 && i < result->stream_count; i++) {
		if (!listed_end(&work.walks[i]))
			error = tz_error(err, TZ_EIO, "list: out of memory");
		result->match &= !result->streams[i].difference.found;
	}
	listed_close(&work);
	verify_unload(&exec_log);
	verify_result_free(&unused);
	if (error != 0)
		listed_result_free(result);
	return error;
}

void
listed_result_free(struct listed_result *result)
{
	free(result->streams);
	memset(result, 0, sizeof(*result));
}
