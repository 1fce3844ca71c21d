/*
 * Workloads: deterministic computations whose result is a checksum, so that a
 * wrong emulation is detected.  A round of each is about 100,000 instructions.
 * They differ in the control flow that they generate a trace of.
 */
#ifndef TOPAZ_HARNESS_GUEST_USER_WORK_WORK_H
#define TOPAZ_HARNESS_GUEST_USER_WORK_WORK_H

#include <stdint.h>

uint64_t work_sort(uint64_t rounds);    /* sorting and hashing */
uint64_t work_branch(uint64_t rounds);  /* indirect calls, jump tables */
uint64_t work_deep(uint64_t rounds);    /* recursion deeper than 64 */
uint64_t work_fault(uint64_t rounds);   /* system calls, handled faults */
uint64_t work_edge(uint64_t rounds);    /* Jcc to the next, LOOP, JRCXZ */
uint64_t work_string(uint64_t rounds);  /* long REP strings */
uint64_t work_migrate(uint64_t rounds); /* threads that change CPUs */
uint64_t work_pair(uint64_t rounds);    /* two threads on one CPU */
uint64_t work_spin(uint64_t rounds);    /* compiled integer code */
uint64_t work_family(
    uint64_t rounds);               /* children, exec, code that is unmapped */
uint64_t work_hop(uint64_t rounds); /* becomes the program spin */
uint64_t work_mix(uint64_t rounds); /* all but pair, family and hop, in turn */

/* The workload of the program, one of these (selected by the linker). */
uint64_t work_main(uint64_t rounds);

/* The CPU that the program was pinned to, or -1. */
int64_t work_cpu(void);

/* xorshift64: the state must not be 0 and never becomes 0. */
static inline uint64_t
work_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x;
}

static inline uint64_t
work_fold(uint64_t sum, uint64_t value)
{
	sum ^= value + UINT64_C(0x9e3779b97f4a7c15) + (sum << 6) + (sum >> 2);
	return sum;
}

#endif
