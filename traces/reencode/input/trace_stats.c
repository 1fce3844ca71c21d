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
trace_stats_ip(struct trace_stats *stats, const struct pkt *packet)
{
	bool kernel = packet->value >> 63 != 0;

	stats->traced = packet->kind != PKT_PGD;
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
trace_stats_psb(struct trace_stats *stats, uint64_t offset)
{
	trace_stats_gap(stats, offset);
	if (!GROW(stats->psb, stats->psb_room, stats->psb_count + 1))
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
trace_stats_cyc(struct trace_stats_clock *clock)
{
	if (!clock->in_cyc)
		return;
	clock->in_cyc = false;
	if (clock->cyc < clock->cyc_min)
		clock->cyc_min = clock->cyc;
	if (clock->cyc > clock->cyc_max)
		clock->cyc_max = clock->cyc;
}

static void
trace_stats_time(struct trace_stats_clock *clock, const struct pkt *packet)
{
	if (packet->kind == PKT_CYC) {
		clock->in_cyc = true;
		clock->cyc = packet->value;
	} else if (packet->kind == PKT_TMA) {
		clock->tma = true;
		clock->ctc = packet->value & 0xffff;
	} else if (packet->kind == PKT_MTC && clock->tma) {
		clock->tma = false;
		for (unsigned n = 0; n < TRACE_STATS_FREQS; n++) {
			unsigned known = n < TRACE_STATS_MTC_BITS
			    ? TRACE_STATS_MTC_BITS
			    : TRACE_STATS_CTC_BITS - n;

			clock->freq[n] += ((((clock->ctc >> n) + 1) ^
					       packet->value) &
					      (TZ_BIT(known) - 1)) == 0;
		}
	}
}

static bool
trace_stats_mark(struct trace_stats *stats, uint64_t offset, uint64_t last_ip)
{
	if (!GROW(stats->mark, stats->mark_room, stats->mark_count + 1))
		return false;
	stats->mark[stats->mark_count++] =
	    (struct trace_stats_mark){ .offset = offset, .last_ip = last_ip };
	return true;
}

/* PARSER has read PACKET, no PAD, before which its IP was LAST_IP.  False: out of memory. */
static inline bool
trace_stats_packet(struct trace_stats *stats, const struct pkt_parser *parser,
    const struct pkt *packet, uint64_t last_ip)
{
	stats->packets[packet->kind]++;
	if (packet->kind == PKT_OVF)
		stats->clock.in_cyc = false;
	else
		trace_stats_cyc(&stats->clock);
	/* Most are. */
	if (packet->kind == PKT_TNT && packet->bytes == 1 &&
	    !parser->in_block) {
		stats->split_tnts += stats->full_tnt;
		stats->full_tnt = packet->bits == 6;
		return true;
	}
	if (packet->kind != PKT_CYC)
		stats->full_tnt = false;
	switch ((int)packet->kind) {
	case PKT_TSX:
		stats->tsx += !parser->in_psb;
		return true;
	case PKT_CYC:
	case PKT_TMA:
	case PKT_MTC:
		trace_stats_time(&stats->clock, packet);
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
		trace_stats_ip(stats, packet);
		return packet->kind != PKT_PGD ||
		    trace_stats_mark(stats, packet->offset, last_ip);
	case PKT_TNT:
		stats->long_tnts += packet->bytes > 1;
		return true;
	case PKT_PSB:
		return trace_stats_psb(stats, packet->offset);
	case PKT_PSBEND:
		if (stats->first_psb_end == 0 && stats->bad == 0)
			stats->first_psb_end = packet->offset;
		return true;
	case PKT_OVF:
		trace_stats_end(stats, packet->offset);
		return trace_stats_mark(stats, packet->offset, last_ip);
	case PKT_CBR:
		if (!parser->in_psb)
			trace_stats_end(stats, packet->offset);
		stats->cbrs += !parser->in_psb && stats->traced;
		if (!GROW(stats->cbr, stats->cbr_room, stats->cbr_count + 1))
			return false;
		stats->cbr[stats->cbr_count++] =
		    (struct trace_stats_cbr){ .offset = packet->offset,
			    .ratio = (uint8_t)packet->value };
		return true;
	default:
		return true;
	}
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
	struct pkt_parser parser;
	struct pkt packet;
	uint64_t end, last_ip = 0;

	*stats = (struct trace_stats){ .clock = { .cyc_min = UINT64_MAX } };
	pkt_begin_psb(&parser, bytes, count, 0);
	stats->first_psb = end = parser.offset;
	for (;;) {
		for (; pkt_next_full(&parser, &packet); end = parser.offset) {
			if (!trace_stats_packet(
				stats, &parser, &packet, last_ip))
				return false;
			last_ip = parser.last_ip;
		}
		trace_stats_cyc(&stats->clock);
		if (packet.kind != PKT_BAD) {
			trace_stats_cut(stats, &parser, end);
			return true;
		}
		stats->bad++;
		if (pkt_find_psb(bytes, count, packet.offset + 1) == count) {
			stats->junk = true;
			trace_stats_cut(stats, &parser, packet.offset);
			return true;
		}
		pkt_begin_psb(&parser, bytes, count, packet.offset + 1);
		end = parser.offset;
		last_ip = 0;
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
