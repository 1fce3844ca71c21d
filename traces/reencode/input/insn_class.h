/*
 * What an instruction is, as Zydis says.  How long one is and what it does is said by
 * its head, the bytes before displacement and immediate: each short head is decoded once
 * and kept.
 */
#ifndef TOPAZ_TRACES_REENCODE_INPUT_INSN_CLASS_H
#define TOPAZ_TRACES_REENCODE_INPUT_INSN_CLASS_H

#include "emu/base/base.h"

#include <endian.h>
#include <string.h>

/* What an instruction is, or the last one of a block. */
enum insn_class_kind {
	INSN_CLASS_PLAIN, /* no transfer */
	INSN_CLASS_COND,
	INSN_CLASS_JUMP,
	INSN_CLASS_CALL,
	INSN_CLASS_JUMP_INDIRECT,
	INSN_CLASS_CALL_INDIRECT,
	INSN_CLASS_RET,
	INSN_CLASS_FAR, /* far transfers, SYSCALL, IRET, INT n, VM entry ... */
	INSN_CLASS_MOV_CR3, /* no transfer, but may send a packet */
};

/* An x86 instruction has no more. */
#define INSN_CLASS_BYTES_MAX 15

/*
 * What is known of an instruction, in 8 bytes, since many are looked at: its key, if its
 * head is kept, and then this.  0: nothing.
 */
#define INSN_CLASS_LENGTH_SHIFT   48
#define INSN_CLASS_KIND_SHIFT     52
#define INSN_CLASS_DISTANCE_SHIFT 56 /* bytes after the head, to the target */
#define INSN_CLASS_HEAD_SHIFT     59 /* bytes before displacement and immediate */

static inline unsigned
insn_class_length(uint64_t class)
{
	return class >> INSN_CLASS_LENGTH_SHIFT & 15;
}

static inline enum insn_class_kind
insn_class_kind(uint64_t class)
{
	return (enum insn_class_kind)(class >> INSN_CLASS_KIND_SHIFT & 15);
}

/* Classes that are kept; a later one takes the place of an earlier. */
#define INSN_CLASS_KEPT_BITS 12

struct insn_class_table {
	uint64_t kept[1 << INSN_CLASS_KEPT_BITS];
	uint8_t sizes[256]; /* of kept heads, a set, by their first byte */
};

/* The instruction that COUNT BYTES begin with in the mode of BITS; 0: they begin none. */
uint64_t insn_class_of(struct insn_class_table *table, const uint8_t *bytes,
    unsigned count, uint8_t bits);

/* How far after its end BYTES, an instruction of CLASS, lead; 0: it is no branch. */
int32_t insn_class_distance(uint64_t class, const uint8_t *bytes);

/* The first 8 of BYTES, the first of them lowest. */
static inline uint64_t
insn_class_first(const uint8_t *bytes)
{
	uint64_t first;

	memcpy(&first, bytes, sizeof(first));
	return le64toh(first);
}

/* Of a key: the bytes of the head, the first lowest, how many they are, and the mode. */
#define INSN_CLASS_HEAD_MAX    5
#define INSN_CLASS_COUNT_SHIFT 40
#define INSN_CLASS_MODE_SHIFT  43 /* bits of the mode / 16 */
#define INSN_CLASS_KEY_BITS    46

/* The key of the head that is the COUNT lowest bytes of FIRST. */
static inline uint64_t
insn_class_key(uint64_t first, unsigned count, uint8_t bits)
{
	return (first & (TZ_BIT(8 * count) - 1)) |
	    (uint64_t)count << INSN_CLASS_COUNT_SHIFT |
	    (uint64_t)(bits / 16) << INSN_CLASS_MODE_SHIFT;
}

/* The first of two places, side by side, of the head of KEY. */
static inline size_t
insn_class_place(uint64_t key)
{
	return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >>
	    (64 - INSN_CLASS_KEPT_BITS));
}

static inline bool
insn_class_is(uint64_t kept, uint64_t key)
{
	return (kept ^ key) << (64 - INSN_CLASS_KEY_BITS) == 0;
}

/*
 * What is kept of the instruction that begins with FIRST, 8 bytes; 0: nothing.  No head
 * begins with another, so that one of them is found at most.  It must be known that
 * there are INSN_CLASS_BYTES_MAX bytes.
 */
static inline uint64_t
insn_class_kept(
    const struct insn_class_table *table, uint64_t first, uint8_t bits)
{
	unsigned sizes = table->sizes[first & 0xff];

	for (; sizes != 0; sizes &= sizes - 1) {
		uint64_t key = insn_class_key(
		    first, (unsigned)__builtin_ctz(sizes), bits);
		size_t place = insn_class_place(key);

		if (insn_class_is(table->kept[place], key))
			return table->kept[place];
		if (insn_class_is(table->kept[place ^ 1], key))
			return table->kept[place ^ 1];
	}
	return 0;
}

#endif
