/*
 * What ring 3 passes to the framework: /dev/ptrace takes the ptrace requests as ioctls,
 * with struct linux_ptrace as their argument.  Shared with ring 3; needs only <stdint.h>.
 */
#ifndef TOPAZ_HARNESS_KPI_LINUX26_BTS_ABI_H
#define TOPAZ_HARNESS_KPI_LINUX26_BTS_ABI_H

#include <stdint.h>

enum linux_request {
	PTRACE_CONT = 7,
	PTRACE_ATTACH = 16, /* asks the task to stop: wait for it */
	PTRACE_DETACH = 17,
	PTRACE_BTS_CONFIG =
	    40, /* .addr: struct ptrace_bts_config, .data: its bytes */
	PTRACE_BTS_STATUS = 41, /* the same, filled in */
	PTRACE_BTS_SIZE = 42,   /* the records before the write position */
	PTRACE_BTS_GET =
	    43, /* .addr: struct bts_struct; .data: 0 is the newest */
	PTRACE_BTS_CLEAR = 44,
	PTRACE_BTS_DRAIN =
	    45,             /* .addr: struct bts_struct[], .data: their bytes */
	LINUX_STOP = 0x100, /* kill(pid, SIGSTOP), by the tracer */
	LINUX_WAIT = 0x101, /* waitpid(pid), but EAGAIN if it has not stopped
				after a while */
};

/*
 * .result is what ptrace(2) returns where that is not negative; a negative one is the
 * ioctl's result.
 */
struct linux_ptrace {
	uint32_t pid;
	uint32_t reserved;
	uint64_t addr, data;
	int64_t result;
};

#define LINUX_ENDED         (-3) /* the ioctl's result if the task has ended: -ESRCH */

#define PTRACE_BTS_O_TRACE  0x1u /* record branches */
#define PTRACE_BTS_O_SCHED  0x2u /* record when the task arrives and departs */
#define PTRACE_BTS_O_SIGNAL 0x4u /* signal an overflow */
#define PTRACE_BTS_O_ALLOC  0x8u /* allocate a buffer of .size bytes */

struct ptrace_bts_config {
	uint32_t size, flags, signal, bts_size;
};

enum bts_qualifier {
	BTS_INVALID = 0,
	BTS_BRANCH,
	BTS_TASK_ARRIVES,
	BTS_TASK_DEPARTS,
};

struct bts_struct {
	uint64_t qualifier;
	union {
		struct {
			uint64_t from_ip, to_ip;
		} lbr;
		uint64_t jiffies; /* HZ is 250 */
	} variant;
};

#endif
