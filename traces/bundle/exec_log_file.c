#include "traces/bundle/exec_log_read.h"

#include <stdlib.h>

void
exec_log_file_free(struct exec_log_file *log)
{
	if (log == NULL)
		return;
	step_list_free(&log->steps);
	free(log->blocks);
	free(log->offsets);
	free(log->code);
	free(log->gaps);
	free(log->contexts);
	free(log->msrs);
	free(log->events);
	free(log->times);
	free(log);
}

bool
exec_log_file_cycles(
    const struct exec_log_file *log, uint64_t insns, uint64_t *cycles)
{
	size_t low = 0, high = log->time_count;

	/* The last record at or before INSNS. */
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (log->times[mid].insns <= insns)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0)
		return false;
	*cycles = log->times[low - 1].cycles + insns -
	    log->times[low - 1].insns;
	return true;
}
