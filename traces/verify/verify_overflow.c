#include "traces/verify/verify_part.h"

#include "emu/profile/profile.h"
#include "traces/decode/cut_cyc.h"

/* Sets .overflow: the first one that the unit reported from byte POSITION on, or NULL. */
static void
part_find_overflow(struct part_run *run, uint64_t position)
{
	run->overflow = NULL;
	for (size_t i = run->part->first; i <= run->part->last; i++) {
		const struct account_piece *piece =
		    &run->bytes->account->pieces[i];
		unsigned cpu =
		    run->work->account.intervals[piece->interval].cpu;
		const struct verify_overflows *list =
		    &run->work->overflows[cpu];

		for (size_t n = 0; n < list->count; n++) {
			uint64_t into = list->overflows[n].offset -
			    piece->offset;

			if (list->overflows[n].offset < piece->offset ||
			    into >= piece->bytes ||
			    piece->position + into < position)
				continue;
			run->overflow = &list->overflows[n];
			run->overflow_interval = piece->interval;
			run->overflow_at = piece->position + into;
			return;
		}
	}
}

/* A cut_cyc_is_ovf: PADS and OFFSET are in the part. */
static bool
part_is_ovf(void *arg, uint64_t pads, uint64_t offset)
{
	struct part_run *run = arg;
	uint64_t begin = run->part->begin;

	part_find_overflow(run, begin + pads);
	return run->overflow != NULL && run->overflow_at <= begin + offset;
}

bool
part_join_cycs(struct part_run *run)
{
	const struct verify_part *part = run->part;

	return !(part->model.errata >> PROFILE_ERRATUM_SKD007 & 1) ||
	    cut_cyc_join(&run->bytes->bytes[part->begin],
		part->end - part->begin, part_is_ovf, run);
}

/*
 * True if the flow's last instruction comes before the point in .overflow_interval at
 * which ITS instructions had retired.
 */
static bool
part_is_before(const struct part_run *run, uint64_t its)
{
	size_t interval = run->bytes->intervals[run->flow.at];

	return interval < run->overflow_interval ||
	    (interval == run->overflow_interval &&
		flow_retired(&run->flow) < its);
}

bool
part_is_lost(struct part_run *run)
{
	struct flow before = run->flow;
	uint64_t ip;
	bool lost = !flow_next(&run->flow, &ip) ||
	    !part_is_before(run, run->overflow->begin);

	run->flow = before;
	return lost;
}

/* SKD010 shows: the IP at which an overflow ended may be missing. */
static bool
part_may_guess(const struct part_run *run)
{
	return run->part->model.errata >> PROFILE_ERRATUM_SKD010 & 1;
}

void
part_begin_overflows(struct part_run *run)
{
	uint64_t begin = run->part->begin + run->sync_offset;

	/* Count the overflows that were skipped on the way to this PSB. */
	while (
	    run->gave_up && run->overflow != NULL && run->overflow_at < begin) {
		run->bytes->stream->overflows++;
		part_find_overflow(run, run->overflow_at + 1);
	}
	run->guessed = false;
	run->doubt_end = 0;
	part_find_overflow(run, begin);
}

/*
 * The next packet may belong to the instruction just before the end of the overflow, and
 * not to the last one that was decoded.
 */
static struct verify_step
part_step_before_end(const struct part_run *run)
{
	const struct account_interval *interval =
	    &run->work->account.intervals[run->overflow_interval];
	uint64_t end = run->overflow->end;

	if (end == 0)
		return (struct verify_step){ 0 };
	return (struct verify_step){ run->work->logs[interval->cpu], end - 1 };
}

void
part_skip_overflow(struct part_run *run)
{
	struct flow before = run->flow;
	uint64_t ip;

	run->before = part_step_before_end(run);
	run->bytes->stream->overflows++;
	run->guessed = part_may_guess(run);
	while (flow_next(&run->flow, &ip) &&
	    part_is_before(run, run->overflow->end)) {
		run->bytes->stream->overflown++;
		before = run->flow;
	}
	run->flow = before;
	run->guess = (struct verify_place){ part_interval_at(run->bytes,
						run->overflow_interval),
		run->overflow->end };
	part_find_overflow(run, run->overflow_at + 1);
}

/* The place of the next instruction of FLOW.  False: none is left. */
static bool
part_place(struct flow flow, struct verify_place *place)
{
	uint64_t ip;

	if (!flow_next(&flow, &ip))
		return false;
	*place = (struct verify_place){ flow.at, flow_retired(&flow) };
	return true;
}

/* Counts the instructions from FROM to the flow as lost. */
static void
part_lose(struct part_run *run, struct flow from)
{
	struct verify_place to = { 0 }, here;
	bool more = part_place(run->flow, &to);
	uint64_t ip;

	while (part_place(from, &here) &&
	    (!more || here.at < to.at ||
		(here.at == to.at && here.retired < to.retired))) {
		(void)flow_next(&from, &ip);
		run->bytes->stream->overflown++;
	}
}

/*
 * Instructions retired before the first PSB+ that the unit sent at or after the end of
 * the overflow.  That PSB+ has its own FUP, and no RET after it is compressed if its CALL
 * was before it.
 */
static uint64_t
part_next_psb(const struct part_run *run)
{
	size_t interval = run->bytes->intervals[run->guess.at];
	const struct verify_psbs *psbs =
	    &run->work->psbs[run->work->account.intervals[interval].cpu];

	for (size_t i = 0; i < psbs->count; i++)
		if (psbs->psbs[i].insns >= run->guess.retired)
			return psbs->psbs[i].insns;
	return UINT64_MAX;
}

/* Moves the flow to the place at which the decoder chose to continue. */
static void
part_follow(struct part_run *run)
{
	struct flow flow = run->flow;
	uint64_t ip;

	run->guessed = false;
	run->doubt_end = part_next_psb(run);
	/* A TIP comes from an instruction after the end: its target is not the end. */
	if (run->doubt_end != run->guess.retired)
		(void)flow_next(&run->flow, &ip);
	if (part_search(run, run->guess.at, run->guess.retired) == 0)
		run->flow = flow;
	part_lose(run, flow);
}

void
part_take_up(struct part_run *run, struct flow before)
{
	if (run->gave_up && run->count == 0) {
		run->flow = before;
	} else if (run->gave_up) {
		run->gave_up = false;
		part_lose(run, before);
	} else if (run->guessed && run->count != 0) {
		part_follow(run);
	}
}

/* True where the decoder may be wrong about the place or about pending CALLs. */
static bool
part_doubts(const struct part_run *run)
{
	struct verify_place next;

	if (!part_place(run->flow, &next))
		return run->doubt_end == UINT64_MAX;
	return next.at == run->guess.at && next.retired < run->doubt_end;
}

bool
part_gives_up(struct part_run *run)
{
	uint64_t at = run->part->begin + decode_info(run->decode).offset;

	if (run->gave_up || !part_may_guess(run))
		return run->gave_up;
	run->gave_up = part_doubts(run) ||
	    (run->state == DECODE_ERROR && run->overflow != NULL &&
		at >= run->overflow_at);
	if (run->gave_up)
		run->bytes->stream->misled++;
	return run->gave_up;
}

void
part_lose_rest(struct part_run *run)
{
	uint64_t ip;

	while (flow_next(&run->flow, &ip))
		run->bytes->stream->overflown++;
}
