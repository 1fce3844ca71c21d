/*
 * Joins, in a trace, pairs of CYC packets that erratum SKD007 makes ambiguous.
 */
#ifndef TOPAZ_TRACES_DECODE_CUT_CYC_H
#define TOPAZ_TRACES_DECODE_CUT_CYC_H

#include "emu/base/base.h"

/*
 * True if the unit sent an OVF at OFFSET, or in the PADs before it, which begin at PADS
 * (offsets in the trace; equal: no PADs).
 */
typedef bool cut_cyc_is_ovf(void *arg, uint64_t pads, uint64_t offset);

/*
 * With SKD007 an OVF (02 F3) may take the place of the last byte of a CYC.  A whole CYC
 * of 32 to 63 cycles and a CYC of 30 have the same bytes, and libipt takes them for such
 * an OVF.  Each of these pairs that IS_OVF denies becomes one CYC with the sum of both and
 * a PAD: the same time at each packet.  False: out of memory.
 * SDM vol. 3, 33.4.2.14 "Cycle Count (CYC) Packet".
 */
bool cut_cyc_join(
    uint8_t *bytes, size_t count, cut_cyc_is_ovf *is_ovf, void *arg);

#endif
