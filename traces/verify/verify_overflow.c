#include "traces/verify/verify_part.h"

#include "emu/profile/profile.h"

/* The first overflow of which the unit tells from byte POSITION on; or NULL. */
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

/* Was what the flow gave last retired before ITS of the next overflow? */
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

/* SKD010 shows: the trace may not say where an overflow ended. */
static bool
part_may_guess(const struct part_run *run)
{
	return run->model.errata >> PROFILE_ERRATUM_SKD010 & 1;
}

void
part_begin_overflows(struct part_run *run)
{
	uint64_t begin = run->part->begin + run->sync_offset;

	/* Those of which nothing was said on the way to this PSB. */
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
 * What comes next may be a packet that belongs to the instruction before where the
 * overflow ended: there, and not at the last one that was decoded.
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

/* What lies between FROM and the flow is lost. */
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
 * The PSB+ that the unit sent where the overflow ended or, as the first one, later:
 * it has a FUP of its own, and no RET behind it is compressed whose CALL was before.
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

/* Goes to where the decoder has chosen to go on. */
static void
part_follow(struct part_run *run)
{
	struct flow flow = run->flow;
	uint64_t ip;

	run->guessed = false;
	run->doubt_end = part_next_psb(run);
	/* A TIP is of an instruction behind: its target is not the end itself. */
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

/* Does the decoder stand where it may be wrong about calls, or about the place? */
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
