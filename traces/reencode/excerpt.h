/*
 * What stands around the first packet that differs, or that leads where no code is:
 * packets of the trace and of the unit, and the instructions before it.
 */
#ifndef TOPAZ_TRACES_REENCODE_EXCERPT_H
#define TOPAZ_TRACES_REENCODE_EXCERPT_H

#include "traces/decode/decode.h"
#include "traces/memory/memory_image.h"
#include "traces/reencode/compare.h"
#include "traces/reencode/input/trace_stats.h"

#define EXCERPT_BEFORE     3 /* packets that both have */
#define EXCERPT_AFTER      6 /* packets of each from the difference on */
#define EXCERPT_INSNS      8
#define EXCERPT_TEXT_BYTES 112

struct excerpt_line {
	uint64_t
	    at; /* offset in the trace, as if equal up to there; or an address */
	char text[EXCERPT_TEXT_BYTES];
};

struct excerpt {
	unsigned both_count, trace_count, unit_count, insn_count;
	struct excerpt_line both[EXCERPT_BEFORE];
	/* The first of each differ.  None: this side has nothing there. */
	struct excerpt_line trace[EXCERPT_AFTER], unit[EXCERPT_AFTER];
	/* The last instructions before it, the last one a branch that needs it. */
	struct excerpt_line insn[EXCERPT_INSNS];
	/* Of the unit's packet, or of the trace's where the unit sends none.  NULL: none. */
	const struct pkt_kind_row *rule;
};

/* DECODE has the trace, but no memory: that is IMAGE. */
struct excerpt_source {
	uint64_t offset; /* of the packet in the trace */
	const struct compare_difference *difference; /* NULL: none was found */
	const struct trace_stats *stats;
	const uint8_t *bytes; /* of the trace */
	uint64_t count;
	const struct decode_config *decode;
	struct memory_image *image;
};

/* Without memory, or where libipt refuses IMAGE, there are no instructions. */
void excerpt_make(struct excerpt *excerpt, const struct excerpt_source *source);

#endif
