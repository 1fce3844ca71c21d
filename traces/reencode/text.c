/*
 * The result of a re-encoding as text.
 */
#include "traces/decode/packets.h"
#include "traces/reencode/reencode.h"

#include <inttypes.h>

#define TEXT_ROOM 128

/* The packet at OFFSET of the trace. */
static const char *
text_packet(const struct reencode_result *result, const uint8_t *bytes,
    uint64_t offset, char text[TEXT_ROOM])
{
	packets_describe(
	    bytes, (size_t)result->bytes, (size_t)offset, text, TEXT_ROOM);
	return text;
}

/* The lines of one side; of none: there is nothing at AT. */
static void
text_lines(FILE *file, const char *side, const struct excerpt_lines *lines,
    uint64_t at)
{
	for (unsigned i = 0; i < lines->count; i++)
		fprintf(file, "  %-6s %016" PRIx64 "  %s\n", side,
		    lines->line[i].at, lines->line[i].text);
	if (lines->count == 0)
		fprintf(file, "  %-6s %016" PRIx64 "  nothing\n", side, at);
}

static void
text_excerpt(const struct reencode_result *result, uint64_t at, FILE *file)
{
	struct excerpt excerpt = excerpt_short(&result->excerpt);

	if (excerpt.insn.count != 0)
		text_lines(file, "insn", &excerpt.insn, 0);
	if (excerpt.both.count != 0)
		text_lines(file, "both", &excerpt.both, 0);
	text_lines(file, "trace", &excerpt.trace, at);
	if (excerpt.rule == NULL)
		return;
	text_lines(file, "unit", &excerpt.unit, at);
	fprintf(file, "  rule   %s: emu/pt/%s, SDM vol. 3, %s\n",
	    excerpt.rule->name, excerpt.rule->file, excerpt.rule->citation);
	if (result->one_ctl && result->replay.toggles != 0)
		fprintf(file,
		    "  IA32_RTIT_CTL and ranges are inferred; what does not "
		    "show of them is taken to be the same at all enables, and "
		    "may be why\n");
}

static void
text_verdict(
    const struct reencode_result *result, const uint8_t *bytes, FILE *file)
{
	const struct replay_result *replay = &result->replay;
	const struct replay_gap *gap;
	char text[TEXT_ROOM];

	switch (result_verdict(result)) {
	case RESULT_NOTHING:
		fprintf(file, "NOTHING: %s\n",
		    result->stats.psb_count == 0
			? "no PSB packet"
			: "no instruction could be decoded");
		break;
	case RESULT_DIFFERS:
		fprintf(file, "DIFFERS at offset %" PRIu64 " (%#" PRIx64 ")\n",
		    replay->difference.offset, replay->difference.offset);
		text_excerpt(result, replay->difference.offset, file);
		break;
	case RESULT_CONTRADICTION:
		fprintf(file,
		    "WRONG at offset %" PRIu64 " (%#" PRIx64
		    "), %s: at %" PRIx64 ": %s\n",
		    replay->wrong_offset, replay->wrong_offset,
		    text_packet(result, bytes, replay->wrong_offset, text),
		    replay->wrong_ip, replay->wrong);
		text_excerpt(result, replay->wrong_offset, file);
		break;
	case RESULT_UNDECODED:
		gap = result_undecoded(result);
		fprintf(file,
		    "WRONG at offset %" PRIu64 " (%#" PRIx64
		    "), %s: libipt: %s\n",
		    gap->at, gap->at, text_packet(result, bytes, gap->at, text),
		    gap->text);
		text_excerpt(result, gap->at, file);
		break;
	case RESULT_EQUAL:
		fprintf(file, "EQUAL%s\n",
		    replay->gap_count == 0 && !result->stats.junk
			? ""
			: ", but for what is left out");
		break;
	}
}

/* How many packets of each kind the trace has. */
static void
text_packets(const struct reencode_result *result, FILE *file)
{
	const char *before = "packets: ";

	for (unsigned kind = 0; kind < PKT_KINDS; kind++) {
		if (result->stats.packets[kind] == 0 || kind == PKT_PAD)
			continue;
		fprintf(file, "%s%" PRIu64 " %s", before,
		    result->stats.packets[kind],
		    pkt_kind_row((enum pkt_kind)kind)->name);
		before = ", ";
	}
	if (before[0] == ',')
		fprintf(file, "\n");
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
	text_packets(result, file);
	text_verdict(result, bytes, file);
}
