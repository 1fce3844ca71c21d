/*
 * From the registers that a Stop read and the number of PMIs to what the buffer
 * holds.  Pure.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_CAPTURE_H
#define TOPAZ_DRIVER_INSNTRACE_CAPTURE_H

#include "driver/insntrace/hw.h"
#include "driver/insntrace/topa.h"

/*
 * Fills all of STATE but the descriptor.  WRAPS: how often the last chunk was
 * filled.  INTERNAL: the registers name no place in TOPA; the status is filled.
 */
enum insntrace_status capture_decode(const struct topa *topa, bool stop_on_full,
    const struct hw_capture *capture, uint64_t wraps,
    struct insntrace_buffer_state *state);

#endif
