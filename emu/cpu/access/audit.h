/*
 * Audited code: each of its loads and stores is reported, and its calls of certain
 * functions.
 */
#ifndef TOPAZ_EMU_CPU_ACCESS_AUDIT_H
#define TOPAZ_EMU_CPU_ACCESS_AUDIT_H

#include "emu/base/base.h"

/*
 * A load or store: by an explicit operand, by a string instruction (each iteration
 * of a REP) or by XSAVES and XRSTORS (the header and component 8).  Hidden operands
 * of other instructions (PUSH, CALL, LEAVE and the like on the stack, XLAT,
 * MASKMOVQ), prefetches and cache control are not included.  An access is reported
 * after it has happened and before any later event, in the CPU's order.
 */
struct audit_access {
	unsigned cpu;
	uint32_t bytes;
	uint64_t insns; /* retired by the CPU before it */
	uint64_t rip, va;
	bool write; /* a store; it may load as well */
};

/* A call of or jump to one of the functions, reported when it begins. */
struct audit_call {
	unsigned cpu;
	uint64_t insns, rip; /* of the call, as above */
	uint64_t function;
	uint64_t arg[4]; /* RDI, RSI, RDX, RCX */
};

#define AUDIT_ALSO_MAX 3

/*
 * The linear range of the code, and the functions' addresses in ascending order; .also:
 * further ranges, the unused ones with .end 0.
 */
struct audit {
	uint64_t begin, end;
	const uint64_t *function;
	size_t function_count;
	struct audit_range {
		uint64_t begin, end;
	} also[AUDIT_ALSO_MAX];
};

static inline bool
audit_has(const struct audit *audit, uint64_t va)
{
	bool has = va >= audit->begin && va < audit->end;

	for (size_t i = 0; !has && i < AUDIT_ALSO_MAX; i++)
		has = va >= audit->also[i].begin && va < audit->also[i].end;
	return has;
}

static inline bool
audit_has_function(const struct audit *audit, uint64_t va)
{
	size_t low = 0, high = audit->function_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (audit->function[mid] < va)
			low = mid + 1;
		else
			high = mid;
	}
	return low < audit->function_count && audit->function[low] == va;
}

#endif
