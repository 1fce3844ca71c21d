#include "tests/fuzz/events/events_walk.h"

#include <stdlib.h>
#include <string.h>

#include "emu/pt/inject.h"
#include "emu/pt/packet/nonbranch.h"
#include "tests/fuzz/events/events_program.h"
#include "tests/fuzz/fuzz.h"

static uint64_t
code_blocks_coin(struct walk *walk)
{
	walk->seed ^= walk->seed << 13;
	walk->seed ^= walk->seed >> 7;
	walk->seed ^= walk->seed << 17;
	return walk->seed >> 11;
}

/* A place at which code for CPL begins. */
static uint64_t
code_blocks_base(struct walk *walk, unsigned cpl)
{
	uint64_t r = code_blocks_coin(walk);

	return program_bases[cpl == 0 ? 0 : 1 + (r & 1)] +
	    (r >> 8) % SLOTS * SLOT_BYTES;
}

void
code_blocks_create(struct walk *walk)
{
	walk->at = (struct pt_context){ .ip = program_bases[0],
		.cr3 = 0x1000,
		.cs_l = true,
		.if_flag = true };
	walk->seed = 88172645463325252;
	walk->exec_log = malloc(WALK_TRUTH_MAX * sizeof(*walk->exec_log));
	TZ_ASSERT(walk->exec_log != NULL);
	pair_create(&walk->pair);
}

void
code_blocks_destroy(struct walk *walk)
{
	pair_destroy(&walk->pair);
	free(walk->exec_log);
}

/* SDM vol. 3, 33.2.6 "Packet Generation Enable Controls", but for FilterEn. */
static bool
code_blocks_context_en(const struct walk *walk)
{
	return walk->ctl >> (walk->at.cpl == 0 ? 2 : 3) & 1 &&
	    (!(walk->ctl & 0x80) || walk->at.cr3 == walk->cr3_match);
}

static bool
code_blocks_is_traced(const struct walk *walk)
{
	return walk->on && !walk->dead && code_blocks_context_en(walk) &&
	    walk->filter_en && (walk->ctl & 0x2000);
}

static void
code_blocks_log(struct walk *walk)
{
	if (!code_blocks_is_traced(walk))
		return;
	TZ_ASSERT(walk->exec_log_count < WALK_TRUTH_MAX);
	walk->exec_log[walk->exec_log_count++] = walk->at.ip;
}

/* The IP has changed by a taken branch or an event; true: TraceStop. */
static bool
code_blocks_filter(struct walk *walk)
{
	bool ranged = false, within = false, stop = false;

	if (!walk->on || walk->dead || !code_blocks_context_en(walk))
		return false;
	for (unsigned n = 0; n < 4; n++) {
		unsigned cfg = walk->ctl >> (32 + 4 * n) & 15;
		bool in = walk->at.ip >= walk->range_a[n] &&
		    walk->at.ip <= walk->range_b[n];

		ranged |= cfg == 1;
		within |= cfg == 1 && in;
		stop |= cfg == 2 && in;
	}
	walk->filter_en = (!ranged || within) && !stop;
	return stop;
}

void
code_blocks_resume(struct walk *walk)
{
	TZ_ASSERT(walk->gap_count < WALK_GAPS_MAX);
	walk->resume[walk->gap_count++] = walk->exec_log_count;
	walk->losing = 0;
}

void
code_blocks_resume_told(struct walk *walk)
{
	struct pair_side *side = &walk->pair.side[0];

	for (; side->over != 0; side->over--)
		code_blocks_resume(walk);
}

/* An overflow is over but for the address at which the trace goes on. */
static void
code_blocks_resolve(struct walk *walk)
{
	bool wants = pt_unit_wants_ip(walk->pair.side[0].unit);

	FUZZ_CHECK(wants == pt_unit_wants_ip(walk->pair.side[1].unit),
	    "only one of the two resumes");
	if (!wants || !walk->prompt)
		return;
	for (unsigned s = 0; s < 2; s++)
		pt_unit_resolve(walk->pair.side[s].unit, walk->at.ip);
	code_blocks_look(walk);
}

void
code_blocks_look(struct walk *walk)
{
	struct pair_side *side = &walk->pair.side[0];

	code_blocks_resume_told(walk);
	if (side->lost && walk->on)
		walk->dead = walk->cut = true;
	side->lost = side->stopped = false;
	/* Its OVF may be the last that was sent, or not have been. */
	if (walk->dead && walk->losing != 0)
		code_blocks_resume(walk);
}

void
code_blocks_switched(struct walk *walk, bool on)
{
	walk->on = on;
	walk->dead = on && !pt_unit_trigger_en(walk->pair.side[0].unit);
	if (on && !walk->dead)
		(void)code_blocks_filter(walk);
	/* What is sent as tracing goes on or off may fill a region, too. */
	walk->cut |= walk->pair.side[0].lost;
	walk->pair.side[0].lost = walk->pair.side[0].stopped = false;
}

/* Would an event that ends at IP leave the filter? */
static bool
code_blocks_leaves(struct walk *walk, uint64_t ip)
{
	bool before = walk->filter_en, after;
	uint64_t from = walk->at.ip;

	walk->at.ip = ip;
	(void)code_blocks_filter(walk);
	after = walk->filter_en;
	walk->at.ip = from;
	walk->filter_en = before;
	return before && !after;
}

/* Tells of a transfer to TARGET from the present instruction. */
static void
code_blocks_transfer(struct walk *walk, enum pt_transfer_kind kind, bool taken,
    uint64_t target, uint64_t nlip)
{
	struct pt_transfer transfer = { .kind = kind,
		.taken = taken,
		.cr3_written = kind == PT_TRANSFER_MOV_CR3,
		.has_vector = kind == PT_TRANSFER_EXCEPTION ||
		    kind == PT_TRANSFER_INTERRUPT,
		.vector = 32,
		.ip_from = walk->at.ip,
		.nlip = nlip };
	bool moved = kind != PT_TRANSFER_COND || taken;
	bool stop;

	walk->at.ip = target;
	transfer.after = walk->at;
	stop = moved && code_blocks_filter(walk);
	pair_transfer(&walk->pair, &transfer);
	if (stop) {
		/* TraceStop: all up to here is in the stream. */
		FUZZ_CHECK(
		    walk->pair.side[0].stopped || walk->pair.side[0].lost,
		    "no TraceStop");
		if (walk->losing != 0)
			code_blocks_resume(walk);
		walk->dead = true;
	}
	code_blocks_look(walk);
	if (walk->losing != 0 && --walk->losing == 0)
		code_blocks_resume(walk);
}

void
code_blocks_interrupt(struct walk *walk, bool exception)
{
	struct pt_context from = walk->at;

	/* The transfer is told from where the CPU was. */
	walk->at.cpl = 0;
	walk->at.ip = from.ip;
	walk->tsx = false;
	code_blocks_transfer(walk,
	    exception ? PT_TRANSFER_EXCEPTION : PT_TRANSFER_INTERRUPT, true,
	    code_blocks_base(walk, 0), 0);
}

void
code_blocks_abort_transaction(struct walk *walk)
{
	/*
	 * SDM vol. 3, 33.7: an abort out of the filter has no FUP, so no decoder
	 * can tell where the program was.
	 */
	if (!walk->tsx || walk->ctl >> 32 != 0)
		return;
	walk->tsx = false;
	code_blocks_transfer(walk, PT_TRANSFER_TSX_ABORT, true,
	    code_blocks_base(walk, walk->at.cpl), 0);
}

static void
code_blocks_push(struct walk *walk, uint64_t ip)
{
	unsigned ring = walk->at.cpl != 0;

	if (walk->depth[ring] < WALK_STACK_MAX)
		walk->stack[ring][walk->depth[ring]++] = ip;
}

static uint64_t
code_blocks_pop(struct walk *walk)
{
	unsigned ring = walk->at.cpl != 0;

	if (walk->depth[ring] == 0 || code_blocks_coin(walk) % 16 == 0)
		return code_blocks_base(walk, walk->at.cpl);
	return walk->stack[ring][--walk->depth[ring]];
}

/* Near transfers; false where LETTER is none. */
static bool
code_blocks_near(struct walk *walk, char letter, uint64_t target, uint64_t nlip)
{
	bool coin = code_blocks_coin(walk) & 1;

	switch (letter) {
	case 'j':
	case 'e':
		code_blocks_transfer(walk, PT_TRANSFER_COND, coin,
		    coin && letter == 'j' ? target : nlip, nlip);
		return true;
	case 'J':
		code_blocks_transfer(
		    walk, PT_TRANSFER_JMP_DIRECT, true, target, nlip);
		return true;
	case 'c':
	case 'd':
		code_blocks_push(walk, nlip);
		code_blocks_transfer(walk, PT_TRANSFER_CALL_DIRECT, true,
		    letter == 'c' ? target : nlip, nlip);
		return true;
	case 'I':
		code_blocks_transfer(walk, PT_TRANSFER_JMP_INDIRECT, true,
		    code_blocks_base(walk, walk->at.cpl), nlip);
		return true;
	case 'C':
		code_blocks_push(walk, nlip);
		code_blocks_transfer(walk, PT_TRANSFER_CALL_INDIRECT, true,
		    code_blocks_base(walk, walk->at.cpl), nlip);
		return true;
	case 'r':
		code_blocks_transfer(
		    walk, PT_TRANSFER_RET, true, code_blocks_pop(walk), nlip);
		return true;
	default:
		return false;
	}
}

/* Far transfers and MOV CR3; false where LETTER is none. */
static bool
code_blocks_far(struct walk *walk, char letter, uint64_t nlip)
{
	switch (letter) {
	case 's':
		walk->at.cpl = walk->at.cpl == 0 ? 3 : 0;
		code_blocks_transfer(walk, PT_TRANSFER_FAR, true,
		    code_blocks_base(walk, walk->at.cpl), nlip);
		return true;
	case 'q':
		walk->at.cpl = code_blocks_coin(walk) & 1 ? 3 : 0;
		code_blocks_transfer(walk, PT_TRANSFER_IRET, true,
		    code_blocks_base(walk, walk->at.cpl), nlip);
		return true;
	case '3':
		walk->at.cr3 = code_blocks_coin(walk) & 1 ? 0x1000 : 0x2000;
		code_blocks_transfer(
		    walk, PT_TRANSFER_MOV_CR3, true, nlip, nlip);
		return true;
	default:
		return false;
	}
}

/* What is no transfer but tells the unit something. */
static void
code_blocks_other(struct walk *walk, char letter, uint64_t nlip)
{
	const struct pt_power halt = { 0 };
	struct pt_context clip = walk->at;

	walk->at.ip = nlip;
	for (unsigned s = 0; s < 2; s++) {
		struct pt_unit *unit = walk->pair.side[s].unit;

		if (letter == 'p')
			pt_unit_ptwrite(unit, &clip, nlip, nlip & 8 ? 4 : 8);
		if ((letter == 'x' && !walk->tsx) ||
		    (letter == 'X' && walk->tsx))
			pt_unit_tsx(unit, &clip, letter == 'x');
		if (letter == 'h') {
			pt_unit_power_enter(unit, &walk->at, &halt);
			pt_unit_power_exit(
			    unit, &walk->at, 1, 1, PT_WAKE_INTERRUPT);
		}
	}
	if (letter == 'x' || letter == 'X')
		walk->tsx = letter == 'x';
	code_blocks_look(walk);
}

bool
code_blocks_step(struct walk *walk)
{
	unsigned region = region_of(walk->at.ip);
	uint64_t at = walk->at.ip - program_bases[region % 3];
	unsigned slot = (unsigned)(at / SLOT_BYTES);
	const struct slot_kind *kind;
	uint64_t target = 0, nlip;

	FUZZ_CHECK(region < REGIONS, "the walk is at %llx",
	    (unsigned long long)walk->at.ip);
	pair_pass(&walk->pair, walk->step_cycles);
	code_blocks_look(walk);
	code_blocks_resolve(walk);
	kind = kind_of(region, slot);
	nlip = walk->at.ip + kind->bytes;
	/*
	 * MOV CR3 beyond the end of a filter range ends with a TIP.PGD (SDM vol. 3,
	 * 33.7), which libipt does not bind to it: something else happens here.
	 */
	if (kind->letter == '3' && at % SLOT_BYTES == 0 &&
	    code_blocks_leaves(walk, nlip)) {
		code_blocks_interrupt(walk, true);
		return true;
	}
	/* INT n is not decoded: its FUP names it as what did not retire. */
	if (kind->letter == 't' && at % SLOT_BYTES == 0) {
		walk->at.cpl = 0;
		code_blocks_transfer(walk, PT_TRANSFER_INT_SW, true,
		    code_blocks_base(walk, 0), nlip);
		return true;
	}
	code_blocks_log(walk);
	if (at % SLOT_BYTES != 0) {
		walk->at.ip = program_bases[region] + (slot + 1) * SLOT_BYTES;
		return false;
	}
	if (kind->relative)
		target = program_bases[region] + target_of(slot) * SLOT_BYTES;
	if (code_blocks_near(walk, kind->letter, target, nlip) ||
	    code_blocks_far(walk, kind->letter, nlip))
		return true;
	code_blocks_other(walk, kind->letter, nlip);
	return false;
}
