#include "traces/reencode/excerpt.h"

#include "traces/decode/packets.h"
#include "traces/reencode/input/recover.h"

#include <stdio.h>

static struct excerpt_line
excerpt_packet(
    const uint8_t *bytes, uint64_t count, uint64_t offset, uint64_t at)
{
	struct excerpt_line line = { .at = at };

	packets_describe(
	    bytes, (size_t)count, (size_t)offset, line.text, sizeof(line.text));
	return line;
}

/* The offset of the PSB before the packet, or of BACK PSBs before that one. */
static uint64_t
excerpt_psb(const struct excerpt_source *source, size_t back)
{
	const struct trace_stats *stats = source->stats;
	size_t psbs = trace_stats_psb_index(stats, source->offset);

	return psbs > back ? stats->psb[psbs - 1 - back].offset
			   : stats->first_psb;
}

/* The packets before it.  PARSER: then at the packet. */
static void
excerpt_both(struct excerpt *excerpt, const struct excerpt_source *source,
    struct pkt_parser *parser)
{
	uint64_t last[EXCERPT_BEFORE], end = source->offset;
	struct pkt packet;
	unsigned count = 0, from;

	pkt_begin(parser, source->bytes, source->count, excerpt_psb(source, 0));
	while (parser->offset < end && pkt_next(parser, &packet)) {
		if (packet.kind != PKT_PAD)
			last[count++ % EXCERPT_BEFORE] = packet.offset;
	}
	/* It stops before a bad packet, and libipt may stop within one. */
	parser->offset = end;
	from = count < EXCERPT_BEFORE ? 0 : count - EXCERPT_BEFORE;
	for (unsigned i = from; i < count; i++) {
		uint64_t offset = last[i % EXCERPT_BEFORE];

		excerpt->both[excerpt->both_count++] = excerpt_packet(
		    source->bytes, source->count, offset, offset);
	}
}

/*
 * The packets of PARSER, the first whatever it is, then those that are no PADs.  AT is
 * the place of its byte 0.  The result is the kind of the first.
 */
static enum pkt_kind
excerpt_side(struct pkt_parser *parser, uint64_t at,
    struct excerpt_line line[EXCERPT_AFTER], unsigned *count)
{
	uint64_t offset = parser->offset;
	enum pkt_kind first;
	struct pkt packet;

	*count = 0;
	if (offset >= parser->count)
		return PKT_CUT;
	(void)pkt_next(parser, &packet);
	first = packet.kind;
	do {
		line[(*count)++] = excerpt_packet(
		    parser->bytes, parser->count, offset, at + offset);
		if (packet.kind == PKT_BAD || *count == EXCERPT_AFTER ||
		    !pkt_next_full(parser, &packet))
			break;
		offset = packet.offset;
	} while (true);
	return first;
}

/* Bytes that an instruction may have, of LEFT. */
static unsigned
excerpt_most(uint64_t left)
{
	return left < INSN_CLASS_BYTES_MAX ? (unsigned)left
					   : INSN_CLASS_BYTES_MAX;
}

static void
excerpt_insn(struct excerpt_line *line, const struct memory_image *image,
    uint64_t ip, uint8_t bits)
{
	uint64_t left;
	const uint8_t *bytes = memory_image_at(image, ip, &left);

	line->at = ip;
	insn_class_print(bytes, excerpt_most(left), bits, ip, line->text,
	    sizeof(line->text));
}

/* The last addresses of many, and the mode of each. */
struct excerpt_ring {
	uint64_t ip[EXCERPT_INSNS];
	uint8_t bits[EXCERPT_INSNS];
	uint64_t count;
	uint64_t
	    known; /* the first branch after so many instructions is the last */
	uint64_t skipped; /* the first so many are not in it */
	bool full;
};

/*
 * The instructions of BLOCK, through its direct jumps and calls.  They are only counted
 * where .known of them push them out again.
 */
static void
excerpt_block(struct excerpt_ring *ring, const struct memory_image *image,
    const struct code_blocks_key *block)
{
	uint8_t bits = code_blocks_bits(block);
	uint64_t ip = block->ip, left;
	unsigned count = code_blocks_count(block);

	if (ring->count + count + EXCERPT_INSNS <= ring->known) {
		ring->count += count;
		ring->skipped = ring->count;
		return;
	}
	for (unsigned i = 0; i < count && !ring->full; i++) {
		const uint8_t *bytes = memory_image_at(image, ip, &left);
		struct insn_class class;

		if (bytes == NULL ||
		    !insn_class_decode(bytes, excerpt_most(left), bits, &class))
			return;
		ring->ip[ring->count % EXCERPT_INSNS] = ip;
		ring->bits[ring->count++ % EXCERPT_INSNS] = bits;
		ip += class.length;
		if (class.kind == INSN_CLASS_JUMP ||
		    class.kind == INSN_CLASS_CALL)
			ip += (uint64_t)(int64_t) class.distance;
		else if (class.kind != INSN_CLASS_PLAIN)
			ring->full = ring->count > ring->known;
		if (bits == 32)
			ip &= UINT32_MAX;
	}
}

/* The instructions of CONFIG; with .known, up to the branch after these. */
static bool
excerpt_recover(struct excerpt_ring *ring, const struct decode_config *config,
    const struct memory_image *image)
{
	struct recover *recover = recover_create(config);

	if (recover == NULL)
		return false;
	while (!ring->full) {
		const struct recover_batch *batch = recover_read(
		    recover, RECOVER_BATCH);
		const struct recover_item *item = batch->item;

		for (size_t i = 0; i < batch->count; i++) {
			if (batch->block[i].rest != 0) {
				excerpt_block(ring, image, &batch->block[i]);
				continue;
			}
			ring->full |= item->kind == RECOVER_END ||
			    item->endless ||
			    (item->kind == RECOVER_ERROR &&
				ring->count >= ring->known);
			item++;
		}
	}
	recover_destroy(recover);
	return true;
}

/*
 * The last instructions before the packet: those that the packets before it determine, and
 * then up to the branch that needs it.  Decodes from the PSB before the last one on, as the
 * last PSB+ may be cut off.
 */
static void
excerpt_decode(struct excerpt *excerpt, const struct excerpt_source *source)
{
	struct decode_config config = *source->decode;
	struct excerpt_ring ring = { .known = UINT64_MAX };
	uint64_t from = excerpt_psb(source, 1);
	struct tz_error err;

	config.image = memory_image_image(source->image, &err);
	if (config.image == NULL || from >= source->offset)
		return;
	config.bytes += from;
	config.count = (size_t)(source->offset - from);
	if (!excerpt_recover(&ring, &config, source->image))
		return;
	ring = (struct excerpt_ring){ .known = ring.count };
	config.count = source->decode->count - (size_t)from;
	if (!excerpt_recover(&ring, &config, source->image))
		return;
	from = ring.count < ring.skipped + EXCERPT_INSNS
	    ? ring.skipped
	    : ring.count - EXCERPT_INSNS;
	for (uint64_t i = from; i < ring.count; i++)
		excerpt_insn(&excerpt->insn[excerpt->insn_count++],
		    source->image, ring.ip[i % EXCERPT_INSNS],
		    ring.bits[i % EXCERPT_INSNS]);
}

/* The unit's packets.  PARSER is at the trace's. */
static void
excerpt_unit(struct excerpt *excerpt,
    const struct compare_difference *difference,
    const struct pkt_parser *parser)
{
	struct pkt_parser ours;

	pkt_begin(&ours, difference->ours, difference->ours_kept, 0);
	ours.in_block = parser->in_block;
	ours.narrow = parser->narrow;
	if (difference->ours_bytes != 0)
		excerpt->rule = pkt_kind_row(
		    excerpt_side(&ours, difference->ours_offset, excerpt->unit,
			&excerpt->unit_count));
}

void
excerpt_make(struct excerpt *excerpt, const struct excerpt_source *source)
{
	struct pkt_parser parser;
	enum pkt_kind trace;

	*excerpt = (struct excerpt){ .both_count = 0 };
	excerpt_both(excerpt, source, &parser);
	if (source->difference != NULL)
		excerpt_unit(excerpt, source->difference, &parser);
	trace = excerpt_side(&parser, 0, excerpt->trace, &excerpt->trace_count);
	if (source->difference != NULL && excerpt->rule == NULL)
		excerpt->rule = pkt_kind_row(trace);
	excerpt_decode(excerpt, source);
}
