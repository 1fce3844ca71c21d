/*
 * Moves the last deviation of a failing schedule to every other boundary, and notes
 * where the schedule fails and where it passes.
 */
#include "harness/explore/describe/failure_window.h"

#include <stdlib.h>
#include <string.h>

#include "harness/explore/describe/place.h"

#define BLOCK_BOUNDARIES 16 /* from one mark to the next */

/*
 * The boundaries of the run with all deviations but the last, and the outcome with the
 * last one at each of them.
 */
struct window {
	struct runner *runner;
	struct boundary_list list;
	uint8_t *outcome;   /* enum tick_outcome, by boundary */
	size_t failing;     /* index of the finding's own boundary */
	size_t first, last; /* of the contiguous failing range around it */
	uint32_t failing_count, count;
};

static void
window_free(struct window *window)
{
	boundary_free(&window->list);
	free(window->outcome);
}

/* Check "decoded" has no window: runs that are made for one are not decoded. */
static bool
has_window(const struct minimiser *minimiser)
{
	return minimiser->witness.schedule.count != 0 &&
	    minimiser->witness.id != CHECK_DECODED &&
	    !minimiser_hurries(minimiser);
}

static const struct deviation *
last_of(const struct minimiser *minimiser)
{
	const struct schedule *schedule = &minimiser->witness.schedule;

	return &schedule->deviation[schedule->count - 1];
}

/* True if the last deviation can be moved to BOUNDARY; *DEVIATION: it, moved. */
static bool
is_candidate(const struct minimiser *minimiser, const struct boundary *boundary,
    unsigned cpus, struct deviation *deviation)
{
	const struct deviation *last = last_of(minimiser);
	struct deviation deviations[BOUNDARY_DEVIATIONS_MAX];
	unsigned count = boundary_deviations(
	    boundary, UINT32_C(1) << last->kind, cpus, false, deviations);

	if (boundary->cpu != last->cpu)
		return false;
	/* The finding's own place is valid, whether a search would try it or not. */
	if (boundary->insns == last->insns) {
		*deviation = *last;
		return true;
	}
	for (unsigned i = 0; i < count; i++) {
		if (deviation_info(last->kind)->usual == DEVIATION_EACH_CPU &&
		    deviations[i].param != last->param)
			continue;
		*deviation = deviations[i];
		deviation->param = last->param;
		return true;
	}
	return false;
}

/* The verdict on a run with the last deviation at another boundary. */
static enum tick_outcome
tick_of(const struct minimiser *minimiser, const struct outcome *outcome)
{
	if (outcome->how != OUTCOME_WHOLE && outcome->how != OUTCOME_MERGED)
		return TICK_NONE;
	for (unsigned i = 0; i < outcome->count; i++) {
		if (outcome->violation[i].own == minimiser->witness.own)
			return TICK_FAIL;
	}
	if (!outcome_is_judged(outcome))
		return TICK_NONE;
	return outcome->how == OUTCOME_MERGED ? TICK_MERGED : TICK_PASS;
}

/*
 * Runs the last deviation at each boundary where it is legal, from a mark that moves
 * forward; takes ownership of MARK, where the list begins.
 */
static void
judge_all(struct minimiser *minimiser, struct trial *place,
    struct window *window, struct runner_mark *mark)
{
	struct deviation deviation;
	struct outcome outcome;
	size_t block = 0;

	for (size_t i = 0;
	     i < window->list.count && !minimiser_hurries(minimiser); i++) {
		const struct boundary *boundary = &window->list.at[i];

		window->outcome[i] = TICK_NONE;
		if (!is_candidate(minimiser, boundary,
			runner_cpus(place->runner), &deviation))
			continue;
		/* The first candidate of a block of boundaries moves the mark. */
		if (i / BLOCK_BOUNDARIES != block)
			(void)trial_move(place, boundary, &mark);
		block = i / BLOCK_BOUNDARIES;
		trial_from(place, mark, &deviation,
		    minimiser->witness.schedule.count == 1, &outcome);
		window->outcome[i] = (uint8_t)tick_of(minimiser, &outcome);
	}
	runner_mark_free(place->runner, mark);
}

static void
count_ticks(struct window *window)
{
	for (size_t i = 0; i < window->list.count; i++) {
		window->count += window->outcome[i] != TICK_NONE;
		window->failing_count += window->outcome[i] == TICK_FAIL;
	}
}

/* A mark after all deviations but the last; NULL: not reached. */
static struct runner_mark *
mark_before_last(struct minimiser *minimiser, struct trial *place)
{
	struct runner *runner = place->runner;

	runner_restore(runner, place->begin);
	for (unsigned i = 0; i + 1 < minimiser->witness.schedule.count; i++) {
		const struct deviation *deviation =
		    &minimiser->witness.schedule.deviation[i];

		if (!runner_reach(runner, deviation->cpu, deviation->insns) ||
		    !runner_inject(runner, deviation))
			return NULL;
	}
	return runner_save(runner);
}

static bool
is_pass(const struct window *window, size_t index)
{
	return window->outcome[index] == TICK_PASS ||
	    window->outcome[index] == TICK_MERGED;
}

/*
 * The stretch around the finding's own boundary without a pass; boundaries without a
 * verdict neither end nor extend it.
 */
static void
find_stretch(const struct minimiser *minimiser, struct window *window)
{
	const struct deviation *last = last_of(minimiser);
	size_t i = 0;

	while (i < window->list.count &&
	    (window->list.at[i].cpu != last->cpu ||
		window->list.at[i].insns != last->insns))
		i++;
	window->failing = window->first = window->last = i;
	for (size_t j = i; j-- > 0 && !is_pass(window, j);) {
		if (window->outcome[j] == TICK_FAIL)
			window->first = j;
	}
	for (size_t j = i + 1; j < window->list.count && !is_pass(window, j);
	     j++) {
		if (window->outcome[j] == TICK_FAIL)
			window->last = j;
	}
}

/*
 * The outcomes: those of KNOWN, if present; if not, determines them and saves them
 * there.
 */
static void
fill_outcomes(struct minimiser *minimiser, struct trial *place,
    struct window *window, struct runner_mark *mark,
    struct failure_window *known)
{
	size_t count = window->list.count;

	if (known != NULL && known->count == count && count != 0) {
		memcpy(window->outcome, known->outcome, count);
		runner_mark_free(place->runner, mark);
	} else {
		judge_all(minimiser, place, window, mark);
		if (minimiser_hurries(minimiser)) {
			/* An incomplete window is not reported. */
			boundary_free(&window->list);
			return;
		}
		if (known != NULL && count <= FAILURE_WINDOW_MAX) {
			memcpy(known->outcome, window->outcome, count);
			known->count = (uint32_t)count;
		}
	}
	count_ticks(window);
	find_stretch(minimiser, window);
}

static int
open_window(struct minimiser *minimiser, struct window *window,
    struct failure_window *known, struct tz_error *err)
{
	const struct trial_options options = { .merge = true };
	struct runner_mark *mark;
	struct trial place;
	int error = campaign_entry_open(minimiser->campaign,
	    &minimiser->witness.entry, options, &place, err);

	*window = (struct window){ .count = 0 };
	if (error != 0)
		return error;
	window->runner = place.runner;
	mark = mark_before_last(minimiser, &place);
	if (mark != NULL &&
	    boundary_collect_around(
		place.runner, last_of(minimiser), &window->list))
		window->outcome = calloc(window->list.count + 1, 1);
	if (window->outcome != NULL)
		fill_outcomes(minimiser, &place, window, mark, known);
	else
		runner_mark_free(place.runner, mark);
	trial_close(&place);
	return window->outcome != NULL ? 0 : tz_error(err, TZ_EIO, "no window");
}

/* The nearest boundary that passes, by distance in the list. */
static size_t
nearest_pass(const struct window *window)
{
	for (size_t d = 1; d < window->list.count; d++) {
		size_t below = window->failing - d, above = window->failing + d;

		if (d <= window->failing && is_pass(window, below))
			return below;
		if (above < window->list.count && is_pass(window, above))
			return above;
	}
	return SIZE_MAX;
}

/*
 * The token of the schedule with the last deviation at boundary INDEX; TEXT is
 * unchanged if it cannot be placed there.
 */
static void
format_token(const struct minimiser *minimiser, const struct window *window,
    size_t index, char *text, size_t text_size)
{
	struct schedule schedule = minimiser->witness.schedule;

	if (is_candidate(minimiser, &window->list.at[index],
		runner_cpus(window->runner),
		&schedule.deviation[schedule.count - 1]))
		minimiser_token(minimiser->campaign, &minimiser->witness.entry,
		    &schedule, text, text_size);
}

int
failure_window_find(struct minimiser *minimiser, struct finding *finding,
    struct failure_window *known, struct tz_error *err)
{
	struct window window;
	size_t pass;
	int error;

	if (!has_window(minimiser))
		return 0;
	error = open_window(minimiser, &window, known, err);
	if (error == 0 && window.failing < window.list.count) {
		finding->window_failing = window.failing_count;
		finding->window_count = window.count;
		place_find(window.runner, window.list.at[window.first].rip,
		    &finding->window_first);
		place_find(window.runner, window.list.at[window.last].rip,
		    &finding->window_last);
		pass = nearest_pass(&window);
		if (pass != SIZE_MAX)
			format_token(minimiser, &window, pass, finding->passing,
			    sizeof(finding->passing));
	}
	window_free(&window);
	return error;
}

static void
fill_tick(const struct minimiser *minimiser, const struct window *window,
    size_t index, struct finding_tick *tick)
{
	const struct boundary *boundary = &window->list.at[index];

	*tick = (struct finding_tick){ .cpu = boundary->cpu,
		.outcome = window->outcome[index],
		.insns = boundary->insns,
		.rip = boundary->rip };
	format_token(
	    minimiser, window, index, tick->token, sizeof(tick->token));
}

int
failure_window_ticks(struct campaign *campaign, const struct finding *finding,
    struct failure_window *known, struct finding_timeline *timeline,
    struct tz_error *err)
{
	struct minimiser minimiser = { .campaign = campaign,
		.witness.id = finding->check,
		.witness.own = finding->own };
	struct window window;
	struct token token;
	int error = token_parse(finding->token, &token, err);

	if (error == 0)
		error = campaign_entry_read(
		    build_cache_manifest(campaign->build_cache), &token,
		    &minimiser.witness.entry, err);
	minimiser.witness.schedule = token.schedule;
	if (error != 0 || !has_window(&minimiser))
		return error;
	error = open_window(&minimiser, &window, known, err);
	if (error == 0)
		timeline->tick = calloc(
		    window.list.count + 1, sizeof(*timeline->tick));
	for (size_t i = 0;
	     error == 0 && timeline->tick != NULL && i < window.list.count; i++)
		fill_tick(&minimiser, &window, i,
		    &timeline->tick[timeline->tick_count++]);
	window_free(&window);
	return error;
}
