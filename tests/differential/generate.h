/*
 * Random user-mode sequences, a function of a seed: units, each an instruction with
 * those that make its operands valid, or an idiom (a loop, a call, a string
 * instruction, code that writes code).  A unit may be left out.
 */
#ifndef TOPAZ_TESTS_DIFFERENTIAL_GENERATE_H
#define TOPAZ_TESTS_DIFFERENTIAL_GENERATE_H

#include "layout.h"

#include <stdbool.h>

#define UNITS_MAX  32
#define PIECES_MAX 16
#define LIST_MAX   (UNITS_MAX * PIECES_MAX + 1)

/* What of an instruction's bytes depends on where things are. */
enum patch {
	PATCH_NONE,
	PATCH_RELATIVE, /* 4 bytes: .target relative to the next instruction */
	PATCH_BRANCH,   /* .bytes_patched bytes: the begin of unit .unit */
	PATCH_CODE,     /* 8 bytes: the address of unit .unit's immediate,
			   and .target bytes more */
};

/* One instruction. */
struct piece {
	uint8_t code[15];
	uint8_t length;
	uint8_t patch, patch_at, patch_bytes;
	uint8_t unit;
	uint64_t target;
	/* Flags that it reads; undefined flags after it: those before it that
	 * are in .keeps, and .makes.  The same of the x87 condition codes. */
	uint16_t reads, keeps, makes;
	uint16_t status_keeps, status_makes;
	/* Of both, what is undefined where it faults. */
	uint16_t at_fault, status_at_fault;
	bool in_parts; /* what it stores may be there in part then */
};

struct unit {
	struct piece piece[PIECES_MAX];
	uint8_t count;
	uint8_t soft; /* 1 + the piece whose immediate may be written; 0: none */
	bool out;     /* left out */
};

struct sequence {
	uint64_t seed;
	struct unit unit[UNITS_MAX];
	unsigned count;
	unsigned start; /* offset of the first instruction in the code pages */
	struct state state;
};

/* What is wanted, for sequence_make(). */
#define MAKE_X87 0x1
#define MAKE_SSE 0x2

void sequence_make(uint64_t seed, unsigned what, struct sequence *sequence);

/* The instructions as they are laid out, and what is undefined before each. */
struct listed {
	uint32_t at; /* offset in the code pages */
	uint8_t length;
	uint16_t undefined; /* flags of RFLAGS, also where it faults */
	uint16_t status;    /* the same of the x87 status word */
	bool in_parts;      /* see struct piece */
};

struct listing {
	struct listed item[LIST_MAX]; /* the last is the INT3 at the end */
	unsigned count;
};

/* Does an instruction of SEQUENCE read a flag that is undefined? */
bool sequence_is_undefined(const struct sequence *sequence);

void sequence_list(const struct sequence *sequence, struct listing *listing);

/* What SEQUENCE starts from. */
void sequence_lay_out(const struct sequence *sequence, struct outcome *start);

#endif
