/*
 * Goal: whatever happens on a processor, its trace is one that libipt takes, and
 * where it comes from a program, that program's flow; the fast path, a snapshot and
 * the full path give the same bytes. Method: the input chooses a processor, what is
 * traced where to, and deeds; a program is walked (events_walk.h), or events of every
 * kind are thrown at the unit (events_wild.h); each stretch is judged by libipt.
 *
 * What may be missing from a decoded program is what an overflow lost, which OVF
 * accounts for, or what came after STOP or an error ended the output.
 */
#include "emu/pt/inject.h"
#include "emu/pt/sync.h"
#include "tests/fuzz/events/events_wild.h"

#include <string.h>

#define OPS_MAX   200
#define STEPS_MAX 5000

struct events {
	struct fuzz_input input;
	struct walk walk;
	bool wild;
	unsigned steps;
	unsigned regions;
	uint64_t mask_ptrs;
};

/* A value of 4 bits that BITMAP lists, or 0. */
static uint64_t
listed(unsigned value, uint32_t bitmap)
{
	return value < 16 && (bitmap >> value & 1) ? value : 0;
}

/* IA32_RTIT_CTL: any that the processor accepts with TraceEn and ToPA. */
static uint64_t
make_ctl(struct events *events)
{
	const struct profile *profile = &events->walk.pair.profile;
	uint32_t ebx = profile->pt_ebx;
	uint64_t bits = fuzz_take(&events->input, 4);
	uint64_t ctl = 0x2100 | (bits & 0x40c) | (bits & 0x800);

	if (!(bits & 0xc))
		ctl |= 0xc;
	if (events->wild && (ebx & PROFILE_PT_EBX_MTC) && (bits & 0x3) == 3)
		ctl &= ~UINT64_C(0x2000);
	if (ebx & PROFILE_PT_EBX_CR3)
		ctl |= bits & 0x80;
	if (ebx & PROFILE_PT_EBX_PSB)
		ctl |= (bits & 2) |
		    listed(bits >> 19 & 15, profile->pt1_ebx & 0xffff) << 19 |
		    listed(bits >> 24 & 15, profile->pt1_ebx >> 16) << 24;
	if (ebx & PROFILE_PT_EBX_MTC)
		ctl |= (bits & 0x200) |
		    listed(bits >> 14 & 15, profile->pt1_eax >> 16) << 14;
	if (ebx & PROFILE_PT_EBX_PTWRITE)
		ctl |= bits & 0x1020;
	if (ebx & PROFILE_PT_EBX_PWR)
		ctl |= bits & 0x10;
	if (ebx & PROFILE_PT_EBX_EVENT)
		ctl |= bits & UINT64_C(0x80000000);
	/* libipt's decoders of the flow know no trace without TNT. */
	if (events->wild && (ebx & PROFILE_PT_EBX_DISTNT))
		ctl |= (bits >> 28 & 1) << 55;
	return ctl;
}

static void
make_ranges(struct events *events)
{
	struct walk *walk = &events->walk;
	const struct profile *profile = &walk->pair.profile;
	unsigned count = profile->pt1_eax & 7;
	unsigned bits = fuzz_below(&events->input, 256);

	if (!(profile->pt_ebx & PROFILE_PT_EBX_IPFILT) || !(bits & 0xc0))
		return;
	for (unsigned n = 0; n < count && n < 4; n++, bits >>= 2) {
		uint64_t cfg = (bits & 3) == 3 ? 1 : bits & 3;
		uint64_t a = code_blocks_place(fuzz_take(&events->input, 2));
		uint64_t b = code_blocks_place(fuzz_take(&events->input, 2)) -
		    1;

		walk->ctl |= cfg << (32 + 4 * n);
		walk->range_a[n] = a;
		walk->range_b[n] = b;
		pair_wrmsr(&walk->pair, 0x580 + 2 * n, a, &walk->at, 0);
		pair_wrmsr(&walk->pair, 0x581 + 2 * n, b, &walk->at, 0);
	}
}

/* Tables of one to eight regions of 4 KiB, with INT and rarely with STOP. */
static void
make_output(struct events *events)
{
	struct pair *pair = &events->walk.pair;
	unsigned bits = fuzz_below(&events->input, 256);
	unsigned stop = fuzz_below(&events->input, 64);
	bool many = pair->profile.pt_ecx & PROFILE_PT_ECX_MENTRY;

	events->regions = many ? 1 + (bits & 7) : 1;
	for (unsigned i = 0; i <= events->regions; i++) {
		uint64_t entry = PAIR_REGIONS + 4096 * i;

		if (i == events->regions)
			entry = PAIR_TABLE | 1;
		else
			entry |= (i == (bits >> 3 & 7) ? 4 : 0) |
			    (i == stop ? 16 : 0);
		for (unsigned s = 0; s < 2; s++)
			memcpy(
			    pair->side[s].ram + PAIR_TABLE + 8 * i, &entry, 8);
	}
	events->mask_ptrs = (bits & 0x40) ? (uint64_t)bits << 32 : 0;
	pair_wrmsr(pair, 0x560, PAIR_TABLE, &events->walk.at, 0);
	pair_wrmsr(pair, 0x561, events->mask_ptrs, &events->walk.at, 0);
}

/* A new trace: what follows starts with a PSB. */
static void
configure(struct events *events)
{
	struct walk *walk = &events->walk;

	if (walk->on)
		code_blocks_disable(walk);
	pair_compare(&walk->pair);
	code_blocks_judge(walk, !events->wild);
	pair_wrmsr(&walk->pair, 0x570, 0, &walk->at, 0);
	pair_wrmsr(&walk->pair, 0x571, 0, &walk->at, 0);
	walk->step_cycles = fuzz_take(&events->input, 1);
	walk->ctl = make_ctl(events);
	make_ranges(events);
	make_output(events);
	if (walk->pair.profile.pt_ebx & PROFILE_PT_EBX_CR3) {
		walk->cr3_match = 0x1000;
		pair_wrmsr(&walk->pair, 0x572, 0x1000, &walk->at, 0);
	}
	code_blocks_enable(walk);
}

/* Off for a while, and on again in the same trace, unless it has died. */
static void
toggle(struct events *events)
{
	struct walk *walk = &events->walk;
	uint8_t image[PT_XSTATE_BYTES];
	unsigned bits = fuzz_below(&events->input, 256);
	bool xsaves = (bits & 1) && walk->pair.profile.xss_mask;

	if (walk->dead) {
		configure(events);
		return;
	}
	if (xsaves)
		code_blocks_xsaves(walk, image);
	else
		code_blocks_disable(walk);
	if (walk->cut) {
		configure(events);
		return;
	}
	for (unsigned n = bits >> 1 & 15; n != 0; n--)
		code_blocks_step(walk);
	if (xsaves)
		code_blocks_xrstors(walk, image);
	else
		code_blocks_enable(walk);
}

/* What a program does not see.  False: BYTE is nothing of the kind. */
static bool
hide(struct events *events, unsigned byte)
{
	struct walk *walk = &events->walk;

	/* Bytes that the files of corpus/ that were there before did not have here. */
	if (byte < 196 || byte > 217)
		return false;
	if (byte < 204) {
		code_blocks_senter(walk);
		code_blocks_restart(walk, !events->wild);
	} else if (byte < 211) {
		code_blocks_smi(walk);
	} else {
		code_blocks_acm(walk);
	}
	return true;
}

/* What is done to the unit from outside. */
static void
steer(struct events *events)
{
	struct walk *walk = &events->walk;
	unsigned what = fuzz_below(&events->input, 256);
	unsigned bits = fuzz_below(&events->input, 256);

	if (hide(events, what))
		return;
	what %= 16;
	for (unsigned s = 0; s < 2; s++) {
		struct pt_unit *unit = walk->pair.side[s].unit;

		if (what == 0)
			pt_unit_force_error(unit);
		else if (what == 1)
			pt_unit_force_stop(unit);
		else if (what == 2)
			pt_unit_stale(unit, bits);
		else if (what < 5)
			pt_unit_fill_to_pmi(unit);
		else if (what < 8 && pt_unit_trigger_en(unit))
			pt_unit_psb(unit, walk->at.ip);
		else if (what == 8)
			pt_unit_frequency(unit, 1 + bits % 255);
	}
	code_blocks_look(walk);
	if (what > 8)
		code_blocks_overflow(walk, bits & 7);
}

static void
step(struct events *events)
{
	struct walk *walk = &events->walk;

	events->steps++;
	if (events->wild)
		wild_step(walk, &events->input);
	else
		code_blocks_step(walk);
}

static void
run(struct events *events)
{
	struct walk *walk = &events->walk;
	unsigned count = fuzz_below(&events->input, 256);

	if (!events->wild) {
		walk->seed = fuzz_take(&events->input, 2) << 16 | 1;
		count *= 4;
	}
	while (count-- != 0 && events->steps < STEPS_MAX)
		step(events);
}

static void
deed(struct events *events)
{
	struct walk *walk = &events->walk;

	switch (fuzz_below(&events->input, 16)) {
	case 0:
		if (!events->wild)
			configure(events);
		break;
	case 1:
	case 2:
		if (!events->wild)
			toggle(events);
		break;
	case 3:
	case 4:
		if (!events->wild)
			code_blocks_interrupt(
			    walk, fuzz_below(&events->input, 2) == 1);
		break;
	case 5:
		if (!events->wild)
			code_blocks_abort_transaction(walk);
		break;
	case 6:
	case 7:
		steer(events);
		break;
	case 8:
		pair_snapshot(&walk->pair);
		break;
	case 9:
		pair_pass(&walk->pair, fuzz_take(&events->input, 2));
		code_blocks_look(walk);
		break;
	default:
		run(events);
		break;
	}
	pair_compare(&walk->pair);
}

static void
pick_profile(struct events *events)
{
	struct pair *pair = &events->walk.pair;
	unsigned index = fuzz_below(&events->input, 256);
	size_t count = 0;

	while (profile_at(count) != NULL && profile_at(count)->pt)
		count++;
	pair->profile = *profile_at(index % count);
	pair->uarch = *pair->profile.uarch;
	pair->profile.uarch = &pair->uarch;
	/* libipt cannot bind a TIP.PGD without an IP to a Jcc. */
	pair->uarch.pgd_jcc_ip = true;
}

/* A bounded buffer, so that it may overflow. */
static void
pick_buffer(struct events *events)
{
	struct pt_cycles *figures = &events->walk.pair.figures;
	unsigned bits = fuzz_below(&events->input, 256);

	*figures = (struct pt_cycles){ .buffer_bytes = 256u << (bits & 3),
		.drain_bytes = 1 + (bits >> 2),
		.drain_cycles = 1u << fuzz_below(&events->input, 13),
		.latency_cycles = 16 * fuzz_below(&events->input, 256),
		.pmi_cycles = (uint32_t)fuzz_take(&events->input, 2) };
	/* Not so much as would be more on its way than a unit holds. */
	while (pt_cycles_check(figures, NULL) != 0) {
		TZ_ASSERT(figures->latency_cycles != 0);
		figures->latency_cycles /= 2;
	}
}

/*
 * Errata whose trace libipt cannot always read, though it is told of them:
 *
 * BDM64, SKD010: where the branch before an abort went, or where the trace goes on
 * after an OVF without its FUP, it can only guess.
 * SKD007: the first byte of a CYC, then OVF (02 F3): two CYCs of 1 and 1EH, of which
 * the first ends in 02, are the same bytes (pt_packet_decoder.c looks for no more).
 * APL12: the FUP after OVF is wrong if TIP.PGE, a PSB+ without FUP or TraceStop comes
 * next; without any of them up to the next OVF, or the end, libipt believes it
 * (pt_event_decoder.c, pt_evt_handle_apl12()), and takes what follows for wrong.
 * SKZ84: after an OVF it says "out of sync" at the first TMA that is corrupt, since
 * pt_evt_decode_ovf() resets the status that pt_evt_decode_packet() returns there.
 */
#define ERRATA_GUESSED                       \
 (UINT32_C(1) << PROFILE_ERRATUM_BDM64 |     \
     UINT32_C(1) << PROFILE_ERRATUM_SKD010 | \
     UINT32_C(1) << PROFILE_ERRATUM_SKD007 | \
     UINT32_C(1) << PROFILE_ERRATUM_SKZ84 |  \
     UINT32_C(1) << PROFILE_ERRATUM_APL12)

/* Some errata that the processor has. */
static void
pick_errata(struct events *events)
{
	struct profile *profile = &events->walk.pair.profile;

	profile->errata_on = (uint32_t)fuzz_take(&events->input, 2) &
	    profile->errata;
	if (!events->wild)
		profile->errata_on &= ~ERRATA_GUESSED;
	events->walk.guessed = profile->errata_on & ERRATA_GUESSED;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct events events;
	unsigned bits;

	memset(&events, 0, sizeof(events));
	events.input = (struct fuzz_input){ data, bytes, 0 };
	pick_profile(&events);
	bits = fuzz_below(&events.input, 256);
	events.wild = (bits & 7) >= 5;
	events.walk.blocks = (bits & 7) == 7;
	events.walk.prompt = bits & 8;
	if (bits & 16)
		pick_buffer(&events);
	if (bits & 32)
		pick_errata(&events);
	code_blocks_create(&events.walk);
	configure(&events);
	for (unsigned n = 0; n < OPS_MAX && fuzz_more(&events.input); n++)
		deed(&events);
	if (events.walk.on)
		code_blocks_disable(&events.walk);
	pair_compare(&events.walk.pair);
	code_blocks_judge(&events.walk, !events.wild);
	code_blocks_destroy(&events.walk);
	return 0;
}
