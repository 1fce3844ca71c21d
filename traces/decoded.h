/*
 * Instruction lists that other decoders print, one line at a time: what a line
 * says.  Nothing is kept between lines.
 *
 * perf:  `perf script` with instruction samples in any choice of fields (comm,
 *        tid, [cpu], time, event, symbol, dso, insn, =>).  Lines of other events
 *        say nothing; "instruction trace error" is a gap.
 * ptxed: an address in 16 digits and the instruction; with --offset the second
 *        number counts.  Lines in brackets are events; an error and an overflow
 *        are gaps.  `topaz decode --insns` prints this, too.
 * plain: one address a line, with or without 0x.
 * In all of them '#' at the start of a line, or after a plain address, begins a
 * comment.
 */
#ifndef TOPAZ_TRACES_DECODED_H
#define TOPAZ_TRACES_DECODED_H

#include "emu/base/base.h"

enum decoded_format {
	DECODED_ANY, /* not known */
	DECODED_PERF,
	DECODED_PTXED,
	DECODED_PLAIN,
	DECODED_FORMATS,
};

enum decoded_kind {
	DECODED_NOTHING, /* the line says nothing about instructions */
	DECODED_INSN,
	DECODED_GAP, /* the decoder lost its way here, or something is lost */
	DECODED_BAD, /* not a line of the format: .cause */
};

#define DECODED_NO_CPU UINT32_MAX

struct decoded_line {
	enum decoded_kind kind;
	uint64_t ip;
	uint32_t cpu;      /* DECODED_NO_CPU: the line names none */
	const char *cause; /* static text */
};

/* "perf", "ptxed", "plain"; "any". */
const char *decoded_format_name(enum decoded_format format);

/* The format of that name; DECODED_FORMATS: there is none. */
enum decoded_format decoded_format_find(const char *name);

/* The format that TEXT is a line of; DECODED_ANY: it may be of several. */
enum decoded_format decoded_recognise(const char *text);

/* What TEXT, a line without its newline, says; FORMAT is not DECODED_ANY. */
struct decoded_line decoded_parse(enum decoded_format format, const char *text);

#endif
