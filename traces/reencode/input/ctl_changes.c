/*
 * Enables behind which IA32_RTIT_CTL is another, as far as the packets show it: what
 * each of them sends says whether TSCEn and MTCEn are 1, what follows it the others.
 */
#include "traces/decode/vector.h"
#include "traces/reencode/search/search_internal.h"

#include <stdlib.h>
#include <string.h>

/* As emu/pt/msr.h has them; SDM vol. 3, 33.2.8.2 "IA32_RTIT_CTL MSR". */
#define RESETS_CYC_EN   TZ_BIT(1)
#define RESETS_MTC_EN   TZ_BIT(9)
#define RESETS_TSC_EN   TZ_BIT(10)
#define RESETS_EVENT_EN TZ_BIT(31)
#define RESETS_BITS \
 (RESETS_CYC_EN | RESETS_MTC_EN | RESETS_TSC_EN | RESETS_EVENT_EN)
/* So often another setting may begin. */
#define RESETS_FLIPS 8
/* RFLAGS.IF in MODE.Exec. */
#define RESETS_IF 4

struct resets {
	struct unit_driver_setting *list; /* .ctl: bits that are seen */
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
	resets->list[resets->count] = (struct unit_driver_setting){
		.offset = resets->count == 0 ? 0 : offset
	};
	resets->count++;
}

/* Which of the bits PACKET shows. */
static uint64_t
ctl_changes_bits(const struct pkt *packet)
{
	switch ((int)packet->kind) {
	case PKT_CYC:
		return RESETS_CYC_EN;
	case PKT_TMA:
	case PKT_MTC:
		return RESETS_MTC_EN;
	case PKT_TSC:
		return RESETS_TSC_EN;
	case PKT_CFE:
	case PKT_EVD:
		return RESETS_EVENT_EN;
	case PKT_EXEC:
		return (packet->value & RESETS_IF) != 0 ? RESETS_EVENT_EN : 0;
	default:
		return 0;
	}
}

static void
ctl_changes_packet(struct resets *resets, const struct pkt *packet)
{
	const uint64_t flow = TZ_BIT(PKT_TNT) | TZ_BIT(PKT_TIP) |
	    TZ_BIT(PKT_PGE) | TZ_BIT(PKT_FUP);
	bool status = packet->kind == PKT_CYC || packet->kind == PKT_TSC ||
	    packet->kind == PKT_TMA || packet->kind == PKT_CBR;

	if (packet->kind == PKT_PSB) {
		if (!resets->traced || resets->count == 0)
			ctl_changes_begin(resets, packet->offset);
		resets->in_psb = true;
	} else if (packet->kind == PKT_PSBEND || packet->kind == PKT_OVF) {
		resets->in_psb = false;
	} else if (!resets->in_psb && flow >> packet->kind & 1) {
		resets->traced = true;
	} else if (packet->kind == PKT_PGD) {
		resets->traced = false;
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
	if (packet->kind == PKT_TSC || packet->kind == PKT_CBR)
		if (!resets->traced && resets->status != UINT64_MAX) {
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
reencode_resets(struct reencode_try *try, struct tz_error *err)
{
	struct resets resets = { .good = true, .status = UINT64_MAX };
	struct pkt packet;
	struct pkt_parser parser;

	pkt_begin(&parser, try->bytes, try->count,
	    pkt_find_psb(try->bytes, try->count, 0));
	while (resets.good && pkt_next(&parser, &packet))
		if (packet.kind != PKT_PAD)
			ctl_changes_packet(&resets, &packet);
	if (!resets.good || !ctl_changes_join(&resets)) {
		free(resets.list);
		return resets.good
		    ? 0
		    : tz_error(err, TZ_EIO, "settings: out of memory");
	}
	free(try->settings);
	try->settings = resets.list;
	try->setting_count = resets.count;
	try->inferred = true;
	for (size_t i = 0; i < resets.count; i++)
		resets.list[i].off = RESETS_BITS & ~resets.list[i].ctl;
	return 0;
}

/* From OFFSET on BIT is another.  False: out of memory. */
static bool
ctl_changes_flip(struct reencode_try *try, uint64_t offset, uint64_t bit)
{
	size_t at = 0, count = try->setting_count;
	struct unit_driver_setting *more = realloc(
	    try->settings, (count + 1) * sizeof(*more));

	if (more == NULL)
		return false;
	try->settings = more;
	while (at < count && more[at].offset <= offset)
		at++;
	memmove(&more[at + 1], &more[at], (count - at) * sizeof(*more));
	more[at] = more[at - 1];
	more[at].offset = offset;
	try->setting_count++;
	for (size_t i = at; i <= count; i++)
		more[i].flip ^= bit;
	return true;
}

/* As it was before. */
static void
ctl_changes_unflip(struct reencode_try *try, uint64_t offset, uint64_t bit)
{
	size_t at = try->setting_count - 1;

	while (try->settings[at].offset > offset)
		try->settings[at--].flip ^= bit;
	try->setting_count--;
	memmove(&try->settings[at], &try->settings[at + 1],
	    (try->setting_count - at) * sizeof(*try->settings));
}

int
reencode_flip(struct reencode_try *try, uint64_t bit,
    struct reencode_result *result, struct tz_error *err)
{
	int error = 0;

	for (unsigned n = 0; error == 0 && n < RESETS_FLIPS; n++) {
		uint64_t reach = reencode_reach(result);
		uint64_t offset = result->replay.last_toggle;

		if (reach == UINT64_MAX || offset == 0)
			break;
		try->inferred = true;
		if (!ctl_changes_flip(try, offset, bit))
			return tz_error(err, TZ_EIO, "settings: out of memory");
		error = reencode_periods(try, reencode_phases, result, err);
		if (error != 0 || reencode_reach(result) > reach)
			continue;
		ctl_changes_unflip(try, offset, bit);
		return reencode_periods(try, reencode_phases, result, err);
	}
	return error;
}
