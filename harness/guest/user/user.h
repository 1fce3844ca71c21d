/*
 * Replacements for a C library in ring-3 programs: system calls, KEY=VALUE
 * arguments, console output.  No heap, no floating point, no errno: a system
 * call returns a value or a negative error (harness/guest/sys.h).
 */
#ifndef TOPAZ_HARNESS_GUEST_USER_USER_H
#define TOPAZ_HARNESS_GUEST_USER_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/guest/sys.h"

/* Defined by each program; the result is the exit code. */
int user_main(const char *args);

static inline int64_t
sys5(enum sys_number number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
    uint64_t e)
{
	register uint64_t r10 __asm__("r10") = d;
	register uint64_t r8 __asm__("r8") = e;
	int64_t result;

	__asm__ volatile(
	    "syscall"
	    : "=a"(result), "+r"(r10), "+r"(r8), "+D"(a), "+S"(b), "+d"(c)
	    : "0"((uint64_t)number)
	    : "rcx", "r9", "r11", "memory");
	return result;
}

static inline int64_t
sys3(enum sys_number number, uint64_t a, uint64_t b, uint64_t c)
{
	return sys5(number, a, b, c, 0, 0);
}

static inline int64_t
sys2(enum sys_number number, uint64_t a, uint64_t b)
{
	return sys5(number, a, b, 0, 0, 0);
}

static inline int64_t
sys1(enum sys_number number, uint64_t a)
{
	return sys5(number, a, 0, 0, 0, 0);
}

static inline uint64_t
address(const volatile void *at)
{
	return (uint64_t)(uintptr_t)at;
}

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
size_t strlen(const char *s);

_Noreturn void user_exit(int code);

/* Prints the message and exits with code 1. */
_Noreturn void user_fail(const char *what, int64_t result);

/* Conversions: %s %d %u %x (always 64-bit values) and %%. */
void user_printf(const char *fmt, ...);
size_t user_format(char *to, size_t bytes, const char *fmt, ...);

/* The value of the word KEY=VALUE, decimal or 0x..., or FALLBACK if absent. */
uint64_t arg_number(const char *args, const char *key, uint64_t fallback);
/* Its text, truncated to fit; false (and "") if it is absent. */
bool arg_text(const char *args, const char *key, char *to, size_t bytes);
/* Item INDEX of a comma-separated text; false if there are fewer. */
bool list_item(const char *list, unsigned index, char *to, size_t bytes);
uint64_t text_number(const char *text);

/* In the number of a stream: a thread's (EVENT_STREAM_THREAD), else a CPU's. */
#define THREAD_STREAM (UINT64_C(1) << 32)

/* Semaphores that synchronise init, the tracer and the workloads. */
#define SEM_GATE 1 /* posted once for each workload when tracing has begun */
#define SEM_DONE 2 /* posted by each workload at its end, however it ends */
#define SEM_TAKE \
 3 /* posted for an actor that waits to take what was reported */
/* Opens the gate for JOBS workloads and waits until they have ended. */
void user_run_workloads(uint64_t jobs);

#endif
