/*
 * The making of a sequence, shared by generate.c, draw.c and make.c: the unit that is
 * being made, and random choices.
 */
#ifndef TOPAZ_TESTS_DIFFERENTIAL_MAKE_H
#define TOPAZ_TESTS_DIFFERENTIAL_MAKE_H

#include "flags.h"
#include "generate.h"
#include "random.h"

#define RSP_MIDDLE  (STACK_VA + STACK_BYTES / 2)
#define SPARE_BYTES 0x200 /* of the code pages, at either end, for data */

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI };

struct make {
	uint64_t rng;
	unsigned what;
	struct sequence *sequence;
	struct unit *unit;
	/* An x87 exception may be pending; it may be where MASKMOVQ is executed again. */
	bool x87_unmasked, has_maskmovq;
};

static inline unsigned
below(struct make *make, unsigned count)
{
	return random_below(&make->rng, count);
}

static inline bool
chance(struct make *make, unsigned percent)
{
	return random_chance(&make->rng, percent);
}

/* A value that instructions find interesting. */
uint64_t make_value(struct make *make);
/* Where an operand of SIZE bytes may be. */
uint64_t make_place(struct make *make, unsigned size, bool aligned);

bool unit_decode(const uint8_t *code, size_t count, struct decoded *d);

/* One more instruction of the unit: aborts if CODE is none, or the unit is full. */
struct piece *unit_add(struct make *make, const void *code, unsigned length);
void unit_add_patched(struct make *make, const struct piece *from);
/* MOV of an immediate, which needs no flag and leaves all alone. */
void unit_add_mov(struct make *make, unsigned reg, uint64_t value);

/* draw.c: makes the unit a random instruction, with those that make it valid. */
void draw_insn(struct make *make);
/* draw.c: adds a random x87 instruction, with the MOVs that make its operand valid. */
void draw_x87(struct make *make);

#endif
