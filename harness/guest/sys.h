/*
 * System calls, for the kernel and for ring 3.  RAX: the number; RDI, RSI, RDX,
 * R10, R8: arguments; RCX and R11 are clobbered.  RAX returns a value, or an
 * error (enum kerr of lib.h, FreeBSD's numbers) as a negative number.
 */
#ifndef TOPAZ_HARNESS_GUEST_SYS_H
#define TOPAZ_HARNESS_GUEST_SYS_H

#include <stdint.h>

enum sys_number {
	SYS_EXIT = 1, /* code: the whole process */
	SYS_WRITE,    /* text, bytes: to the console */
	SYS_GETPID,
	SYS_GETTID,
	SYS_SPAWN,         /* program, args, semaphore at its end or 0: pid */
	SYS_EXEC,          /* program, args: does not return */
	SYS_WAIT,          /* pid or 0, int *code: pid */
	SYS_THREAD_CREATE, /* entry, stack top, arg (in RDI): tid */
	SYS_THREAD_EXIT,   /* uint32_t *done or 0: set to 1 and woken */
	SYS_YIELD,
	SYS_SLEEP,         /* cycles */
	SYS_SET_AFFINITY,  /* CPU mask: this thread's */
	SYS_RDCPU,         /* the CPU it ran on */
	SYS_FAULT_HANDLER, /* handler, arg: this thread's; 0: none */
	SYS_FAULT_RETURN,  /* struct sys_fault *: goes on at .rip */
	SYS_OPEN,          /* path, flags: fd */
	SYS_CLOSE,         /* fd */
	SYS_IOCTL,         /* fd, command, argument */
	SYS_MMAP,          /* fd, offset, bytes, SYS_PROT_*: address */
	SYS_MAP_ANON,      /* bytes: address of zeroed memory, read-write */
	SYS_MAP_PROGRAM,   /* program: maps its segments; its lowest address */
	SYS_MUNMAP,        /* address (of a whole mapping), bytes */
	SYS_WAIT_WORD,  /* uint32_t *word, value: sleeps while *word == value */
	SYS_WAKE_WORD,  /* uint32_t *word: wakes its waiters */
	SYS_SEM_WAIT,   /* 0..63: machine-wide semaphores, 0 at boot */
	SYS_SEM_POST,   /* 0..63 */
	SYS_KILL,       /* pid: as if it had exited with SYS_KILLED */
	SYS_NOTE,       /* code, value: ABI_NOTE */
	SYS_DRAIN,      /* stream, address, bytes: ABI_DRAIN for each page */
	SYS_BUFFER,     /* stream, address, bytes: ABI_BUFFER for each page */
	SYS_LOST,       /* stream, bytes, or 0, or ABI_LOST_SKIPPED: ABI_LOST */
	SYS_POSITION,   /* stream, bytes: ABI_POSITION */
	SYS_TRACED,     /* stream, tid: ABI_TRACED_THREAD */
	SYS_SHUTDOWN,   /* code: ABI_EXIT at once */
	SYS_SCRIPT,     /* 0, bytes: maps BYTES of zeroed memory in contiguous
			  frames, ABI_SCRIPT; its address, when the host
			  continues */
	SYS_CALL_BEGIN, /* step, actor, call: ABI_CALL_BEGIN */
	SYS_CALL_END,   /* step, actor, result: ABI_CALL_END */
	SYS_MODULE_LOAD,   /* name: of a module that boot left out (manual=) */
	SYS_MODULE_UNLOAD, /* name: of such a module */
	SYS_CPU_OFFLINE,   /* CPU: its tasks migrate and no task runs there any
			      more; it idles, takes interrupts and takes part
			      in rendezvous.  Not the caller's CPU */
	SYS_MODULE_CALL, /* number, up to 4 arguments: a system call that a module
			      has added to the kernel interface */
	SYS_COUNTER,     /* counter, enum abi_counter, value: ABI_COUNTER */
	SYS_THREAD_OF, /* pid, index: the tid of a process's thread, oldest first */
	SYS_LOG_READ, /* log, address, bytes: ABI_LOG_READ for each page */
	SYS_COUNT,
};

/* The exit code of a process that was killed. */
#define SYS_KILLED 137

/* Instructions of one round of any workload, roughly. */
#define SYS_ROUND_INSNS 100000

#define SYS_PROT_READ   1
#define SYS_PROT_WRITE  2
#define SYS_PROT_EXEC   4

/*
 * A fault handler is entered as handler(struct sys_fault *fault, arg), on the
 * stack of the thread that faulted, below its red zone.  It ends with
 * SYS_FAULT_RETURN, which loads every register from *fault.
 */
struct sys_fault {
	uint64_t vector, error, address;
	uint64_t r15, r14, r13, r12, r11, r10, r9, r8;
	uint64_t rdi, rsi, rbp, rbx, rdx, rcx, rax;
	uint64_t rip, rflags, rsp;
};

/*
 * A program starts at its ELF entry with RDI = address of its argument string,
 * RSP 16-byte aligned + 8 (as if called; the return address is 0).  ELF segments
 * lie in [SYS_IMAGE_MIN, SYS_IMAGE_MAX).
 */
#define SYS_IMAGE_MIN UINT64_C(0x400000)
#define SYS_IMAGE_MAX UINT64_C(0x100000000)
#define SYS_USER_TOP  UINT64_C(0x7fffffffe000)

#endif
