/* What an owner of hwpmc(4)'s counters tells the host of them (emu/guest_abi.h). */
#ifndef TOPAZ_HARNESS_KPI_FREEBSD8_USER_COUNTER_H
#define TOPAZ_HARNESS_KPI_FREEBSD8_USER_COUNTER_H

#include <sys/pmc.h>

#include "emu/guest_abi.h"
#include "harness/guest/user/user.h"

#define PMC_SYSCALL 210 /* the first number that FreeBSD keeps for modules */

static inline void
counter_tell(uint32_t id, enum abi_counter what, uint64_t value)
{
	int64_t error = sys3(SYS_COUNTER, id, what, value);

	if (error < 0)
		user_fail("telling the host", error);
}

/* Counter ID was allocated with these EVENT, CAPS and FLAGS. */
static inline void
counter_tell_asked(uint32_t id, uint64_t event, uint32_t caps, uint32_t flags)
{
	const uint64_t user = UINT64_C(1) << 16, os = UINT64_C(1) << 17;
	uint32_t rings = caps & (PMC_CAP_USER | PMC_CAP_SYSTEM);

	counter_tell(id, ABI_COUNTER_ASKED,
	    event | (rings != PMC_CAP_SYSTEM ? user : 0) |
		(rings != PMC_CAP_USER ? os : 0));
	if ((flags & PMC_F_DESCENDANTS) != 0)
		counter_tell(id, ABI_COUNTER_DESCENDANTS, 0);
}

#endif
