/*
 * Removes, in a copy of a trace, the CFE packets that libipt misinterprets although the
 * trace is correct.
 */
#ifndef TOPAZ_TRACES_DECODE_MASK_CFE_H
#define TOPAZ_TRACES_DECODE_MASK_CFE_H

#include "emu/base/base.h"

/*
 * An IRET sends a CFE and then a TIP.  An overflow may lose that TIP.  libipt then keeps
 * the CFE's event across the OVF for the next IRET, and decodes no flow or a wrong flow
 * up to it.  *COPY becomes a copy of COUNT BYTES, which the caller frees, with PADs in
 * place of each such CFE; NULL if there is none.  False: out of memory.
 * SDM vol. 3, 33.2.4 "Event Trace", 33.4.2.16 "Overflow (OVF) Packet".
 */
bool mask_cfe_cfes(const uint8_t *bytes, size_t count, uint8_t **copy);

/* False: BYTES have no such CFE.  They may begin or end within a packet. */
bool mask_cfe_may_have(const uint8_t *bytes, size_t count);

#endif
