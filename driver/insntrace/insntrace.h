/*
 * The interface of /dev/insntrace to ring 3: the operations of Zircon's
 * insntrace controller as ioctls, and its status codes.  Needs only
 * <stdint.h>; every structure has the same layout in both rings.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_INSNTRACE_H
#define TOPAZ_DRIVER_INSNTRACE_INSNTRACE_H

#include <stdint.h>

#define INSNTRACE_PATH "/dev/insntrace"

/*
 * Errors of an ioctl, in addition to the kernel's own (a bad address, a bad
 * file, an unknown command), and all greater than those.  An operation that
 * fails has changed nothing.
 */
enum insntrace_status {
	INSNTRACE_OK = 0,
	INSNTRACE_BAD_STATE = 201, /* wrong state, see README.md */
	INSNTRACE_INVALID_ARGS =
	    202, /* beyond the limits or the CPU's features */
	INSNTRACE_NO_RESOURCES = 203,  /* every trace has its buffer already, or
					  the buffer or the thread the other */
	INSNTRACE_NOT_SUPPORTED = 204, /* the mode or the CPU cannot */
	INSNTRACE_NO_MEMORY = 205,
	INSNTRACE_INTERNAL = 206,  /* the position is in no table, or a
				      table has changed */
	INSNTRACE_DATA_LOSS = 207, /* PMIs were lost: the number of bytes
				      and their beginning are unknown */
};

/* An ioctl's command and the structure that its argument points to. */
enum insntrace_command {
	INSNTRACE_INITIALIZE = 0x4901,   /* insntrace_allocation */
	INSNTRACE_TERMINATE,             /* no argument */
	INSNTRACE_GET_ALLOCATION,        /* insntrace_allocation */
	INSNTRACE_ALLOCATE_BUFFER,       /* insntrace_buffer: out: descriptor */
	INSNTRACE_FREE_BUFFER,           /* insntrace_buffer: in: descriptor */
	INSNTRACE_GET_BUFFER_CONFIG,     /* insntrace_buffer */
	INSNTRACE_GET_BUFFER_STATE,      /* insntrace_buffer_state */
	INSNTRACE_GET_CHUNK,             /* insntrace_chunk */
	INSNTRACE_START,                 /* no argument */
	INSNTRACE_STOP,                  /* no argument */
	INSNTRACE_ASSIGN_THREAD_BUFFER,  /* insntrace_thread; thread mode */
	INSNTRACE_RELEASE_THREAD_BUFFER, /* insntrace_thread: in: descriptor */
};

enum insntrace_mode {
	INSNTRACE_MODE_CPU = 0,
	INSNTRACE_MODE_THREAD = 1,
};

#define INSNTRACE_TRACES_MAX          64u
#define INSNTRACE_CHUNKS_MAX          4096u
#define INSNTRACE_CIRCULAR_CHUNKS_MIN 4u  /* unless stop_on_full */
#define INSNTRACE_ORDER_MAX           15u /* 128 MiB, the largest region */
#define INSNTRACE_RANGES_MAX          4u

struct insntrace_allocation {
	uint32_t mode;        /* enum insntrace_mode */
	uint32_t trace_count; /* CPU mode: the number of CPUs; thread mode: 1 to
				 INSNTRACE_TRACES_MAX */
};

/* All bytes of [START, START + BYTES); ADDRn_CFG of ctl gives the purpose. */
struct insntrace_range {
	uint64_t start, bytes;
};

struct insntrace_config {
	uint32_t chunk_count;
	uint32_t chunk_order;  /* a chunk has 4096 << order bytes */
	uint32_t stop_on_full; /* 0: circular, 1 */
	uint32_t reserved;     /* 0 */
	uint64_t ctl; /* IA32_RTIT_CTL without TraceEn, ToPA, FabricEn; thread
			 mode: with OS and User, without CR3Filter, two ranges */
	uint64_t cr3_match; /* 0 unless ctl has CR3Filter */
	struct insntrace_range range[INSNTRACE_RANGES_MAX];
};

struct insntrace_buffer {
	uint32_t descriptor; /* CPU mode: the CPU that traces into it */
	uint32_t reserved;   /* 0 */
	struct insntrace_config config;
};

/*
 * From Assign to Release, or to the end of the thread, the thread is traced into the
 * buffer while tracing is on, on every CPU that it runs on.  The buffer may then be
 * given to another thread, whose trace follows.
 */
struct insntrace_thread {
	uint32_t descriptor;
	uint32_t thread; /* the OS's number of the thread */
};

#define INSNTRACE_STATE_STOPPED 1u /* STATUS.Stopped: full, or TraceStop */
#define INSNTRACE_STATE_ERROR   2u /* STATUS.Error: an operational error */

/*
 * The state after the last Stop.  The buffer holds the last min(written, size)
 * bytes; the oldest of them is at 0 if written <= size, else at POSITION.
 */
struct insntrace_buffer_state {
	uint32_t descriptor;
	uint32_t flags;         /* INSNTRACE_STATE_* */
	uint64_t size_bytes;    /* of the buffer */
	uint64_t written_bytes; /* since Start, overwritten ones included */
	uint64_t position;      /* of the next byte */
	uint64_t wraps;         /* rounds; stop_on_full: 1 if it is full */
	uint64_t status;        /* IA32_RTIT_STATUS */
};

/*
 * The offset for mapping a chunk.  A buffer's chunks are adjacent, so a mapping
 * may cover any whole pages of one buffer; it is read-only.
 */
struct insntrace_chunk {
	uint32_t descriptor;
	uint32_t index;
	uint64_t map_offset; /* for SYS_MMAP */
	uint64_t bytes;
};

#define INSNTRACE_MAP_SHIFT 40 /* a buffer begins at descriptor << this */

#endif
