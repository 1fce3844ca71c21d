/*
 * Verifies how another decoder decoded a bundle's traces: its list of instructions is
 * compared with those that must decode, in both directions.
 *
 * The list is read once and not kept.  After a gap (decoder_line.h) the execution log is
 * searched forward for a place that agrees with the rest of the list.  Several places are
 * followed in parallel until one is left.  The instructions in a gap must have been lost:
 * to an overflow of the internal buffer there or, anywhere in the stream, to missing
 * bytes as below.  Outside of gaps every instruction must be listed.  The list may end
 * early only where the trace does, too: bytes that the driver lost, did not report or
 * left in the buffer, a unit that stopped, TraceEn still 1.
 */
#ifndef TOPAZ_TRACES_EXTERNAL_EXTERNAL_DECODER_H
#define TOPAZ_TRACES_EXTERNAL_EXTERNAL_DECODER_H

#include "traces/external/decoder_line.h"
#include "traces/verify/verify.h"

struct external_decoder_options {
	const struct symbolizer *symbolizer; /* NULL: addresses only */
	enum decoder_line_format format;     /* DECODER_LINE_ANY: recognised */
	/*
	 * The only CPU to compare, or thread of a bundle that traces threads.  Lines
	 * that name no CPU belong to it.  DECODER_LINE_NO_CPU: compare all.
	 */
	uint32_t id;
};

struct external_decoder_stream {
	char name[32]; /* "cpu0", "thread7" */
	bool thread;
	uint32_t id;
	uint64_t expected; /* instructions that must decode */
	uint64_t listed, matched;
	uint64_t gaps;   /* in the list */
	uint64_t unseen; /* expected, but in a gap of the list */
	uint64_t beyond; /* expected after the list's end */
	bool excused;    /* the list may end early: the trace does, too */
	struct external_decoder_difference {
		bool found;
		uint64_t line;  /* of the list, from 1; 0: at its end */
		uint64_t index; /* of the instruction among the expected */
		bool has_executed, has_listed;
		uint64_t executed, listed;
		char executed_name[VERIFY_NAME_BYTES];
		char external_decoder_name[VERIFY_NAME_BYTES];
		const char *cause; /* static */
	} difference;
};

struct external_decoder_result {
	enum decoder_line_format format; /* as given or recognised */
	uint64_t lines, insns;
	size_t stream_count;
	struct external_decoder_stream *streams;
	bool match;
};

/*
 * Compares FILE, called NAME in messages.  -TZ_EFORMAT: a line is not in the format
 * ("NAME:LINE: cause"), no line is in any format, or the bundle violates its own formats;
 * -TZ_EUSAGE: a line names no CPU and .id is not given, or the CPU or thread has no
 * trace; -TZ_EIO.  A mismatch is a result, not an error.
 */
int external_decoder_verify(const struct bundle *bundle, FILE *file,
    const char *name, const struct external_decoder_options *options,
    struct external_decoder_result *result, struct tz_error *err);
void external_decoder_result_free(struct external_decoder_result *result);

/* Prints RESULT as text, one line a stream first; NAME as above. */
void external_decoder_print(
    const struct external_decoder_result *result, const char *name, FILE *file);

#endif
