#include "emu/pt/packet/emit.h"
#include "emu/pt/packet/nonbranch.h"
#include "emu/pt/packet/tnt.h"
#include "emu/pt/state.h"
#include "emu/pt/trace.h"

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
	tnt_flush(unit);
	emit_packet(unit, PACKET_VMCS, unit->vmx.vmcs);
	state_refresh(unit);
}

void
pt_unit_vmxon(struct pt_unit *unit, const struct pt_context *at)
{
	unit->vmx.on = true;
	unit->vmx.vmcs = VMX_VMCS_MASK;
	if (unit->profile->uarch->vmx_pt || !(unit->msrs.ctl & CTL_TRACE_EN))
		return;
	trace_disable(unit, at->ip);
}

bool
vmx_allows(const struct pt_unit *unit)
{
	/*
	 * SDM vol. 3, 24.8 "Restrictions on VMX Operation" and appendix A.6
	 * "Miscellaneous Data": any write of IA32_RTIT_CTL is #GP, even one that
	 * changes nothing.  In editions up to 2017, only a write that sets TraceEn.
	 */
	return !unit->vmx.on || unit->profile->uarch->vmx_pt;
}
