/*
 * Enables at which IA32_RTIT_CTL changes, as far as packets show it: those of an enable
 * show TSCEn and MTCEn, later ones CYCEn and EventEn.
 */
#include "emu/base/rtit.h"
#include "traces/decode/vector.h"
#include "traces/reencode/search/search.h"

#include <stdlib.h>

#define CTL_CHANGES_BITS (CTL_TIMING | CTL_EVENT_EN)
/* RFLAGS.IF in MODE.Exec. */
#define CTL_CHANGES_IF 4

struct ctl_changes {
	struct setting *list; /* .ctl: bits that packets show */
	size_t count, room;
	bool traced;
	bool good; /* no memory was missing */
	uint64_t
	    status; /* offset of status packets that may begin an enable, or UINT64_MAX */
	uint64_t bits; /* bits that they show */
};

static void
ctl_changes_begin(struct ctl_changes *changes, uint64_t offset)
{
	if (!GROW(changes->list, changes->room, changes->count + 1)) {
		changes->good = false;
		return;
	}
	changes->list[changes->count] =
	    (struct setting){ .offset = changes->count == 0 ? 0 : offset };
	changes->count++;
}

/* The bits that PACKET shows. */
static uint64_t
ctl_changes_bits(const struct pkt *packet)
{
	if (packet->kind == PKT_EXEC)
		return packet->value & CTL_CHANGES_IF ? CTL_EVENT_EN : 0;
	return setup_ctl_of(TZ_BIT(packet->kind)) & CTL_CHANGES_BITS;
}

static void
ctl_changes_packet(
    struct ctl_changes *changes, const struct pkt *packet, bool in_psb)
{
	bool status = pkt_is(
	    packet, PKT_BIT(CYC) | PKT_BIT(TSC) | PKT_BIT(TMA) | PKT_BIT(CBR));

	if (packet->kind == PKT_PSB) {
		if (!changes->traced || changes->count == 0)
			ctl_changes_begin(changes, packet->offset);
	} else if (packet->kind == PKT_PGD) {
		changes->traced = false;
	} else if (!in_psb && pkt_is(packet, PKT_IPS | PKT_BIT(TNT))) {
		changes->traced = true;
	}
	/* No enable claimed these packets. */
	if (!status && changes->status != UINT64_MAX && changes->count != 0)
		changes->list[changes->count - 1].ctl |= changes->bits;
	if (!status || in_psb || changes->status == UINT64_MAX)
		changes->bits = 0;
	if (!status || in_psb)
		changes->status = UINT64_MAX;
	else if (changes->status == UINT64_MAX)
		changes->status = packet->offset;
	changes->bits |= ctl_changes_bits(packet);
	if (pkt_is(packet, PKT_BIT(TSC) | PKT_BIT(CBR)) && !changes->traced &&
	    changes->status != UINT64_MAX) {
		ctl_changes_begin(changes, changes->status);
		changes->traced = true;
	}
	/* While nothing is traced, it may belong to the next enable. */
	if (changes->count != 0 && changes->good &&
	    (changes->traced || in_psb || !status))
		changes->list[changes->count - 1].ctl |= changes->bits;
}

/* Drops settings that are equal to the one before. */
static void
ctl_changes_join(struct ctl_changes *changes)
{
	size_t kept = 0;

	for (size_t i = 0; i < changes->count; i++)
		if (kept == 0 ||
		    changes->list[kept - 1].ctl != changes->list[i].ctl)
			changes->list[kept++] = changes->list[i];
	changes->count = kept;
}

struct setting_list
ctl_changes_find(const struct search *search)
{
	struct ctl_changes changes = { .good = true, .status = UINT64_MAX };
	struct pkt_parser parser;
	struct pkt packet;

	pkt_begin_psb(&parser, search->replay.bytes, search->replay.count, 0);
	while (changes.good && pkt_next(&parser, &packet))
		if (packet.kind != PKT_PAD)
			ctl_changes_packet(&changes, &packet, parser.in_psb);
	if (!changes.good) {
		free(changes.list);
		return (struct setting_list){ .count = 0 };
	}
	ctl_changes_join(&changes);
	for (size_t i = 0; i < changes.count; i++)
		changes.list[i].off = CTL_CHANGES_BITS & ~changes.list[i].ctl;
	return (struct setting_list){ changes.list, changes.count };
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
