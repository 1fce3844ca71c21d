/*
 * Operations of a tracing device that topaz's own ring-3 programs use.  A
 * driver that has them can be traced by tracer_device (`topaz run`) and by the
 * calls trace_setup and trace_read of its scenarios (actor_device).  A driver
 * with other operations does not need them: its scenarios call its own by
 * number.  Shared with ring 3; needs only <stdint.h>.
 *
 * Models the minimum that a reader needs: one buffer for each CPU, and how far
 * it was written.  No threads, no records, no reading while tracing is on.
 */
#ifndef TOPAZ_HARNESS_KPI_NATIVE_TRACE_H
#define TOPAZ_HARNESS_KPI_NATIVE_TRACE_H

#include <stdint.h>

/* Commands of SYS_IOCTL; a driver may have further errors.  KE_BUSY: tracing is on. */
enum trace_command {
	/* struct trace_config *: allocates the buffers, which exist until the
	 * file is closed.  KE_EXIST: they are allocated already. */
	TRACE_SETUP = 0x5401,
	/* 0: every CPU traces from the beginning of its buffer.  KE_BUSY. */
	TRACE_START,
	/* 0: no CPU traces, and what was written is in memory. */
	TRACE_STOP,
	/* struct trace_state *, in and out.  KE_BUSY. */
	TRACE_READ,
};

struct trace_config {
	uint64_t bytes; /* of each CPU's buffer, a multiple of 4096 */
	/* IA32_RTIT_CTL without TraceEn and ToPA: SDM vol. 3, 33.2.8.2
	 * "IA32_RTIT_CTL MSR". */
	uint64_t ctl;
};

/*
 * One CPU's buffer after tracing.  It holds the last min(written_bytes,
 * size_bytes) bytes; the oldest of them is at offset 0 if written_bytes <=
 * size_bytes, else at written_bytes % size_bytes.
 */
struct trace_state {
	uint32_t cpu;  /* in: its number */
	uint32_t lost; /* 1: an unknown number of further bytes is missing */
	uint64_t size_bytes;
	uint64_t written_bytes; /* since TRACE_START, also overwritten ones */
};

/* SYS_MMAP: CPU N's buffer, read-only: [N << TRACE_MAP_SHIFT, + size_bytes). */
#define TRACE_MAP_SHIFT 32

#endif
