#include "traces/external/external_decoder.h"

#include <inttypes.h>

#include "harness/host/terminal.h"

static void
external_decoder_print_address(FILE *file, const char *what, bool has,
    uint64_t va, const char *name, const char *none)
{
	if (has)
		fprintf(file, "  %-8s  %016" PRIx64 "%s%s\n", what, va,
		    name[0] != '\0' ? " " : "", name);
	else
		fprintf(file, "  %-8s  (%s)\n", what, none);
}

static void
external_decoder_print_difference(
    FILE *file, const struct external_decoder_difference *difference)
{
	external_decoder_print_address(file, "executed",
	    difference->has_executed, difference->executed,
	    difference->executed_name, "nothing more");
	external_decoder_print_address(file, "listed", difference->has_listed,
	    difference->listed, difference->external_decoder_name,
	    difference->line == 0 ? "end of the list" : "a gap");
	fprintf(file, "  cause     %s\n", difference->cause);
}

static void
external_decoder_print_stream(
    const struct external_decoder_stream *stream, const char *name, FILE *file)
{
	const struct external_decoder_difference *difference =
	    &stream->difference;

	fprintf(file, "%s  %" PRIu64 " instructions  ", stream->name,
	    stream->expected);
	terminal_put_verdict(file, difference->found ? "MISMATCH" : "MATCH");
	if (difference->found && difference->line != 0)
		fprintf(file, " at instruction %" PRIu64 ", %s:%" PRIu64,
		    difference->index, name, difference->line);
	else if (difference->found)
		fprintf(file, " at instruction %" PRIu64 ", the end of %s",
		    difference->index, name);
	fprintf(file,
	    "  (%" PRIu64 " listed, %" PRIu64 " equal, %" PRIu64 " gap%s)\n",
	    stream->listed, stream->matched, stream->gaps,
	    stream->gaps == 1 ? "" : "s");
	if (difference->found) {
		external_decoder_print_difference(file, difference);
		return;
	}
	if (stream->unseen != 0)
		fprintf(file,
		    "  %" PRIu64 " instructions are behind gaps: %.2f %% are "
		    "covered\n",
		    stream->unseen,
		    100.0 * (double)stream->matched / (double)stream->expected);
	if (stream->beyond != 0)
		fprintf(file,
		    "  %" PRIu64 " instructions come after the list's end, "
		    "where the trace ends early\n",
		    stream->beyond);
}

void
external_decoder_print(
    const struct external_decoder_result *result, const char *name, FILE *file)
{
	fprintf(file, "%s: %s lines, %" PRIu64 " instructions\n", name,
	    decoder_line_format_name(result->format), result->insns);
	for (size_t i = 0; i < result->stream_count; i++)
		external_decoder_print_stream(&result->streams[i], name, file);
	terminal_put_verdict(file, result->match ? "MATCH" : "MISMATCH");
	putc('\n', file);
}
