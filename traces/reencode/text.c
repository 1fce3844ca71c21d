/*
 * The result of a re-encoding as text.
 */
#include "traces/decode/packets.h"
#include "traces/reencode/reencode.h"

#include <inttypes.h>

#define TEXT_ROOM 128
/* Packets before the first that differs. */
#define TEXT_CONTEXT 3

/* The packet at OFFSET of the trace. */
static const char *
text_packet(const struct reencode_result *result, const uint8_t *bytes,
    uint64_t offset, char text[TEXT_ROOM])
{
	packets_describe(
	    bytes, (size_t)result->bytes, (size_t)offset, text, TEXT_ROOM);
	return text;
}

/* The packets before the one that differs, from the PSB before it on. */
static void
text_context(
    const struct reencode_result *result, const uint8_t *bytes, FILE *file)
{
	const struct trace_stats *stats = &result->stats;
	uint64_t last[TEXT_CONTEXT], end = result->replay.difference.offset;
	uint64_t from = stats->first_psb;
	size_t psbs = trace_stats_psb_index(stats, end);
	struct pkt packet;
	unsigned count = 0;
	struct pkt_parser parser;
	char text[TEXT_ROOM];

	if (psbs != 0)
		from = stats->psb[psbs - 1].offset;
	pkt_begin(&parser, bytes, result->bytes, from);
	while (pkt_next(&parser, &packet) && packet.offset < end)
		if (packet.kind != PKT_PAD)
			last[count++ % TEXT_CONTEXT] = packet.offset;
	for (unsigned i = count < TEXT_CONTEXT ? 0 : count - TEXT_CONTEXT;
	     i < count; i++) {
		uint64_t offset = last[i % TEXT_CONTEXT];

		fprintf(file, "  both   %016" PRIx64 "  %s\n", offset,
		    text_packet(result, bytes, offset, text));
	}
}

static void
text_difference(
    const struct reencode_result *result, const uint8_t *bytes, FILE *file)
{
	const struct compare_difference *difference =
	    &result->replay.difference;
	char text[TEXT_ROOM];

	text_context(result, bytes, file);
	fprintf(file, "  trace  %016" PRIx64 "  %s\n", difference->offset,
	    text_packet(result, bytes, difference->offset, text));
	if (difference->ours_bytes == 0) {
		fprintf(file, "  unit                     nothing\n");
		return;
	}
	packets_describe(difference->ours, (size_t)difference->ours_bytes, 0,
	    text, sizeof(text));
	fprintf(file, "  unit   %016" PRIx64 "  %s\n", difference->ours_offset,
	    text);
}

/* Where libipt cannot follow: the first such gap. */
static void
text_contradiction(
    const struct reencode_result *result, const uint8_t *bytes, FILE *file)
{
	const struct replay_gap *gap = result->replay.gaps;
	char text[TEXT_ROOM];

	while (gap->unmapped || gap->errata)
		gap++;
	fprintf(file,
	    "WRONG at offset %" PRIu64 " (%#" PRIx64 "), %s: libipt: %s\n",
	    gap->at, gap->at, text_packet(result, bytes, gap->at, text),
	    gap->text);
}

static void
text_verdict(
    const struct reencode_result *result, const uint8_t *bytes, FILE *file)
{
	const struct replay_result *replay = &result->replay;

	if (result->nothing) {
		fprintf(file, "NOTHING: %s\n",
		    result->stats.psb_count == 0
			? "no PSB packet"
			: "no instruction could be decoded");
	} else if (result->replay.difference.found) {
		fprintf(file, "DIFFERS at offset %" PRIu64 " (%#" PRIx64 ")\n",
		    result->replay.difference.offset,
		    result->replay.difference.offset);
		text_difference(result, bytes, file);
		if (result->one_ctl && replay->toggles != 0)
			fprintf(file,
			    "  IA32_RTIT_CTL and ranges are inferred; what "
			    "does not show of them is taken to be the same at "
			    "all enables, and may be why\n");
	} else if (replay->wrong != NULL) {
		char text[TEXT_ROOM];

		fprintf(file,
		    "WRONG at offset %" PRIu64 " (%#" PRIx64
		    "), %s: at %" PRIx64 ": %s\n",
		    replay->wrong_offset, replay->wrong_offset,
		    text_packet(result, bytes, replay->wrong_offset, text),
		    replay->wrong_ip, replay->wrong);
	} else if (!result->equal) {
		text_contradiction(result, bytes, file);
	} else {
		fprintf(file, "EQUAL%s\n",
		    replay->gap_count == 0 && !result->stats.junk
			? ""
			: ", but for what is left out");
	}
}

static void
text_gaps(
    const struct reencode_result *result, const uint8_t *bytes, FILE *file)
{
	const struct replay_result *replay = &result->replay;
	char text[TEXT_ROOM];

	for (size_t i = 0; i < replay->gap_count; i++) {
		const struct replay_gap *gap = &replay->gaps[i];

		fprintf(file,
		    "left out: %" PRIu64 " bytes from %#" PRIx64
		    ": %s%s, at %#" PRIx64 ", %s\n",
		    gap->to - gap->from, gap->from,
		    gap->errata ? "" : "libipt: ", gap->text, gap->at,
		    text_packet(result, bytes, gap->at, text));
	}
}

void
reencode_print(
    const struct reencode_result *result, const uint8_t *bytes, FILE *file)
{
	const struct replay_result *replay = &result->replay;

	for (unsigned i = 0; i < result->line_count; i++)
		fprintf(file, "inferred: %s\n", result->line[i]);
	if (result->stats.first_psb != 0 && result->stats.psb_count != 0)
		fprintf(file,
		    "left out: %" PRIu64 " bytes before the first "
		    "PSB\n",
		    result->stats.first_psb);
	text_gaps(result, bytes, file);
	if (replay->tail != 0)
		fprintf(file,
		    "left out: %" PRIu64 " bytes of 0 at the end, which may "
		    "never have been written\n",
		    replay->tail);
	if (result->stats.cut_off != 0)
		fprintf(file, "left out: %" PRIu64 " bytes at the end, %s\n",
		    result->stats.cut_off,
		    result->stats.junk ? "which are no packets"
				       : "where a packet is cut off");
	fprintf(file,
	    "covered: %" PRIu64 " of %" PRIu64 " bytes, %" PRIu64
	    " instructions in %" PRIu64 " blocks\n",
	    replay->covered, result->bytes, replay->insns, replay->blocks);
	fprintf(file,
	    "checked: %" PRIu64 " instructions of the image in %" PRIu64
	    " distinct blocks; %" PRIu64 " overflows\n",
	    result->distinct_insns, result->distinct_blocks, replay->overflows);
	text_verdict(result, bytes, file);
}
