/*
 * Enables behind which IA32_RTIT_CTL is another, as far as the packets show it: what
 * each of them sends says whether TSCEn and MTCEn are 1, what follows it the others.
 */
#include "emu/base/rtit.h"
#include "traces/decode/vector.h"
#include "traces/reencode/search/search.h"

#include <stdlib.h>
#include <string.h>

#define CTL_CHANGES_BITS (CTL_TIMING | CTL_EVENT_EN)
/* RFLAGS.IF in MODE.Exec. */
#define CTL_CHANGES_IF 4

struct resets {
	struct setting *list; /* .ctl: bits that are seen */
	size_t count, room;
	bool in_psb, traced;
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
ctl_changes_packet(struct resets *resets, const struct pkt *packet)
{
	bool status = pkt_is(
	    packet, PKT_BIT(CYC) | PKT_BIT(TSC) | PKT_BIT(TMA) | PKT_BIT(CBR));

	if (packet->kind == PKT_PSB) {
		if (!resets->traced || resets->count == 0)
			ctl_changes_begin(resets, packet->offset);
		resets->in_psb = true;
	} else if (pkt_is(packet, PKT_BIT(PSBEND) | PKT_BIT(OVF))) {
		resets->in_psb = false;
	} else if (packet->kind == PKT_PGD) {
		resets->traced = false;
	} else if (!resets->in_psb && pkt_is(packet, PKT_IPS | PKT_BIT(TNT))) {
		resets->traced = true;
	}
	/* It was none's. */
	if (!status && resets->status != UINT64_MAX && resets->count != 0)
		resets->list[resets->count - 1].ctl |= resets->bits;
	if (!status || resets->in_psb || resets->status == UINT64_MAX)
		resets->bits = 0;
	if (!status || resets->in_psb)
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
	    (resets->traced || resets->in_psb || !status))
		resets->list[resets->count - 1].ctl |= resets->bits;
}

/* Drops those that are as the one before; false: none is left but one. */
static bool
ctl_changes_join(struct resets *resets)
{
	size_t kept = 0;

	for (size_t i = 0; i < resets->count; i++)
		if (kept == 0 ||
		    resets->list[kept - 1].ctl != resets->list[i].ctl)
			resets->list[kept++] = resets->list[i];
	resets->count = kept;
	return kept > 1;
}

int
ctl_changes_find(struct search *search)
{
	struct resets resets = { .good = true, .status = UINT64_MAX };
	struct pkt_parser parser;
	struct pkt packet;

	pkt_begin_psb(&parser, search->bytes, search->count, 0);
	while (resets.good && pkt_next(&parser, &packet))
		if (packet.kind != PKT_PAD)
			ctl_changes_packet(&resets, &packet);
	if (!resets.good || !ctl_changes_join(&resets)) {
		free(resets.list);
		return resets.good
		    ? 0
		    : tz_error(search->err, TZ_EIO, "settings: out of memory");
	}
	free(search->settings);
	search->settings = resets.list;
	search->setting_count = resets.count;
	search->inferred = true;
	for (size_t i = 0; i < resets.count; i++)
		resets.list[i].off = CTL_CHANGES_BITS & ~resets.list[i].ctl;
	return 0;
}

bool
ctl_changes_flip(struct search *search, uint64_t offset, uint64_t bit)
{
	size_t at = 0, count = search->setting_count;
	struct setting *more = realloc(
	    search->settings, (count + 1) * sizeof(*more));

	if (more == NULL)
		return false;
	search->settings = more;
	while (at < count && more[at].offset <= offset)
		at++;
	memmove(&more[at + 1], &more[at], (count - at) * sizeof(*more));
	more[at] = more[at - 1];
	more[at].offset = offset;
	search->setting_count++;
	for (size_t i = at; i <= count; i++)
		more[i].flip ^= bit;
	return true;
}

void
ctl_changes_unflip(struct search *search, uint64_t offset, uint64_t bit)
{
	size_t at = search->setting_count - 1;

	while (search->settings[at].offset > offset)
		search->settings[at--].flip ^= bit;
	search->setting_count--;
	memmove(&search->settings[at], &search->settings[at + 1],
	    (search->setting_count - at) * sizeof(*search->settings));
}
