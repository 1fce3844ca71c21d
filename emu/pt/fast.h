/*
 * The part of a unit that the CPU's fast path works on directly, always the
 * first member of struct pt_unit.  While .fast is true, PacketEn is 1, no filter
 * range or TraceStop range is in use, and a transfer that changes neither CPL nor
 * CR3 nor mode may be reported with the inline functions below instead of
 * pt_unit_transfer; the packets are the same (a test compares both ways).  While
 * .within is true, a filter range is in use and the same holds for a transfer (or
 * a branch not taken) that ends in [.low, .high].  While .steady is true, so it is
 * with pt_unit_steady_...(), timed or not; without a range, [.low, .high] is all.
 */
#ifndef TOPAZ_EMU_PT_FAST_H
#define TOPAZ_EMU_PT_FAST_H

#include "emu/base/base.h"

struct pt_unit;

#define PT_RETURN_STACK_ENTRIES 64

struct pt_fast {
	bool fast;   /* inline reporting allowed: PacketEn is 1 */
	bool off;    /* PacketEn 0 whatever near branch comes */
	bool within; /* as .fast, but only into [low, high] */
	bool timed;  /* time matters (TSC, MTC, CYC, buffer): none of these */
	bool steady; /* as the first or the third, but for the time */
	bool compress_ret;  /* CTL.DisRETC = 0 */
	uint32_t tnt;       /* stop bit, then the pending TNT bits; 1 = none */
	uint32_t ret_top;   /* next free slot, modulo the entries */
	uint32_t ret_count; /* valid entries */
	uint64_t low, high; /* a filter range, both in it */
	uint64_t ret_stack[PT_RETURN_STACK_ENTRIES];
};

/* Takes 6 TNT bits: a packet or a part of a long one.  They start afresh. */
void pt_unit_tnt_full(struct pt_unit *unit);

static inline struct pt_fast *
pt_unit_fast(struct pt_unit *unit)
{
	return (struct pt_fast *)unit;
}

/* Reports a conditional branch; only while .fast. */
static inline void
pt_unit_fast_cond(struct pt_unit *unit, bool taken)
{
	struct pt_fast *fast = pt_unit_fast(unit);

	fast->tnt = fast->tnt << 1 | taken;
	if (fast->tnt & 0x40)
		pt_unit_tnt_full(unit);
}

/*
 * Reports a near CALL's return address; only while .fast.  An indirect CALL then
 * goes on to pt_unit_fast_tip(); a direct CALL to the next instruction is not to be
 * reported.
 */
static inline void
pt_unit_fast_call(struct pt_unit *unit, uint64_t nlip)
{
	struct pt_fast *fast = pt_unit_fast(unit);

	fast->ret_stack[fast->ret_top] = nlip;
	fast->ret_top = (fast->ret_top + 1) % PT_RETURN_STACK_ENTRIES;
	fast->ret_count += fast->ret_count < PT_RETURN_STACK_ENTRIES;
}

/* Report a near indirect JMP or CALL, a near RET uncompressed; only while .fast. */
void pt_unit_fast_tip(struct pt_unit *unit, uint64_t target);
void pt_unit_fast_ret_whole(struct pt_unit *unit, uint64_t target);

/* Reports a near RET; only while .fast. */
static inline void
pt_unit_fast_ret(struct pt_unit *unit, uint64_t target)
{
	struct pt_fast *fast = pt_unit_fast(unit);
	uint32_t top = (fast->ret_top + PT_RETURN_STACK_ENTRIES - 1) %
	    PT_RETURN_STACK_ENTRIES;

	if (fast->compress_ret && fast->ret_count != 0 &&
	    fast->ret_stack[top] == target) {
		fast->ret_top = top;
		fast->ret_count--;
		pt_unit_fast_cond(unit, true);
		return;
	}
	pt_unit_fast_ret_whole(unit, target);
}

/* pt_unit_steady_cond() where a packet or a time goes with it. */
void pt_unit_steady_outcome(struct pt_unit *unit, bool taken);

/* The same as the first of these where time may matter; only while .steady. */
static inline void
pt_unit_steady_cond(struct pt_unit *unit, bool taken)
{
	struct pt_fast *fast = pt_unit_fast(unit);

	/* Between a packet's first outcome, which has a time, and its last. */
	if (fast->tnt > 1 && fast->tnt < 0x20)
		fast->tnt = fast->tnt << 1 | taken;
	else
		pt_unit_steady_outcome(unit, taken);
}

/* And as the others. */
void pt_unit_steady_tip(struct pt_unit *unit, uint64_t target);
void pt_unit_steady_ret(struct pt_unit *unit, uint64_t target);

#endif
