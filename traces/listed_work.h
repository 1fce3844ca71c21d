/*
 * One stream's instructions held against a list, one address after the other.
 * Only for listed.c.
 */
#ifndef TOPAZ_TRACES_LISTED_WORK_H
#define TOPAZ_TRACES_LISTED_WORK_H

#include "traces/flow.h"
#include "traces/listed.h"

struct verify_work;

#define LISTED_WINDOW 256 /* that must agree for a place to be one */
/*
 * An overflow loses the branches that wait for a TNT, too: 47 at most, and direct
 * jumps stand between them.
 */
#define LISTED_DOUBTFUL_BLOCKS 64

/* A place in the execution log that agrees with the list since its last gap. */
struct listed_place {
	struct flow flow;
	uint64_t index; /* expected instructions before it */
	/*
	 * Instructions behind gaps that no overflow has lost: found to be so, and
	 * those of which the next one decides, in so many blocks.
	 */
	uint64_t own, doubtful;
	unsigned doubtful_blocks;
	struct {
		uint64_t index, ip;
		uint64_t line; /* of the gap */
	} own_first, doubtful_first;
};

/* How one stream stands. */
struct listed_walk {
	struct listed_stream *stream;
	const struct symbolizer *symbolizer;
	const struct verify_work *exec_log; /* whose overflows count */
	size_t *intervals;                  /* of the stream */
	size_t interval_count;
	/* By rising index; one but after a gap. */
	size_t layout_count, place_room;
	struct listed_place *places;
	bool crowded; /* there were more places than are followed */
	bool in_gap;  /* .window gathers what came since the gap */
	uint64_t gap_line;
	size_t window_count;
	struct listed_item {
		uint64_t ip, line;
	} window[LISTED_WINDOW];
};

/* Starts before the first instruction.  False: out of memory. */
bool listed_start(struct listed_walk *walk, const struct flow_source *source);

/* The next address of the list, or a gap in it, at LINE.  False: out of memory. */
bool listed_take(struct listed_walk *walk, uint64_t ip, uint64_t line);
bool listed_gap(struct listed_walk *walk, uint64_t line);

/* The list ends.  False: out of memory. */
bool listed_end(struct listed_walk *walk);

#endif
