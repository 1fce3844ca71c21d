#define _GNU_SOURCE
#include "traces/external/external_decoder.h"

#include "traces/decode/vector.h"
#include "traces/external/external_decoder_internal.h"
#include "traces/verify/verify_internal.h"

#include <errno.h>
#include <inttypes.h>

#define EXTERNAL_DECODER_LINE_BYTES 65536

struct external_decoder_work {
	const struct external_decoder_options *options;
	const char *name;
	struct external_decoder_result *result;
	struct tz_error *err;
	struct external_decoder_walk *walks; /* of .result->streams */
};

/* Lists the intervals of stream INDEX; sets .expected and .excused. */
static bool
external_decoder_intervals(const struct verify_work *exec_log, size_t index,
    struct external_decoder_walk *walk, struct external_decoder_stream *stream)
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
external_decoder_add_stream(struct external_decoder_work *work,
    const struct verify_work *exec_log, size_t index)
{
	const struct account_stream *account =
	    &exec_log->account.streams[index];
	size_t at = work->result->stream_count;
	struct external_decoder_stream *stream = &work->result->streams[at];
	struct external_decoder_walk *walk = &work->walks[at];

	stream->thread = (account->key & EVENT_STREAM_THREAD) != 0;
	stream->id = EVENT_STREAM_ID(account->key);
	if (work->options->id != DECODER_LINE_NO_CPU &&
	    work->options->id != stream->id)
		return true;
	snprintf(stream->name, sizeof(stream->name), "%s%u",
	    stream->thread ? "thread" : "cpu", stream->id);
	walk->stream = stream;
	walk->symbolizer = work->options->symbolizer;
	walk->exec_log = exec_log;
	work->result->stream_count++;
	return external_decoder_intervals(exec_log, index, walk, stream) &&
	    external_decoder_start(walk, &exec_log->source);
}

/* Creates a walk for each stream to compare. */
static int
external_decoder_open(
    struct external_decoder_work *work, const struct verify_work *exec_log)
{
	size_t count = exec_log->account.stream_count;
	struct external_decoder_result *result = work->result;

	result->streams = calloc(count + 1, sizeof(*result->streams));
	work->walks = calloc(count + 1, sizeof(*work->walks));
	if (result->streams == NULL || work->walks == NULL)
		return tz_error(work->err, TZ_EIO, "list: out of memory");
	for (size_t i = 0; i < count; i++)
		if (!external_decoder_add_stream(work, exec_log, i))
			return tz_error(
			    work->err, TZ_EIO, "list: out of memory");
	if (result->stream_count != 0)
		return 0;
	if (work->options->id == DECODER_LINE_NO_CPU)
		return tz_error(
		    work->err, TZ_EUSAGE, "the bundle has no trace in it");
	return tz_error(work->err, TZ_EUSAGE,
	    "--cpu %u: the bundle has no trace of it", work->options->id);
}

static int
external_decoder_complain(const struct external_decoder_work *work,
    enum tz_errno code, const char *cause)
{
	return tz_error(work->err, code, "%s:%" PRIu64 ": %s", work->name,
	    work->result->lines, cause);
}

/*
 * True if a line that names CPU belongs to STREAM.  With a single thread every line does,
 * on any CPU.  With several threads CPU is the thread's number, as in perf_export.h.
 */
static bool
external_decoder_is_of(const struct external_decoder_result *result,
    const struct external_decoder_stream *stream, uint32_t cpu)
{
	if (cpu == DECODER_LINE_NO_CPU || stream->thread)
		return result->stream_count == 1 || cpu == stream->id;
	return cpu == stream->id;
}

/* *WALK: the walk of LINE's stream; NULL: that stream is not compared. */
static int
external_decoder_find(const struct external_decoder_work *work,
    const struct decoder_line *line, struct external_decoder_walk **walk)
{
	const struct external_decoder_result *result = work->result;
	char cause[64];

	*walk = NULL;
	for (size_t i = 0; i < result->stream_count; i++) {
		const struct external_decoder_stream *stream =
		    &result->streams[i];

		if (external_decoder_is_of(result, stream, line->cpu))
			*walk = &work->walks[i];
	}
	if (line->cpu == DECODER_LINE_NO_CPU && result->stream_count != 1)
		return external_decoder_complain(work, TZ_EUSAGE,
		    "names none of the bundle's traces: choose one with "
		    "--cpu");
	if (*walk != NULL || work->options->id != DECODER_LINE_NO_CPU)
		return 0;
	snprintf(cause, sizeof(cause),
	    "CPU %" PRIu32 " has no trace in the bundle", line->cpu);
	return external_decoder_complain(work, TZ_EUSAGE, cause);
}

/* A gap without a CPU applies to all streams. */
static bool
external_decoder_gaps(struct external_decoder_work *work, uint32_t cpu)
{
	bool memory = true;

	for (size_t i = 0; i < work->result->stream_count; i++) {
		const struct external_decoder_stream *stream =
		    &work->result->streams[i];

		if (cpu == DECODER_LINE_NO_CPU ||
		    external_decoder_is_of(work->result, stream, cpu))
			memory &= external_decoder_gap(
			    &work->walks[i], work->result->lines);
	}
	return memory;
}

static int
external_decoder_line(struct external_decoder_work *work, const char *text)
{
	struct external_decoder_result *result = work->result;
	struct decoder_line line;
	struct external_decoder_walk *walk;
	bool memory = true;

	result->lines++;
	if (result->format == DECODER_LINE_ANY)
		result->format = decoder_line_recognise(text);
	/* Until the format is recognised a line is a comment or an error. */
	line = decoder_line_parse(result->format == DECODER_LINE_ANY
		? DECODER_LINE_PLAIN
		: result->format,
	    text);
	if (line.kind == DECODER_LINE_BAD && result->format == DECODER_LINE_ANY)
		line.cause = "a line of neither perf script, ptxed nor plain "
			     "addresses";
	if (line.kind == DECODER_LINE_BAD)
		return external_decoder_complain(work, TZ_EFORMAT, line.cause);
	if (line.kind == DECODER_LINE_GAP)
		memory = external_decoder_gaps(work, line.cpu);
	if (line.kind == DECODER_LINE_INSN) {
		int error = external_decoder_find(work, &line, &walk);

		if (error != 0)
			return error;
		result->insns++;
		if (walk != NULL)
			memory = external_decoder_take(
			    walk, line.ip, result->lines);
	}
	return memory ? 0 : tz_error(work->err, TZ_EIO, "list: out of memory");
}

static int
external_decoder_read(struct external_decoder_work *work, FILE *file)
{
	char *text = malloc(EXTERNAL_DECODER_LINE_BYTES);
	int error = text != NULL
	    ? 0
	    : tz_error(work->err, TZ_EIO, "list: out of memory");

	while (error == 0 &&
	    fgets(text, EXTERNAL_DECODER_LINE_BYTES, file) != NULL) {
		size_t length = strlen(text);

		if (length == 0 ||
		    (length == EXTERNAL_DECODER_LINE_BYTES - 1 &&
			text[length - 1] != '\n')) {
			work->result->lines++;
			error = external_decoder_complain(work, TZ_EFORMAT,
			    length == 0
				? "no text"
				: "a line of more than 65534 characters");
			continue;
		}
		if (text[length - 1] == '\n')
			text[length - 1] = '\0';
		error = external_decoder_line(work, text);
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
external_decoder_close(struct external_decoder_work *work)
{
	for (size_t i = 0; i < work->result->stream_count; i++) {
		free(work->walks[i].intervals);
		free(work->walks[i].places);
	}
	free(work->walks);
}

int
external_decoder_verify(const struct bundle *bundle, FILE *file,
    const char *name, const struct external_decoder_options *options,
    struct external_decoder_result *result, struct tz_error *err)
{
	struct verify_result unused = { .stream_count = 0 };
	const struct verify_options defaults = { .rows = VERIFY_ROWS_DEFAULT };
	struct verify_work exec_log = { .bundle = bundle,
		.options = &defaults,
		.result = &unused,
		.err = err };
	struct external_decoder_work work = {
		.options = options, .name = name, .result = result, .err = err
	};
	int error;

	memset(result, 0, sizeof(*result));
	result->format = options->format;
	error = verify_load(&exec_log);
	if (error == 0)
		error = external_decoder_open(&work, &exec_log);
	if (error == 0)
		error = external_decoder_read(&work, file);
	result->match = true;
	for (size_t i = 0; error == 0 && i < result->stream_count; i++) {
		if (!external_decoder_end(&work.walks[i]))
			error = tz_error(err, TZ_EIO, "list: out of memory");
		result->match &= !result->streams[i].difference.found;
	}
	external_decoder_close(&work);
	verify_unload(&exec_log);
	verify_result_free(&unused);
	if (error != 0)
		external_decoder_result_free(result);
	return error;
}

void
external_decoder_result_free(struct external_decoder_result *result)
{
	free(result->streams);
	memset(result, 0, sizeof(*result));
}
