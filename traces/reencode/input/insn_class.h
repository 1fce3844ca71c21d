/*
 * What an instruction is, as Zydis says.  How long one is and what it does is said by
 * its head, the bytes before displacement and immediate, without what only names
 * registers: what Zydis says of one instruction holds for all of one head, so that each
 * head that head_of() knows is decoded once and kept.
 */
#ifndef TOPAZ_TRACES_REENCODE_INPUT_INSN_CLASS_H
#define TOPAZ_TRACES_REENCODE_INPUT_INSN_CLASS_H

#include "emu/base/base.h"

#include <endian.h>
#include <string.h>

/* What an opcode has behind it. */
#define HEAD_MODRM 0x01
#define HEAD_NAMES 0x02 /* whose ModR/M names only registers and memory */
#define HEAD_REG   0x38 /* but for these bits of it, which say what is done */
#define HEAD_ODD   0x80 /* nothing of this: see head_odd() */

/* What head_of() looks into; [0] of the one-byte opcodes, [1] of 0F's. */
struct head_table {
	uint8_t has[2][256];
	/* By the ModR/M: its bytes and its SIB's, and the bits of them that only name. */
	uint8_t bytes[256];
	uint16_t names[256];
};

/*
 * A head: its bytes, the first lowest, how many they were, and the mode.  0: none, or
 * none that is short.
 */
#define HEAD_BYTES_MAX   5
#define HEAD_COUNT_SHIFT 40
#define HEAD_MODE_SHIFT  43 /* bits of the mode / 16 */
#define HEAD_KEY_BITS    46

/* How many bytes HEAD has. */
static inline unsigned
head_count(uint64_t head)
{
	return head >> HEAD_COUNT_SHIFT & 7;
}

/* The head that is the COUNT lowest bytes of FIRST without the bits NAMES. */
static inline uint64_t
head_make(uint64_t first, uint64_t names, unsigned count, uint8_t bits)
{
	if (count > HEAD_BYTES_MAX)
		return 0;
	return (first & ~names & ~UINT64_C(0) >> (64 - 8 * count)) |
	    (uint64_t)count << HEAD_COUNT_SHIFT |
	    (uint64_t)(bits / 16) << HEAD_MODE_SHIFT;
}

/*
 * head_of() where the opcode, which BEFORE bytes precede, is odd, or in 16-bit mode,
 * where none has a head.
 */
uint64_t head_odd(const struct head_table *table, uint64_t first, uint8_t bits,
    unsigned before);

/*
 * The head of the instruction that begins with FIRST, 8 bytes, the first lowest, in
 * the mode of BITS.  No branches that the host could not foresee.
 */
static inline uint64_t
head_of(const struct head_table *table, uint64_t first, uint8_t bits)
{
	unsigned rex = bits == 64 && (first & 0xf0) == 0x40;
	uint64_t at = first >> 8 * rex;
	unsigned two = (at & 0xff) == 0x0f, has, modrm, bytes;
	uint64_t names;

	at >>= 8 * two;
	has = table->has[two][at & 0xff];
	if ((has & HEAD_ODD) != 0 || bits == 16)
		return head_odd(table, first, bits, rex + two);
	modrm = at >> 8 & 0xff;
	bytes = has & HEAD_MODRM ? table->bytes[modrm] : 0;
	names = has & HEAD_NAMES ? table->names[modrm] & ~(has & HEAD_REG) : 0;
	return head_make(first, names << 8 * (1 + rex + two) | 7 * rex,
	    1 + rex + two + bytes, bits);
}

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

/*
 * What is known of an instruction, in 8 bytes, since many are looked at: its head, if it
 * has one, and then this.  0: nothing.
 */
#define INSN_CLASS_LENGTH_SHIFT   48
#define INSN_CLASS_KIND_SHIFT     52
#define INSN_CLASS_DISTANCE_SHIFT 56 /* bytes behind the head, to the target */
#define INSN_CLASS_HEAD_SHIFT     59 /* bytes before displacement and immediate */

static inline unsigned
insn_class_length(uint64_t class)
{
	return class >> INSN_CLASS_LENGTH_SHIFT & 15;
}

static inline enum code_blocks_kind
insn_class_kind(uint64_t class)
{
	return (enum code_blocks_kind)(class >> INSN_CLASS_KIND_SHIFT & 15);
}

/* Classes that are kept; a later one takes the place of an earlier. */
#define INSN_CLASS_KEPT_BITS 11

struct insn_class_table {
	struct head_table head;
	uint64_t kept[1 << INSN_CLASS_KEPT_BITS];
};

/* Of TABLE, which is all 0 before. */
void insn_class_init(struct insn_class_table *table);

/* The instruction that COUNT BYTES begin with in the mode of BITS; 0: they begin none. */
uint64_t insn_class_of(struct insn_class_table *table, const uint8_t *bytes,
    unsigned count, uint8_t bits);

/* How far behind its end BYTES, an instruction of CLASS, lead; 0: it is no branch. */
int32_t insn_class_distance(uint64_t class, const uint8_t *bytes);

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
