#include "traces/decode/vector.h"
#include "traces/external/external_decoder_internal.h"
#include "traces/verify/verify_internal.h"

#define PLACES_MAX 1024

static void
walk_name(const struct external_decoder_walk *walk, uint64_t va, char *text)
{
	text[0] = '\0';
	if (walk->symbolizer != NULL &&
	    !walk->symbolizer->name(
		walk->symbolizer->arg, va, text, VERIFY_NAME_BYTES))
		text[0] = '\0';
}

/* Records the difference at INDEX; NULL: no instruction is left on that side. */
static void
walk_differ(struct external_decoder_walk *walk, uint64_t index,
    const uint64_t *executed, const struct external_decoder_item *item,
    const char *cause)
{
	struct external_decoder_difference *difference =
	    &walk->stream->difference;

	difference->found = true;
	difference->index = index;
	difference->cause = cause;
	difference->has_executed = executed != NULL;
	if (executed != NULL) {
		difference->executed = *executed;
		walk_name(walk, *executed, difference->executed_name);
	}
	difference->has_listed = item != NULL;
	if (item != NULL) {
		difference->line = item->line;
		difference->listed = item->ip;
		walk_name(walk, item->ip, difference->external_decoder_name);
	}
}

bool
external_decoder_start(
    struct external_decoder_walk *walk, const struct flow_source *source)
{
	if (!GROW(walk->places, walk->place_room, 1))
		return false;
	walk->layout_count = 1;
	walk->places[0] = (struct external_decoder_place){ .index = 0 };
	flow_start(&walk->places[0].flow, source, walk->intervals, 0,
	    walk->interval_count);
	return true;
}

/* True if an overflow lost the instruction that FLOW gave last. */
static bool
walk_is_lost(const struct external_decoder_walk *walk, const struct flow *flow)
{
	const struct account *account = &walk->exec_log->account;
	unsigned cpu = account->intervals[walk->intervals[flow->at]].cpu;
	const struct verify_overflows *list = &walk->exec_log->overflows[cpu];
	uint64_t retired = flow_retired(flow);
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->overflows[middle].end <= retired)
			low = middle + 1;
		else
			high = middle;
	}
	return low < list->count && list->overflows[low].begin <= retired;
}

/* No overflow lost the doubtful instructions of PLACE: moves them to .own. */
static void
walk_own(struct external_decoder_place *place)
{
	if (place->own == 0)
		place->own_first = place->doubtful_first;
	place->own += place->doubtful;
	place->doubtful = 0;
	place->doubtful_blocks = 0;
}

/* PLACE skips an instruction, which is in the gap.  False: none is left. */
static bool
walk_skip(const struct external_decoder_walk *walk,
    struct external_decoder_place *place)
{
	uint64_t ip;

	if (!flow_next(&place->flow, &ip))
		return false;
	if (walk_is_lost(walk, &place->flow)) {
		place->doubtful = 0;
		place->doubtful_blocks = 0;
	} else {
		if (place->doubtful++ == 0) {
			place->doubtful_first.index = place->index;
			place->doubtful_first.ip = ip;
			place->doubtful_first.line = walk->gap_line;
		}
		place->doubtful_blocks += place->flow.taken == 1;
		if (place->doubtful_blocks > EXTERNAL_DECODER_DOUBTFUL_BLOCKS)
			walk_own(place);
	}
	place->index++;
	return true;
}

/* How many instructions of the window agree with PLACE; moves PLACE past them. */
static size_t
walk_agreement(const struct external_decoder_walk *walk,
    struct external_decoder_place *place)
{
	size_t same = 0;

	while (same < walk->window_count) {
		struct flow before = place->flow;
		uint64_t ip;

		if (!flow_next(&place->flow, &ip) ||
		    ip != walk->window[same].ip) {
			place->flow = before;
			break;
		}
		place->index++;
		same++;
	}
	return same;
}

/* Records a difference: PLACE agrees with the window only in the first SAME. */
static void
walk_refuse(struct external_decoder_walk *walk,
    struct external_decoder_place place, size_t same)
{
	uint64_t executed;
	bool more = flow_next(&place.flow, &executed);

	walk_differ(walk, place.index, more ? &executed : NULL,
	    &walk->window[same],
	    same == 0 ? "behind a gap: what is never executed from there on"
		      : "behind a gap: nowhere executed like this");
}

/* Search for the places with which the window agrees, from the previous places on. */
struct search {
	struct external_decoder_place from; /* goes through the execution log */
	size_t passed;                      /* number of previous places used */
	struct external_decoder_place best; /* the place that agrees furthest */
	size_t agreed;
};

/*
 * When the search reaches a previous place, continues from that place if it has fewer
 * instructions in gaps that no overflow lost.
 */
static void
walk_pass(const struct external_decoder_walk *walk, struct search *search)
{
	while (search->passed < walk->layout_count) {
		struct external_decoder_place place =
		    walk->places[search->passed];

		if (place.index > search->from.index)
			break;
		walk_own(&place);
		if (place.index == search->from.index &&
		    place.own < search->from.own + search->from.doubtful)
			search->from = place;
		search->passed++;
	}
}

/* The next place where all of the window agrees.  False: none is left. */
static bool
walk_find(const struct external_decoder_walk *walk, struct search *search,
    struct external_decoder_place *place)
{
	size_t same = 0, wanted = walk->window_count;

	while (same != wanted) {
		struct flow peek;
		uint64_t ip;

		walk_pass(walk, search);
		*place = search->from;
		peek = search->from.flow;
		if (!flow_next(&peek, &ip))
			return false;
		(void)walk_skip(walk, &search->from);
		if (ip != walk->window[0].ip)
			continue;
		walk_own(place);
		same = walk_agreement(walk, place);
		if (same > search->agreed) {
			search->agreed = same;
			search->best = *place;
		}
	}
	return true;
}

/* Finds the places where all of the window agrees. */
static bool
walk_search(struct external_decoder_walk *walk)
{
	struct search search = { .from = walk->places[0],
		.best = walk->places[0] };
	struct external_decoder_place place, *found = NULL;
	size_t count = 0, room = 0;

	walk->in_gap = false;
	if (walk->window_count == 0)
		return true;
	walk->crowded = false;
	while (!walk->crowded && walk_find(walk, &search, &place)) {
		walk->crowded = count == PLACES_MAX;
		if (walk->crowded)
			break;
		if (!GROW(found, room, count + 1)) {
			free(found);
			return false;
		}
		found[count++] = place;
	}
	free(walk->places);
	walk->places = found;
	walk->place_room = room;
	walk->layout_count = count;
	if (count == 0)
		walk_refuse(walk, search.best, search.agreed);
	else
		walk->stream->matched += walk->window_count;
	return true;
}

/* Advances every place by one instruction; drops the places that disagree. */
static void
walk_step(struct external_decoder_walk *walk,
    const struct external_decoder_item *item)
{
	size_t kept = 0;

	for (size_t i = 0; i < walk->layout_count; i++) {
		struct external_decoder_place place = walk->places[i];
		uint64_t ip = 0;
		bool more = flow_next(&place.flow, &ip);

		if (more && ip == item->ip) {
			place.index++;
			walk->places[kept++] = place;
		} else if (i + 1 == walk->layout_count && kept == 0) {
			walk_differ(walk, place.index, more ? &ip : NULL, item,
			    walk->crowded
				? "behind a gap, in too many equal places"
				: "another instruction");
			return;
		}
	}
	walk->layout_count = kept;
	walk->stream->matched++;
}

bool
external_decoder_take(
    struct external_decoder_walk *walk, uint64_t ip, uint64_t line)
{
	struct external_decoder_item item = { .ip = ip, .line = line };

	walk->stream->listed++;
	if (walk->stream->difference.found)
		return true;
	if (!walk->in_gap) {
		walk_step(walk, &item);
		return true;
	}
	walk->window[walk->window_count++] = item;
	return walk->window_count < EXTERNAL_DECODER_WINDOW ||
	    walk_search(walk);
}

bool
external_decoder_gap(struct external_decoder_walk *walk, uint64_t line)
{
	walk->stream->gaps++;
	if (walk->stream->difference.found)
		return true;
	if (walk->in_gap && !walk_search(walk))
		return false;
	walk->in_gap = true;
	walk->gap_line = line;
	walk->window_count = 0;
	return true;
}

/* Instructions in gaps must be lost to an overflow there or to missing bytes. */
static void
walk_judge_gaps(struct external_decoder_walk *walk,
    const struct external_decoder_place *last)
{
	if (last->own == 0 || walk->stream->excused)
		return;
	walk_differ(walk, last->own_first.index, &last->own_first.ip, NULL,
	    "a gap where the trace has lost nothing");
	walk->stream->difference.line = last->own_first.line;
}

bool
external_decoder_end(struct external_decoder_walk *walk)
{
	struct external_decoder_stream *stream = walk->stream;
	bool in_gap = walk->in_gap && walk->window_count == 0;
	struct external_decoder_place *last;
	uint64_t ip;

	if (!stream->difference.found && walk->in_gap && !walk_search(walk))
		return false;
	if (stream->difference.found)
		return true;
	last = &walk->places[walk->layout_count - 1];
	for (size_t i = 0; i < walk->layout_count; i++)
		if (walk->places[i].own < last->own)
			last = &walk->places[i];
	stream->beyond = stream->expected - last->index;
	stream->unseen = last->index - stream->matched;
	if (in_gap) { /* the list ends in a gap */
		stream->unseen += stream->beyond;
		stream->beyond = 0;
		while (walk_skip(walk, last))
			continue;
		walk_own(last);
	}
	walk_judge_gaps(walk, last);
	if (stream->beyond != 0 && !stream->excused &&
	    !stream->difference.found && flow_next(&last->flow, &ip))
		walk_differ(walk, last->index, &ip, NULL, "the list ends");
	return true;
}
