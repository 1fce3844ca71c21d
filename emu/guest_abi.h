/*
 * The interface between the host's loader and the guest kernel: memory layout, the
 * state in which CPUs start, the boot information, and the channel to the host.
 * Included by both sides; needs only <stdint.h>.
 */
#ifndef TOPAZ_EMU_GUEST_ABI_H
#define TOPAZ_EMU_GUEST_ABI_H

#include <stdint.h>

/*
 * Linear layout of the boot page tables: physical 0.. at ABI_KERNBASE (1 GiB, 2 MiB
 * pages, read-write-execute) and all RAM at ABI_DMAP (read-write).  The kernel
 * image is linked at ABI_KERNEL_VA and loaded at ABI_KERNEL_PA; modules follow it
 * at ABI_KERNBASE + their physical address.  The kernel replaces these tables with
 * its own, which map text read-only.
 */
#define ABI_KERNBASE  UINT64_C(0xffffffff80000000)
#define ABI_DMAP      UINT64_C(0xffff800000000000)
#define ABI_KERNEL_PA UINT64_C(0x200000)
#define ABI_KERNEL_VA (ABI_KERNBASE + ABI_KERNEL_PA)

/*
 * CPU 0 starts at the kernel's ELF entry in 64-bit mode, CPL 0: CR0 = PE MP NE WP
 * PG, CR4 = PAE OSFXSR OSXMMEXCPT, EFER = LME LMA SCE NXE, RFLAGS = 2, RDI = linear
 * address of struct abi_boot in the direct map, RSI = CPU number, RSP undefined;
 * flat CS and SS whose descriptors are in no GDT; x87 state as FNINIT leaves it and
 * MXCSR 1F80H (model choice: firmware's state, not RESET's).  The other CPUs wait for INIT
 * and a start-up IPI, and then start in the same state (model choice: no real
 * mode; the vector of the IPI is ignored).
 */
#define ABI_BOOT_MAGIC UINT64_C(0x315a5450544f4f42)

struct abi_boot {
	uint64_t magic;
	uint64_t cpu_count;
	uint64_t ram_bytes; /* RAM is physical [0, ram_bytes), below 4 GiB */
	uint64_t free_pa;   /* first byte after everything that the host
			       loaded */
	uint64_t tsc_hz;
	uint64_t cmdline_pa;               /* NUL-terminated words KEY=VALUE */
	uint64_t module_count, modules_pa; /* struct abi_module[] */
	uint64_t program_count, programs_pa; /* struct abi_program[] */
};

/*
 * The first and the last 8 bytes of each page of a module's frames when they are
 * allocated: what an earlier owner may have left there.
 */
#define ABI_STALE UINT64_C(0x57a1e57a1e57a1e5)

/* Permissions of a module's segment. */
#define ABI_SEG_WRITE 1u
#define ABI_SEG_EXEC  2u

/* A kernel module (driver, framework), linked and relocated by the host. */
struct abi_module {
	char name[32];
	struct {
		uint64_t va, bytes; /* page aligned; 0 bytes: absent */
		uint64_t flags;     /* ABI_SEG_* */
	} segment[4];
	/* The section "topaz_modules": pointers to the module's records. */
	uint64_t set_va, set_bytes;
};

/* A user program: the ELF file as it is (ET_EXEC, static, page-aligned). */
struct abi_program {
	char name[32];
	uint64_t image_pa, image_bytes;
};

/* I/O ports (OUT only). */
#define ABI_PORT_CONSOLE 0xe9  /* 8 bits: one character */
#define ABI_PORT_CALL    0x5e0 /* 32 bits: physical address of struct abi_call */

enum abi_op {
	ABI_EXIT = 1,  /* code: the guest shuts down */
	ABI_PANIC = 2, /* message va, bytes, rip of the failing instruction, its
			  rbp: the run ends */
	ABI_ALLOC = 3, /* va, bytes, caller */
	ABI_FREE = 4,  /* va, caller */
	ABI_DRAIN = 5, /* stream (EVENT_STREAM_*), pa, bytes: user space has read
			  these bytes of a trace buffer, in stream order; within
			  one page */
	ABI_LOST =
	    6, /* stream, bytes: the driver reported them as lost; 0: their
			  number is unknown; ABI_LOST_SKIPPED */
	ABI_NOTE = 7,   /* code, value: mark in the event log */
	ABI_BUFFER = 8, /* stream, pa, bytes: user space has mapped this part of
			   a trace buffer, in the buffer's order; within one
			   page */
	ABI_POINT = 9,  /* point (FNV-1a hash of the function's name, 32 bits),
			   caller: a kernel function that can fail asks whether
			   to fail; .result: 0 no, 1 yes */
	ABI_NMI_DONE = 10,   /* claims: the number of handlers that claimed the
				NMI */
	ABI_SCRIPT = 11,     /* pa, bytes: a program waits for the host to write
				its next operation there
				(harness/guest/user/script.h) */
	ABI_CALL_BEGIN = 12, /* step, actor, call: an operation begins ... */
	ABI_CALL_END = 13,   /* step, actor, result: ... and has ended */
	ABI_STACK = 14,   /* pa, bytes, kind (ABI_STACK_*): its memory below the
			     stack pointer is dead */
	ABI_CLEAR = 15,   /* va, count (to ABI_CLEAR_MAX): an array of physical
			     addresses of frames (0: none), which are all zeroed
			     at once; .result: -1 if one is not a frame of RAM,
			     and those after it are not zeroed */
	ABI_DROPPED = 16, /* operation (ABI_DROPPED_*), error, CPU: a driver's
			     operation failed, and no caller will see the
			     error */
	ABI_OBJECT_PAGE = 17, /* object (the frame number of its page 0), pa,
				 index: a page of an object that a device lets
				 user space map; index by index from 0 */
	ABI_POSITION =
	    18, /* stream, bytes: user space has read the buffer's write position
		   and consumed all bytes before it */
	ABI_OWNER_GONE =
	    19, /* code: the program that started first has ended, and its files
		   are closed */
	/* pid, linear address of a DS save area, records that its buffer holds (0: it
	   is gone): of the branches of a process's task */
	ABI_RECORDS = 20,
	/* pid, pa, bytes: these records of branches are handed to user space, in the
	   order of their recording; within one page.  0 bytes: there are none */
	ABI_RECORDS_READ = 21,
	ABI_SPACE = 22, /* pid, CR3: the process's address space from now on */
	ABI_RECORDING =
	    23, /* pid, 1 or 0, 1 or 0: its branches are to be recorded
			       from now on, or no longer; so are the switches to
			       and from it, as records with the source -1 */
	ABI_ATOMIC_SLEEP =
	    24, /* caller: it called a function that may sleep where
				  that is not allowed */
	/* counter (the OS's id of it), what (enum abi_counter), value: what user space
	   has asked of a performance counter, or got from it */
	ABI_COUNTER = 25,
	/* log, pa, bytes: user space has read these bytes of a driver's log, in the
	   log's order; within one page */
	ABI_LOG_READ = 26,
	/* the physical addresses of two pointers to structures: of the thread that this
	   CPU runs, and of the one that it runs or switches to; the offset of the
	   thread's number, 4 bytes, above 0 */
	ABI_THREAD = 27,
	/* stream (1: object, as for ABI_OBJECT_PAGE), thread (0: none any more;
	   ABI_THREAD_ANY), 0 or 1: the buffer is to get the trace of that thread alone */
	ABI_TRACED_THREAD = 28,
};

/* In place of lost bytes: their number is unknown, and the reader goes on behind what was
 * written until now, of which a part may still be there. */
#define ABI_LOST_SKIPPED UINT64_MAX

/* In place of a thread: the buffer may get the trace of any. */
#define ABI_THREAD_ANY UINT32_MAX

/* A counter counts from after ABI_COUNTER_STARTED to before ABI_COUNTER_STOPS. */
enum abi_counter {
	ABI_COUNTER_ASKED =
	    1, /* value: event and rings, as IA32_PERFEVTSELx has them */
	ABI_COUNTER_PERIOD = 2, /* value: events between two samples */
	ABI_COUNTER_TARGET = 3, /* value: pid: its events are counted ... */
	ABI_COUNTER_DESCENDANTS = 4, /* ... and those of its later children */
	ABI_COUNTER_STARTED = 5,
	ABI_COUNTER_STOPS = 6,
	ABI_COUNTER_READ = 7, /* value: the events that it has counted */
	ABI_COUNTER_NO_ROOM =
	    8, /* value: samples that found no room, of all counters; counter: 0 */
	/* value: what general-purpose counter 0 of a CPU starts from after a PEBS
	   record, from now on; counter: ABI_RECORDS_PEBS | CPU */
	ABI_COUNTER_RESET = 9,
	/* It is about to be read: its value is what it has counted at a moment between this
	   and ABI_COUNTER_READ. */
	ABI_COUNTER_READS = 10,
};

/* In place of a pid: the branches of CPU n, in n; or its PEBS records, of format 0. */
#define ABI_RECORDS_CPU  (UINT64_C(1) << 32)
#define ABI_RECORDS_PEBS (UINT64_C(1) << 33)

/* Operations whose errors a kernel does not report to the caller. */
#define ABI_DROPPED_CONFIGURE 1
#define ABI_DROPPED_ENABLE    2
#define ABI_DROPPED_RECORD    3 /* a record for user space is lost */

#define ABI_CLEAR_MAX         64

#define ABI_STACK_TASK        0 /* a kernel stack of a task */
#define ABI_STACK_NMI         1 /* a CPU's NMI stack: all dead outside NMIs */

/* 8-byte aligned, within one page. */
struct abi_call {
	uint32_t op;    /* enum abi_op */
	int32_t result; /* written by the host: 0, or -1 for an unknown op */
	uint64_t arg[4];
};

#endif
