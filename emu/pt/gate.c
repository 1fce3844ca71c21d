#include "emu/pt/gate.h"

#include "emu/pt/msr/msr.h"

#define GATE_CFG_FILTER 1
#define GATE_CFG_STOP   2

bool
gate_trigger_en(const struct gate_config *config)
{
	/* SDM vol. 3, 33.2.6.2 "Trigger Enable (TriggerEn)". */
	return (config->ctl & CTL_TRACE_EN) != 0 &&
	    (config->status & (STATUS_STOPPED | STATUS_ERROR)) == 0;
}

bool
gate_context_en(const struct gate_config *config, const struct pt_context *at)
{
	uint64_t level = at->cpl == 0 ? CTL_OS : CTL_USER;

	/* SDM vol. 3, 33.2.6.3 "Context Enable (ContextEn)". */
	TZ_ASSERT(at->cpl <= 3);
	if (!(config->ctl & level) || at->enclave)
		return false;
	/*
	 * SDM vol. 3, 33.2.5.2 "Filtering by CR3": bits 63:12, or 63:5 with PAE
	 * paging.  Model choice: always 63:12; 32-bit PAE guests do not exist
	 * here.
	 */
	return !(config->ctl & CTL_CR3_FILTER) ||
	    (at->cr3 ^ config->cr3_match) >> 12 == 0;
}

bool
gate_in_range(const struct gate_config *config, unsigned cfg, uint64_t ip)
{
	TZ_ASSERT(cfg == GATE_CFG_FILTER || cfg == GATE_CFG_STOP);
	for (unsigned n = 0; n < GATE_RANGES_MAX; n++) {
		/*
		 * SDM vol. 3, 33.2.5.3 "Filtering by IP": [A, B], both in.
		 * Model choice: unsigned comparison; B < A is an empty range.
		 */
		if (CTL_ADDR_CFG(config->ctl, n) == cfg &&
		    ip >= config->range_a[n] && ip <= config->range_b[n])
			return true;
	}
	return false;
}

bool
gate_filter(const struct gate_config *config, uint64_t *a, uint64_t *b)
{
	bool found = false;

	for (unsigned n = GATE_RANGES_MAX; n-- != 0;) {
		unsigned cfg = CTL_ADDR_CFG(config->ctl, n);

		if (cfg == GATE_CFG_STOP)
			return false;
		if (cfg != GATE_CFG_FILTER)
			continue;
		found = true;
		*a = config->range_a[n];
		*b = config->range_b[n];
	}
	return found;
}

bool
gate_has_ranges(const struct gate_config *config)
{
	return (config->ctl & CTL_ADDR_CFGS) != 0;
}

/*
 * True if a range is configured for CFG.  Only one bit of a field may be set: 3 and
 * more are reserved.
 */
static bool
gate_has(const struct gate_config *config, unsigned cfg)
{
	return (config->ctl & CTL_ADDR_CFGS & UINT64_C(0x1111) * cfg << 32) !=
	    0;
}

struct gate
gate_next(const struct gate_config *config, struct gate before,
    const struct pt_context *at, bool moved, bool *stop)
{
	struct gate gate = before;

	*stop = false;
	gate.trigger_en = gate_trigger_en(config);
	/* SDM vol. 3, 33.2.8.4: they change only while TriggerEn is 1. */
	if (gate.trigger_en) {
		gate.context_en = gate_context_en(config, at);
		/* SDM vol. 3, 33.2.6.5 "Filter Enable (FilterEn)". */
		if (!gate_has(config, GATE_CFG_FILTER))
			gate.filter_en = true;
		else if (gate.context_en && moved)
			gate.filter_en = gate_in_range(
			    config, GATE_CFG_FILTER, at->ip);
		if (gate.context_en && moved && gate_has(config, GATE_CFG_STOP))
			*stop = gate_in_range(config, GATE_CFG_STOP, at->ip);
		/* SDM vol. 3, 33.2.5.3: TraceStop forces FilterEn to 0. */
		if (*stop)
			gate.filter_en = false;
	}
	gate.packet_en = gate.trigger_en && gate.context_en && gate.filter_en &&
	    (config->ctl & CTL_BRANCH_EN) != 0;
	TZ_ASSERT(!gate.packet_en || gate.trigger_en);
	TZ_ASSERT(!gate.packet_en || !*stop);
	return gate;
}
