/*
 * Enables behind which IA32_RTIT_CTL is another, as far as the packets show it: what
 * each of them sends says whether TSCEn and MTCEn are 1, what follows it the others.
 */
#include "emu/base/rtit.h"
#include "traces/decode/vector.h"
#include "traces/reencode/search/search.h"

#include <stdlib.h>

#define CTL_CHANGES_BITS (CTL_TIMING | CTL_EVENT_EN)
/* RFLAGS.IF in MODE.Exec. */
#define CTL_CHANGES_IF 4

struct resets {
	struct setting *list; /* .ctl: bits that are seen */
	size_t count, room;
	bool traced;
	bool good;       /* there was memory */
	uint64_t status; /* offset of what may begin an enable, or none */
	uint64_t bits;   /* that it shows */
};

static void
ctl_changes_begin(struct resets *resets, uint64_t offset)
{
	if (!GROW(resets->list, resets->room, resets->count + 1)) {
		resets->good = false;
		return;
	}
	resets->list[resets->count] =
	    (struct setting){ .offset = resets->count == 0 ? 0 : offset };
	resets->count++;
}

/* Which of the bits PACKET shows. */
static uint64_t
ctl_changes_bits(const struct pkt *packet)
{
	if (packet->kind == PKT_EXEC)
		return packet->value & CTL_CHANGES_IF ? CTL_EVENT_EN : 0;
	return setup_shown(TZ_BIT(packet->kind)) & CTL_CHANGES_BITS;
}

static void
ctl_changes_packet(struct resets *resets, const struct pkt *packet, bool in_psb)
{
	bool status = pkt_is(
	    packet, PKT_BIT(CYC) | PKT_BIT(TSC) | PKT_BIT(TMA) | PKT_BIT(CBR));

	if (packet->kind == PKT_PSB) {
		if (!resets->traced || resets->count == 0)
			ctl_changes_begin(resets, packet->offset);
	} else if (packet->kind == PKT_PGD) {
		resets->traced = false;
	} else if (!in_psb && pkt_is(packet, PKT_IPS | PKT_BIT(TNT))) {
		resets->traced = true;
	}
	/* No enable claimed these packets. */
	if (!status && resets->status != UINT64_MAX && resets->count != 0)
		resets->list[resets->count - 1].ctl |= resets->bits;
	if (!status || in_psb || resets->status == UINT64_MAX)
		resets->bits = 0;
	if (!status || in_psb)
		resets->status = UINT64_MAX;
	else if (resets->status == UINT64_MAX)
		resets->status = packet->offset;
	resets->bits |= ctl_changes_bits(packet);
	if (pkt_is(packet, PKT_BIT(TSC) | PKT_BIT(CBR)) && !resets->traced &&
	    resets->status != UINT64_MAX) {
		ctl_changes_begin(resets, resets->status);
		resets->traced = true;
	}
	/* While nothing is traced it may be the next enable's. */
	if (resets->count != 0 && resets->good &&
	    (resets->traced || in_psb || !status))
		resets->list[resets->count - 1].ctl |= resets->bits;
}

/* Drops those that are as the one before. */
static void
ctl_changes_join(struct resets *resets)
{
	size_t kept = 0;

	for (size_t i = 0; i < resets->count; i++)
		if (kept == 0 ||
		    resets->list[kept - 1].ctl != resets->list[i].ctl)
			resets->list[kept++] = resets->list[i];
	resets->count = kept;
}

struct setting_list
ctl_changes_find(const struct search *search)
{
	struct resets resets = { .good = true, .status = UINT64_MAX };
	struct pkt_parser parser;
	struct pkt packet;

	pkt_begin_psb(&parser, search->replay.bytes, search->replay.count, 0);
	while (resets.good && pkt_next(&parser, &packet))
		if (packet.kind != PKT_PAD)
			ctl_changes_packet(&resets, &packet, parser.in_psb);
	if (!resets.good) {
		free(resets.list);
		return (struct setting_list){ .count = 0 };
	}
	ctl_changes_join(&resets);
	for (size_t i = 0; i < resets.count; i++)
		resets.list[i].off = CTL_CHANGES_BITS & ~resets.list[i].ctl;
	return (struct setting_list){ resets.list, resets.count };
}

struct setting_list
ctl_changes_flip(const struct setting_list *list, uint64_t offset, uint64_t bit)
{
	struct setting *flipped = calloc(list->count + 1, sizeof(*flipped));
	size_t before = 0;

	if (flipped == NULL)
		return (struct setting_list){ .count = 0 };
	while (before < list->count && list->setting[before].offset <= offset)
		before++;
	for (size_t i = 0; i <= list->count; i++) {
		flipped[i] = list->setting[i - (i >= before)];
		flipped[i].flip ^= i >= before ? bit : 0;
	}
	flipped[before].offset = offset;
	return (struct setting_list){ flipped, list->count + 1 };
}
