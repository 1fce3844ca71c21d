/*
 * Computes the contents of the buffer from the registers that the PMI handler
 * and Stop read.  Pure.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_CORE_BUFFER_CAPTURE_H
#define TOPAZ_DRIVER_INSNTRACE_CORE_BUFFER_CAPTURE_H

#include "driver/insntrace/core/buffer/topa.h"
#include "driver/insntrace/core/hw/hw.h"

/* The progress of a CPU's trace; all 0 when tracing starts. */
struct capture_progress {
	uint64_t position; /* as last read, below the buffer's size */
	uint64_t wraps;    /* until then */
	bool seen;         /* read at least once since the start */
	bool unsure;       /* wraps may be missing */
	bool early;        /* read while a PMI was pending */
	bool ended;        /* tracing has stopped by itself, or with an error */
};

/*
 * SEEN: registers read with TraceEn = 0.  A position before the last one counts
 * as a wrap, which is right if less than a whole buffer was written since.
 */
void capture_look(struct capture_progress *progress, const struct topa *topa,
    const struct hw_capture *seen);

/*
 * The same by the handler of a PMI.  If the output has passed no chunk that raises one,
 * it has gone round, which counts as a wrap, too.
 */
void capture_look_by_pmi(struct capture_progress *progress,
    const struct topa *topa, const struct hw_capture *seen);

/* The bytes written until PROGRESS was read. */
uint64_t capture_written(
    const struct capture_progress *progress, const struct topa *topa);

/*
 * Fills all of STATE except the descriptor.  PROGRESS: as the last PMI handler
 * left it; LAST: the registers that Stop read.  INTERNAL: the registers give no
 * position in TOPA, or TOPA is damaged; DATA_LOSS: wraps may be missing.  In
 * both cases STATE's status is set.
 */
enum insntrace_status capture_decode(const struct topa *topa, bool stop_on_full,
    const struct capture_progress *progress, const struct hw_capture *last,
    struct insntrace_buffer_state *state);

#endif
