#include "emu/pt/emit.h"
#include "emu/pt/state.h"

/* SDM vol. 3, 33.4.2.15 "VMCS Packet": bits 51:12 of the address. */
#define VMX_VMCS_MASK ((UINT64_C(1) << 40) - 1)

void
pt_unit_vmptrld(struct pt_unit *unit, uint64_t vmcs_pa)
{
	TZ_ASSERT(vmcs_pa == PT_VMCS_NONE || vmcs_pa % 4096 == 0);
	TZ_ASSERT(vmcs_pa == PT_VMCS_NONE || vmcs_pa >> 52 == 0);
	unit->vmx.on = true;
	unit->vmx.vmcs = vmcs_pa >> 12 & VMX_VMCS_MASK;
	if (!unit->gate.trigger_en || !unit->gate.context_en ||
	    unit->overflow.on)
		return;
	emit_tnt(unit);
	emit_packet(unit, PACKET_VMCS, unit->vmx.vmcs);
	unit_refresh(unit);
}
