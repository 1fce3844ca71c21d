#include "driver/insntrace/core/buffer/capture.h"

/* SDM vol. 3, 33.2.8.4 "IA32_RTIT_STATUS MSR". */
#define STATUS_ERROR   (UINT64_C(1) << 4)
#define STATUS_STOPPED (UINT64_C(1) << 5)

void
capture_look(struct capture_progress *progress, const struct topa *topa,
    const struct hw_capture *seen)
{
	uint64_t position;

	progress->seen = true;
	progress->ended = (seen->status & (STATUS_STOPPED | STATUS_ERROR)) != 0;
	if (!topa_position(
		topa, seen->output_base, seen->mask_ptrs, &position)) {
		progress->unsure = true;
		return;
	}
	/* The end of the buffer is the same position as its beginning. */
	position %= topa_bytes(topa);
	if (position < progress->position)
		progress->wraps++;
	progress->position = position;
}

void
capture_look_by_pmi(struct capture_progress *progress, const struct topa *topa,
    const struct hw_capture *seen)
{
	uint64_t from = progress->position, wraps = progress->wraps;
	bool early = progress->early;

	progress->early = false;
	capture_look(progress, topa, seen);
	if (!early && wraps == progress->wraps && !progress->unsure &&
	    !topa_raises_pmi(topa, from, progress->position))
		progress->wraps++;
}

uint64_t
capture_written(
    const struct capture_progress *progress, const struct topa *topa)
{
	return progress->wraps * topa_bytes(topa) + progress->position;
}

static uint32_t
flags_of(uint64_t status)
{
	return ((status & STATUS_STOPPED) != 0 ? INSNTRACE_STATE_STOPPED : 0) |
	    ((status & STATUS_ERROR) != 0 ? INSNTRACE_STATE_ERROR : 0);
}

/* After a stop at the end, the position is the end or, if the CPU has followed
 * the END entry, the beginning: then there was a PMI. */
static bool
is_full(const struct topa *topa, const struct capture_progress *progress,
    const struct hw_capture *last, uint64_t position)
{
	return position == topa_bytes(topa) ||
	    (position == 0 && progress->seen &&
		(last->status & STATUS_STOPPED) != 0);
}

enum insntrace_status
capture_decode(const struct topa *topa, bool stop_on_full,
    const struct capture_progress *progress, const struct hw_capture *last,
    struct insntrace_buffer_state *state)
{
	struct capture_progress end = *progress;
	uint64_t size = topa_bytes(topa);
	uint64_t position;

	capture_look(&end, topa, last);
	*state = (struct insntrace_buffer_state){
		.flags = flags_of(last->status),
		.size_bytes = size,
		.wraps = end.wraps,
		.status = last->status,
	};
	if (!topa_intact(topa) ||
	    !topa_position(topa, last->output_base, last->mask_ptrs, &position))
		return INSNTRACE_INTERNAL;
	if (end.unsure)
		return INSNTRACE_DATA_LOSS;
	if (stop_on_full) {
		bool full = is_full(topa, progress, last, position);

		state->wraps = full ? 1 : 0;
		state->position = full ? size : position;
		state->written_bytes = state->position;
		return INSNTRACE_OK;
	}
	state->position = end.position;
	state->written_bytes = capture_written(&end, topa);
	return INSNTRACE_OK;
}
