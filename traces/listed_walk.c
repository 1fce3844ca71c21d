#include "traces/grow.h"
#include "traces/listed_work.h"

#define PLACES_MAX 1024

static void
walk_name(const struct listed_walk *walk, uint64_t va, char *text)
{
	text[0] = '\0';
	if (walk->symbolizer != NULL &&
	    !walk->symbolizer->name(
		walk->symbolizer->arg, va, text, VERIFY_NAME_BYTES))
		text[0] = '\0';
}

/* Notes the difference at INDEX; NULL: nothing is left on that side. */
static void
walk_differ(struct listed_walk *walk, uint64_t index, const uint64_t *executed,
    const struct listed_item *item, const char *cause)
{
	struct listed_difference *difference = &walk->stream->difference;

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
		walk_name(walk, item->ip, difference->listed_name);
	}
}

bool
listed_start(struct listed_walk *walk, const struct flow_source *source)
{
	if (!GROW(walk->places, walk->place_room, 1))
		return false;
	walk->place_count = 1;
	walk->places[0].index = 0;
	flow_start(&walk->places[0].flow, source, walk->intervals, 0,
	    walk->interval_count);
	return true;
}

/* How far the window agrees with PLACE, which moves as far. */
static size_t
walk_agreement(const struct listed_walk *walk, struct listed_place *place)
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

/* PLACE agrees with the window but for its end: says so. */
static void
walk_refuse(struct listed_walk *walk, struct listed_place place, size_t same)
{
	uint64_t executed;
	bool more = flow_next(&place.flow, &executed);

	walk_differ(walk, place.index, more ? &executed : NULL,
	    &walk->window[same],
	    same == 0 ? "behind a gap: what is never executed from there on"
		      : "behind a gap: nowhere executed like this");
}

/* Finds the places where all of the window agrees. */
static bool
walk_search(struct listed_walk *walk)
{
	struct listed_place from = walk->places[0], best = from;
	uint64_t ip;
	size_t wanted = walk->window_count, agreed = 0;

	walk->in_gap = false;
	if (wanted == 0)
		return true;
	walk->place_count = 0;
	walk->crowded = false;
	for (;;) {
		struct listed_place place = from;
		size_t same;

		if (!flow_next(&from.flow, &ip))
			break;
		from.index++;
		if (ip != walk->window[0].ip)
			continue;
		same = walk_agreement(walk, &place);
		if (same > agreed) {
			agreed = same;
			best = place;
		}
		if (same != wanted)
			continue;
		walk->crowded = walk->place_count == PLACES_MAX;
		if (walk->crowded)
			break;
		if (!GROW(
			walk->places, walk->place_room, walk->place_count + 1))
			return false;
		walk->places[walk->place_count++] = place;
	}
	if (walk->place_count == 0)
		walk_refuse(walk, best, agreed);
	else
		walk->stream->matched += wanted;
	return true;
}

/* Goes one instruction on at every place, and drops those that disagree. */
static void
walk_step(struct listed_walk *walk, const struct listed_item *item)
{
	size_t kept = 0;

	for (size_t i = 0; i < walk->place_count; i++) {
		struct listed_place place = walk->places[i];
		uint64_t ip = 0;
		bool more = flow_next(&place.flow, &ip);

		if (more && ip == item->ip) {
			place.index++;
			walk->places[kept++] = place;
		} else if (i + 1 == walk->place_count && kept == 0) {
			walk_differ(walk, place.index, more ? &ip : NULL, item,
			    walk->crowded
				? "behind a gap, in too many equal places"
				: "another instruction");
			return;
		}
	}
	walk->place_count = kept;
	walk->stream->matched++;
}

bool
listed_take(struct listed_walk *walk, uint64_t ip, uint64_t line)
{
	struct listed_item item = { .ip = ip, .line = line };

	walk->stream->listed++;
	if (walk->stream->difference.found)
		return true;
	if (!walk->in_gap) {
		walk_step(walk, &item);
		return true;
	}
	walk->window[walk->window_count++] = item;
	return walk->window_count < LISTED_WINDOW || walk_search(walk);
}

bool
listed_gap(struct listed_walk *walk)
{
	walk->stream->gaps++;
	if (walk->stream->difference.found)
		return true;
	if (walk->in_gap && !walk_search(walk))
		return false;
	walk->in_gap = true;
	walk->window_count = 0;
	return true;
}

bool
listed_end(struct listed_walk *walk)
{
	struct listed_stream *stream = walk->stream;
	bool in_gap = walk->in_gap && walk->window_count == 0;
	struct listed_place *last;
	uint64_t ip;

	if (!stream->difference.found && walk->in_gap && !walk_search(walk))
		return false;
	if (stream->difference.found)
		return true;
	last = &walk->places[walk->place_count - 1];
	stream->beyond = stream->expected - last->index;
	stream->unseen = last->index - stream->matched;
	if (in_gap) { /* the list ends in a gap */
		stream->unseen += stream->beyond;
		stream->beyond = 0;
	}
	if (stream->beyond != 0 && !stream->excused &&
	    flow_next(&last->flow, &ip))
		walk_differ(walk, last->index, &ip, NULL, "the list ends");
	return true;
}
