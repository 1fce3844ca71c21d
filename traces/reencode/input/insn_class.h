/*
 * What an instruction is, as Zydis says.  How long one is and what it does is said by
 * what comes before its displacement and its immediate: each such head that head_of()
 * knows is decoded once and kept.
 */
#ifndef TOPAZ_TRACES_REENCODE_INPUT_INSN_CLASS_H
#define TOPAZ_TRACES_REENCODE_INPUT_INSN_CLASS_H

#include "traces/reencode/input/opcode_key.h"

#include <endian.h>
#include <string.h>

/* What an instruction is, or the last one of a block. */
enum code_blocks_kind {
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
#define INSN_CLASS_BYTES_MAX 15

struct insn_class {
	uint8_t head_bytes; /* before displacement and immediate */
	uint8_t length;
	uint8_t kind;           /* enum code_blocks_kind */
	uint8_t distance_bytes; /* behind the head, to the target; 0: none */
};

/*
 * A form that is kept, in 8 bytes, since many are looked at: the head, then the rest of
 * struct form.  0: nothing is kept.
 */
#define INSN_CLASS_LENGTH_SHIFT   48
#define INSN_CLASS_KIND_SHIFT     52
#define INSN_CLASS_DISTANCE_SHIFT 56

static inline unsigned
insn_class_length(uint64_t kept)
{
	return kept >> INSN_CLASS_LENGTH_SHIFT & 15;
}

static inline enum code_blocks_kind
insn_class_kind(uint64_t kept)
{
	return (enum code_blocks_kind)(kept >> INSN_CLASS_KIND_SHIFT & 15);
}

static inline struct insn_class
insn_class_unpack(uint64_t kept)
{
	return (struct insn_class){ .head_bytes = (uint8_t)head_count(kept),
		.length = (uint8_t)insn_class_length(kept),
		.kind = (uint8_t)insn_class_kind(kept),
		.distance_bytes = kept >> INSN_CLASS_DISTANCE_SHIFT & 7 };
}

/* Forms that are kept; a later one takes the place of an earlier. */
#define INSN_CLASS_KEPT_BITS 11

struct insn_class_table {
	struct opcode_key_table head;
	uint64_t kept[1 << INSN_CLASS_KEPT_BITS];
};

struct forms;

/* NULL: out of memory. */
struct forms *insn_class_create(void);
void insn_class_destroy(struct forms *forms);
struct insn_class_table *insn_class_table(struct forms *forms);

/*
 * The FORM of the instruction that COUNT BYTES begin with in the mode of BITS.  False:
 * they begin none.
 */
bool insn_class_of(struct forms *forms, const uint8_t *bytes, unsigned count,
    uint8_t bits, struct insn_class *form);

/* How far behind its end BYTES, an instruction of FORM, lead; 0: it is no branch. */
int32_t insn_class_distance(
    const struct insn_class *form, const uint8_t *bytes);

/* The first 8 of BYTES, the first of them lowest. */
static inline uint64_t
insn_class_first(const uint8_t *bytes)
{
	uint64_t first;

	memcpy(&first, bytes, sizeof(first));
	return le64toh(first);
}

/* The first of two places, side by side, of the form of KEY. */
static inline size_t
insn_class_place(uint64_t key)
{
	return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >>
	    (64 - INSN_CLASS_KEPT_BITS));
}

static inline bool
insn_class_is(uint64_t kept, uint64_t key)
{
	return (kept ^ key) << (64 - HEAD_KEY_BITS) == 0;
}

/*
 * What is kept of the instruction that begins with FIRST, 8 bytes; 0: nothing.  It
 * must be known that there are INSN_CLASS_BYTES_MAX bytes.
 */
static inline uint64_t
insn_class_kept(
    const struct insn_class_table *table, uint64_t first, uint8_t bits)
{
	uint64_t key = head_of(&table->head, first, bits);
	size_t place = insn_class_place(key);

	if (key == 0)
		return 0;
	if (insn_class_is(table->kept[place], key))
		return table->kept[place];
	if (insn_class_is(table->kept[place ^ 1], key))
		return table->kept[place ^ 1];
	return 0;
}

#endif
