/*
 * Packets for non-branch events: PTWRITE, power events, changes of RFLAGS.IF,
 * transactions, system management mode, VMX, PEBS records.  Each function is called
 * after the event.  AT is the CPU's context; AT.ip is the payload of a FUP.
 *
 * Where AT.ip is the address of the instruction that has retired (PTWRITE, XBEGIN,
 * a PEBS record), a PSB+ that is due waits for the next event, because PSB+ carries
 * the address of the next instruction.
 *
 * A unit whose TriggerEn is 0, or whose internal buffer overflows, sends nothing.
 * Not modelled: the causes of these events.
 *
 * Source: SDM vol. 3, 33.7 "Packet Generation Scenarios", by the rows' names.
 */
#ifndef TOPAZ_EMU_PT_PACKET_NONBRANCH_H
#define TOPAZ_EMU_PT_PACKET_NONBRANCH_H

#include "emu/pt/unit.h"

/*
 * PTWRITE of VALUE, BYTES (4 or 8) long; AT.ip is its CLIP.  PTW where TriggerEn,
 * ContextEn, FilterEn and PTWEn are 1, with a FUP where FUPonPTW is.
 * 33.4.2.21 "PTW Packet".
 */
void pt_unit_ptwrite(struct pt_unit *unit, const struct pt_context *at,
    uint64_t value, unsigned bytes);

/*
 * An instruction (STI, CLI, POPF) has changed RFLAGS.IF and nothing else; AT.ip is
 * the NLIP.  MODE.Exec and FUP where EventEn is 1.  33.2.4 "Event Trace".
 */
void pt_unit_if_changed(struct pt_unit *unit, const struct pt_context *at);

/*
 * The processor shuts down at AT: a triple fault, or a VMX abort, whose VM exit
 * sends no packet (model choice: 33.7 permits a missing TIP).  Sends CFE, and PWRE
 * as at HLT.
 */
void pt_unit_shutdown(struct pt_unit *unit, const struct pt_context *at);
/* Only the CFE of a shutdown. */
void pt_unit_shutdown_cfe(struct pt_unit *unit, const struct pt_context *at);

/*
 * Execution stops for a C-state.  .hints and .ext are those of MWAIT; without MWAIT
 * (HLT, INIT, hardware duty cycling) they are 0.  .cstate and .sub are encoded as in
 * MWAIT's hints: 0 is C1. 33.2.3 "Power Event Tracing".
 */
struct pt_power {
	bool mwait;         /* by MWAIT: sends an MWAIT packet, too */
	bool hw;            /* entered by hardware, not requested by software */
	uint8_t hints, ext; /* MWAIT's EAX[7:0] and ECX[1:0] */
	uint8_t cstate, sub; /* 0..15 */
};
void pt_unit_power_enter(struct pt_unit *unit, const struct pt_context *at,
    const struct pt_power *power);

/* Causes of a wake from a C-state: PWRX, "Wake Reason". */
#define PT_WAKE_INTERRUPT 1
#define PT_WAKE_STORE     4
#define PT_WAKE_HW        8

/*
 * Execution resumes: LAST and DEEPEST core C-state (0..15) and the cause of the
 * wake (PT_WAKE_*; 0 for SMI, NMI, #MC).  TSC, TMA and CBR where TSCEn or PwrEvtEn
 * is 1, PWRX where PwrEvtEn is.
 */
void pt_unit_power_exit(struct pt_unit *unit, const struct pt_context *at,
    uint8_t last, uint8_t deepest, uint8_t reason);

/*
 * Execution stops within C0, for a change of frequency or for thermal reasons;
 * AT.ip is the NLIP.  EXSTOP, where PwrEvtEn is 1; pt_unit_frequency() sends the
 * CBR.
 */
void pt_unit_exstop(struct pt_unit *unit, const struct pt_context *at);

/*
 * A transaction begins (XBEGIN, XACQUIRE) or commits (XEND, XRELEASE), outermost
 * only; AT.ip is the CLIP.  An abort is a PT_TRANSFER_TSX_ABORT.  33.4.2.8 "MODE
 * Packets".
 */
void pt_unit_tsx(
    struct pt_unit *unit, const struct pt_context *at, bool begins);

/*
 * SMI: TraceEn is cleared, with the packets of a disable; AT.ip is the address
 * saved in SMRAM.  RSM: TraceEn becomes TRACE_EN, the value saved in SMRAM, with
 * the packets of a WRMSR that enables. 33.2.8.3 "Enabling and Disabling Packet
 * Generation with TraceEn".
 */
void pt_unit_smi(struct pt_unit *unit, const struct pt_context *at);
void pt_unit_rsm(
    struct pt_unit *unit, const struct pt_context *at, bool trace_en);

/*
 * GETSEC[SENTER], on any logical processor, or GETSEC[ENTERACCS]: TraceEn is
 * cleared, without a packet; pending branches are lost (model choice, as at a warm
 * reset: 33.2.9.4 "SENTER/ENTERACCS and ACM" permits the loss of more).
 */
void pt_unit_senter(struct pt_unit *unit);

/*
 * An authenticated code module has run, with TraceEn 0.  No packet marks its
 * beginning or its end; TSC and CBR are sent where TSCEn is 1 (model choice:
 * 33.2.9.4 permits them).
 */
void pt_unit_acm(struct pt_unit *unit, const struct pt_context *at);

/*
 * VMXON: VMX operation begins, without a current VMCS; AT.ip is the CLIP.  Where
 * the micro-architecture's .vmx_pt (IA32_VMX_MISC[14]) is 0, TraceEn is cleared
 * with the packets of a disable, and every write of IA32_RTIT_CTL is #GP until a
 * reset. 33.5.1 "VMX-Specific Packets and VMCS Controls"; 24.8 "Restrictions on VMX
 * Operation".
 */
void pt_unit_vmxon(struct pt_unit *unit, const struct pt_context *at);

/*
 * A maintenance packet; PAYLOAD is specific to the processor model. 33.4.2.19 "MNT
 * Packet".
 */
void pt_unit_maintenance(struct pt_unit *unit, uint64_t payload);

/*
 * Writes a PEBS record to the trace as blocks of items: each item has 8 bytes, or 4
 * in a block with .narrow.  WITH_IP: a FUP of AT.ip ends the record. 33.4.2.26
 * "Block Begin Packet".
 */
struct pt_block_item {
	uint8_t id; /* 0..31 */
	uint64_t value;
};
struct pt_block {
	uint8_t type; /* 0..31 */
	bool narrow;
	size_t count;
	const struct pt_block_item *items;
};
void pt_unit_pebs(struct pt_unit *unit, const struct pt_context *at,
    const struct pt_block *blocks, size_t count, bool with_ip);

#endif
