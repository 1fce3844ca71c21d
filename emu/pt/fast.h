/*
 * The part of a unit that its users access directly, always the first member of
 * struct pt_unit.  A near transfer, or a branch not taken, that changes neither CPL
 * nor CR3 nor mode may be reported with an inline function instead of
 * pt_unit_transfer(); the packets are the same (tests/unit/pt/flow/fast_test.c).  Which
 * function depends on the unit's state:
 *
 *   flag      state                                     report
 *   .off      no packet, whatever near transfer         nothing
 *             comes
 *   .fast     PacketEn 1, no range in use, time does    pt_unit_fast_...(), or as
 *             not matter                                for .steady
 *   .steady   PacketEn 1, the transfer ends in          pt_unit_steady_...(), after
 *             [.low, .high]                             pt_unit_time() if .timed
 *   none      otherwise                                 pt_unit_transfer()
 *
 * .fast implies .steady, and excludes .off and .timed.
 */
#ifndef TOPAZ_EMU_PT_FAST_H
#define TOPAZ_EMU_PT_FAST_H

#include "emu/base/base.h"

struct pt_unit;

#define PT_RETURN_STACK_ENTRIES 64

/* .tnt of struct pt_fast: no TNT bit is pending. */
#define PT_FAST_TNT_EMPTY 1

struct pt_fast {
	bool off, fast, steady; /* see above */
	bool timed; /* time matters: TSC, MTC, CYC, or bytes on their way */
	bool compress_ret;  /* CTL.DisRETC and CTL.DisTNT are 0 */
	uint32_t tnt;       /* stop bit, then the pending TNT bits */
	uint32_t ret_top;   /* next free slot, modulo the entries */
	uint32_t ret_count; /* valid entries */
	uint64_t low,
	    high; /* filter range in use, inclusive; else all addresses */
	uint64_t ret_stack[PT_RETURN_STACK_ENTRIES];
};

static inline struct pt_fast *
pt_unit_fast(struct pt_unit *unit)
{
	return (struct pt_fast *)unit;
}

/* Adds a TNT bit.  True: 6 are pending; call pt_unit_tnt_full(). */
static inline bool
pt_fast_add(struct pt_fast *fast, bool taken)
{
	fast->tnt = fast->tnt << 1 | taken;
	return (fast->tnt & 0x40) != 0;
}

/* Pushes a near CALL's return address. */
static inline void
pt_fast_push(struct pt_fast *fast, uint64_t nlip)
{
	fast->ret_stack[fast->ret_top] = nlip;
	fast->ret_top = (fast->ret_top + 1) % PT_RETURN_STACK_ENTRIES;
	fast->ret_count += fast->ret_count < PT_RETURN_STACK_ENTRIES;
}

/* Pops the last return address, if there is one. */
static inline void
pt_fast_pop(struct pt_fast *fast)
{
	if (fast->ret_count == 0)
		return;
	fast->ret_count--;
	fast->ret_top = (fast->ret_top + PT_RETURN_STACK_ENTRIES - 1) %
	    PT_RETURN_STACK_ENTRIES;
}

/*
 * The only target for which a near RET is now compressed.  False: there is none.
 * SDM vol. 3, 33.4.2.2 "RET Compression".
 */
static inline bool
pt_fast_ret_target(const struct pt_fast *fast, uint64_t *target)
{
	*target =
	    fast->ret_stack[(fast->ret_top + PT_RETURN_STACK_ENTRIES - 1) %
		PT_RETURN_STACK_ENTRIES];
	return fast->compress_ret && fast->ret_count != 0;
}

/* True if a near RET to TARGET is compressed: its return address is popped. */
static inline bool
pt_fast_compress(struct pt_fast *fast, uint64_t target)
{
	uint64_t compressed;

	if (!pt_fast_ret_target(fast, &compressed) || target != compressed)
		return false;
	pt_fast_pop(fast);
	return true;
}

/*
 * Moves the 6 pending TNT bits to a short TNT packet or to a part of a long one;
 * none is pending afterwards.
 */
void pt_unit_tnt_full(struct pt_unit *unit);

/*
 * Report, while .steady, a conditional branch; a near indirect JMP or CALL; a near
 * RET.
 */
void pt_unit_steady_cond_slow(struct pt_unit *unit, bool taken);
void pt_unit_steady_tip(struct pt_unit *unit, uint64_t target);
void pt_unit_steady_ret(struct pt_unit *unit, uint64_t target);

static inline void
pt_unit_steady_cond(struct pt_unit *unit, bool taken)
{
	struct pt_fast *fast = pt_unit_fast(unit);

	/* Neither the first outcome of the packet, which sets its time, nor the
	 * last. */
	if (fast->tnt > PT_FAST_TNT_EMPTY && fast->tnt < 0x20)
		(void)pt_fast_add(fast, taken);
	else
		pt_unit_steady_cond_slow(unit, taken);
}

/*
 * Reports a near CALL's return address, while .fast or .steady.  An indirect CALL is
 * reported with pt_unit_steady_tip() after that; a direct CALL to the next
 * instruction is not to be reported (SDM vol. 3, 33.4.2.2).
 */
static inline void
pt_unit_fast_call(struct pt_unit *unit, uint64_t nlip)
{
	pt_fast_push(pt_unit_fast(unit), nlip);
}

/* Reports a conditional branch, while .fast. */
static inline void
pt_unit_fast_cond(struct pt_unit *unit, bool taken)
{
	if (pt_fast_add(pt_unit_fast(unit), taken))
		pt_unit_tnt_full(unit);
}

/* Reports a near RET, while .fast. */
static inline void
pt_unit_fast_ret(struct pt_unit *unit, uint64_t target)
{
	if (pt_fast_compress(pt_unit_fast(unit), target))
		pt_unit_fast_cond(unit, true);
	else
		pt_unit_steady_ret(unit, target);
}

#endif
