#include "emu/pt/inject.h"
#include "emu/pt/packet/nonbranch.h"
#include "tests/fuzz/events/events_walk.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

void
code_blocks_enable(struct walk *walk)
{
	TZ_ASSERT(!walk->on);
	pair_pass(&walk->pair, 0);
	pair_wrmsr(&walk->pair, 0x570, walk->ctl | 1, &walk->at, walk->at.ip);
	code_blocks_switched(walk, true);
}

void
code_blocks_disable(struct walk *walk)
{
	TZ_ASSERT(walk->on);
	pair_pass(&walk->pair, 0);
	if (walk->losing != 0)
		code_blocks_resume(walk);
	pair_wrmsr(&walk->pair, 0x570, walk->ctl & ~UINT64_C(1), &walk->at, 0);
	code_blocks_look(walk);
	code_blocks_switched(walk, false);
}

void
code_blocks_xsaves(struct walk *walk, uint8_t image[PT_XSTATE_BYTES])
{
	uint8_t other[PT_XSTATE_BYTES];

	pair_pass(&walk->pair, 0);
	if (walk->losing != 0)
		code_blocks_resume(walk);
	pt_unit_xsaves(walk->pair.side[0].unit, image, &walk->at);
	pt_unit_xsaves(walk->pair.side[1].unit, other, &walk->at);
	FUZZ_CHECK(memcmp(image, other, sizeof(other)) == 0,
	    "XSAVES of the two differ");
	code_blocks_look(walk);
	code_blocks_switched(walk, false);
}

void
code_blocks_xrstors(struct walk *walk, const uint8_t image[PT_XSTATE_BYTES])
{
	TZ_ASSERT(!walk->on);
	pair_pass(&walk->pair, 0);
	for (unsigned s = 0; s < 2; s++) {
		enum fault fault = pt_unit_xrstors(
		    walk->pair.side[s].unit, image, &walk->at, walk->at.ip);

		FUZZ_CHECK(fault == FAULT_NONE, "XRSTORS of XSAVES faults");
	}
	code_blocks_switched(walk, true);
}

/* What the slow side has put out by now. */
static size_t
bytes_out(struct walk *walk)
{
	pt_unit_sync_output(walk->pair.side[0].unit);
	pt_unit_sync_output(walk->pair.side[1].unit);
	return walk->pair.side[0].count;
}

void
code_blocks_senter(struct walk *walk)
{
	size_t before, after;

	pair_pass(&walk->pair, 0);
	before = bytes_out(walk);
	for (unsigned s = 0; s < 2; s++)
		pt_unit_senter(walk->pair.side[s].unit);
	after = bytes_out(walk);
	FUZZ_CHECK(!(pair_rdmsr(&walk->pair, 0x570) & 1),
	    "SENTER leaves TraceEn as it was");
	/* PADs may fill the last word; a buffer still has what came before. */
	if (walk->pair.figures.buffer_bytes == 0)
		while (before < after)
			FUZZ_CHECK(walk->pair.side[0].stream[before++] == 0,
			    "SENTER sends a packet");
	code_blocks_look(walk);
	if (walk->losing != 0)
		code_blocks_resume(walk);
	walk->broken_off |= walk->on;
	code_blocks_switched(walk, false);
}

void
code_blocks_restart(struct walk *walk, bool insns)
{
	code_blocks_judge(walk, insns);
	pair_wrmsr(&walk->pair, 0x571, 0, &walk->at, 0);
	code_blocks_enable(walk);
}

void
code_blocks_acm(struct walk *walk)
{
	size_t before;

	pair_pass(&walk->pair, 0);
	before = bytes_out(walk);
	for (unsigned s = 0; s < 2; s++)
		pt_unit_acm(walk->pair.side[s].unit, &walk->at);
	FUZZ_CHECK(
	    bytes_out(walk) == before || (walk->on && walk->ctl >> 10 & 1),
	    "a code module is told of without TSC");
	code_blocks_look(walk);
}

void
code_blocks_smi(struct walk *walk)
{
	bool on = pair_rdmsr(&walk->pair, 0x570) & 1;

	pair_pass(&walk->pair, 0);
	if (walk->losing != 0)
		code_blocks_resume(walk);
	for (unsigned s = 0; s < 2; s++)
		pt_unit_smi(walk->pair.side[s].unit, &walk->at);
	code_blocks_look(walk);
	code_blocks_switched(walk, false);
	for (unsigned s = 0; s < 2; s++)
		pt_unit_rsm(walk->pair.side[s].unit, &walk->at, on);
	code_blocks_switched(walk, on);
}

void
code_blocks_overflow(struct walk *walk, uint32_t transfers)
{
	bool did[2];

	if (walk->gap_count == WALK_GAPS_MAX)
		return;
	for (unsigned s = 0; s < 2; s++)
		did[s] = pt_unit_overflow(walk->pair.side[s].unit, transfers);
	FUZZ_CHECK(did[0] == did[1], "only one of the two overflows");
	if (did[0])
		walk->losing = transfers == 0 ? 1 : transfers;
}

void
code_blocks_judge(struct walk *walk, bool insns)
{
	const struct pair_side *side = &walk->pair.side[0];
	const struct profile *profile = &walk->pair.profile;
	struct events_stream stream = { .bytes = side->stream +
		    walk->stream_from,
		.count = side->count - walk->stream_from,
		.cpuid15_eax = profile->tsc_den,
		.cpuid15_ebx = profile->tsc_num,
		.mtc_freq = walk->ctl >> 14 & 15,
		.nom_freq = (uint8_t)profile->cbr,
		.signature = profile->signature,
		.errata = profile->errata_on,
		.filter_cfg = walk->ctl >> 32 & 0xffff,
		.cut = walk->cut || walk->broken_off,
		.code = code_blocks_code,
		.exec_log = walk->exec_log,
		.exec_log_count = walk->exec_log_count,
		.resume = walk->resume,
		.gap_count = walk->gap_count };

	TZ_ASSERT(!walk->on);
	for (unsigned n = 0; n < 4; n++) {
		stream.filter_a[n] = walk->range_a[n];
		stream.filter_b[n] = walk->range_b[n];
	}
	if (stream.count != 0) {
		events_check_packets(&stream);
		if (insns)
			events_check_insns(&stream);
		if (!walk->cut && !walk->blocks && !walk->guessed)
			events_check_events(&stream);
	}
	FUZZ_CHECK(stream.count != 0 || walk->exec_log_count == 0 || !insns ||
		stream.cut,
	    "%zu instructions and no trace", walk->exec_log_count);
	walk->stream_from = side->count;
	walk->exec_log_count = 0;
	walk->gap_count = 0;
	walk->cut = walk->broken_off = false;
}
