/*
 * What libipt makes something else of though a trace is right: taken out, in a copy.
 */
#ifndef TOPAZ_TRACES_DECODE_MASK_CFE_H
#define TOPAZ_TRACES_DECODE_MASK_CFE_H

#include "emu/base/base.h"

/*
 * An IRET sends a CFE and, behind it, a TIP, which an overflow may take.  libipt keeps
 * the event of the CFE over the OVF for the IRET that comes next, and has no flow
 * until then, or another one.  *COPY becomes a copy of COUNT BYTES in which each such
 * CFE is PADs, to be freed; NULL where there is none.  False: out of memory.
 * SDM vol. 3, 33.2.4 "Event Trace", 33.4.2.16 "Overflow (OVF) Packet".
 */
bool mask_cfe_cfes(const uint8_t *bytes, size_t count, uint8_t **copy);

#endif
