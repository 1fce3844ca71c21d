/*
 * Tries what the packets leave open, one choice after another, until the whole trace is
 * equal.  After an error nothing is tried any more.
 */
#include "traces/reencode/search/search.h"

#include "emu/base/rtit.h"

#include <stdlib.h>
#include <string.h>

/* Outcomes of a full short TNT. */
#define SEARCH_TNT_SHORT 6

/* Output offsets modulo 64, the line in which the unit checks PacketByteCnt. */
#define SEARCH_PHASES     64
#define SEARCH_PHASE_STEP 8
/* PacketByteCnts that search_widen() tries, and their least distance. */
#define SEARCH_COUNT_STEPS      64
#define SEARCH_COUNT_STEP_LEAST 64
/* How often it does so, and how near the PSB before the difference must be. */
#define SEARCH_WIDENED    4
#define SEARCH_NEAR_BYTES (UINT64_C(32) << 10)
/* One step of PSBFreq in IA32_RTIT_CTL, and its greatest value. */
#define SEARCH_PSB_STEP TZ_BIT(24)
#define SEARCH_PERIODS  15

/* Writes the way's CTL and filter into the settings that are inferred. */
static void
search_settings(struct search *search)
{
	const struct search_way *way = &search->way;
	size_t inferred = search->options->ctl_given ? 1 : way->settings.count;

	for (size_t i = 0; i < inferred; i++) {
		struct setting *setting = &way->settings.setting[i];

		setting->ctl = (way->ctl & ~setting->off) ^ setting->flip;
		setting->filter = search->result->filter;
	}
}

/* Replays the trace with the present choice. */
static void
search_once(struct search *search)
{
	const struct search_way *way = &search->way;
	struct unit_driver_config *driver = &search->replay.driver;
	struct reencode_result *result = search->result;

	/* An endless loop takes millions of instructions: once is enough. */
	if (search->error != 0 || result->replay.endless)
		return;
	search_settings(search);
	driver->settings = way->settings.setting;
	driver->setting_count = way->settings.count;
	driver->phase = way->phase;
	driver->roomless = way->roomless;
	result->ctl = way->ctl;
	search->error = replay_run(
	    &search->replay, &result->replay, search->err);
}

/* Chooses another PacketByteCnt where a PSB came early or late.  False: none is left. */
static bool
search_choose(struct search *search)
{
	uint64_t index = search->result->replay.syncs - 1;
	struct replay_choice *choice;

	if (!result_psb_differs(search->result) || index >= REPLAY_CHOICES)
		return false;
	choice = &search->choices[index];
	if (search->result->replay.difference.theirs_psb)
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

/* Finds PacketByteCnt at each sync, one after the other, by bisection. */
static void
search_halves(struct search *search)
{
	do
		search_once(search);
	while (search->error == 0 && search_choose(search));
}

/* Does a PSB differ near the last sync, so that PacketByteCnt there may be the cause? */
static bool
search_may_widen(const struct search *search)
{
	const struct trace_stats *stats = &search->result->stats;
	uint64_t reach = result_reach(search->result);
	size_t psbs = trace_stats_psb_index(stats, reach);

	return result_psb_differs(search->result) &&
	    search->result->replay.syncs - 1 < REPLAY_CHOICES &&
	    reach - (psbs != 0 ? stats->psb[psbs - 1].offset : 0) <
	    SEARCH_NEAR_BYTES;
}

/* Tries CHOICE at sync number INDEX, with no choice made at later ones. */
static void
search_count(struct search *search, uint64_t index, struct replay_choice choice)
{
	uint64_t reach;

	memset(&search->choices[index], 0,
	    (REPLAY_CHOICES - index) * sizeof(*search->choices));
	search->choices[index] = choice;
	search_halves(search);
	reach = result_reach(search->result);
	if (reach > search->replay.count)
		reach = search->replay.count;
	search->widen_left -= reach < search->widen_left ? reach
							 : search->widen_left;
}

/*
 * A PSB that is due when TraceEn falls is lost, so the place of the next PSB does not grow
 * with PacketByteCnt, and bisection fails: counts over the whole interval are tried.
 */
static void
search_widen(struct search *search)
{
	uint64_t index = search->result->replay.syncs - 1;
	uint64_t far = result_reach(search->result);
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
		if (result_reach(search->result) <= far)
			continue;
		far = result_reach(search->result);
		best = search->choices[index];
		if (far == UINT64_MAX || !result_psb_differs(search->result))
			return;
	}
	best.low = best.high = best.count;
	search_count(search, index, best);
}

/* Finds the PacketByteCnts, and with them the phase. */
static void
search_counts(struct search *search)
{
	memset(search->choices, 0, sizeof(search->choices));
	search_halves(search);
	for (unsigned n = 0; n < SEARCH_WIDENED && search_may_widen(search);
	     n++) {
		uint64_t reach = result_reach(search->result);

		search_widen(search);
		if (result_reach(search->result) <= reach)
			break;
	}
	/* Given or found. */
	search->way.phase = search->result->replay.first.phase;
}

/*
 * The functions below set one open item to its N-th value; N is not 0 where no value
 * before makes the trace equal.  False: there is no N-th value.
 */

/*
 * The phase.  Of a trace that begins in the middle, only PSBs after a later enable may
 * show it.
 */
static bool
search_phase(struct search *search, unsigned n)
{
	const struct reencode_result *result = search->result;
	uint32_t next = (search->way.phase + SEARCH_PHASE_STEP) % SEARCH_PHASES;

	search->way.phase = n == 0 ? SEARCH_PHASES : next;
	return n != 1 || result_psb_differs(result) ||
	    result->replay.difference.pad;
}

/*
 * Does a PSB wait for room in the internal buffer?  Only a trace with overflows shows it.
 */
static bool
search_room(struct search *search, unsigned n)
{
	const struct reencode_result *result = search->result;

	search->way.roomless = n != 0;
	return n == 0 ||
	    (result_psb_differs(result) && result->replay.difference.ours_psb &&
		result->stats.packets[PKT_OVF] != 0);
}

/* Do TIPs wait for TNT bits?  Processors with long TNTs differ from their profile. */
static bool
search_deferred(struct search *search, unsigned n)
{
	bool defers = search->options->profile->uarch->deferred_tip;

	search->way.uarch.deferred_tip = defers != (n != 0);
	return n == 0 || defers ||
	    search->way.uarch.tnt_bits != SEARCH_TNT_SHORT;
}

/* DisRETC, which no packet shows: first without RET compression, then with it. */
static bool
search_compressed(struct search *search, unsigned n)
{
	search->way.ctl ^= n != 0 ? CTL_DIS_RETC : 0;
	return true;
}

/*
 * The PSB period, from the longest on.  A PSB that is due when TraceEn falls is lost, so
 * the longest distance of two PSBs may be more than the period: if a PSB comes earlier,
 * the period is shorter.
 */
static bool
search_period(struct search *search, unsigned n)
{
	if (n == 0)
		return true;
	if (CTL_PSB_FREQ(search->way.ctl) == 0 ||
	    !result_psb_differs(search->result) ||
	    !search->result->replay.difference.theirs_psb)
		return false;
	search->way.ctl -= SEARCH_PSB_STEP;
	return true;
}

/* Changes of CTL at enables, if the packets show any. */
static bool
search_changes(struct search *search, unsigned n)
{
	return n == 0 ||
	    (setup_take(search, ctl_changes_find(search)) &&
		search->way.settings.count > 1);
}

/* Another DisRETC from the last enable before the first difference on. */
static bool
search_flip(struct search *search, unsigned n)
{
	uint64_t offset = search->result->replay.last_toggle;

	return n == 0 ||
	    (offset != 0 &&
		setup_take(search,
		    ctl_changes_flip(
			&search->way.settings, offset, CTL_DIS_RETC)));
}

/*
 * The open items.  Whenever a row gets another value, all rows before it are searched
 * again.
 */
static const struct search_row {
	bool (*fill)(struct search *search, unsigned n);
	unsigned others; /* the greatest N */
	bool ctl;  /* a field of IA32_RTIT_CTL: not open if that is given */
	bool psbs; /* only PSBs show it */
	bool all;  /* a value that is no better does not end the row */
	bool ties; /* a later value is taken if it is as good */
	bool psbs_only; /* with another value, only rows of PSBs are searched again */
} search_rows[] = {
	{ .fill = search_phase,
	    .others = SEARCH_PHASES / SEARCH_PHASE_STEP - 1,
	    .psbs = true,
	    .all = true },
	{ .fill = search_room, .others = 1, .ties = true },
	{ .fill = search_deferred, .others = 1 },
	{ .fill = search_compressed, .others = 1, .ctl = true },
	{ .fill = search_period,
	    .others = SEARCH_PERIODS,
	    .ctl = true,
	    .psbs = true },
	{ .fill = search_changes, .others = 1, .ctl = true },
	{ .fill = search_flip,
	    .others = SEARCH_FLIPS,
	    .ctl = true,
	    .psbs_only = true },
};

/*
 * Searches the first COUNT rows, or those of them that only PSBs show (PSBS): a choice is
 * better if its first difference comes later.
 */
static void
search_fill(struct search *search, unsigned count, bool psbs)
{
	struct search_way best = search->way;
	const struct search_row *row;
	unsigned others;
	bool is_best = true;
	uint64_t far = 0;

	while (psbs && count != 0 && !search_rows[count - 1].psbs)
		count--;
	if (count == 0) {
		search_counts(search);
		return;
	}
	row = &search_rows[count - 1];
	others = row->ctl && search->options->ctl_given ? 0 : row->others;
	for (unsigned n = 0;
	     n <= others && far != UINT64_MAX && row->fill(search, n); n++) {
		uint64_t reach;

		psbs |= n != 0 && row->psbs_only;
		search_fill(search, count - 1, psbs);
		reach = result_reach(search->result);
		is_best = n == 0 || reach > far || row->ties;
		if (is_best) {
			best = search->way;
			far = reach;
		} else if (!row->all) {
			break;
		}
	}
	search->way = best;
	if (!is_best)
		search_fill(search, count - 1, psbs);
}

void
search_run(struct search *search)
{
	size_t changes;
	bool never;

	search_fill(search, TZ_ARRAY_LEN(search_rows), false);
	changes = search->way.settings.count - 1;
	never = (search->way.ctl & CTL_DIS_RETC) != 0;
	if (search->options->ctl_given)
		return;
	search->result->one_ctl = true;
	if (changes != 0)
		result_note(search->result,
		    "IA32_RTIT_CTL is another behind %zu enables", changes);
	result_note(search->result, "DisRETC %d: RETs are %s", never,
	    never ? "never compressed" : "compressed");
}

void
search_free(struct search *search)
{
	while (search->list_count != 0)
		free(search->lists[--search->list_count]);
}
