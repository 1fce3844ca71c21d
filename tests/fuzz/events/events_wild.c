#include "tests/fuzz/events/events_wild.h"

#include "emu/pt/packet/nonbranch.h"

/*
 * Bytes that the files of corpus/ that were there before did not have where they say
 * what happens: all others mean what they meant, by their lower six bits.
 */
#define WILD_SENTER 88
#define WILD_ACM    209
#define WILD_SMI    241

/* An address; sometimes one that shares its upper half with the last, or is none. */
static uint64_t
wild_ip(struct walk *walk, struct fuzz_input *input)
{
	unsigned bytes = 1 + fuzz_below(input, 8);
	uint64_t ip = fuzz_take(input, bytes);

	if (bytes < 5)
		return (walk->at.ip & ~UINT64_C(0) << (8 * bytes)) | ip;
	return bytes < 8 ? (uint64_t)((int64_t)(ip << 16) >> 16) : ip;
}

static void
wild_context(struct walk *walk, struct fuzz_input *input)
{
	unsigned bits = fuzz_below(input, 256);

	walk->at.cpl = bits & 1 ? 3 : 0;
	walk->at.cs_l = bits & 2;
	walk->at.cs_d = bits & 4;
	walk->at.if_flag = bits & 8;
	walk->at.enclave = (bits & 0x30) == 0x30;
	walk->at.non_root = (bits & 0xc0) == 0xc0;
}

static void
wild_transfer(struct walk *walk, struct fuzz_input *input)
{
	struct pt_transfer transfer = {
		.kind = (enum pt_transfer_kind)fuzz_below(
		    input, PT_TRANSFER_KINDS),
		.taken = true,
		.ip_from = walk->at.ip
	};
	unsigned bits = fuzz_below(input, 256);

	if (transfer.kind == PT_TRANSFER_COND)
		transfer.taken = bits & 1;
	/*
	 * An abort that leaves the filter is MODE.TSX and TIP.PGD, without a FUP
	 * (SDM vol. 3, 33.7): libipt holds the MODE.TSX for a FUP, and refuses a
	 * PSB that comes before one (pt_event_decoder.c, pt_evt_decode_psb()).
	 */
	if (transfer.kind == PT_TRANSFER_TSX_ABORT && walk->ctl >> 32 != 0)
		transfer.kind = PT_TRANSFER_FAR;
	/* A CFE of a SIPI waits for a FUP, too, unless nothing was traced before. */
	if (transfer.kind == PT_TRANSFER_SIPI &&
	    !pt_unit_fast(walk->pair.side[0].unit)->off)
		transfer.kind = PT_TRANSFER_FAR;
	walk->at.ip = wild_ip(walk, input);
	transfer.nlip = bits & 2 ? walk->at.ip : walk->at.ip + 5;
	transfer.has_vector = bits & 4;
	transfer.vector = bits & 8 ? 14 : (uint8_t)bits;
	transfer.cr2 = walk->at.ip;
	transfer.exit[0] = bits;
	if (transfer.kind > PT_TRANSFER_RET) {
		transfer.cr3_written = (bits & 0x30) == 0x30 ||
		    transfer.kind == PT_TRANSFER_MOV_CR3;
		if (transfer.cr3_written)
			walk->at.cr3 = bits & 0x40 ? 0x1000 : 0x2000;
		if (transfer.kind != PT_TRANSFER_MOV_CR3)
			wild_context(walk, input);
	}
	transfer.trace_off = bits >= 0xf8 &&
	    (transfer.kind == PT_TRANSFER_VM_ENTRY ||
		transfer.kind == PT_TRANSFER_VM_EXIT);
	transfer.after = walk->at;
	pair_transfer(&walk->pair, &transfer);
}

static void
wild_power(struct walk *walk, struct pt_unit *unit, unsigned bits)
{
	const struct pt_power power = { .mwait = bits & 1,
		.hw = bits & 2,
		.hints = bits & 1 ? (uint8_t)bits : 0,
		.ext = bits & 1,
		.cstate = bits >> 4 & 15,
		.sub = bits >> 2 & 3 };

	pt_unit_power_enter(unit, &walk->at, &power);
	if (bits & 0x80)
		pt_unit_exstop(unit, &walk->at);
	pt_unit_power_exit(unit, &walk->at, bits >> 4 & 15, bits & 15,
	    bits & 4       ? PT_WAKE_INTERRUPT
		: bits & 8 ? PT_WAKE_STORE
			   : 0);
}

static void
wild_pebs(struct walk *walk, struct pt_unit *unit, unsigned bits)
{
	const struct pt_block_item items[] = { { bits & 31, walk->at.ip },
		{ bits >> 3 & 31, 1 } };
	const struct pt_block blocks[] = {
		{ .type = 4, .count = 2, .items = items },
		{ .type = 1, .narrow = true, .count = 1, .items = items },
	};

	pt_unit_pebs(unit, &walk->at, blocks, 1 + (bits & 1), bits & 2);
}

/* The same happening to one UNIT as to the other. */
static void
wild_happening(
    struct walk *walk, struct pt_unit *unit, unsigned what, unsigned bits)
{
	switch (what) {
	case 0:
		pt_unit_ptwrite(
		    unit, &walk->at, walk->at.ip + bits, bits & 1 ? 4 : 8);
		break;
	case 1:
		pt_unit_if_changed(unit, &walk->at);
		break;
	case 2:
		pt_unit_shutdown(unit, &walk->at);
		break;
	case 3:
		wild_power(walk, unit, bits);
		break;
	case 4:
		pt_unit_tsx(unit, &walk->at, bits & 1);
		break;
	case 5:
		pt_unit_maintenance(unit, bits);
		break;
	case 6:
		wild_pebs(walk, unit, bits);
		break;
	case 7:
		pt_unit_frequency(unit, 1 + bits % 255);
		break;
	default:
		pt_unit_vmptrld(
		    unit, bits == 0 ? PT_VMCS_NONE : (uint64_t)bits << 44);
		break;
	}
}

/* What ends tracing, or passes while it is off.  False: WHAT is nothing of the kind. */
static bool
wild_pause(struct walk *walk, unsigned what)
{
	switch (what) {
	case WILD_SENTER:
		code_blocks_senter(walk);
		code_blocks_restart(walk, false);
		return true;
	case WILD_ACM:
		code_blocks_acm(walk);
		return true;
	case WILD_SMI:
		code_blocks_smi(walk);
		return true;
	default:
		return false;
	}
}

void
wild_step(struct walk *walk, struct fuzz_input *input)
{
	unsigned what = fuzz_below(input, 256);
	unsigned bits = fuzz_below(input, 256);

	pair_pass(&walk->pair, walk->step_cycles);
	if (wild_pause(walk, what))
		return;
	what %= 64;
	if (what >= 9) {
		wild_transfer(walk, input);
		return;
	}
	if (what == 6 && !walk->blocks)
		return;
	/* Where VMXON ends tracing, no VMPTRLD comes while it goes on. */
	if (what == 8 && !walk->pair.uarch.vmx_pt)
		return;
	if (what == 1)
		walk->at.if_flag = bits & 1;
	for (unsigned s = 0; s < 2; s++)
		wild_happening(walk, walk->pair.side[s].unit, what, bits);
}
