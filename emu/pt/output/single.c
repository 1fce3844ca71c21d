#include "emu/pt/output/single.h"

#include "emu/pt/state.h"

const char *
single_describe(struct pt_unit *unit)
{
	struct topa *topa = &unit->topa;
	/* OUTPUT_MASK_PTRS[31:0]: the low bits are always 1. */
	uint64_t mask = (uint64_t)topa->index << 7 | MASK_PTRS_LOW;

	TZ_ASSERT(!(unit->msrs.ctl & (CTL_TOPA | CTL_FABRIC_EN)));
	TZ_ASSERT(mask <= UINT32_MAX);
	/* SDM vol. 3, 33.3.9 "Operational Errors", single-range output. */
	if ((mask & (mask + 1)) != 0)
		return "mask of a single range is not contiguous";
	if (unit->output_base & mask)
		return "base of a single range is not aligned to its mask";
	if (topa->offset_bytes > mask)
		return "output offset beyond a single range";
	topa->region_pa = unit->output_base;
	topa->region_bytes = mask + 1;
	topa->region_stop = false;
	topa->region_intr = false;
	return NULL;
}
