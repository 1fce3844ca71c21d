#include "emu/pt/packet/tnt.h"

#include "emu/pt/output/layout.h"
#include "emu/pt/packet/cyc.h"
#include "emu/pt/packet/emit.h"
#include "emu/pt/state.h"
#include "emu/pt/sync.h"

/* TNT bits of a long TNT that come in whole groups of 6. */
#define TNT_SIXES_BITS 42

/*
 * The last group of a long TNT has 5 bits instead of 6, so that it is full at 47
 * bits: its stop bit starts one position higher.
 */
static uint32_t
tnt_start(const struct pt_unit *unit)
{
	return unit->tnt.count == TNT_SIXES_BITS ? PT_FAST_TNT_EMPTY << 1
						 : PT_FAST_TNT_EMPTY;
}

/* Bits in struct pt_fast. */
static unsigned
tnt_fast_bits(const struct pt_unit *unit)
{
	TZ_ASSERT(unit->fast.tnt >= tnt_start(unit));
	return (unsigned)__builtin_clz(tnt_start(unit)) -
	    (unsigned)__builtin_clz(unit->fast.tnt);
}

unsigned
pt_unit_tnt_pending(const struct pt_unit *unit)
{
	return unit->tnt.count + tnt_fast_bits(unit);
}

/* Moves the bits of struct pt_fast to struct tnt. */
static void
tnt_gather(struct pt_unit *unit)
{
	struct tnt *tnt = &unit->tnt;
	uint32_t rest = unit->fast.tnt;
	unsigned bits = tnt_fast_bits(unit);

	tnt->bits = tnt->bits << bits | (rest & ((UINT32_C(1) << bits) - 1));
	tnt->count += bits;
	unit->fast.tnt = tnt_start(unit);
	TZ_ASSERT(tnt->count <= PACKET_TNT64_BITS_MAX);
}

/* Writes the bits as one byte if no other check is needed.  False: not possible. */
static bool
tnt_put_byte(struct pt_unit *unit)
{
	/* The limit is 0 if a TNT packet is not one byte with 6 bits. */
	if (!unit_put_byte(
		unit, unit->topa.fast_limit, (uint8_t)(unit->fast.tnt << 1)))
		return false;
	unit->fast.tnt = PT_FAST_TNT_EMPTY;
	return true;
}

/*
 * Sends the pending TNT and TIPs.  Not inlined: almost all calls of tnt_flush() need
 * nothing of it.
 */
static void __attribute__((noinline)) tnt_send(struct pt_unit *unit)
{
	struct tnt now;
	struct packet packet;

	tnt_gather(unit);
	now = unit->tnt;
	state_forget_tnt(unit);
	packet = packet_tnt(UINT64_C(1) << now.count | now.bits);
	layout_emit(unit, &packet);
	for (uint32_t i = 0; i < now.tips; i++)
		emit_tip(unit, PACKET_TIP, now.tip[i]);
}

void
tnt_flush(struct pt_unit *unit)
{
	TZ_ASSERT(unit->fast.tnt != 0);
	if (!unit_tnt_is_empty(unit) && !tnt_put_byte(unit))
		tnt_send(unit);
}

/* The bits of struct pt_fast are full. */
static void
tnt_full(struct pt_unit *unit)
{
	TZ_ASSERT(unit->fast.tnt >> PACKET_TNT_BITS_MAX == 1);
	if (unit->tnt.count < TNT_SIXES_BITS &&
	    unit->profile->uarch->tnt_bits == PACKET_TNT64_BITS_MAX)
		tnt_gather(unit);
	else
		tnt_flush(unit);
}

void
tnt_add(struct pt_unit *unit, bool taken)
{
	TZ_ASSERT(unit->fast.tnt >> PACKET_TNT_BITS_MAX == 0);
	TZ_ASSERT(unit->gate.packet_en);
	/* SDM vol. 3, 33.4.2.14: a CYC has the time of the first one. */
	if ((unit->msrs.ctl & CTL_CYC_EN) != 0 && unit_tnt_is_empty(unit))
		cyc_send(unit);
	if (pt_fast_add(&unit->fast, taken))
		tnt_full(unit);
}

/*
 * True if a TIP may be deferred: only after pending TNT bits, and if it needs no
 * MODE.Exec.  Model choice: not while timing packets are on, because its time would
 * be lost.
 */
static bool
tnt_defers(const struct pt_unit *unit)
{
	const struct flow *flow = &unit->flow;

	return unit->profile->uarch->deferred_tip && !unit->fast.timed &&
	    unit->tnt.tips < TZ_ARRAY_LEN(unit->tnt.tip) && flow->exec_known &&
	    flow->exec_sent == flow->exec && !unit_tnt_is_empty(unit);
}

bool
tnt_tip(struct pt_unit *unit, uint64_t target)
{
	if (tnt_defers(unit)) {
		unit->tnt.tip[unit->tnt.tips++] = target;
		return true;
	}
	tnt_flush(unit);
	emit_tip(unit, PACKET_TIP, target);
	return false;
}

void
pt_unit_tnt_full(struct pt_unit *unit)
{
	TZ_ASSERT(unit->fast.tnt >> PACKET_TNT_BITS_MAX == 1);
	TZ_ASSERT(unit->gate.packet_en);
	if (tnt_put_byte(unit))
		return;
	tnt_full(unit);
	state_refresh(unit);
}
