#include "traces/reencode/excerpt.h"

#include "traces/decode/packets.h"
#include "traces/reencode/input/recover.h"

#include <stdlib.h>

/* So many bytes of trace are decoded to find the instructions between packets. */
#define EXCERPT_DECODED_BYTES (UINT64_C(16) << 20)

/* A new last line. */
static struct excerpt_line *
excerpt_add(struct excerpt_lines *lines, uint64_t at)
{
	struct excerpt_line *line = &lines->line[lines->count++];

	line->at = at;
	return line;
}

static void
excerpt_packet(struct excerpt_lines *lines, const uint8_t *bytes,
    uint64_t count, uint64_t offset, uint64_t at)
{
	struct excerpt_line *line = excerpt_add(lines, at);

	packets_describe(bytes, (size_t)count, (size_t)offset, line->text,
	    sizeof(line->text));
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

static bool
excerpt_is_long(const struct excerpt_source *source)
{
	return source->size.before > EXCERPT_SHORT.before;
}

/* How many packets that both have are shown. */
static unsigned
excerpt_before(const struct excerpt_source *source)
{
	uint64_t from = excerpt_psb(source, 1), most;

	if (!excerpt_is_long(source) || from >= source->offset)
		return source->size.before;
	most = EXCERPT_DECODED_BYTES / (source->offset - from) +
	    EXCERPT_SHORT.before;
	return most < source->size.before ? (unsigned)most
					  : source->size.before;
}

/* The packets before it.  PARSER: then at the packet. */
static bool
excerpt_both(struct excerpt *excerpt, const struct excerpt_source *source,
    struct pkt_parser *parser)
{
	unsigned count = 0, before = excerpt_before(source), from;
	uint64_t *last = malloc(before * sizeof(*last));
	uint64_t end = source->offset;
	struct pkt packet;

	if (last == NULL)
		return false;
	pkt_begin(parser, source->bytes, source->count,
	    excerpt_psb(source, excerpt_is_long(source) ? 1 : 0));
	while (parser->offset < end && pkt_next(parser, &packet)) {
		if (packet.kind != PKT_PAD)
			last[count++ % before] = packet.offset;
	}
	/* It stops before a bad packet, and libipt may stop within one. */
	parser->offset = end;
	from = count < before ? 0 : count - before;
	for (unsigned i = from; i < count; i++) {
		uint64_t offset = last[i % before];

		excerpt_packet(&excerpt->both, source->bytes, source->count,
		    offset, offset);
	}
	free(last);
	return true;
}

/*
 * The packets of PARSER, the first whatever it is, then those that are no PADs.  AT is
 * the place of its byte 0.  The result is the kind of the first.
 */
static enum pkt_kind
excerpt_side(struct pkt_parser *parser, uint64_t at, unsigned most,
    struct excerpt_lines *lines)
{
	uint64_t offset = parser->offset;
	enum pkt_kind first;
	struct pkt packet;

	if (offset >= parser->count)
		return PKT_CUT;
	(void)pkt_next(parser, &packet);
	first = packet.kind;
	do {
		excerpt_packet(
		    lines, parser->bytes, parser->count, offset, at + offset);
		if (packet.kind == PKT_BAD || lines->count == most ||
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
excerpt_insn(struct excerpt_lines *lines, const struct memory_image *image,
    uint64_t ip, uint8_t bits)
{
	struct excerpt_line *line = excerpt_add(lines, ip);
	uint64_t left;
	const uint8_t *bytes = memory_image_at(image, ip, &left);

	insn_class_print(bytes, excerpt_most(left), bits, ip, line->text,
	    sizeof(line->text));
}

/* The last addresses of many, and the mode of each. */
struct excerpt_ring {
	unsigned size;
	uint64_t *ip;
	uint8_t *bits;
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

	if (ring->count + count + ring->size <= ring->known) {
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
		ring->ip[ring->count % ring->size] = ip;
		ring->bits[ring->count++ % ring->size] = bits;
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

/* The number of instructions that the COUNT bytes of CONFIG's trace lead to. */
static bool
excerpt_count(const struct decode_config *config, uint64_t count,
    const struct memory_image *image, uint64_t *insns)
{
	struct excerpt_ring ring = { .known = UINT64_MAX };
	struct decode_config part = *config;

	*insns = 0;
	if (count == 0)
		return true;
	part.count = (size_t)count;
	if (!excerpt_recover(&ring, &part, image))
		return false;
	*insns = ring.count;
	return true;
}

/*
 * Fills RING with the last instructions before the packet: those that the packets before it
 * determine, and then up to the branch that needs it.  CONFIG's trace begins at the PSB
 * before the last one, as the last PSB+ may be cut off.
 */
static bool
excerpt_last(struct excerpt_ring *ring, const struct decode_config *config,
    uint64_t from, const struct excerpt_source *source)
{
	ring->size = source->size.insns;
	ring->ip = calloc(ring->size, sizeof(*ring->ip));
	ring->bits = calloc(ring->size, sizeof(*ring->bits));
	return ring->ip != NULL && ring->bits != NULL &&
	    excerpt_count(
		config, source->offset - from, source->image, &ring->known) &&
	    excerpt_recover(ring, config, source->image);
}

static bool
excerpt_decode(struct excerpt *excerpt, const struct excerpt_source *source)
{
	struct decode_config config = *source->decode;
	struct excerpt_ring ring = { .count = 0 };
	uint64_t from = excerpt_psb(source, 1), first;
	struct tz_error err;
	bool done;

	config.image = memory_image_image(source->image, &err);
	if (config.image == NULL || from >= source->offset)
		return true;
	config.bytes += from;
	config.count -= (size_t)from;
	done = excerpt_last(&ring, &config, from, source);
	first = ring.count < ring.skipped + ring.size ? ring.skipped
						      : ring.count - ring.size;
	excerpt->insn_first = first;
	for (uint64_t i = first; done && i < ring.count; i++)
		excerpt_insn(&excerpt->insn, source->image,
		    ring.ip[i % ring.size], ring.bits[i % ring.size]);
	free(ring.ip);
	free(ring.bits);
	for (unsigned i = 0;
	     done && excerpt_is_long(source) && i < excerpt->both.count; i++) {
		struct excerpt_line *line = &excerpt->both.line[i];

		done = excerpt_count(
		    &config, line->at - from, source->image, &line->insns);
	}
	return done;
}

/* The unit's packets.  PARSER is at the trace's. */
static void
excerpt_unit(struct excerpt *excerpt, const struct excerpt_source *source,
    const struct pkt_parser *parser)
{
	const struct compare_difference *difference = source->difference;
	struct pkt_parser ours;

	pkt_begin(&ours, difference->ours, difference->ours_kept, 0);
	ours.in_block = parser->in_block;
	ours.narrow = parser->narrow;
	if (difference->ours_bytes != 0)
		excerpt->rule = pkt_kind_row(
		    excerpt_side(&ours, difference->ours_offset,
			source->size.after, &excerpt->unit));
}

static bool
excerpt_room(struct excerpt_lines *lines, unsigned count)
{
	lines->line = calloc(count, sizeof(*lines->line));
	return lines->line != NULL;
}

static struct excerpt_lines
excerpt_view(const struct excerpt_lines *lines, unsigned most, bool last)
{
	struct excerpt_lines view = *lines;

	if (view.count <= most)
		return view;
	if (last)
		view.line += view.count - most;
	view.count = most;
	return view;
}

struct excerpt
excerpt_short(const struct excerpt *excerpt)
{
	const struct excerpt_size size = EXCERPT_SHORT;

	return (struct excerpt){
		.both = excerpt_view(&excerpt->both, size.before, true),
		.trace = excerpt_view(&excerpt->trace, size.after, false),
		.unit = excerpt_view(&excerpt->unit, size.after, false),
		.insn = excerpt_view(&excerpt->insn, size.insns, true),
		.rule = excerpt->rule,
	};
}

void
excerpt_free(struct excerpt *excerpt)
{
	free(excerpt->both.line);
	free(excerpt->trace.line);
	free(excerpt->unit.line);
	free(excerpt->insn.line);
	*excerpt = (struct excerpt){ .rule = NULL };
}

bool
excerpt_make(struct excerpt *excerpt, const struct excerpt_source *source)
{
	struct pkt_parser parser;
	enum pkt_kind trace;

	*excerpt = (struct excerpt){ .rule = NULL };
	if (!excerpt_room(&excerpt->both, source->size.before) ||
	    !excerpt_room(&excerpt->trace, source->size.after) ||
	    !excerpt_room(&excerpt->unit, source->size.after) ||
	    !excerpt_room(&excerpt->insn, source->size.insns) ||
	    !excerpt_both(excerpt, source, &parser))
		return false;
	if (source->difference != NULL)
		excerpt_unit(excerpt, source, &parser);
	trace = excerpt_side(&parser, 0, source->size.after, &excerpt->trace);
	if (source->difference != NULL && excerpt->rule == NULL)
		excerpt->rule = pkt_kind_row(trace);
	return excerpt_decode(excerpt, source);
}
