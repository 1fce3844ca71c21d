/*
 * Operations of a tracing device that topaz's own ring-3 programs know: a driver that
 * has them can be traced with by tracer_device (`topaz run`) and by the calls
 * trace_setup and trace_read of its scenarios (actor_device).  A driver with other
 * operations needs none of this: its scenarios call them by number.  Shared with
 * ring 3; needs only <stdint.h>.
 *
 * Models the least that a reader has to know: one buffer for each CPU, and how far it
 * was written.  No threads, no records, no reading while tracing is on.
 */
#ifndef TOPAZ_HARNESS_KPI_NATIVE_TRACE_H
#define TOPAZ_HARNESS_KPI_NATIVE_TRACE_H

#include <stdint.h>

/* Commands of SYS_IOCTL; a driver may have further errors.  KE_BUSY: tracing is on. */
enum trace_command {
	/* struct trace_config *: makes the buffers, which live until the file is
	 * closed.  KE_EXIST: there are some. */
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
 * One CPU's buffer as tracing left it.  It holds the last min(written_bytes,
 * size_bytes) bytes; the oldest of them is at offset 0 if written_bytes <=
 * size_bytes, else at written_bytes % size_bytes.
 */
struct trace_state {
	uint32_t cpu;  /* in: which */
	uint32_t lost; /* 1: further bytes are missing, how many is not known */
	uint64_t size_bytes;
	uint64_t written_bytes; /* since TRACE_START, with those overwritten */
};

/* SYS_MMAP: the buffer of CPU N is [N << TRACE_MAP_SHIFT, + size_bytes), to be read. */
#define TRACE_MAP_SHIFT 32

#endif
