#include "emu/pt/overflow.h"

#include "emu/pt/output/layout.h"
#include "emu/pt/output/output_queue.h"
#include "emu/pt/packet/cyc.h"
#include "emu/pt/packet/emit.h"
#include "emu/pt/packet/psb.h"
#include "emu/pt/state.h"

#include <assert.h>

/*
 * Upper bound, in bytes, of a packet and the padding before it: a wide packet
 * closes the word before and ends another with its header (layout.c).
 */
#define OVERFLOW_PLACED(bytes) ((bytes) + 2 * (LAYOUT_WORD_BYTES - 1))

/* A CYC of 50 bits, the first byte of one joined to OVF (SKD007), a whole FUP. */
static_assert(OVERFLOW_PLACED(8) + OVERFLOW_PLACED(1 + PACKET_OVF_BYTES) +
	    OVERFLOW_PLACED(1 + 8) + PSB_BYTES <=
	CYCLES_RESERVE,
    "the end of an overflow fits its reserve");

/* SKD007: OVF replaces the rest of a longer CYC.  True: it was sent. */
static bool
overflow_cut_cyc(struct pt_unit *unit)
{
	struct packet ovf = packet_fixed(PACKET_OVF, 0);
	struct packet cyc;
	uint64_t count;

	if (!cyc_is_due(unit, &count) ||
	    !unit_erratum(unit, PROFILE_ERRATUM_SKD007))
		return false;
	cyc = packet_cyc(count);
	if (cyc.bytes == 1)
		return false;
	cyc.bytes = cyc.header_bytes = 1;
	ovf = packet_join(&cyc, &ovf);
	layout_emit(unit, &ovf);
	return true;
}

void
overflow_send(struct pt_unit *unit)
{
	/*
	 * SDM vol. 3, 33.4.2.16 "Overflow (OVF) Packet": a CYC before it has the
	 * overflow's duration.  Model choice: one CYC, even if the counter has
	 * wrapped: their number would grow with the duration, and they would cause
	 * the next overflow.
	 */
	if (!overflow_cut_cyc(unit))
		emit_packet(unit, PACKET_OVF, 0);
	cyc_restart(unit);
	unit->cyc.sent = true;
}

/* Ends the overflow.  Packets after it use the reserve, and do not depend on earlier
 * packets. */
static void
overflow_end(struct pt_unit *unit)
{
	TZ_ASSERT(unit->overflow.on);
	if (unit->overflow.full)
		output_queue_tell_over(unit);
	/* The event in which it began may have left bits pending. */
	state_lose(unit, (struct overflow){ .reserve = true });
	unit->flow.last_ip_valid = false;
	unit->flow.exec_known = false;
	overflow_send(unit);
}

void
overflow_resolve_by_pgd(struct pt_unit *unit)
{
	overflow_end(unit);
	emit_pgd_bare(unit);
	unit->overflow.reserve = false;
}

void
overflow_resolve(struct pt_unit *unit, uint64_t ip)
{
	bool told = unit->flow.exec_told &&
	    unit->flow.exec_sent == unit->flow.exec;

	overflow_end(unit);
	/* SKD010: the FUP may be missing; APL12: or be sent wrongly. */
	if (unit->gate.packet_en ? !unit_erratum(unit, PROFILE_ERRATUM_SKD010)
				 : !unit->gate.filter_en &&
		    unit_erratum(unit, PROFILE_ERRATUM_APL12))
		emit_fup(unit, ip);
	/*
	 * A FUP does not contain the mode.  Model choice: if a decoder could not
	 * know the mode, PSB+ follows, as it does after OVF in captures.
	 */
	if (unit->gate.packet_en && !told) {
		unit->place.psb_due = false;
		psb_send(unit, true, ip);
	}
	unit->overflow.reserve = false;
}

/*
 * The same for an overflow that was not forced: without PacketEn, PSB+ follows at
 * once.
 */
static void
overflow_resolve_full(struct pt_unit *unit, uint64_t ip)
{
	overflow_resolve(unit, ip);
	unit->place.psb_due |= !unit->gate.packet_en;
	psb_end_event(unit, unit->place.psb_due, ip);
}

void
overflow_drained(struct pt_unit *unit)
{
	if (!unit->overflow.full || unit->overflow.ripe ||
	    !output_queue_is_over(unit))
		return;
	if (unit->gate.packet_en)
		unit->overflow.ripe = true;
	else
		overflow_resolve_full(unit, unit->flow.last_ip);
}

void
pt_unit_resolve(struct pt_unit *unit, uint64_t ip)
{
	TZ_ASSERT(unit->overflow.ripe && unit->gate.packet_en);
	overflow_resolve_full(unit, ip);
}

/* True if the overflow continues after one more transfer. */
static bool
overflow_goes_on(struct overflow *overflow)
{
	if (overflow->full)
		return !overflow->ripe;
	TZ_ASSERT(overflow->transfers != 0);
	return --overflow->transfers != 0;
}

void
overflow_lose(struct pt_unit *unit, uint64_t ip)
{
	bool full = unit->overflow.full;

	if (overflow_goes_on(&unit->overflow)) {
		state_refresh(unit);
	} else if (full) {
		overflow_resolve_full(unit, ip);
	} else {
		overflow_resolve(unit, ip);
		psb_end_event(unit, unit->place.psb_due, ip);
	}
}
