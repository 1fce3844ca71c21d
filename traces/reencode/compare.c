#include "traces/reencode/compare.h"

#include "traces/decode/vector.h"

#define COMPARE_TIMING \
 (TZ_BIT(PKT_TSC) | TZ_BIT(PKT_TMA) | TZ_BIT(PKT_MTC) | TZ_BIT(PKT_CYC))

/* Output that was compared is kept up to so many bytes. */
#define COMPARE_KEEP_BYTES (UINT64_C(1) << 20)

const char *
compare_form_name(enum compare_form form)
{
	static const char *const names[] = { [COMPARE_CANONICAL] = "canonical",
		[COMPARE_STRICT] = "strict",
		[COMPARE_BYTES] = "bytes" };

	return names[form];
}

void
compare_begin(struct compare *compare, enum compare_form form,
    const uint8_t *bytes, uint64_t count, uint64_t left_out)
{
	*compare = (struct compare){ .form = form,
		.bytes = bytes,
		.count = count,
		.whole = count,
		.left_out = form == COMPARE_BYTES ? 0 : left_out };
}

void
compare_end(struct compare *compare)
{
	free(compare->own);
}

void
compare_start(struct compare *compare, uint64_t offset)
{
	TZ_ASSERT(offset <= compare->whole);
	compare->count = compare->whole;
	compare->limited = false;
	compare->start = offset;
	compare->at = offset;
	compare->boundary = offset;
	compare->apart = false;
	compare->own_count = 0;
}

uint64_t
compare_offset(const struct compare *compare)
{
	return compare->apart ? compare->theirs.parser.offset : compare->at;
}

/* Does the canonical form know PACKET?  Keeps what it must remember. */
static bool
compare_is_canonical(struct compare_side *side, const struct pkt *packet)
{
	bool same = false;

	if (packet->kind == PKT_EXEC) {
		same = side->exec_known && side->exec == packet->value;
		side->exec = packet->value;
		side->exec_known = true;
	}
	return !same && !side->parser.in_psb &&
	    !pkt_is(packet, PKT_BIT(PSBEND) | PKT_BIT(CBR));
}

/* Is the packet that SIDE has just read one to be compared? */
static bool
compare_counts(struct compare_side *side, enum compare_form form)
{
	const struct pkt *packet = &side->packet;
	uint64_t bit = TZ_BIT(packet->kind);
	uint64_t left_out = side->left_out;

	if (form == COMPARE_BYTES)
		return true;
	if (packet->kind == PKT_PAD)
		return false;
	if (form == COMPARE_CANONICAL)
		left_out |= COMPARE_TIMING;
	if (side->drop_fup && packet->kind == PKT_FUP) {
		side->drop_fup = false;
		return false;
	}
	if (left_out & bit) {
		side->drop_fup = packet->with_ip ||
		    (packet->kind == PKT_TSX && !side->parser.in_psb);
		return false;
	}
	return form != COMPARE_CANONICAL || compare_is_canonical(side, packet);
}

/* Goes on to the next item.  False: there is none, or the bytes end within it. */
static bool
compare_next(struct compare_side *side, enum compare_form form)
{
	if (side->bits == 0) {
		do {
			if (!pkt_next(&side->parser, &side->packet))
				return false;
		} while (!compare_counts(side, form));
	}
	side->value = side->packet.value;
	if (form != COMPARE_CANONICAL || side->packet.kind != PKT_TNT)
		return true;
	if (side->bits == 0)
		side->bits = side->packet.bits;
	side->bits--;
	side->value = side->packet.value >> side->bits & 1;
	return true;
}

/* Are the two items that were read the same? */
static bool
compare_same(const struct compare *compare)
{
	const struct compare_side *theirs = &compare->theirs;
	const struct compare_side *ours = &compare->ours;
	const struct pkt *a = &theirs->packet, *b = &ours->packet;

	if (a->kind != b->kind)
		return false;
	/* Without an IP its value is the last one, which PSB+ and lost ones forget. */
	if (compare->form == COMPARE_CANONICAL)
		return a->with_ip == b->with_ip &&
		    (theirs->value == ours->value ||
			(!a->with_ip && pkt_is(a, PKT_IPS)));
	if (compare->form == COMPARE_BYTES &&
	    a->offset - compare->boundary != b->offset)
		return false;
	return a->bytes == b->bytes &&
	    memcmp(compare->bytes + a->offset, compare->own + b->offset,
		a->bytes) == 0;
}

int
compare_outcome(const struct compare *compare, unsigned pending)
{
	const uint64_t ends = PKT_BIT(TNT) | PKT_BIT(TIP) | PKT_BIT(PGD);
	struct compare_side side = compare->theirs;
	unsigned skip = pending;

	if (!compare->apart) {
		side = (struct compare_side){ .bits = 0 };
		pkt_begin(
		    &side.parser, compare->bytes, compare->count, compare->at);
	}
	for (;;) {
		if (side.bits > skip)
			return (
			    int)(side.packet.value >> (side.bits - 1 - skip) &
			    1);
		skip -= side.bits;
		if (!pkt_next_of(&side.parser, &side.packet, ends) ||
		    side.packet.kind != PKT_TNT)
			return -1;
		side.bits = side.packet.bits;
	}
}

/* Has SIDE just read a PSB, PADs before one, or a TNT before these? */
static bool
compare_is_psb(const struct compare_side *side)
{
	struct pkt_parser parser = side->parser;
	struct pkt packet = side->packet;

	if (packet.kind == PKT_TNT && !pkt_next(&parser, &packet))
		return false;
	if (packet.kind == PKT_PAD)
		(void)pkt_next_of(&parser, &packet, ~PKT_BIT(PAD));
	return packet.kind == PKT_PSB;
}

/* The packets that were read last are the first that differ. */
static void
compare_differ(struct compare *compare, bool ours)
{
	struct compare_difference *difference = &compare->difference;
	const struct pkt *packet = &compare->ours.packet;
	uint64_t kept = compare->own_count - packet->offset;

	difference->found = true;
	difference->offset = compare->theirs.packet.offset;
	difference->theirs_psb = compare_is_psb(&compare->theirs);
	if (!ours)
		return;
	difference->ours_psb = compare_is_psb(&compare->ours);
	difference->pad = (compare->theirs.packet.kind == PKT_PAD) !=
	    (packet->kind == PKT_PAD);
	difference->ours_bytes = packet->bytes;
	difference->ours_offset = compare->boundary + packet->offset;
	difference->ours_kept = kept < COMPARE_KEPT_BYTES ? kept
							  : COMPARE_KEPT_BYTES;
	memcpy(difference->ours, compare->own + packet->offset,
	    (size_t)difference->ours_kept);
}

void
compare_limit(struct compare *compare, uint64_t end)
{
	TZ_ASSERT(end <= compare->count);
	compare->count = end;
	compare->theirs.parser.count = end;
	compare->limited = true;
}

/* Compares as many packets as the unit's output has. */
static void
compare_packets(struct compare *compare)
{
	while (!compare->difference.found) {
		/* What is cut off now comes with the next bytes. */
		if (!compare_next(&compare->ours, compare->form)) {
			TZ_ASSERT(compare->ours.packet.kind == PKT_CUT);
			return;
		}
		if (!compare_next(&compare->theirs, compare->form)) {
			if (compare->limited)
				return;
			compare_differ(compare, true);
		} else if (!compare_same(compare)) {
			compare_differ(compare, true);
		}
	}
}

/* Forgets output that was compared. */
static void
compare_trim(struct compare *compare)
{
	uint64_t done = compare->ours.parser.offset;

	if (done < COMPARE_KEEP_BYTES)
		return;
	compare->own_count -= done;
	memmove(compare->own, compare->own + done, (size_t)compare->own_count);
	compare->boundary += done;
	compare->ours.parser.offset = 0;
	compare->ours.parser.count = compare->own_count;
}

static void
compare_append(struct compare *compare, const uint8_t *bytes, uint64_t count)
{
	size_t wanted = (size_t)(compare->own_count + count);

	if (!GROW(compare->own, compare->own_room, wanted)) {
		compare->failed = true;
		return;
	}
	if (count != 0)
		memcpy(compare->own + compare->own_count, bytes, (size_t)count);
	compare->own_count += count;
	compare->ours.parser.bytes = compare->own;
	compare->ours.parser.count = compare->own_count;
}

/*
 * What a PSB+ that is not compared says of the mode, the unit's side knows, too: it may
 * send no MODE.Exec there.
 */
static void
compare_take_exec(struct compare *compare)
{
	struct compare_side *ours = &compare->ours;
	struct pkt_parser parser = compare->theirs.parser;
	struct pkt packet;

	parser.count = compare->count;
	if (compare->form != COMPARE_CANONICAL || ours->exec_known ||
	    (!parser.in_psb &&
		(!pkt_next(&parser, &packet) || packet.kind != PKT_PSB)) ||
	    !pkt_next_of(&parser, &packet, PKT_BIT(EXEC) | PKT_BIT(PSBEND)) ||
	    packet.kind != PKT_EXEC)
		return;
	ours->exec = packet.value;
	ours->exec_known = true;
}

/* The bytes are no longer equal: packets are, up to the boundary. */
static void
compare_separate(struct compare *compare)
{
	struct compare_side *theirs = &compare->theirs;

	/* What both sides know there, from the beginning of this stretch. */
	*theirs = (struct compare_side){ .left_out = compare->left_out };
	pkt_begin(
	    &theirs->parser, compare->bytes, compare->boundary, compare->start);
	while (compare_next(theirs, COMPARE_CANONICAL))
		theirs->bits = 0;
	theirs->drop_fup = false;
	compare->ours = *theirs;
	compare_take_exec(compare);
	theirs->parser.offset = compare->boundary;
	theirs->parser.count = compare->count;
	compare->ours.parser.offset = 0;
	compare->ours.left_out = 0;
	compare->own_count = 0;
	compare->apart = true;
	compare_append(compare, compare->bytes + compare->boundary,
	    compare->at - compare->boundary);
}

void
compare_feed(
    struct compare *compare, const uint8_t *bytes, uint64_t count, bool whole)
{
	if (compare->difference.found || compare->failed)
		return;
	if (!compare->apart) {
		if (compare->limited && count > compare->count - compare->at)
			count = compare->count - compare->at;
		if (compare->count - compare->at >= count &&
		    memcmp(compare->bytes + compare->at, bytes,
			(size_t)count) == 0) {
			compare->at += count;
			if (whole)
				compare->boundary = compare->at;
			return;
		}
		compare_separate(compare);
	}
	compare_append(compare, bytes, count);
	if (compare->failed)
		return;
	compare_packets(compare);
	compare_trim(compare);
}

void
compare_stop(struct compare *compare, uint64_t end)
{
	if (compare->difference.found || compare->failed ||
	    (!compare->apart && compare->at >= end))
		return;
	if (!compare->apart)
		compare_separate(compare);
	if (compare->failed)
		return;
	compare_packets(compare);
	compare->theirs.parser.count = end;
	if (!compare->difference.found &&
	    compare_next(&compare->theirs, compare->form))
		compare_differ(compare, false);
}
