/*
 * The processor's state where tracing begins, ends and is interrupted, read from packets:
 * libipt's flow does not have it.
 */
#include "emu/base/rtit.h"
#include "traces/reencode/replay/replay_internal.h"

void
trace_boundary_move(struct pt_context *at, uint64_t ip)
{
	at->ip = ip;
	at->cpl = ip >> 63 != 0 ? 0 : 3;
	at->enclave = false;
}

void
trace_boundary_mode(struct pt_context *at, uint64_t exec)
{
	at->cs_l = (exec & 1) != 0;
	at->cs_d = (exec & 2) != 0;
}

/* SDM vol. 3, 33.4.2.7: CR3[51:5] above NR. */
void
trace_boundary_pip(struct pt_context *at, uint64_t pip)
{
	at->cr3 = pip >> 1 << 5;
	at->non_root = (pip & 1) != 0;
}

/* SDM vol. 3, 33.4.2.15: bits 51:12 of the address. */
uint64_t
trace_boundary_vmcs_pa(uint64_t payload)
{
	return payload == TZ_BIT(40) - 1 ? PT_VMCS_NONE : payload << 12;
}

void
trace_boundary_vmcs(struct replay *replay, uint64_t pa)
{
	replay->vmx.in_vmx = true;
	replay->vmx.vmcs = pa;
	pt_unit_vmptrld(replay->driver.unit, pa);
}

void
trace_boundary_read_psb(struct pkt_parser *parser, struct psb_plus *plus)
{
	struct pkt packet;
	struct pkt_parser before = *parser;

	*plus = (struct psb_plus){ .context = false };
	while (pkt_next(parser, &packet)) {
		switch ((int)packet.kind) {
		case PKT_PSBEND:
			return;
		case PKT_FUP:
			plus->has_fup = true;
			plus->ip = packet.value;
			break;
		case PKT_EXEC:
			plus->has_exec = true;
			plus->exec = packet.value;
			break;
		case PKT_TSX:
			plus->context = true;
			plus->vmx.in_tsx = (packet.value & 1) != 0;
			break;
		case PKT_PIP:
			plus->context = true;
			plus->has_pip = true;
			plus->pip = packet.value;
			break;
		case PKT_VMCS:
			plus->context = true;
			plus->vmx.in_vmx = true;
			plus->vmx.vmcs = trace_boundary_vmcs_pa(packet.value);
			break;
		case PKT_OVF:
			*parser = before;
			return;
		default:
			break;
		}
		before = *parser;
	}
}

void
trace_boundary_take_state(struct replay *replay, const struct psb_plus *plus)
{
	if (plus->has_exec)
		trace_boundary_mode(&replay->at, plus->exec);
	if (plus->has_pip)
		trace_boundary_pip(&replay->at, plus->pip);
	if (plus->context)
		replay->vmx = plus->vmx;
}

void
trace_boundary_peek_pip(struct replay *replay, struct pt_context *after)
{
	const uint64_t ends = PKT_BIT(TIP) | PKT_BIT(PGD) | PKT_BIT(PGE) |
	    PKT_BIT(PSB) | PKT_BIT(OVF);
	struct pkt_parser parser = replay->guide;
	struct pkt packet;

	report_take(replay);
	parser.offset = replay_offset(replay);
	while (!replay->ended &&
	    pkt_next_of(&parser, &packet, ends | PKT_BIT(PIP)) &&
	    packet.kind == PKT_PIP) {
		trace_boundary_pip(after, packet.value);
		replay->cr3_written = replay->cr3_peeked = true;
	}
}

bool
trace_boundary_guide(
    struct replay *replay, enum pkt_kind kind, uint64_t *offset)
{
	const struct trace_stats *stats = replay->driver.config.stats;
	struct pkt_parser *guide = &replay->guide;
	struct pkt packet;

	TZ_ASSERT(kind == PKT_PGD || kind == PKT_OVF);
	do {
		size_t mark = trace_stats_mark_index(stats, guide->offset);

		if (mark == stats->mark_count)
			return false;
		guide->offset = stats->mark[mark].offset;
		guide->last_ip = stats->mark[mark].last_ip;
		if (!pkt_next(guide, &packet))
			return false;
	} while (packet.kind != kind);
	*offset = packet.offset;
	return true;
}

/* Sets AT to mode and address of the next TIP.PGE; false: none comes. */
static bool
trace_boundary_peek_pge(const struct replay *replay, struct pt_context *at)
{
	const uint64_t ends = PKT_BIT(PGE) | PKT_BIT(OVF) | PKT_BIT(TIP) |
	    PKT_BIT(TNT) | PKT_BIT(PGD) | PKT_BIT(PSB);
	struct pkt_parser parser = replay->guide;
	struct pkt packet;

	while (pkt_next_of(&parser, &packet, ends | PKT_BIT(EXEC)) &&
	    packet.kind == PKT_EXEC)
		trace_boundary_mode(at, packet.value);
	if (packet.kind == PKT_PGE)
		trace_boundary_move(at, packet.value);
	return packet.kind == PKT_PGE;
}

bool
trace_boundary_locate(
    struct replay *replay, const struct psb_plus *plus, struct pt_context *at)
{
	uint64_t ctl = replay->driver.ctl, ip;

	/* Without branch packets only a PIP shows ContextEn, and nothing FilterEn. */
	if (!(ctl & CTL_BRANCH_EN) && (plus->context || !(ctl & CTL_OS))) {
		*at = unit_driver_context(&replay->driver, at, true);
		(void)unit_driver_range(
		    &replay->driver, UNIT_DRIVER_CFG_FILTER, &at->ip);
		return false;
	}
	if (!plus->context) {
		*at = unit_driver_context(&replay->driver, at, false);
		return false;
	}
	if (plus->early ||
	    !unit_driver_range(&replay->driver, UNIT_DRIVER_CFG_FILTER, &ip))
		return trace_boundary_peek_pge(replay, at);
	*at = unit_driver_context(&replay->driver, at, true);
	at->ip = unit_driver_outside(&replay->driver);
	return false;
}

void
trace_boundary_look(struct replay *replay, uint64_t offset)
{
	const struct trace_stats *stats = replay->driver.config.stats;
	size_t behind = trace_stats_psb_index(stats, offset + 1);
	struct pkt_parser *look = &replay->clock.look;

	if (!replay->config.watched && behind != 0 &&
	    stats->psb[behind - 1].offset > look->offset)
		pkt_begin(look, replay->config.bytes, replay->config.count,
		    stats->psb[behind - 1].offset);
	clock_move(&replay->clock, offset);
}

void
trace_boundary_resume(
    struct replay *replay, uint64_t offset, struct pt_resume *resume)
{
	resume->at = replay->at;
	replay->has_last = false;
	replay->running = true;
	replay->cr3_written = false;
	replay->quiet = 0;
	trace_boundary_look(replay, offset);
	clock_start(&replay->clock, offset);
	resume->cyc_sent = replay->driver.cyc_sent;
	if (!unit_driver_resume(&replay->driver, offset, resume, &replay->vmx))
		report_fail(replay);
}

void
trace_boundary_apply_bdm70(struct replay *replay, struct psb_plus *plus)
{
	const uint32_t bdm70 = REPLAY_ERRATUM(BDM70);
	const uint64_t timing = PKT_BIT(PAD) | PKT_BIT(CYC) | PKT_BIT(MTC) |
	    PKT_BIT(CBR);
	struct pkt_parser parser = replay->guide;
	struct pkt packet;

	if (!pkt_next_of(&parser, &packet, ~timing) || packet.kind != PKT_PGE)
		return;
	if (!plus->has_fup) {
		replay->driver.profile.errata_on &= ~bdm70;
		return;
	}
	replay->result->errata |= bdm70 & ~replay->config.errata;
	replay->driver.profile.errata_on |= bdm70;
	plus->has_fup = false;
	plus->early = true;
}

void
trace_boundary_peek_cr3(struct replay *replay)
{
	const uint64_t kinds = PKT_BIT(PSB) | PKT_BIT(PSBEND) | PKT_BIT(PIP) |
	    PKT_BIT(OVF) | PKT_BIT(CBR);
	struct pkt_parser parser = replay->guide;
	struct pkt packet;

	while (pkt_next_of(&parser, &packet, kinds)) {
		if (packet.kind == PKT_PIP && parser.in_psb)
			trace_boundary_pip(&replay->at, packet.value);
		if (pkt_is(&packet, PKT_BIT(PIP) | PKT_BIT(OVF)) ||
		    (packet.kind == PKT_CBR && !parser.in_psb))
			return;
	}
}
