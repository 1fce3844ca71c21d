/*
 * Where a sequence runs: linear addresses that the process of the host and the user
 * mode of the machine have in common, and the state before and after.
 */
#ifndef TOPAZ_TESTS_DIFFERENTIAL_LAYOUT_H
#define TOPAZ_TESTS_DIFFERENTIAL_LAYOUT_H

#define PAGE_BYTES 0x1000

/* Pages that the sequence may write, and for .code execute. */
#define CODE_VA     0x10000000
#define CODE_BYTES  0x2000
#define DATA_VA     0x10010000
#define DATA_BYTES  0x3000
#define FIXED_VA    0x10020000 /* read-only */
#define FIXED_BYTES 0x1000
#define STACK_VA    0x10030000
#define STACK_BYTES 0x2000
#define ABSENT_VA   0x10040000 /* no page is here, nor after the others */

/* Offsets in struct state, for kernel.S. */
#define STATE_RSP    32
#define STATE_RIP    128
#define STATE_RFLAGS 136
#define STATE_VECTOR 144
#define STATE_ERROR  152
#define STATE_CR2    160
#define STATE_CS     168
#define STATE_FX     192

#ifndef __ASSEMBLER__

# include <stddef.h>
# include <stdint.h>

/* .vector to .cs say how a run ended, by which exception. */
struct state {
	uint64_t gpr[16]; /* RAX RCX RDX RBX RSP RBP RSI RDI R8 to R15 */
	uint64_t rip, rflags;
	uint64_t vector, error, cr2, cs;
	uint64_t unused[2];
	uint8_t fx[512]; /* as FXSAVE64 writes it */
};

_Static_assert(offsetof(struct state, rip) == STATE_RIP, "kernel.S");
_Static_assert(offsetof(struct state, vector) == STATE_VECTOR, "kernel.S");
_Static_assert(offsetof(struct state, cs) == STATE_CS, "kernel.S");
_Static_assert(offsetof(struct state, fx) == STATE_FX, "kernel.S");

struct memory {
	uint8_t code[CODE_BYTES];
	uint8_t data[DATA_BYTES];
	uint8_t fixed[FIXED_BYTES];
	uint8_t stack[STACK_BYTES];
};

struct outcome {
	struct state state;
	struct memory memory;
};

/* What the read-only page holds. */
static inline void
fill_fixed(uint8_t *fixed)
{
	for (unsigned i = 0; i < FIXED_BYTES; i++)
		fixed[i] = (uint8_t)(i * 37 + (i >> 8) + 11);
}

/* .vector of a run that was broken off. */
# define VECTOR_ENDLESS 0x100

#endif
#endif
