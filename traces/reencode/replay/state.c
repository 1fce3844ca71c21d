/*
 * What packets say of the processor's state: mode, CR3, VMCS, and all of a PSB+.
 */
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
static uint64_t
edge_cr3(uint64_t pip)
{
	return pip >> 1 << 5;
}

void
edge_set_cr3(struct pt_context *at, uint64_t pip)
{
	at->cr3 = edge_cr3(pip);
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
	pt_unit_vmptrld(replay->feed->unit, pa);
}

void
trace_boundary_read_psb(
    struct pkt_parser *parser, const struct pkt *psb, struct psb_plus *plus)
{
	struct pkt packet;
	struct pkt_parser before = *parser;

	*plus = (struct psb_plus){ .offset = psb->offset };
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
			plus->in_tsx = (packet.value & 1) != 0;
			break;
		case PKT_PIP:
			plus->context = true;
			plus->has_pip = true;
			plus->cr3 = edge_cr3(packet.value);
			plus->non_root = (packet.value & 1) != 0;
			break;
		case PKT_VMCS:
			plus->context = true;
			plus->has_vmcs = true;
			plus->vmcs = trace_boundary_vmcs_pa(packet.value);
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
	if (plus->has_pip) {
		replay->at.cr3 = plus->cr3;
		replay->at.non_root = plus->non_root;
	}
	if (plus->context)
		replay->vmx =
		    (struct unit_driver_state){ .in_tsx = plus->in_tsx,
			    .in_vmx = plus->has_vmcs,
			    .vmcs = plus->vmcs };
}

void
state_peek_cr3(struct replay *replay, struct pt_context *after)
{
	const uint64_t ends = TZ_BIT(PKT_TIP) | TZ_BIT(PKT_PGD) |
	    TZ_BIT(PKT_PGE) | TZ_BIT(PKT_PSB) | TZ_BIT(PKT_OVF);
	struct pkt_parser parser = replay->guide;
	struct pkt packet;

	replay_take(replay);
	parser.offset = compare_offset(replay->config.compare);
	while (!replay->ended && pkt_next(&parser, &packet) &&
	    !(ends >> packet.kind & 1)) {
		if (packet.kind != PKT_PIP)
			continue;
		edge_set_cr3(after, packet.value);
		replay->cr3_written = replay->cr3_peeked = true;
	}
}
