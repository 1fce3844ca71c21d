/*
 * /dev/ds: each function of the Debug Store driver's interface as an ioctl, as a
 * profiler in the kernel would call it, with struct linux_ds as the argument.  Shared
 * with ring 3; needs only <stdint.h>.
 */
#ifndef TOPAZ_HARNESS_KPI_LINUX26_DS_ABI_H
#define TOPAZ_HARNESS_KPI_LINUX26_DS_ABI_H

#include <stdint.h>

enum linux_ds_call {
	LINUX_DS_REQUEST =
	    1, /* .size; .value 1: the profiler allocates the buffer */
	LINUX_DS_RELEASE,
	LINUX_DS_INDEX,
	LINUX_DS_END,
	LINUX_DS_ACCESS, /* .value: the record's number */
	LINUX_DS_WRITE, /* .size bytes, at most LINUX_DS_WRITE_MAX; .value 1: without the
			    check of the owner */
	LINUX_DS_RESET, /* .value 1: clear */
	LINUX_DS_GET_RESET,
	LINUX_DS_SET_RESET, /* .value */
	LINUX_DS_ENABLE, /* .value 1: branches of ring 3 are recorded from here on, 0: not.
			    PEBS, of the current CPU only: .value + 1 instructions of ring
			    3 for each record, 0: none */
	LINUX_DS_READ, /* of the current CPU, not recording: its records, to .value, a
			    buffer of .size bytes; then a reset; their number */
};

#define LINUX_DS_WRITE_MAX 288

struct linux_ds {
	uint64_t pid;  /* 0: the current CPU */
	uint64_t pebs; /* 1: PEBS, 0: BTS */
	uint64_t size, value;
	int64_t result; /* of the function, or what it returned by a pointer */
};

#endif
