#include "driver/insntrace/core/hw/xstate.h"

#include "driver/insntrace/core/cpu.h"

/* SDM vol. 4, table 2-2 "IA-32 Architectural MSRs". */
#define MSR_XSS    0xda0u

#define XSS_PT     (UINT64_C(1) << 8)
#define XCOMP_FORM (UINT64_C(1) << 63) /* the compacted format */

/* SDM vol. 1, 13.4 "XSAVE Area", 13.5.6 "PT State". */
struct xstate {
	_Alignas(64) unsigned char legacy[512];
	uint64_t xstate_bv, xcomp_bv, reserved[6];
	uint64_t ctl, output_base, mask_ptrs, status, cr3_match;
	struct {
		uint64_t a, b;
	} range[XSTATE_RANGES];
};

void
xstate_init(struct xstate *area, const struct hw_setup *setup)
{
	area->xstate_bv = XSS_PT;
	area->xcomp_bv = XCOMP_FORM | XSS_PT;
	area->output_base = setup->output_base;
	area->mask_ptrs = 0;
	area->status = 0;
	xstate_change(area, setup);
}

void
xstate_change(struct xstate *area, const struct hw_setup *setup)
{
	area->ctl = setup->ctl;
	area->cr3_match = setup->cr3_match;
	for (uint32_t i = 0; i < XSTATE_RANGES; i++) {
		area->range[i].a = setup->addr_a[i];
		area->range[i].b = setup->addr_b[i];
	}
}

uint64_t
xstate_begin(void)
{
	uint64_t xss = cpu_rdmsr(MSR_XSS);

	cpu_wrmsr(MSR_XSS, xss | XSS_PT);
	return xss;
}

void
xstate_end(uint64_t xss)
{
	cpu_wrmsr(MSR_XSS, xss);
}

void
xstate_load(const struct xstate *area)
{
	cpu_xrstors(area, XSS_PT);
}

void
xstate_save(struct xstate *area)
{
	cpu_xsaves(area, XSS_PT);
}

void
xstate_capture(const struct xstate *area, struct hw_capture *capture)
{
	capture->status = area->status;
	capture->output_base = area->output_base;
	capture->mask_ptrs = area->mask_ptrs;
}
