/*
 * Emits packets and keeps the state that their content depends on: last IP and
 * MODE.Exec.  ../flow.c decides when a packet is due.
 *
 * Source: SDM vol. 3, 33.4.2 "Packet Definitions".
 */
#ifndef TOPAZ_EMU_PT_PACKET_EMIT_H
#define TOPAZ_EMU_PT_PACKET_EMIT_H

#include "emu/pt/packet/packet.h"
#include "emu/pt/unit.h"

/*
 * The IPBytes for IP after the last IP LAST, which is ignored unless VALID.  FULL8:
 * the micro-architecture's .ip_full is 6.
 */
enum packet_ip_bytes emit_ip_bytes(
    uint64_t ip, uint64_t last, bool valid, bool full8);

/* A packet of fixed layout. */
void emit_packet(struct pt_unit *unit, enum packet_kind kind, uint64_t payload);

/* TIP, TIP.PGE or TIP.PGD to IP; MODE.Exec before TIP and TIP.PGE if needed. */
void emit_tip(struct pt_unit *unit, enum packet_ip_kind kind, uint64_t ip);

/* TIP.PGD without IP. */
void emit_pgd_bare(struct pt_unit *unit);

void emit_fup(struct pt_unit *unit, uint64_t ip);

/* The FUP that emit_fup() sends. */
struct packet emit_make_fup(const struct pt_unit *unit, uint64_t ip);

/* MODE.Exec of the current mode, which the decoder then knows. */
void emit_mode_exec(struct pt_unit *unit);

/* CFE of TYPE; OWN_FUP: a FUP follows that belongs to it. */
void emit_cfe(
    struct pt_unit *unit, enum packet_cfe type, bool own_fup, uint8_t vector);

/* An event data packet. */
void emit_evd(struct pt_unit *unit, enum packet_evd type, uint64_t data);

/* A block item of PAYLOAD_BYTES (4 or 8). */
void emit_bip(
    struct pt_unit *unit, uint8_t id, unsigned payload_bytes, uint64_t payload);

/* PIP with the current CR3. */
void emit_pip(struct pt_unit *unit);

#endif
