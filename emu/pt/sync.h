/*
 * Starts a unit in the middle of an existing trace: after an overflow, or at the
 * first known PSB+.
 */
#ifndef TOPAZ_EMU_PT_SYNC_H
#define TOPAZ_EMU_PT_SYNC_H

#include "emu/pt/unit.h"

/* Bytes of output between two checks of PacketByteCnt. */
#define PT_LOOK_BYTES 960

struct pt_resume {
	struct pt_context at; /* .ip is the next instruction to be traced */
	bool overflow; /* OVF is sent; a FUP after it if PacketEn and no PSB */
	bool psb;      /* PSB+ is sent */
	bool pgd;      /* APL11: OVF is followed by TIP.PGD; PacketEn is 0 */
	/* APL12: OVF is followed by a FUP of .fup_ip though PacketEn is 0. */
	bool fup;
	uint64_t fup_ip;
	/* PSB+ belongs to an enable: it has no FUP, and a TIP.PGE follows if
	 * PacketEn. */
	bool enable;
	bool due;        /* a PSB was due before */
	bool cyc_sent;   /* a CYC was sent in this cycle */
	bool close_word; /* the packet before closed its word of output */
	uint32_t count;  /* PacketByteCnt, 17 bits */
	/*
	 * Bytes since the last check, 0..PT_LOOK_BYTES - 1, congruent to the output
	 * offset modulo 64.
	 */
	uint32_t since_look;
};

/*
 * TraceEn 0 -> 1 by writing CTL, without the packets of an enable.  FAULT_GP, with
 * no state changed, if WRMSR would refuse CTL.
 */
enum fault pt_unit_resume(
    struct pt_unit *unit, uint64_t ctl, const struct pt_resume *resume);

/*
 * On a processor the PSB follows the expiry of PacketByteCnt after a delay that no
 * rule defines.  A PSB that is due waits for pt_unit_psb(), at most until BYTES
 * bytes after the check that found it due.  0, the default: it does not wait.
 */
void pt_unit_hold_psb(struct pt_unit *unit, uint32_t bytes);

/*
 * CBR packets carry CBR (1..255) from now on; no packet is sent for the change.
 * This is the only function of a unit that the observer of its PT_EVENT_PSB may
 * call.
 */
void pt_unit_set_cbr(struct pt_unit *unit, uint32_t cbr);

/*
 * Sets the clocks to NOW, whatever their values, and the cycle counter to COUNT, at
 * most NOW's cycles.  No MTC is sent for skipped time.  While TraceEn is 0, these
 * are the values at the next enable or pt_unit_resume().
 */
void pt_unit_set_time(
    struct pt_unit *unit, const struct pt_time *now, uint64_t count);

/* True if a PSB is due and was not sent yet. */
bool pt_unit_psb_due(const struct pt_unit *unit);

/* Bytes since the check of PacketByteCnt that last found a PSB due. */
uint64_t pt_unit_psb_late(const struct pt_unit *unit);

/*
 * Sends the PSB+ that is due, or one independent of the counter; the next
 * instruction is at IP.  TriggerEn must be 1.  While a bounded buffer has no room
 * for it, or overflows, the PSB+ stays due.
 */
void pt_unit_psb(struct pt_unit *unit, uint64_t ip);

/*
 * Limits further output to BYTES bytes.  The first packet that does not end within
 * them is lost and begins an overflow that never ends; the unit can then only be
 * destroyed.  The unit must have sent output, and have no bounded buffer.
 */
void pt_unit_lose(struct pt_unit *unit, uint64_t bytes);

/* True if the last packet sent closes its word of output (struct pt_resume). */
bool pt_unit_closes_word(const struct pt_unit *unit);

/* Number of branch outcomes that are not in a TNT packet yet. */
unsigned pt_unit_tnt_pending(const struct pt_unit *unit);

#endif
