/*
 * What a trace that begins in the middle leaves open, PacketByteCnt and where in a
 * line its output began, tried until PSBs come where the trace has them.
 */
#include "traces/reencode/search/search_internal.h"

#include <string.h>

/* Offsets modulo 64 bytes, the line in which the counter is looked at. */
#define REENCODE_PHASES 64
/* So many counts are tried one by one, not nearer to each other. */
#define COUNTS_STEPS      64
#define COUNTS_STEP_LEAST 64
/* So often, and where a PSB differs so near behind the one before. */
#define COUNTS_WIDENED    4
#define COUNTS_NEAR_BYTES (UINT64_C(32) << 10)

uint64_t
reencode_reach(const struct reencode_result *result)
{
	if (result->difference.found)
		return result->difference.offset;
	return result->replay.wrong != NULL ? result->replay.wrong_offset
					    : UINT64_MAX;
}

bool
reencode_psb_differs(const struct reencode_result *result)
{
	return result->difference.found &&
	    result->difference.theirs_psb != result->difference.ours_psb;
}

/* May another output offset, modulo 64, be what is missing? */
static bool
reencode_place_differs(const struct reencode_result *result)
{
	return reencode_psb_differs(result) || result->difference.pad;
}

/* Tries another count where a PSB came too early or too late.  False: none. */
static bool
reencode_choose(struct reencode_try *try, const struct reencode_result *result)
{
	const struct compare_difference *difference = &result->difference;
	uint64_t index = result->replay.syncs - 1;
	struct replay_choice *choice;

	if (!reencode_psb_differs(result) || result->replay.syncs == 0 ||
	    index >= DRIVE_CHOICES)
		return false;
	choice = &try->choices[index];
	if (difference->theirs_psb)
		choice->low = choice->count + 1;
	else if (choice->count == 0)
		return false;
	else
		choice->high = choice->count - 1;
	if (choice->low > choice->high)
		return false;
	choice->count = choice->low + (choice->high - choice->low) / 2;
	return true;
}

/* Halves what may be of the counts, one after the other. */
static int
counts_search(struct reencode_try *try, struct reencode_result *result,
    struct tz_error *err)
{
	int error;

	do
		error = reencode_once(try, result, err);
	while (error == 0 && reencode_choose(try, result));
	return error;
}

/* Does a PSB differ so near behind the last sync that its count may be why? */
static bool
counts_may_widen(const struct reencode_result *result)
{
	const struct trace_stats *stats = &result->stats;
	uint64_t reach = reencode_reach(result), psb = 0;

	for (size_t i = 0; i < stats->psb_count && stats->psb[i] < reach; i++)
		psb = stats->psb[i];
	return reencode_psb_differs(result) && result->replay.syncs != 0 &&
	    result->replay.syncs <= DRIVE_CHOICES &&
	    reach - psb < COUNTS_NEAR_BYTES;
}

/* Tries COUNT at sync number INDEX, and afresh at those behind it. */
static int
counts_try(struct reencode_try *try, uint64_t index,
    struct replay_choice choice, struct reencode_result *result,
    struct tz_error *err)
{
	uint64_t reach;
	int error;

	memset(&try->choices[index], 0,
	    (DRIVE_CHOICES - index) * sizeof(*try->choices));
	try->choices[index] = choice;
	error = counts_search(try, result, err);
	reach = reencode_reach(result);
	if (reach > try->count)
		reach = try->count;
	try->widen_left -= reach < try->widen_left ? reach : try->widen_left;
	return error;
}

/*
 * A PSB that was due when TraceEn fell is lost, so that less in the counter may let
 * one come earlier, and more later: all counts that may be are tried, some apart.
 */
static int
counts_widen(struct reencode_try *try, struct reencode_result *result,
    struct tz_error *err)
{
	uint64_t index = result->replay.syncs - 1, far = reencode_reach(result);
	struct replay_choice best = try->choices[index], choice = best;
	uint32_t first = best.first, most = best.most;
	uint32_t step = (most - first) / COUNTS_STEPS;
	int error = 0;

	step = step < COUNTS_STEP_LEAST ? COUNTS_STEP_LEAST : step;
	for (uint32_t count = first;
	     error == 0 && count <= most && try->widen_left != 0;
	     count += step) {
		choice.count = choice.low = choice.high = count;
		/* From there on a half of what lies between is let. */
		choice.low = count - first < step ? first : count - step;
		choice.high = most - count < step ? most : count + step;
		error = counts_try(try, index, choice, result, err);
		if (reencode_reach(result) <= far)
			continue;
		far = reencode_reach(result);
		best = try->choices[index];
		if (far == UINT64_MAX || !reencode_psb_differs(result))
			return error;
	}
	best.low = best.high = best.count;
	return error != 0 ? error : counts_try(try, index, best, result, err);
}

/* Runs with every count that may be, until PSBs come where they must. */
static int
reencode_counts(struct reencode_try *try, struct reencode_result *result,
    struct tz_error *err)
{
	int error;

	memset(try->choices, 0, sizeof(try->choices));
	error = counts_search(try, result, err);
	for (unsigned n = 0; error == 0 && n < COUNTS_WIDENED; n++) {
		uint64_t reach = reencode_reach(result);

		if (!counts_may_widen(result))
			break;
		error = counts_widen(try, result, err);
		if (reencode_reach(result) <= reach)
			break;
	}
	return error;
}

/*
 * Where the trace begins in the middle, the offset of its output modulo 64 may
 * only show when PSBs come after a later enable.
 */
int
reencode_phases(struct reencode_try *try, struct reencode_result *result,
    struct tz_error *err)
{
	uint64_t best, reach;
	uint32_t best_phase, first;
	int error;

	try->phase = REENCODE_PHASES;
	error = reencode_counts(try, result, err);
	if (error != 0 || !reencode_place_differs(result))
		return error;
	best = reencode_reach(result);
	best_phase = first = result->replay.first.phase;
	for (uint32_t step = 8; error == 0 && step < REENCODE_PHASES;
	     step += 8) {
		try->phase = (first + step) % REENCODE_PHASES;
		error = reencode_counts(try, result, err);
		reach = reencode_reach(result);
		if (error != 0 || reach == UINT64_MAX)
			return error;
		if (reach > best) {
			best = reach;
			best_phase = try->phase;
		}
	}
	try->phase = best_phase;
	return error != 0 ? error : reencode_counts(try, result, err);
}
