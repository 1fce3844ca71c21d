/* What programs do with /dev/pmclog0 to /dev/pmclog3: see log.c. */
#ifndef TOPAZ_HARNESS_KPI_FREEBSD8_LOG_H
#define TOPAZ_HARNESS_KPI_FREEBSD8_LOG_H

#include <stdint.h>

#define KPI_LOGS 4

/* An ioctl: moves up to BYTES of what was written to AT; .bytes: how many. */
#define KPI_LOG_READ 0xc0106c00u
struct kpi_log_read {
	uint64_t at, bytes;
};

#endif
