/*
 * What the packets leave open is tried, one way after another, up to the one that
 * makes the trace again.  An error ends all of it: nothing is driven from then on.
 */
#include "traces/reencode/search/search.h"

#include "emu/base/rtit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Outcomes of a full short TNT. */
#define SEARCH_TNT_SHORT 6

#define SEARCH_DOUBTS                       \
 ((UINT32_C(1) << PROFILE_ERRATUM_SKD007) | \
     (UINT32_C(1) << PROFILE_ERRATUM_SKD010))
#define SEARCH_BDM70 (UINT32_C(1) << PROFILE_ERRATUM_BDM70)

/* Offsets modulo 64 bytes, the line in which the counter is looked at. */
#define SEARCH_PHASES 64
/* So many counts are tried one by one, not nearer to each other. */
#define SEARCH_COUNT_STEPS      64
#define SEARCH_COUNT_STEP_LEAST 64
/* So often, and where a PSB differs so near behind the one before. */
#define SEARCH_WIDENED    4
#define SEARCH_NEAR_BYTES (UINT64_C(32) << 10)
/* One step of PSBFreq in IA32_RTIT_CTL. */
#define SEARCH_PSB_STEP TZ_BIT(24)
/* So often another setting may begin. */
#define SEARCH_FLIPS 8

void
search_say(struct search *search, const char *format, ...)
{
	struct reencode_result *result = search->result;
	va_list args;

	if (result->line_count == REENCODE_LINES)
		return;
	va_start(args, format);
	vsnprintf(result->line[result->line_count++], REENCODE_LINE_BYTES,
	    format, args);
	va_end(args);
}

uint64_t
search_reach(const struct search *search)
{
	const struct reencode_result *result = search->result;

	if (result->difference.found)
		return result->difference.offset;
	return result->replay.wrong != NULL ? result->replay.wrong_offset
					    : UINT64_MAX;
}

/* Is the first difference that a PSB came too early or too late? */
static bool
search_psb_differs(const struct search *search)
{
	const struct compare_difference *difference =
	    &search->result->difference;

	return difference->found &&
	    difference->theirs_psb != difference->ours_psb;
}

/* May SKD007 or SKD010 have misled libipt? */
static bool
search_doubts(const struct search *search)
{
	const struct reencode_options *options = search->options;
	uint32_t errata = options->errata_given ? options->errata
						: options->profile->errata;

	return search->result->stats.packets[PKT_OVF] != 0 &&
	    (errata & SEARCH_DOUBTS) != 0;
}

static int
search_drive(struct search *search, struct unit_driver *feed)
{
	const struct reencode_options *options = search->options;
	struct replay_result *result = &search->result->replay;
	struct decode_config decode = { .bytes = search->decoded,
		.count = (size_t)search->count,
		.signature = options->signature,
		/* A trace in which it does not show has nothing like it. */
		.errata = options->errata | SEARCH_BDM70,
		.filter = &search->result->filter,
		.image = memory_image_image(search->image, search->err) };
	struct replay_config replay = { .bytes = search->bytes,
		.count = search->count,
		.watched = search->watched,
		.doubts = search_doubts(search),
		.knows_bdm70 = (options->errata & SEARCH_BDM70) != 0,
		.walk = search->walk,
		.feed = feed,
		.choices = search->choices };
	int error;

	if (decode.image == NULL)
		return -TZ_EFORMAT;
	replay.recover = recover_create(&decode);
	if (replay.recover == NULL)
		return tz_error(search->err, TZ_EIO, "libipt: out of memory");
	replay_result_free(result);
	error = replay_run(&replay, result, search->err);
	recover_destroy(replay.recover);
	return error;
}

/* Makes the trace again, in one way. */
static void
search_once(struct search *search)
{
	struct reencode_result *result = search->result;
	struct compare compare;
	struct unit_driver feed;

	/* A ring takes as long as millions of instructions: not once a choice. */
	if (search->error != 0 || search->endless)
		return;
	compare_begin(&compare, search->options->form, search->bytes,
	    search->count, search->left_out);
	for (size_t i = 0; i < (search->inferred ? search->setting_count : 1);
	     i++) {
		struct setting *setting = &search->settings[i];

		setting->ctl = (search->ctl & ~setting->off) ^ setting->flip;
		setting->filter = result->filter;
	}
	search->error = unit_driver_create(&feed, &search->profile,
	    search->settings, search->setting_count, &result->stats, &compare,
	    search->err);
	if (search->error == 0) {
		feed.phase = search->phase;
		feed.roomless = search->roomless;
		feed.free_psbs = search->options->form == COMPARE_CANONICAL;
		search->error = search_drive(search, &feed);
		unit_driver_destroy(&feed);
	}
	result->difference = compare.difference;
	result->ctl = search->ctl;
	search->endless = result->replay.endless;
	compare_end(&compare);
}

/* Takes another count where a PSB came too early or too late.  False: none. */
static bool
search_choose(struct search *search)
{
	uint64_t index = search->result->replay.syncs - 1;
	struct replay_choice *choice;

	if (!search_psb_differs(search) || index >= REPLAY_CHOICES)
		return false;
	choice = &search->choices[index];
	if (search->result->difference.theirs_psb)
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
static void
search_halves(struct search *search)
{
	do
		search_once(search);
	while (search->error == 0 && search_choose(search));
}

/* Does a PSB differ so near behind the last sync that its count may be why? */
static bool
search_may_widen(const struct search *search)
{
	const struct trace_stats *stats = &search->result->stats;
	uint64_t reach = search_reach(search);
	size_t psbs = trace_stats_psb_index(stats, reach);

	return search_psb_differs(search) &&
	    search->result->replay.syncs - 1 < REPLAY_CHOICES &&
	    reach - (psbs != 0 ? stats->psb[psbs - 1].offset : 0) <
	    SEARCH_NEAR_BYTES;
}

/* Tries CHOICE at sync number INDEX, and afresh at those behind it. */
static void
search_count(struct search *search, uint64_t index, struct replay_choice choice)
{
	uint64_t reach;

	memset(&search->choices[index], 0,
	    (REPLAY_CHOICES - index) * sizeof(*search->choices));
	search->choices[index] = choice;
	search_halves(search);
	reach = search_reach(search);
	if (reach > search->count)
		reach = search->count;
	search->widen_left -= reach < search->widen_left ? reach
							 : search->widen_left;
}

/*
 * A PSB that was due when TraceEn fell is lost, so that less in the counter may let
 * one come earlier, and more later: all counts that may be are tried, some apart.
 */
static void
search_widen(struct search *search)
{
	uint64_t index = search->result->replay.syncs - 1;
	uint64_t far = search_reach(search);
	struct replay_choice best = search->choices[index], choice = best;
	uint32_t first = best.first, most = best.most;
	uint32_t step = (most - first) / SEARCH_COUNT_STEPS;

	step = step < SEARCH_COUNT_STEP_LEAST ? SEARCH_COUNT_STEP_LEAST : step;
	for (uint32_t count = first; count <= most && search->widen_left != 0;
	     count += step) {
		choice.count = count;
		/* From there on a half of what lies between is let. */
		choice.low = count - first < step ? first : count - step;
		choice.high = most - count < step ? most : count + step;
		search_count(search, index, choice);
		if (search_reach(search) <= far)
			continue;
		far = search_reach(search);
		best = search->choices[index];
		if (far == UINT64_MAX || !search_psb_differs(search))
			return;
	}
	best.low = best.high = best.count;
	search_count(search, index, best);
}

/* Runs with every count that may be, until PSBs come where they must. */
static void
search_counts(struct search *search)
{
	memset(search->choices, 0, sizeof(search->choices));
	search_halves(search);
	for (unsigned n = 0; n < SEARCH_WIDENED && search_may_widen(search);
	     n++) {
		uint64_t reach = search_reach(search);

		search_widen(search);
		if (search_reach(search) <= reach)
			break;
	}
}

/*
 * Where the trace begins in the middle, the offset of its output modulo 64 may
 * only show when PSBs come after a later enable.
 */
static void
search_phases(struct search *search)
{
	uint32_t best_phase, first;
	uint64_t best;

	search->phase = SEARCH_PHASES;
	search_counts(search);
	if (!search_psb_differs(search) && !search->result->difference.pad)
		return;
	best = search_reach(search);
	best_phase = first = search->result->replay.first.phase;
	for (uint32_t step = 8; step < SEARCH_PHASES; step += 8) {
		uint64_t reach;

		search->phase = (first + step) % SEARCH_PHASES;
		search_counts(search);
		reach = search_reach(search);
		if (reach == UINT64_MAX)
			return;
		if (reach > best) {
			best = reach;
			best_phase = search->phase;
		}
	}
	search->phase = best_phase;
	search_counts(search);
}

/* Where packets were lost, a PSB may have waited for room, too. */
static void
search_room(struct search *search)
{
	search->roomless = false;
	search_phases(search);
	if (!search_psb_differs(search) ||
	    !search->result->difference.ours_psb ||
	    search->result->stats.packets[PKT_OVF] == 0)
		return;
	search->roomless = true;
	search_phases(search);
}

/* Where TNTs may be long, TIPs may wait for them or not: not always as the profile's. */
static void
search_deferred(struct search *search)
{
	bool defers = search->options->profile->uarch->deferred_tip;
	uint64_t reach;

	search->uarch.deferred_tip = defers;
	search_room(search);
	reach = search_reach(search);
	if (reach == UINT64_MAX ||
	    (!defers && search->uarch.tnt_bits == SEARCH_TNT_SHORT))
		return;
	search->uarch.deferred_tip = !defers;
	search_room(search);
	if (search_reach(search) <= reach) {
		search->uarch.deferred_tip = defers;
		search_room(search);
	}
}

/*
 * With CTL given, as it says; else DisRETC is what the packets do not show: first
 * without RET compression, then with it if that leads nowhere.
 */
static void
search_compressed(struct search *search)
{
	uint64_t reach;

	search_deferred(search);
	reach = search_reach(search);
	if (search->options->ctl_given || reach == UINT64_MAX)
		return;
	search->ctl ^= CTL_DIS_RETC;
	search_deferred(search);
	if (search_reach(search) <= reach) {
		search->ctl ^= CTL_DIS_RETC;
		search_deferred(search);
	}
}

/*
 * One of these ways with each PSB period that may be, from the longest on.  A PSB that
 * is due when TraceEn falls is lost, so that the longest way from PSB to PSB may be more
 * than the period: where one comes earlier, the period is shorter.
 */
static void
search_periods(struct search *search, void (*run)(struct search *search))
{
	run(search);
	while (!search->options->ctl_given && CTL_PSB_FREQ(search->ctl) != 0 &&
	    search_psb_differs(search) &&
	    search->result->difference.theirs_psb) {
		uint64_t reach = search_reach(search), ctl = search->ctl;

		search->ctl -= SEARCH_PSB_STEP;
		run(search);
		if (search_reach(search) > reach)
			continue;
		search->ctl = ctl;
		run(search);
		return;
	}
}

/* The same with another CTL behind some enables, if they show one. */
static void
search_settings(struct search *search)
{
	uint64_t reach = search_reach(search), ctl = search->ctl;

	if (search->error == 0 && reach != UINT64_MAX)
		search->error = ctl_changes_find(search);
	if (!search->inferred)
		return;
	search_periods(search, search_compressed);
	if (search_reach(search) > reach)
		return;
	search->ctl = ctl;
	search->setting_count = 1;
	search->settings->off = 0;
	search_periods(search, search_compressed);
}

/*
 * Tries whether DisRETC changes at the enable before the first difference, and so on
 * from there; a few times.
 */
static void
search_flip(struct search *search)
{
	for (unsigned n = 0; search->error == 0 && n < SEARCH_FLIPS; n++) {
		uint64_t reach = search_reach(search);
		uint64_t offset = search->result->replay.last_toggle;

		if (reach == UINT64_MAX || offset == 0)
			break;
		search->inferred = true;
		if (!ctl_changes_flip(search, offset, CTL_DIS_RETC)) {
			search->error = tz_error(
			    search->err, TZ_EIO, "settings: out of memory");
			return;
		}
		search_periods(search, search_phases);
		if (search_reach(search) > reach)
			continue;
		ctl_changes_unflip(search, offset, CTL_DIS_RETC);
		search_periods(search, search_phases);
		return;
	}
}

void
search_run(struct search *search)
{
	bool never;

	search_periods(search, search_compressed);
	if (search->options->ctl_given)
		return;
	search_settings(search);
	search->result->one_ctl = true;
	search_flip(search);
	if (search->setting_count > 1)
		search_say(search,
		    "IA32_RTIT_CTL is another behind %zu enables",
		    search->setting_count - 1);
	never = (search->ctl & CTL_DIS_RETC) != 0;
	search_say(search, "DisRETC %d: RETs are %s", never,
	    never ? "never compressed" : "compressed");
}
