/*
 * Parses the instruction lists of other decoders, one line at a time.  No state is kept
 * between lines.
 *
 * perf:  `perf script` with instruction samples in any choice of fields (comm,
 *        tid, [cpu], time, event, symbol, dso, insn, =>).  Lines of other events
 *        are ignored; "instruction trace error" is a gap.
 * ptxed: an address in 16 digits and the instruction; with --offset the second
 *        number counts.  Lines in brackets are events; an error and an overflow
 *        are gaps.  `topaz decode --insns` prints this, too.
 * plain: one address a line, with or without 0x.
 * In all of them '#' at the start of a line, or after a plain address, begins a
 * comment.
 */
#ifndef TOPAZ_TRACES_EXTERNAL_DECODER_LINE_H
#define TOPAZ_TRACES_EXTERNAL_DECODER_LINE_H

#include "emu/base/base.h"

enum decoder_line_format {
	DECODER_LINE_ANY, /* unknown */
	DECODER_LINE_PERF,
	DECODER_LINE_PTXED,
	DECODER_LINE_PLAIN,
	DECODER_LINE_FORMATS,
};

enum decoder_line_kind {
	DECODER_LINE_NOTHING, /* the line is not about instructions */
	DECODER_LINE_INSN,
	DECODER_LINE_GAP, /* an error of the decoder, or lost packets */
	DECODER_LINE_BAD, /* not a line of the format: .cause */
};

#define DECODER_LINE_NO_CPU UINT32_MAX

struct decoder_line {
	enum decoder_line_kind kind;
	uint64_t ip;
	uint32_t cpu;      /* DECODER_LINE_NO_CPU: the line names none */
	const char *cause; /* static text */
};

/* "perf", "ptxed", "plain" or "any". */
const char *decoder_line_format_name(enum decoder_line_format format);

/* The format with NAME; DECODER_LINE_FORMATS: none. */
enum decoder_line_format decoder_line_format_find(const char *name);

/* The format of the line TEXT; DECODER_LINE_ANY: it fits several. */
enum decoder_line_format decoder_line_recognise(const char *text);

/* Parses TEXT, a line without its newline; FORMAT is not DECODER_LINE_ANY. */
struct decoder_line decoder_line_parse(
    enum decoder_line_format format, const char *text);

#endif
