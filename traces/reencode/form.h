/*
 * What an instruction is, as Zydis says.  How long one is and what it does is said by
 * what comes before its displacement and its immediate: each such head is decoded
 * once and kept.
 */
#ifndef TOPAZ_TRACES_REENCODE_FORM_H
#define TOPAZ_TRACES_REENCODE_FORM_H

#include "emu/base.h"

/* What an instruction is, or the last one of a block. */
enum walk_kind {
	WALK_PLAIN, /* no transfer */
	WALK_COND,
	WALK_JUMP,
	WALK_CALL,
	WALK_JUMP_INDIRECT,
	WALK_CALL_INDIRECT,
	WALK_RET,
	WALK_FAR,     /* far transfers, SYSCALL, IRET, INT n, VM entry ... */
	WALK_MOV_CR3, /* no transfer, but may send a packet */
};

/* An x86 instruction has no more. */
#define FORM_BYTES_MAX 15

struct form {
	uint8_t head[16];   /* the bytes before displacement and immediate */
	uint8_t head_bytes; /* 0: nothing is kept here */
	uint8_t length;
	uint8_t kind;           /* enum walk_kind */
	uint8_t bits;           /* of the mode: 16, 32, 64 */
	uint8_t distance_bytes; /* at .head_bytes, to the target; 0: none */
};

struct forms;

/* NULL: out of memory. */
struct forms *forms_create(void);
void forms_destroy(struct forms *forms);

/*
 * The form of the instruction that COUNT BYTES begin with in the mode of BITS, valid
 * until the next call.  NULL: they begin none.
 */
const struct form *form_of(
    struct forms *forms, const uint8_t *bytes, unsigned count, uint8_t bits);

/* How far behind its end BYTES, an instruction of FORM, lead; 0: it is no branch. */
uint64_t form_distance(const struct form *form, const uint8_t *bytes);

#endif
