/*
 * Replacements for a C library: memory and string functions, formatted console
 * output, panic, and the channel to the host (emu/guest_abi.h).  No function
 * here sleeps or takes a lock of lock.h; all work in any context, NMI included.
 */
#ifndef TOPAZ_HARNESS_GUEST_LIB_H
#define TOPAZ_HARNESS_GUEST_LIB_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/guest_abi.h"

struct trap_frame;

/* Errors of kernel functions: FreeBSD's numbers.  0 is success. */
enum kerr {
	KE_PERM = 1,
	KE_NOENT = 2,
	KE_SRCH = 3,
	KE_INTR = 4,
	KE_IO = 5,
	KE_NXIO = 6,
	KE_BADF = 9,
	KE_CHILD = 10,
	KE_NOMEM = 12,
	KE_ACCES = 13,
	KE_FAULT = 14,
	KE_BUSY = 16,
	KE_EXIST = 17,
	KE_NODEV = 19,
	KE_INVAL = 22,
	KE_MFILE = 24,
	KE_NOTTY = 25,
	KE_AGAIN = 35, /* also: a sleep timed out */
	KE_TIMEDOUT = 60,
	KE_NAMETOOLONG = 63,
	KE_NOSYS = 78,
};

/* As in standard C. */
void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);
size_t strlen(const char *s);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t bytes);
/* Copies at most BYTES - 1 characters and ends with NUL; returns strlen(FROM). */
size_t strlcpy(char *to, const char *from, size_t bytes);

/*
 * %d %i %u %x %X %o %c %s %p %% with l, ll, h, hh, z, t, j, width, precision, '0',
 * '-', '+', '#' and '*'; %b of FreeBSD: a number and the names of its bits.  Returns
 * the length of the whole result, as C's do.
 */
int kvsnprintf(char *to, size_t bytes, const char *fmt, va_list args)
    __attribute__((format(printf, 3, 0)));
int ksnprintf(char *to, size_t bytes, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* To the console (`topaz run -v`, console.txt of a bundle).  The output of one
 * call, at most 512 characters, is not mixed with that of another CPU. */
int kvprintf(const char *fmt, va_list args)
    __attribute__((format(printf, 1, 0)));
int kprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void console_write(const char *s, size_t bytes);

/*
 * Ends the run with a message (ABI_PANIC).  The host reports the place of the
 * caller; for kpanic_frame, the place of the trap.
 */
_Noreturn void kvpanic(const char *fmt, va_list args)
    __attribute__((format(printf, 1, 0)));
_Noreturn void kpanic(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));
_Noreturn void kpanic_frame(const struct trap_frame *frame, const char *fmt,
    ...) __attribute__((format(printf, 2, 3)));

/* Panics unless EXPR is true; always on, with and without INVARIANTS.  Check panic. */
#define KERN_ASSERT(expr) \
 ((expr) ? (void)0 : kpanic("%s:%d: %s", __FILE_NAME__, __LINE__, #expr))

/* The host channel.  host_drain and host_buffer translate [VA, +BYTES) of the
 * current address space page by page; KE_FAULT where it is not mapped. */
_Noreturn void host_exit(int code);
void host_alloc(const void *va, size_t bytes, const void *caller);
void host_free(const void *va, const void *caller);
int host_drain(uint64_t stream, uint64_t va, uint64_t bytes);
int host_buffer(uint64_t stream, uint64_t va, uint64_t bytes);
void host_lost(uint64_t stream, uint64_t bytes);
void host_position(uint64_t stream, uint64_t bytes);
void host_object_page(uint64_t object, uint64_t pa, uint64_t index);
/* Where this CPU's threads are (ABI_THREAD).  STREAM, or with OBJECT a buffer that is not
 * mapped yet, is the trace of THREAD alone, a tid (0: of none any more). */
void host_threads(uint64_t running_pa, uint64_t next_pa, uint64_t number);
void host_traced_thread(uint64_t stream, uint32_t thread, bool object);
/* The first program has ended (ABI_OWNER_GONE). */
void host_owner_gone(int code);
void host_note(uint64_t code, uint64_t value);
/*
 * Branch records.  PID may be ABI_RECORDS_CPU | CPU.  Process PID has the address space
 * CR3.  The buffer of the DS save area AREA has ROOM for records of PID's task (0: it is
 * gone).  They are to be made from now on, or no longer; with SWITCHES also records of
 * arrivals and departures.  The BYTES bytes at RECORDS, of 24 each, are handed to user
 * space: all that there are, 0 if there are none.
 */
void host_space(uint64_t pid, uint64_t cr3);
void host_records(uint64_t pid, const void *area, uint64_t room);
void host_recording(uint64_t pid, bool on, bool switches);
void host_records_read(uint64_t pid, const void *records, uint64_t bytes);
/* Performance counters (ABI_COUNTER), and a driver's log, as host_drain(). */
void host_counter(uint64_t counter, uint64_t what, uint64_t value);
int host_log_read(uint64_t log, uint64_t va, uint64_t bytes);
/* CALLER has called a function that may sleep where that is not allowed. */
void host_atomic_sleep(const void *caller);

/* An error of a driver's operation that no caller receives (ABI_DROPPED). */
void kern_dropped_configure(int error, uint64_t cpu);
void kern_dropped_enable(int error, uint64_t cpu);
void kern_dropped_record(int error);
/* The object whose first page is at PA is to get the trace of THREAD alone, until the
 * kernel does not see to that any more. */
void kern_traced_thread(uint64_t pa, uint32_t thread);
void kern_traced_any(uint64_t pa);
void host_call_begin(uint64_t step, uint64_t actor, uint64_t call);
void host_call_end(uint64_t step, uint64_t actor, uint64_t result);

/*
 * Called at the entry of every function that can fail and that a module calls.
 * True: the function must fail as for lack of a resource (ABI_POINT).  FUNCTION
 * is its name, CALLER its return address.  False, without a host call, for
 * calls from the kernel's own image and in an NMI handler.  Functions that
 * sleep instead of failing (HEAP_WAITOK, M_WAITOK) do not call it.
 */
bool kern_fault_point(const char *function, const void *caller);

/* The same for the kernel: POINT is the hash of a constant name. */
bool fault_point_of(uint32_t point, const void *caller);

static inline __attribute__((always_inline)) uint32_t
point_hash(const char *function, size_t length)
{
	uint32_t hash = 0x811c9dc5; /* FNV-1a, 32 bits */

#pragma GCC unroll 64
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)function[i]) * 0x01000193u;
	return hash;
}

static inline __attribute__((always_inline)) bool
fault_point(const char *function, const void *caller)
{
	return fault_point_of(
	    point_hash(function, __builtin_strlen(function)), caller);
}

/* Boot information from the host. */
extern const struct abi_boot *boot_info;
/* The value of the boot parameter KEY=VALUE as a number (0x..: hexadecimal), or
 * FALLBACK if it is absent; boot_cmdline() is the whole line. */
uint64_t boot_option(const char *key, uint64_t fallback);
/* Its value as text, truncated to fit; false (and "") if KEY is absent. */
bool boot_text(const char *key, char *to, size_t bytes);
const char *boot_cmdline(void);

/* Modules in the host's order; NULL after the last. */
const struct abi_module *module_at(uint64_t index);

#endif
