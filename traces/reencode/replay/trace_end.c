/*
 * The end of the trace.
 */
#include "traces/reencode/replay/replay_internal.h"

/* The trace ends at END while nothing is traced: at most a flush follows. */
static void
trace_end_flush(struct replay *replay, uint64_t *end)
{
	uint64_t at = replay_offset(replay);

	unit_driver_disable(&replay->driver, &replay->at);
	if (*end == at && replay->driver.config.stats->cut_off == 0) {
		*end = at + (16 - (at + replay->driver.config.phase) % 16) % 16;
		if (*end > replay->config.count)
			*end = replay->config.count;
	}
	compare_limit(replay->driver.compare, *end);
	unit_driver_take(&replay->driver);
}

void
trace_end_finish(struct replay *replay)
{
	struct replay_result *result = replay->result;
	uint64_t end;

	if (!replay->running)
		return;
	report_take(replay);
	if (replay->ended)
		return;
	if (replay->has_last &&
	    code_blocks_kind(replay->last) == INSN_CLASS_PLAIN)
		replay->at.ip = code_blocks_nlip(replay->last);
	cut_last(replay, replay->config.count);
	report_take(replay);
	if (replay->ended)
		return;
	end = cut_read(replay, replay->config.count).end;
	if (!replay->traced)
		pending_packets_before(replay, true);
	report_take(replay);
	if (replay->traced || replay_offset(replay) < end)
		cut_event(replay, end, false);
	else
		trace_end_flush(replay, &end);
	compare_stop(replay->driver.compare, end);
	result->tail = replay->config.count - end;
}
