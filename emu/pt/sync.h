/*
 * A unit put into the middle of a trace that was going on without it: behind an
 * overflow, or at a PSB+ from which on a trace is known.
 */
#ifndef TOPAZ_EMU_PT_SYNC_H
#define TOPAZ_EMU_PT_SYNC_H

#include "emu/pt/unit.h"

/* Bytes of output between two looks at PacketByteCnt. */
#define PT_LOOK_BYTES 960

struct pt_resume {
	struct pt_context at; /* .ip is the next instruction to be traced */
	bool overflow; /* OVF is sent; a FUP after it if PacketEn and no PSB */
	bool psb;      /* PSB+ is sent */
	bool pgd;      /* APL11: OVF is followed by TIP.PGD; PacketEn is 0 */
	/* APL12: OVF is followed by a FUP of .fup_ip though PacketEn is 0. */
	bool fup;
	uint64_t fup_ip;
	/* PSB+ is an enable's: it has no FUP, a TIP.PGE follows if PacketEn. */
	bool enable;
	bool due;        /* a PSB was due before */
	bool cyc_sent;   /* a CYC was sent in this cycle */
	bool close_word; /* the packet before it closed its word of output */
	uint32_t count;  /* PacketByteCnt, 17 bits */
	/*
	 * Bytes since the last look, 0..PT_LOOK_BYTES - 1, congruent to the
	 * output offset modulo 64.
	 */
	uint32_t since_look;
};

/*
 * TraceEn 0 -> 1 by writing CTL, without the packets of an enable.  FAULT_GP with
 * no state changed where WRMSR would refuse CTL.
 */
enum fault pt_unit_resume(
    struct pt_unit *unit, uint64_t ctl, const struct pt_resume *resume);

/*
 * From when a processor's counter is over until its PSB comes some time goes by,
 * which no rule gives.  A PSB that is due waits for pt_unit_psb(), until BYTES
 * bytes are behind the look that found it due; 0, as at first: it does not wait.
 */
void pt_unit_hold_psb(struct pt_unit *unit, uint32_t bytes);

/*
 * CBR packets say CBR (1..255) from now on, and none is sent for it: the one thing
 * of a unit that the observer of its PT_EVENT_PSB may call.
 */
void pt_unit_set_cbr(struct pt_unit *unit, uint32_t cbr);

/*
 * The clocks read NOW, wherever they were, and the cycle counter COUNT, at most
 * NOW's cycles; without an MTC for what was passed over.  While TraceEn is 0: so
 * they read at the enable or pt_unit_resume() that comes next.
 */
void pt_unit_set_time(
    struct pt_unit *unit, const struct pt_time *now, uint64_t count);

/* Is a PSB due that was not sent yet? */
bool pt_unit_psb_due(const struct pt_unit *unit);

/* Bytes behind the look at PacketByteCnt that found a PSB due last. */
uint64_t pt_unit_psb_late(const struct pt_unit *unit);

/*
 * Sends the PSB+ that is due, or one beside the counter; the next instruction is
 * at IP.  TriggerEn must be 1.  While a bounded buffer has no room for it, or
 * overflows, it is due.
 */
void pt_unit_psb(struct pt_unit *unit, uint64_t ip);

/*
 * Only BYTES bytes more come out.  The first packet that does not end within them is
 * lost and begins an overflow, which nothing ends: the unit may then be destroyed.
 * It must have sent something, and have no bounded buffer.
 */
void pt_unit_lose(struct pt_unit *unit, uint64_t bytes);

/* Does the packet that was sent last close its word of output (struct pt_resume)? */
bool pt_unit_closes_word(const struct pt_unit *unit);

/* The outcomes of branches that no TNT packet has taken yet. */
unsigned pt_unit_tnt_pending(const struct pt_unit *unit);

#endif
