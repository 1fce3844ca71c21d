/*
 * What packets say of the processor's state: mode, CR3, VMCS, and all of a PSB+.
 */
#include "traces/reencode/drive_work.h"

void
edge_move(struct pt_context *at, uint64_t ip)
{
	at->ip = ip;
	at->cpl = ip >> 63 != 0 ? 0 : 3;
	at->enclave = false;
}

void
edge_mode(struct pt_context *at, uint64_t exec)
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
edge_vmcs_pa(uint64_t payload)
{
	return payload == TZ_BIT(40) - 1 ? PT_VMCS_NONE : payload << 12;
}

void
edge_vmcs(struct drive *drive, uint64_t pa)
{
	drive->vmx.in_vmx = true;
	drive->vmx.vmcs = pa;
	pt_unit_vmptrld(drive->feed->unit, pa);
}

void
edge_read_psb(
    struct scan *scan, const struct scan_packet *psb, struct psb_plus *plus)
{
	struct scan_packet packet;
	struct scan before = *scan;

	*plus = (struct psb_plus){ .offset = psb->offset };
	while (scan_next(scan, &packet)) {
		switch ((int)packet.kind) {
		case SCAN_PSBEND:
			return;
		case SCAN_FUP:
			plus->has_fup = true;
			plus->ip = packet.value;
			break;
		case SCAN_EXEC:
			plus->has_exec = true;
			plus->exec = packet.value;
			break;
		case SCAN_TSX:
			plus->context = true;
			plus->in_tsx = (packet.value & 1) != 0;
			break;
		case SCAN_PIP:
			plus->context = true;
			plus->has_pip = true;
			plus->cr3 = edge_cr3(packet.value);
			plus->non_root = (packet.value & 1) != 0;
			break;
		case SCAN_VMCS:
			plus->context = true;
			plus->has_vmcs = true;
			plus->vmcs = edge_vmcs_pa(packet.value);
			break;
		case SCAN_OVF:
			*scan = before;
			return;
		default:
			break;
		}
		before = *scan;
	}
}

void
edge_take_state(struct drive *drive, const struct psb_plus *plus)
{
	if (plus->has_exec)
		edge_mode(&drive->at, plus->exec);
	if (plus->has_pip) {
		drive->at.cr3 = plus->cr3;
		drive->at.non_root = plus->non_root;
	}
	if (plus->context)
		drive->vmx = (struct feed_state){ .in_tsx = plus->in_tsx,
			.in_vmx = plus->has_vmcs,
			.vmcs = plus->vmcs };
}

void
state_peek_cr3(struct drive *drive, struct pt_context *after)
{
	const uint64_t ends = TZ_BIT(SCAN_TIP) | TZ_BIT(SCAN_PGD) |
	    TZ_BIT(SCAN_PGE) | TZ_BIT(SCAN_PSB) | TZ_BIT(SCAN_OVF);
	struct scan scan = drive->guide;
	struct scan_packet packet;

	drive_take(drive);
	scan.offset = compare_offset(drive->config.compare);
	while (!drive->ended && scan_next(&scan, &packet) &&
	    !(ends >> packet.kind & 1)) {
		if (packet.kind != SCAN_PIP)
			continue;
		edge_set_cr3(after, packet.value);
		drive->cr3_written = drive->cr3_peeked = true;
	}
}
