/*
 * From the registers that the PMI's handler and Stop read to what the buffer
 * holds.  Pure.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_CAPTURE_H
#define TOPAZ_DRIVER_INSNTRACE_CAPTURE_H

#include "driver/insntrace/hw.h"
#include "driver/insntrace/topa.h"

/* How far a CPU's trace has come; all 0 when tracing starts. */
struct capture_progress {
	uint64_t position; /* when last looked at, below the buffer's size */
	uint64_t wraps;    /* until then */
	bool seen;         /* looked at, since it was started */
	bool unsure;       /* wraps may be missing */
};

/*
 * SEEN: registers read with TraceEn = 0.  A position before the last one is a
 * wrap: true if less than a whole buffer was written since.
 */
void capture_look(struct capture_progress *progress, const struct topa *topa,
    const struct hw_capture *seen);

/*
 * Fills all of STATE but the descriptor.  PROGRESS: as the last PMI's handler
 * left it; LAST: what Stop read.  INTERNAL: the registers name no place in
 * TOPA, or that is damaged; DATA_LOSS: wraps may be missing.  Of these the status
 * is filled.
 */
enum insntrace_status capture_decode(const struct topa *topa, bool stop_on_full,
    const struct capture_progress *progress, const struct hw_capture *last,
    struct insntrace_buffer_state *state);

#endif
