/*
 * The x87 functions whose result is an approximation: F2XM1, FYL2X, FYL2XP1, FPATAN,
 * FPTAN, FSIN, FCOS, FSINCOS.  Processors differ in the last bit; here it is that of the
 * exact value, rounded once.
 */
#ifndef TOPAZ_EMU_CPU_EXECUTE_TRANSCENDENTAL_H
#define TOPAZ_EMU_CPU_EXECUTE_TRANSCENDENTAL_H

#include "emu/cpu/insn/insn.h"

/*
 * Makes AFTER, an FXSAVE image, independent of the host: it is what the host's CPU made
 * of the image BEFORE by FUNCTION, which is not INSN_NO_FUNCTION.  BEFORE has no
 * exception flag; those of AFTER are what FUNCTION raised.  AFTER has C2 only if FUNCTION
 * defines it.  Stack faults, NaNs, infinities, denormal and out-of-range operands are the
 * host's, as no processor differs in them.
 *
 * SDM vol. 1, 8.3.8 "Approximation of Pi": operands of FSIN, FCOS, FSINCOS and FPTAN are
 * reduced by a pi of 66 bits, not by pi.
 */
void transcendental_round(
    enum insn_function function, const uint8_t *before, uint8_t *after);

#endif
