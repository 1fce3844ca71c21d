#define _GNU_SOURCE
#include "harness/host/cpus.h"

#include <sched.h>

unsigned
cpus_usable(void)
{
	cpu_set_t cpus;

	return sched_getaffinity(0, sizeof(cpus), &cpus) == 0
	    ? (unsigned)CPU_COUNT(&cpus)
	    : 1;
}
