/*
 * A small program that is really there, as bytes, and a walk through it that
 * tells the unit under test of every transfer; then libipt's instruction decoder
 * over the stream, against the walk.
 */
#ifndef TOPAZ_TESTS_UNIT_PT_STROLL_H
#define TOPAZ_TESTS_UNIT_PT_STROLL_H

#include "tests/unit/pt/fake.h"

#define STROLL_IPS_MAX  200000
#define STROLL_GAPS_MAX 4096
/* What a filter for the program's outer loop, without its function, is. */
#define STROLL_FILTER_A FAKE_CLIP
#define STROLL_FILTER_B (FAKE_NLIP + 0xf)
/* Where its only PTWRITE is. */
#define STROLL_PTWRITE (FAKE_NLIP + 0x28)

/* An IRETQ and a VMRESUME, which the walk itself never comes to. */
#define STROLL_IRET     (FAKE_NLIP + 0x2e)
#define STROLL_VMRESUME (FAKE_NLIP + 0x30)

struct stroll {
	struct fake *fake;
	uint64_t seed;
	uint64_t ip;
	uint64_t stack[64];
	unsigned depth;
	bool filtered;      /* only what lies within the filter is traced */
	uint64_t *exec_log; /* addresses of the traced instructions, in order */
	size_t exec_log_count;
	size_t resume[STROLL_GAPS_MAX]; /* in .exec_log, after each overflow */
	size_t gap_count;
};

/* A walk that starts where the enable of fake_start() ends. */
struct stroll *stroll_create(struct fake *fake, uint64_t seed);
void stroll_destroy(struct stroll *stroll);

/* Walks on until the unit was told of TRANSFERS transfers. */
void stroll_on(struct stroll *stroll, unsigned transfers);

/* Here the unit resolves an overflow. */
void stroll_resumes(struct stroll *stroll);

/* Walks to the WRMSR that ends the trace. */
void stroll_to_end(struct stroll *stroll);

/*
 * Fails unless libipt decodes the stream since fake_start() to the walk, but for
 * as many overflows as there were, each resumed where stroll_resumes() said.
 * Returns the instructions decoded.
 */
size_t stroll_decode(struct stroll *stroll);

/* The program, which lies from FAKE_CLIP on. */
const uint8_t *stroll_code(size_t *bytes);

#endif
