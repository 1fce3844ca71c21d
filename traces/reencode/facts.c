#include "traces/reencode/facts.h"

#include "traces/decode/vector.h"

#include <assert.h>
#include <endian.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* In the payload of a MODE.Exec. */
#define FACTS_EXEC_IF 4
/* The CBR of an enable or a PSB+ comes within so many bytes of its start. */
#define FACTS_CBR_BYTES 96
#define FACTS_MTC_BITS  8
#define FACTS_CTC_BITS  16

void
facts_free(struct facts *facts)
{
	free(facts->psb);
	free(facts->psb_end);
	free(facts->cbr);
	free(facts->mark);
	*facts = (struct facts){ 0 };
}

/* What a packet of KIND with IPBytes FORM, and LAST_IP behind it, say. */
static inline void
facts_ip(
    struct facts *facts, enum scan_kind kind, unsigned form, uint64_t last_ip)
{
	bool with_ip = form != 0, kernel = last_ip >> 63 != 0;

	facts->traced = kind != SCAN_PGD;
	facts->ips_full += form == 6;
	facts->ips_sext48 += form == 3;
	facts->pgd_ips += with_ip & (kind == SCAN_PGD);
	facts->kernel |= with_ip & kernel;
	facts->user |= with_ip & !kernel;
}

/* At END, where the next PSB or the trace's end is, so long there was none. */
static void
facts_gap(struct facts *facts, uint64_t end)
{
	uint64_t gap = 0;

	if (facts->psb_count != 0)
		gap = end - facts->psb[facts->psb_count - 1];
	facts->gap_max = gap > facts->gap_max ? gap : facts->gap_max;
}

static bool
facts_psb(struct facts *facts, uint64_t offset)
{
	facts_gap(facts, offset);
	if (!GROW(facts->psb, facts->psb_room, facts->psb_count + 1) ||
	    !GROW(facts->psb_end, facts->psb_end_room, facts->psb_count + 1))
		return false;
	facts->in_psb = true;
	facts->psb_end[facts->psb_count] = UINT64_MAX;
	facts->psb[facts->psb_count++] = offset;
	return true;
}

/* From OFFSET on the counter goes on in another way. */
static void
facts_end(struct facts *facts, uint64_t offset)
{
	uint64_t *end = &facts->psb_end[facts->psb_count - 1];

	if (*end > offset)
		*end = offset;
}

/* The last CYC is none of an OVF, whose counter has no end. */
static void
facts_cyc(struct facts_clock *clock)
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
facts_time(struct facts_clock *clock, const struct scan_packet *packet)
{
	if (packet->kind == SCAN_CYC) {
		clock->in_cyc = true;
		clock->cyc = packet->value;
	} else if (packet->kind == SCAN_TMA) {
		clock->tma = true;
		clock->ctc = packet->value & 0xffff;
	} else if (packet->kind == SCAN_MTC && clock->tma) {
		clock->tma = false;
		for (unsigned n = 0; n < FACTS_FREQS; n++) {
			unsigned known = n < FACTS_MTC_BITS
			    ? FACTS_MTC_BITS
			    : FACTS_CTC_BITS - n;

			clock->freq[n] += ((((clock->ctc >> n) + 1) ^
					       packet->value) &
					      (TZ_BIT(known) - 1)) == 0;
		}
	}
}

static bool
facts_packet(struct facts *facts, const struct scan_packet *packet)
{
	uint8_t ratio = (uint8_t)packet->value;

	facts->packets[packet->kind]++;
	if (packet->kind != SCAN_PAD && packet->kind != SCAN_CYC)
		facts->full_tnt = false;
	if (packet->kind == SCAN_OVF)
		facts->clock.in_cyc = false;
	else if (packet->kind != SCAN_PAD)
		facts_cyc(&facts->clock);
	switch ((int)packet->kind) {
	case SCAN_TSX:
		facts->tsx += !facts->in_psb;
		return true;
	case SCAN_CYC:
	case SCAN_TMA:
	case SCAN_MTC:
		facts_time(&facts->clock, packet);
		return true;
	case SCAN_PTW:
		facts->fup_ptws += packet->with_ip;
		return true;
	case SCAN_EXEC:
		facts->flagged += (packet->value & FACTS_EXEC_IF) != 0;
		return true;
	case SCAN_TIP:
	case SCAN_PGE:
	case SCAN_PGD:
	case SCAN_FUP:
		facts_ip(facts, packet->kind, packet->bits, packet->value);
		return true;
	case SCAN_TNT:
		facts->long_tnts += packet->bytes > 1;
		return true;
	case SCAN_PSB:
		return facts_psb(facts, packet->offset);
	case SCAN_PSBEND:
		facts->in_psb = false;
		return true;
	case SCAN_OVF:
		facts->in_psb = false;
		facts_end(facts, packet->offset);
		return true;
	case SCAN_CBR:
		if (!facts->in_psb)
			facts_end(facts, packet->offset);
		facts->cbrs += !facts->in_psb && facts->traced;
		if (!GROW(facts->cbr, facts->cbr_room, facts->cbr_count + 1))
			return false;
		facts->cbr[facts->cbr_count++] = (struct facts_cbr){
			.offset = packet->offset, .ratio = ratio
		};
		return true;
	default:
		return true;
	}
}

static bool
facts_mark(struct facts *facts, uint64_t offset, uint64_t last_ip)
{
	if (!GROW(facts->mark, facts->mark_room, facts->mark_count + 1))
		return false;
	facts->mark[facts->mark_count++] =
	    (struct facts_mark){ .offset = offset, .last_ip = last_ip };
	return true;
}

/* All of SCAN's bytes were read: the last packet that is no PAD ended at END. */
static void
facts_cut(struct facts *facts, const struct scan *scan, uint64_t end)
{
	facts_gap(facts, end);
	if (facts->in_psb)
		facts->cut_off = scan->count - facts->psb[facts->psb_count - 1];
	else if (scan->offset != scan->count)
		facts->cut_off = scan->count - end;
}

/* Goes past the packet of KIND, which may have an IP, at SCAN's place; false: out of memory. */
static inline bool
facts_skip(struct facts *facts, struct scan *scan, enum scan_kind kind)
{
	const uint8_t *at = scan->bytes + scan->offset;
	uint64_t last_ip = scan->last_ip, offset = scan->offset;
	unsigned form = at[0] >> 5;

	facts_cyc(&facts->clock);
	facts->packets[kind]++;
	scan->offset += 1u + scan_ip_bytes[form];
	if (form != 0) {
		uint64_t whole;

		memcpy(&whole, at + 1, sizeof(whole));
		scan->last_ip = scan_ip_after(last_ip, le64toh(whole), form);
	}
	facts_ip(facts, kind, form, scan->last_ip);
	return kind != SCAN_PGD || facts_mark(facts, offset, last_ip);
}

/*
 * PADs, short TNTs and CYCs, and what may have an IP, which most of a trace is, without
 * making packets of them; *END: see facts_cut().  False: out of memory.
 */
static bool
facts_pass(struct facts *facts, struct scan *scan, uint64_t *end)
{
	uint64_t at = scan->offset, count = scan->count, tnts = 0, split = 0;
	bool full = facts->full_tnt, good = true;

	/* In a block an even byte may begin a BIP. */
	if (scan->in_block)
		return true;
	while (at < count && good) {
		uint8_t first = scan->bytes[at];
		enum scan_kind kind;

		if (first == 0) {
			at++;
			continue;
		}
		if ((first & 1) == 0 && first != 2) {
			facts_cyc(&facts->clock);
			tnts++;
			split += full;
			full = first >> 7 != 0;
			at++;
			*end = at;
			continue;
		}
		kind = (enum scan_kind)scan_ip_kinds[first & 0x1f];
		if (kind != SCAN_PAD) {
			/* 8 bytes of IP are read, whatever it has. */
			if (count - at <= sizeof(uint64_t) ||
			    scan_ip_bytes[first >> 5] > sizeof(uint64_t))
				break;
			scan->offset = at;
			good = facts_skip(facts, scan, kind);
			full = false;
			at = scan->offset;
		} else if ((first & SCAN_CYC_MASK) == SCAN_CYC_OPCODE) {
			facts_cyc(&facts->clock);
			facts->packets[SCAN_CYC]++;
			facts->clock.in_cyc = true;
			facts->clock.cyc = first >> 3;
			at++;
		} else {
			break;
		}
		*end = at;
	}
	scan->offset = at;
	facts->full_tnt = full;
	facts->split_tnts += split;
	facts->packets[SCAN_TNT] += tnts;
	return good;
}

bool
facts_read(struct facts *facts, const uint8_t *bytes, uint64_t count)
{
	struct scan_packet packet;
	struct scan scan;
	uint64_t end;

	*facts = (struct facts){ .clock = { .cyc_min = UINT64_MAX } };
	facts->first_psb = scan_find_psb(bytes, count, 0);
	scan_begin(&scan, bytes, count, facts->first_psb);
	end = facts->first_psb;
	for (;;) {
		uint64_t last_ip = scan.last_ip;

		while (scan_next(&scan, &packet)) {
			if ((packet.kind == SCAN_PGD ||
				packet.kind == SCAN_OVF) &&
			    !facts_mark(facts, packet.offset, last_ip))
				return false;
			if (packet.kind != SCAN_PAD)
				end = scan.offset;
			if (!facts_packet(facts, &packet) ||
			    !facts_pass(facts, &scan, &end))
				return false;
			last_ip = scan.last_ip;
		}
		facts_cyc(&facts->clock);
		if (packet.kind != SCAN_BAD) {
			facts_cut(facts, &scan, end);
			return true;
		}
		facts->bad++;
		facts->in_psb = false;
		scan_begin(&scan, bytes, count,
		    scan_find_psb(bytes, count, packet.offset + 1));
		end = scan.offset;
	}
}

static_assert(offsetof(struct facts_mark, offset) == 0 &&
	offsetof(struct facts_cbr, offset) == 0,
    "facts_index() reads it there");

/*
 * Index of the first of COUNT elements of BYTES, each of which begins with its offset,
 * that is not before OFFSET.
 */
static size_t
facts_index(const void *array, size_t count, size_t bytes, uint64_t offset)
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
facts_psb_index(const struct facts *facts, uint64_t offset)
{
	return facts_index(
	    facts->psb, facts->psb_count, sizeof(*facts->psb), offset);
}

size_t
facts_mark_index(const struct facts *facts, uint64_t offset, size_t near)
{
	const struct facts_mark *mark = facts->mark;

	if (near < facts->mark_count && mark[near].offset >= offset &&
	    (near == 0 || mark[near - 1].offset < offset))
		return near;
	return facts_index(mark, facts->mark_count, sizeof(*mark), offset);
}

uint8_t
facts_cbr(const struct facts *facts, uint64_t offset)
{
	size_t index = facts_index(
	    facts->cbr, facts->cbr_count, sizeof(*facts->cbr), offset);

	if (facts->cbr_count == 0)
		return 0;
	/* Its own, or else the last one that was told. */
	if (index == facts->cbr_count ||
	    (index != 0 &&
		facts->cbr[index].offset - offset >= FACTS_CBR_BYTES))
		index--;
	return facts->cbr[index].ratio;
}
