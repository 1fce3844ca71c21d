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

#define EXCERPT_TEXT_BYTES 112

/* How much is wanted. */
struct excerpt_size {
	unsigned before; /* packets that both have */
	unsigned after;  /* packets of each from the difference on */
	unsigned insns;
};
/* For text and JSON; for a page. */
#define EXCERPT_SHORT ((struct excerpt_size){ 3, 6, 8 })
#define EXCERPT_LONG  ((struct excerpt_size){ 200, 60, 1000 })

struct excerpt_line {
	uint64_t
	    at; /* offset in the trace, as if equal up to there; or an address */
	/*
	 * Of .both in a long excerpt: the instructions that
	 * the packets before it lead to.
	 */
	uint64_t insns;
	char text[EXCERPT_TEXT_BYTES];
};

struct excerpt_lines {
	struct excerpt_line *line;
	unsigned count;
};

struct excerpt {
	struct excerpt_lines both;
	/* The first of each differ.  None: this side has nothing there. */
	struct excerpt_lines trace, unit;
	/* The last instructions before it, the last one a branch that needs it. */
	struct excerpt_lines insn;
	uint64_t insn_first; /* the number of the first one, counted as .insns */
	/*
	 * Of the unit's packet, or of the trace's where the unit sends none.  NULL: none.
	 */
	const struct pkt_kind_row *rule;
};

/* DECODE has the trace, but no memory: that is IMAGE. */
struct excerpt_source {
	struct excerpt_size size;
	uint64_t offset; /* of the packet in the trace */
	const struct compare_difference *difference; /* NULL: none was found */
	const struct trace_stats *stats;
	const uint8_t *bytes; /* of the trace */
	uint64_t count;
	const struct decode_config *decode;
	struct memory_image *image;
};

/*
 * Without memory of the code, or where libipt refuses IMAGE, there are no instructions.
 * False: out of memory.  The caller frees EXCERPT with excerpt_free() in any case.
 */
bool excerpt_make(struct excerpt *excerpt, const struct excerpt_source *source);
void excerpt_free(struct excerpt *excerpt);

/* What a short one has of EXCERPT, to which it points: not to be freed. */
struct excerpt excerpt_short(const struct excerpt *excerpt);

#endif
