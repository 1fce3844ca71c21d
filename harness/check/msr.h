/* The registers whose values manifests can require. */
#ifndef TOPAZ_HARNESS_CHECK_MSR_H
#define TOPAZ_HARNESS_CHECK_MSR_H

#include "emu/base/base.h"
#include "emu/base/rtit.h"
#include "emu/ds/ds.h"
#include "emu/pmu/pmu.h"

/* The LVT performance entry has the number that x2APIC mode gives it: SDM vol. 4,
 * IA32_X2APIC_LVT_PMI. */
#define MSR_LVT_PC 0x834u
/* Which state components XSAVES and XRSTORS manage: SDM vol. 1, 13.3. */
#define MSR_XSS 0xda0u

/* True if the value of MSR can be required. */
static inline bool
msr_is_known(uint32_t msr)
{
	return msr == MSR_RTIT_OUTPUT_BASE ||
	    msr == MSR_RTIT_OUTPUT_MASK_PTRS || msr == MSR_RTIT_CTL ||
	    msr == MSR_RTIT_STATUS || msr == MSR_RTIT_CR3_MATCH ||
	    (msr >= MSR_RTIT_ADDR_A(0) && msr <= MSR_RTIT_ADDR_B(3)) ||
	    msr == PMU_MSR_GLOBAL_STATUS || msr == MSR_LVT_PC ||
	    msr == DS_MSR_AREA || msr == MSR_XSS;
}

#endif
