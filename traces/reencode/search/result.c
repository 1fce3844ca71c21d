#include "traces/reencode/search/result.h"

#include <stdarg.h>
#include <stdio.h>

void
result_note(struct reencode_result *result, const char *format, ...)
{
	va_list args;

	if (result->line_count == REENCODE_LINES)
		return;
	va_start(args, format);
	vsnprintf(result->line[result->line_count++], REENCODE_LINE_BYTES,
	    format, args);
	va_end(args);
}

uint64_t
result_reach(const struct reencode_result *result)
{
	if (result->replay.difference.found)
		return result->replay.difference.offset;
	return result->replay.wrong != NULL ? result->replay.wrong_offset
					    : UINT64_MAX;
}

enum result_verdict
result_verdict(const struct reencode_result *result)
{
	if (result->nothing)
		return RESULT_NOTHING;
	if (result->replay.difference.found)
		return RESULT_DIFFERS;
	if (result->replay.wrong != NULL)
		return RESULT_CONTRADICTION;
	return result->equal ? RESULT_EQUAL : RESULT_UNDECODED;
}

struct replay_gap *
result_undecoded(const struct reencode_result *result)
{
	struct replay_gap *gap = result->replay.gaps;

	while (gap->unmapped || gap->errata)
		gap++;
	return gap;
}

bool
result_psb_differs(const struct reencode_result *result)
{
	const struct compare_difference *difference =
	    &result->replay.difference;

	return difference->found &&
	    difference->theirs_psb != difference->ours_psb;
}

void
reencode_result_free(struct reencode_result *result)
{
	trace_stats_free(&result->stats);
	replay_result_free(&result->replay);
	excerpt_free(&result->excerpt);
}
