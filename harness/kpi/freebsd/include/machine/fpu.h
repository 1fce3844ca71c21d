/* The layout of the XSAVE area, and the instructions for supervisor state. */
#ifndef _MACHINE_FPU_H_
#define _MACHINE_FPU_H_

#include <sys/types.h>
#include <x86/include/specialreg.h>

struct xstate_hdr {
	uint64_t xstate_bv;
	uint64_t xstate_xcomp_bv;
	uint8_t xstate_rsrv0[8];
	uint8_t xstate_rsrv[40];
};
#define XSTATE_XCOMP_BV_COMPACT (1ULL << 63)

/* The area is aligned to 64 bytes. */
static __inline void
xsaves(uint8_t *area, uint64_t mask)
{
	__asm volatile("xsaves %0"
		       : "+m"(*(uint8_t(*)[4096])area)
		       : "a"((uint32_t)mask), "d"((uint32_t)(mask >> 32))
		       : "memory");
}

static __inline void
xrstors(uint8_t *area, uint64_t mask)
{
	__asm volatile("xrstors %0"
		       :
		       : "m"(*(uint8_t(*)[4096])area), "a"((uint32_t)mask),
		       "d"((uint32_t)(mask >> 32))
		       : "memory");
}

/* True if CPUID reports the one feature as user or supervisor state. */
bool xsave_extfeature_supported(uint64_t feature, bool supervisor);
bool xsave_extension_supported(uint64_t extension);

/* In bytes; each feature must be in the set. */
size_t xsave_area_hdr_offset(void);
size_t xsave_area_offset(
    uint64_t xstate_bv, uint64_t feature, bool compact, bool supervisor);
size_t xsave_area_size(uint64_t xstate_bv, bool compact, bool supervisor);

#endif
