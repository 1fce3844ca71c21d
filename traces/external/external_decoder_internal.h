/*
 * Compares one stream's instructions with a list, one address after the other.
 * Only for external_decoder.c.
 */
#ifndef TOPAZ_TRACES_EXTERNAL_EXTERNAL_DECODER_INTERNAL_H
#define TOPAZ_TRACES_EXTERNAL_EXTERNAL_DECODER_INTERNAL_H

#include "traces/external/external_decoder.h"
#include "traces/verify/flow.h"

struct verify_work;

#define EXTERNAL_DECODER_WINDOW 256 /* instructions that must agree */
/*
 * An overflow also loses the branches that wait for a TNT packet: 47 at most, with direct
 * jumps between them.
 */
#define EXTERNAL_DECODER_DOUBTFUL_BLOCKS 64

/* A place in the execution log that agrees with the list since its last gap. */
struct external_decoder_place {
	struct flow flow;
	uint64_t index; /* expected instructions before it */
	/*
	 * Instructions in gaps that no overflow lost: .own are certain.  Whether an
	 * overflow lost .doubtful is open until the next instruction or
	 * EXTERNAL_DECODER_DOUBTFUL_BLOCKS blocks.
	 */
	uint64_t own, doubtful;
	unsigned doubtful_blocks;
	struct {
		uint64_t index, ip;
		uint64_t line; /* of the gap */
	} own_first, doubtful_first;
};

/* State of the comparison of one stream. */
struct external_decoder_walk {
	struct external_decoder_stream *stream;
	const struct symbolizer *symbolizer;
	const struct verify_work *exec_log; /* with the overflows */
	size_t *intervals;                  /* of the stream */
	size_t interval_count;
	/* By rising index; more than one only after a gap. */
	size_t layout_count, place_room;
	struct external_decoder_place *places;
	bool crowded; /* there were more places than can be followed */
	bool in_gap;  /* .window collects the instructions since the gap */
	uint64_t gap_line;
	size_t window_count;
	struct external_decoder_item {
		uint64_t ip, line;
	} window[EXTERNAL_DECODER_WINDOW];
};

/* Starts before the first instruction.  False: out of memory. */
bool external_decoder_start(
    struct external_decoder_walk *walk, const struct flow_source *source);

/* The next address of the list, or a gap in it, at LINE.  False: out of memory. */
bool external_decoder_take(
    struct external_decoder_walk *walk, uint64_t ip, uint64_t line);
bool external_decoder_gap(struct external_decoder_walk *walk, uint64_t line);

/* The list ends.  False: out of memory. */
bool external_decoder_end(struct external_decoder_walk *walk);

#endif
