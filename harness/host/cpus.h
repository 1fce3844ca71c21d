/* The CPUs that this process may use, fewer than the host's in a container or cpuset. */
#ifndef TOPAZ_HARNESS_HOST_CPUS_H
#define TOPAZ_HARNESS_HOST_CPUS_H

/* Their number, at least 1. */
unsigned cpus_usable(void);

#endif
