/*
 * What libipt's event decoder takes the time to be at each TIP of a stream.
 */
#ifndef TOPAZ_TESTS_UNIT_PT_TIP_TIMES_H
#define TOPAZ_TESTS_UNIT_PT_TIP_TIMES_H

#include "traces/decode/clock.h"

/*
 * Fills TSC with the times of the TIPs of the stream of CONFIG, MOST of them at most,
 * from its first PSB on; fails where libipt finds an error or has no time.  SIGNATURE
 * as in event_text.h.  Returns how many there are.
 */
size_t tip_times_read(const struct clock_config *config, uint32_t signature,
    uint64_t *tsc, size_t most);

#endif
