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
	free(log->softs);
	free(log);
}

/* The number of records before INSNS. */
static size_t
find_time(const struct exec_log_file *log, uint64_t insns)
{
	size_t low = 0, high = log->time_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (log->times[mid].insns < insns)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool
exec_log_file_cycles(
    const struct exec_log_file *log, uint64_t insns, uint64_t *cycles)
{
	size_t low = find_time(log, insns + 1);

	if (low == 0)
		return false;
	*cycles = log->times[low - 1].cycles + insns -
	    log->times[low - 1].insns;
	return true;
}

bool
exec_log_file_moment(
    const struct exec_log_file *log, uint64_t insns, size_t n, uint64_t *cycles)
{
	size_t at = find_time(log, insns) + n;

	if (at >= log->time_count || log->times[at].insns != insns)
		return false;
	*cycles = log->times[at].cycles;
	return true;
}

static int
compare_counts(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

bool
exec_log_file_is_soft(const struct exec_log_file *log, uint64_t insns)
{
	return log->soft_count != 0 &&
	    bsearch(&insns, log->softs, log->soft_count, sizeof(insns),
		compare_counts) != NULL;
}
