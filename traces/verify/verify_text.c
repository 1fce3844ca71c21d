#include "traces/verify/verify.h"

#include <inttypes.h>

#include "harness/host/terminal.h"

static void
verify_print_address(
    FILE *file, const char *what, uint64_t va, const char *name)
{
	fprintf(file, "  %-8s  %016" PRIx64 "%s%s", what, va,
	    name[0] != '\0' ? " " : "", name);
}

static void
verify_print_difference(FILE *file, const struct verify_difference *difference)
{
	if (difference->has_executed)
		verify_print_address(file, "executed", difference->executed,
		    difference->executed_name);
	else
		fprintf(file, "  executed  (nothing more)");
	fputc('\n', file);
	if (difference->has_decoded)
		verify_print_address(file, "decoded", difference->decoded,
		    difference->decoded_name);
	else
		fprintf(file, "  decoded   (end of trace)");
	fprintf(file, "\n  cause     %s\n", difference->cause);
}

static void
verify_print_rows(FILE *file, const struct verify_stream *stream)
{
	const char *between = "";

	fprintf(file, "  bytes     ");
	for (unsigned row = 0; row < ACCOUNT_ROW_COUNT; row++) {
		if (stream->rows[row] == 0 && row != ACCOUNT_WRITTEN)
			continue;
		fprintf(file, "%s%" PRIu64 " %s", between, stream->rows[row],
		    account_row_name((enum account_row)row));
		between = row == ACCOUNT_WRITTEN ? " = " : " + ";
	}
	fputc('\n', file);
}

const char *
verify_verdict(const struct verify_stream *stream)
{
	if (stream->difference.found)
		return "MISMATCH";
	return stream->decoded == 0 && stream->expected > 0 ? "NOTHING"
							    : "MATCH";
}

/* Prints nothing if the trace has no times. */
static void
verify_print_time(FILE *file, const struct verify_time *time)
{
	if (time->compared == 0 && !time->lost)
		return;
	fprintf(file,
	    "  time      %" PRIu64 " packets: libipt off by %" PRIu64
	    " ticks at most (%" PRIu64 " allowed), exact at %" PRIu64
	    " packets, else within %" PRIu64 "\n",
	    time->compared, time->largest, time->allowed, time->exact,
	    time->widest);
}

static void
verify_print_stream(FILE *file, const struct verify_stream *stream)
{
	const struct verify_difference *difference = &stream->difference;

	fprintf(file, "%s  %" PRIu64 " instructions  ", stream->name,
	    stream->expected);
	terminal_put_verdict(file, verify_verdict(stream));
	if (difference->found)
		fprintf(file, " at instruction %" PRIu64 ", packet %08" PRIx64,
		    difference->index, difference->offset);
	fprintf(file,
	    "  (%" PRIu64 " decoded, %" PRIu64 " segments, %" PRIu64
	    " PSBs, %" PRIu64 " part%s)\n",
	    stream->decoded, stream->segments, stream->psbs, stream->parts,
	    stream->parts == 1 ? "" : "s");
	if (difference->found)
		verify_print_difference(file, difference);
	if (stream->beyond != 0)
		fprintf(file,
		    "  %" PRIu64
		    " instructions are in no packet that was left%s%s\n",
		    stream->beyond,
		    stream->stopped ? "; the PT unit stopped by itself" : "",
		    stream->open ? "; TraceEn is still 1" : "");
	if (stream->overflows != 0)
		fprintf(file,
		    "  overflow  %" PRIu64 " of the internal buffer, %" PRIu64
		    " instructions lost to %s\n",
		    stream->overflows, stream->overflown,
		    stream->overflows == 1 ? "it" : "them");
	if (stream->misled != 0)
		fprintf(file,
		    "  skd010    libipt could not go on or went another way "
		    "behind %" PRIu64 " of them: lost up to the next PSB\n",
		    stream->misled);
	verify_print_rows(file, stream);
	verify_print_time(file, &stream->time);
}

static void
verify_print_records(FILE *file, const struct verify_records *records)
{
	fprintf(file, "%s  %" PRIu64 " %s records  ", records->name,
	    records->stored, records->pebs ? "PEBS" : "branch");
	terminal_put_verdict(
	    file, records->differences == 0 ? "MATCH" : "MISMATCH");
	fprintf(file, "  (%" PRIu64 " read, %" PRIu64 " as executed",
	    records->read, records->matched);
	if (records->overwritten != 0)
		fprintf(file, ", %" PRIu64 " overwritten in the buffer",
		    records->overwritten);
	if (records->left != 0)
		fprintf(file, ", %" PRIu64 " left in it", records->left);
	if (records->missed != 0)
		fprintf(file, ", %" PRIu64 " not recorded", records->missed);
	if (records->unstored != 0)
		fprintf(file, ", %" PRIu64 " not stored", records->unstored);
	fputs(")\n", file);
}

static void
verify_print_values(FILE *file, const struct verify_counter *counter)
{
	fprintf(file,
	    "  (%" PRIu64 " events; %" PRIu64 " of %" PRIu64
	    " values as executed",
	    counter->events, counter->equal, counter->values);
	if (counter->entries != 0)
		fprintf(file,
		    "; %" PRIu64 " of %" PRIu64
		    " entries of switches and exits",
		    counter->entries_equal, counter->entries);
	if (counter->first_slices != 0)
		fprintf(file,
		    "; %" PRIu64 " more before a thread's first switch",
		    counter->first_slices);
	if (counter->missed != 0)
		fprintf(file, "; %" PRIu64 " not counted", counter->missed);
	fputs(")\n", file);
}

static void
verify_print_samples(FILE *file, const struct verify_counter *counter)
{
	fprintf(file, "  (%" PRIu64 " of %" PRIu64 " samples as executed",
	    counter->matched, counter->read);
	if (counter->chains + counter->chains_unknown != 0)
		fprintf(file,
		    ", callers of %" PRIu64 ", callers of %" PRIu64
		    " not compared",
		    counter->chains, counter->chains_unknown);
	fprintf(file, ")\n  overflows %" PRIu64, counter->overflows);
	if (counter->reported)
		fprintf(file, " (reported by the CPUs: %s)", counter->reason);
	fprintf(file, " = %" PRIu64 " read", counter->read);
	if (counter->no_room != 0)
		fprintf(file, " + %" PRIu64 " without room", counter->no_room);
	if (counter->lost != 0)
		fprintf(file, " + %" PRIu64 " lost by the log", counter->lost);
	if (counter->discarded != 0)
		fprintf(file, " + %" PRIu64 " discarded at the stop",
		    counter->discarded);
	if (counter->skidded != 0)
		fprintf(file, " + %" PRIu64 " in ring 0 after the skid",
		    counter->skidded);
	if (counter->masked != 0)
		fprintf(file, " + %" PRIu64 " while the PMI was masked",
		    counter->masked);
	if (counter->off != 0)
		fprintf(file, " + %" PRIu64 " when the counter was off",
		    counter->off);
	fputc('\n', file);
}

static void
verify_print_counter(FILE *file, const struct verify_counter *counter)
{
	fprintf(file, "%s  %s  ", counter->name, counter->what);
	if (counter->unknown) {
		fprintf(file, "NOT COMPARED: %s\n", counter->reason);
		return;
	}
	terminal_put_verdict(
	    file, counter->differences == 0 ? "MATCH" : "MISMATCH");
	if (counter->samples)
		verify_print_samples(file, counter);
	else
		verify_print_values(file, counter);
}

static void
verify_print_counters(FILE *file, const struct verify_result *result)
{
	for (size_t i = 0; i < result->counter_count; i++)
		verify_print_counter(file, &result->counters[i]);
	if (result->counter_count == 0 && result->pebs_records == 0)
		return;
	fprintf(file,
	    "counters  %" PRIu64 " reads of registers, %" PRIu64
	    " overflows, %" PRIu64 " PEBS records, %" PRIu64
	    " exec, fork and attach entries\n",
	    result->counter_registers, result->counter_overflows,
	    result->pebs_records, result->process_entries);
}

const char *
verify_word(const struct verify_result *result)
{
	if (!result->match)
		return "MISMATCH";
	return result->nothing ? "NOT JUDGED" : "MATCH";
}

static void
verify_print_finding(FILE *file, const char *text)
{
	terminal_begin(file, TERMINAL_BAD);
	fputs("FINDING", file);
	terminal_end(file);
	fprintf(file, "  %s\n", text);
}

static void
verify_print_perf(FILE *file, const struct verify_perf *perf)
{
	if (!perf->present)
		return;
	if (perf->snapshot)
		fprintf(
		    file, "perf.data  %" PRIu64 " snapshots", perf->snapshots);
	else
		fprintf(file,
		    "perf.data  %" PRIu64 " AUX records, %" PRIu64 " TRUNCATED",
		    perf->records, perf->truncated);
	if (perf->lost != 0)
		fprintf(file, ", %" PRIu64 " other records lost", perf->lost);
	putc('\n', file);
}

void
verify_print(const struct verify_result *result, FILE *file)
{
	for (size_t i = 0; i < result->stream_count; i++)
		verify_print_stream(file, &result->streams[i]);
	for (size_t i = 0; i < result->record_count; i++)
		verify_print_records(file, &result->records[i]);
	verify_print_counters(file, result);
	verify_print_perf(file, &result->perf);
	for (size_t i = 0; i < result->finding_count; i++)
		verify_print_finding(file, result->findings[i].text);
	if (result->nothing)
		fprintf(file,
		    "not one byte of trace was written, no record, and no "
		    "counter was read\n");
	terminal_put_verdict(file, verify_word(result));
	putc('\n', file);
}
