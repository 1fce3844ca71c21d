#include "traces/reencode/input/trace_stats.h"

#include "traces/decode/vector.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* In the payload of a MODE.Exec. */
#define TRACE_STATS_EXEC_IF 4
/* The CBR of an enable or a PSB+ comes within so many bytes of its start. */
#define TRACE_STATS_CBR_BYTES 96
#define TRACE_STATS_MTC_BITS  8
#define TRACE_STATS_CTC_BITS  16

/* What is needed only while the packets are read. */
struct reader {
	struct trace_stats *stats;
	struct pkt_parser parser;
	uint64_t last_ip; /* before the packet that was read last */
	size_t psb_room, cbr_room, mark_room;
	bool traced; /* branches are traced */
	bool full_tnt; /* the last packet, but CYC and PAD, is a TNT of 6 outcomes */
	bool cyc;      /* the last packet is a CYC, of .cycles */
	uint64_t cycles;
	bool tma; /* a TMA, of .ctc, came, and no MTC since then */
	uint64_t ctc;
};

void
trace_stats_free(struct trace_stats *stats)
{
	free(stats->psb);
	free(stats->cbr);
	free(stats->mark);
	*stats = (struct trace_stats){ 0 };
}

/* Counts PACKET, of PKT_IPS. */
static void
trace_stats_ip(struct reader *reader, const struct pkt *packet)
{
	struct trace_stats *stats = reader->stats;
	bool kernel = packet->value >> 63 != 0;

	reader->traced = packet->kind != PKT_PGD;
	stats->ips_full += packet->bits == 6;
	stats->ips_sext48 += packet->bits == 3;
	stats->pgd_ips += packet->with_ip && packet->kind == PKT_PGD;
	stats->kernel |= packet->with_ip && kernel;
	stats->user |= packet->with_ip && !kernel;
}

/* END is the next PSB or the end of the trace. */
static void
trace_stats_gap(struct trace_stats *stats, uint64_t end)
{
	uint64_t gap = 0;

	if (stats->psb_count != 0)
		gap = end - stats->psb[stats->psb_count - 1].offset;
	stats->gap_max = gap > stats->gap_max ? gap : stats->gap_max;
}

static bool
trace_stats_psb(struct reader *reader, uint64_t offset)
{
	struct trace_stats *stats = reader->stats;

	trace_stats_gap(stats, offset);
	if (!GROW(stats->psb, reader->psb_room, stats->psb_count + 1))
		return false;
	stats->psb[stats->psb_count++] =
	    (struct trace_stats_psb){ .offset = offset, .end = UINT64_MAX };
	return true;
}

/* At OFFSET, something other than output changes PacketByteCnt. */
static void
trace_stats_end(struct trace_stats *stats, uint64_t offset)
{
	uint64_t *end = &stats->psb[stats->psb_count - 1].end;

	if (*end > offset)
		*end = offset;
}

/* The last CYC is not that of an OVF, whose counter does not wrap. */
static void
trace_stats_cyc(struct reader *reader)
{
	struct trace_stats_clock *clock = &reader->stats->clock;

	if (!reader->cyc)
		return;
	reader->cyc = false;
	if (reader->cycles < clock->cyc_min)
		clock->cyc_min = reader->cycles;
	if (reader->cycles > clock->cyc_max)
		clock->cyc_max = reader->cycles;
}

/* An MTC of PAYLOAD, the first after a TMA. */
static void
trace_stats_mtc(struct reader *reader, uint64_t payload)
{
	reader->tma = false;
	for (unsigned n = 0; n < TRACE_STATS_FREQS; n++) {
		unsigned known = n < TRACE_STATS_MTC_BITS
		    ? TRACE_STATS_MTC_BITS
		    : TRACE_STATS_CTC_BITS - n;
		uint64_t differs = ((reader->ctc >> n) + 1) ^ payload;

		reader->stats->clock.freq[n] += (differs &
						    (TZ_BIT(known) - 1)) == 0;
	}
}

static bool
trace_stats_mark(struct reader *reader, uint64_t offset)
{
	struct trace_stats *stats = reader->stats;

	if (!GROW(stats->mark, reader->mark_room, stats->mark_count + 1))
		return false;
	stats->mark[stats->mark_count++] = (struct trace_stats_mark){
		.offset = offset, .last_ip = reader->last_ip
	};
	return true;
}

static bool
trace_stats_ratio(struct reader *reader, const struct pkt *cbr)
{
	struct trace_stats *stats = reader->stats;

	if (!reader->parser.in_psb)
		trace_stats_end(stats, cbr->offset);
	stats->cbrs += !reader->parser.in_psb && reader->traced;
	if (!GROW(stats->cbr, reader->cbr_room, stats->cbr_count + 1))
		return false;
	stats->cbr[stats->cbr_count++] = (struct trace_stats_cbr){
		.offset = cbr->offset, .ratio = (uint8_t)cbr->value
	};
	return true;
}

/* PACKET, neither PAD nor a short TNT.  False: out of memory. */
static bool
trace_stats_packet(struct reader *reader, const struct pkt *packet)
{
	struct trace_stats *stats = reader->stats;

	switch ((int)packet->kind) {
	case PKT_TSX:
		stats->tsx += !reader->parser.in_psb;
		return true;
	case PKT_CYC:
		reader->cyc = true;
		reader->cycles = packet->value;
		return true;
	case PKT_TMA:
		reader->tma = true;
		reader->ctc = packet->value & 0xffff;
		return true;
	case PKT_MTC:
		if (reader->tma)
			trace_stats_mtc(reader, packet->value);
		return true;
	case PKT_PTW:
		stats->fup_ptws += packet->with_ip;
		return true;
	case PKT_EXEC:
		stats->flagged += (packet->value & TRACE_STATS_EXEC_IF) != 0;
		return true;
	case PKT_TIP:
	case PKT_PGE:
	case PKT_PGD:
	case PKT_FUP:
		trace_stats_ip(reader, packet);
		return packet->kind != PKT_PGD ||
		    trace_stats_mark(reader, packet->offset);
	case PKT_TNT:
		stats->long_tnts += packet->bytes > 1;
		return true;
	case PKT_PSB:
		return trace_stats_psb(reader, packet->offset);
	case PKT_PSBEND:
		if (stats->first_psb_end == 0 && stats->bad == 0)
			stats->first_psb_end = packet->offset;
		return true;
	case PKT_OVF:
		trace_stats_end(stats, packet->offset);
		return trace_stats_mark(reader, packet->offset);
	case PKT_CBR:
		return trace_stats_ratio(reader, packet);
	default:
		return true;
	}
}

/* Counts PACKET, which is no PAD.  False: out of memory. */
static inline bool
trace_stats_count(struct reader *reader, const struct pkt *packet)
{
	struct trace_stats *stats = reader->stats;

	stats->packets[packet->kind]++;
	if (packet->kind == PKT_OVF)
		reader->cyc = false;
	else
		trace_stats_cyc(reader);
	/* Most packets are short TNTs. */
	if (packet->kind == PKT_TNT && packet->bytes == 1 &&
	    !reader->parser.in_block) {
		stats->split_tnts += reader->full_tnt;
		reader->full_tnt = packet->bits == 6;
		return true;
	}
	if (packet->kind != PKT_CYC)
		reader->full_tnt = false;
	return trace_stats_packet(reader, packet);
}

/* All bytes were read; the last packet that is no PAD ended at END. */
static void
trace_stats_cut(
    struct trace_stats *stats, const struct pkt_parser *parser, uint64_t end)
{
	trace_stats_gap(stats, end);
	if (parser->in_psb)
		stats->cut_off = parser->count -
		    stats->psb[stats->psb_count - 1].offset;
	else if (parser->offset != parser->count)
		stats->cut_off = parser->count - end;
}

bool
trace_stats_read(
    struct trace_stats *stats, const uint8_t *bytes, uint64_t count)
{
	struct reader reader = { .stats = stats };
	struct pkt_parser *parser = &reader.parser;
	struct pkt packet;
	uint64_t end;

	*stats = (struct trace_stats){ .clock = { .cyc_min = UINT64_MAX } };
	pkt_begin_psb(parser, bytes, count, 0);
	stats->first_psb = end = parser->offset;
	for (;;) {
		for (; pkt_next_full(parser, &packet); end = parser->offset) {
			if (!trace_stats_count(&reader, &packet))
				return false;
			reader.last_ip = parser->last_ip;
		}
		trace_stats_cyc(&reader);
		if (packet.kind != PKT_BAD) {
			trace_stats_cut(stats, parser, end);
			return true;
		}
		stats->bad++;
		if (pkt_find_psb(bytes, count, packet.offset + 1) == count) {
			stats->junk = true;
			trace_stats_cut(stats, parser, packet.offset);
			return true;
		}
		pkt_begin_psb(parser, bytes, count, packet.offset + 1);
		end = parser->offset;
		reader.last_ip = 0;
	}
}

static_assert(offsetof(struct trace_stats_mark, offset) == 0 &&
	offsetof(struct trace_stats_psb, offset) == 0 &&
	offsetof(struct trace_stats_cbr, offset) == 0,
    "trace_stats_index() reads it there");

/*
 * Index of the first of COUNT elements of BYTES, each of which begins with its offset,
 * that is not before OFFSET.
 */
static size_t
trace_stats_index(
    const void *array, size_t count, size_t bytes, uint64_t offset)
{
	const uint8_t *first = array;
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t there;

		memcpy(&there, first + middle * bytes, sizeof(there));
		if (there < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t
trace_stats_psb_index(const struct trace_stats *stats, uint64_t offset)
{
	return trace_stats_index(
	    stats->psb, stats->psb_count, sizeof(*stats->psb), offset);
}

size_t
trace_stats_mark_index(const struct trace_stats *stats, uint64_t offset)
{
	return trace_stats_index(
	    stats->mark, stats->mark_count, sizeof(*stats->mark), offset);
}

uint8_t
trace_stats_cbr(const struct trace_stats *stats, uint64_t offset)
{
	size_t index = trace_stats_index(
	    stats->cbr, stats->cbr_count, sizeof(*stats->cbr), offset);

	if (stats->cbr_count == 0)
		return 0;
	/* Its own, or else the last one before it. */
	if (index == stats->cbr_count ||
	    (index != 0 &&
		stats->cbr[index].offset - offset >= TRACE_STATS_CBR_BYTES))
		index--;
	return stats->cbr[index].ratio;
}
