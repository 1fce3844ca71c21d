/*
 * A unit put into the middle of a trace that was going on without it: behind an
 * overflow, or at a PSB+ from which on a trace is known.
 */
#ifndef TOPAZ_EMU_PT_RESUME_H
#define TOPAZ_EMU_PT_RESUME_H

#include "emu/pt/unit.h"

/* Bytes of output between two looks at PacketByteCnt. */
#define PT_LOOK_BYTES 960

struct pt_resume {
	struct pt_context at; /* .ip is the next instruction to be traced */
	bool overflow;  /* OVF is sent; a FUP after it if PacketEn and no PSB */
	bool psb;       /* PSB+ is sent */
	uint32_t count; /* PacketByteCnt, 17 bits */
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

#endif
