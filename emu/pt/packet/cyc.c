#include "emu/pt/packet/cyc.h"

#include "emu/pt/output/layout.h"
#include "emu/pt/state.h"

bool
cyc_is_on(const struct pt_unit *unit)
{
	return unit->profile->uarch->cyc_bits != 0 &&
	    unit_sends(unit, CTL_CYC_EN);
}

/* Cycles that must have passed since the last CYC: 0, 1, 2, 4 ... 16384. */
static uint64_t
cyc_threshold(const struct pt_unit *unit)
{
	unsigned value = CTL_CYC_THRESH(unit->msrs.ctl);

	/* SDM vol. 3, 33.2.8.2, CycThresh. */
	return value == 0 ? 0 : UINT64_C(1) << (value - 1);
}

/* The value of the counter. */
static uint64_t
cyc_count(const struct pt_unit *unit)
{
	TZ_ASSERT(unit->timing.now.cycles >= unit->cyc.zero);
	return unit->timing.now.cycles - unit->cyc.zero;
}

static void
cyc_put(struct pt_unit *unit, uint64_t count)
{
	struct packet packet;

	unit->cyc.zero += count;
	unit->cyc.sent = true;
	/* Most CYCs have one byte. */
	if (count <= PACKET_CYC_BYTE_MAX &&
	    unit_put_byte(unit, unit->topa.free_limit, packet_cyc_first(count)))
		return;
	packet = packet_cyc(count);
	layout_emit(unit, &packet);
}

void
cyc_begin(struct pt_unit *unit)
{
	unit->cyc.zero = unit->timing.now.cycles - unit->cyc.ahead;
	unit->cyc.ahead = 0;
	unit->cyc.sent = false;
}

void
cyc_restart(struct pt_unit *unit)
{
	unit->cyc.zero = unit->timing.now.cycles;
}

bool
cyc_is_due(const struct pt_unit *unit, uint64_t *count)
{
	*count = cyc_count(unit);
	return cyc_is_on(unit) && *count >= cyc_threshold(unit);
}

void
cyc_send(struct pt_unit *unit)
{
	uint64_t count;

	if (!cyc_is_due(unit, &count))
		return;
	/* "At most one CYC in a core cycle": all packets of a cycle share it. */
	if (count < CYCLES_CYC && unit->cyc.sent)
		return;
	cyc_put(unit, count);
}

void
cyc_wrap(struct pt_unit *unit)
{
	uint64_t most = TZ_BIT(unit->profile->uarch->cyc_bits) - 1;

	TZ_ASSERT(unit->profile->uarch->cyc_bits < 64);
	if (!cyc_is_on(unit))
		return;
	while (cyc_count(unit) > most)
		cyc_put(unit, most);
}
