#include "driver/insntrace/capture.h"

/* SDM vol. 3, 33.2.8.4 "IA32_RTIT_STATUS MSR". */
#define STATUS_ERROR   (UINT64_C(1) << 4)
#define STATUS_STOPPED (UINT64_C(1) << 5)

static uint32_t
flags_of(uint64_t status)
{
	return ((status & STATUS_STOPPED) != 0 ? INSNTRACE_STATE_STOPPED : 0) |
	    ((status & STATUS_ERROR) != 0 ? INSNTRACE_STATE_ERROR : 0);
}

enum insntrace_status
capture_decode(const struct topa *topa, bool stop_on_full,
    const struct hw_capture *capture, uint64_t wraps,
    struct insntrace_buffer_state *state)
{
	uint64_t size = topa_bytes(topa);
	uint64_t position;

	*state = (struct insntrace_buffer_state){
		.flags = flags_of(capture->status),
		.size_bytes = size,
		.wraps = wraps,
		.status = capture->status,
	};
	if (!topa_position(
		topa, capture->output_base, capture->mask_ptrs, &position))
		return INSNTRACE_INTERNAL;
	if (stop_on_full) {
		/* Stopped at its end, the CPU stands there or, where it has
		 * followed the END entry, at the beginning again. */
		state->position = wraps != 0 ? size : position;
		state->written_bytes = state->position;
		return INSNTRACE_OK;
	}
	/* The end is the beginning: the PMI of that wrap is counted. */
	state->position = position % size;
	state->written_bytes = wraps * size + state->position;
	return INSNTRACE_OK;
}
