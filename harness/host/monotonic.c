#include "harness/host/monotonic.h"

#include <time.h>

int64_t
monotonic_nsec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

double
monotonic_seconds(void)
{
	return (double)monotonic_nsec() / 1e9;
}
