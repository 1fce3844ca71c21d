/*
 * The head of an instruction: its bytes before displacement and immediate, without
 * what only names registers.  Two instructions of one head are of one length, and do
 * the same to the flow: what a decoder says of one holds for the other.
 */
#ifndef TOPAZ_TRACES_REENCODE_INPUT_OPCODE_KEY_H
#define TOPAZ_TRACES_REENCODE_INPUT_OPCODE_KEY_H

#include "emu/base/base.h"

/* What an opcode has behind it. */
#define HEAD_MODRM 0x01
#define HEAD_NAMES 0x02 /* whose ModR/M names only registers and memory */
#define HEAD_REG   0x38 /* but for these bits of it, which say what is done */
#define HEAD_ODD   0x80 /* nothing of this: see opcode_key_odd() */

/* What head_of() looks into; [0] of the one-byte opcodes, [1] of 0F's. */
struct opcode_key_table {
	uint8_t has[2][256];
	/* By the ModR/M: its bytes and its SIB's, and the bits of them that only name. */
	uint8_t bytes[256];
	uint16_t names[256];
};

void opcode_key_table_init(struct opcode_key_table *table);

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
uint64_t opcode_key_odd(const struct opcode_key_table *table, uint64_t first,
    uint8_t bits, unsigned before);

/*
 * The head of the instruction that begins with FIRST, 8 bytes, the first lowest, in
 * the mode of BITS.  No branches that the host could not foresee.
 */
static inline uint64_t
head_of(const struct opcode_key_table *table, uint64_t first, uint8_t bits)
{
	unsigned rex = bits == 64 && (first & 0xf0) == 0x40;
	uint64_t at = first >> 8 * rex;
	unsigned two = (at & 0xff) == 0x0f, has, modrm, bytes;
	uint64_t names;

	at >>= 8 * two;
	has = table->has[two][at & 0xff];
	if ((has & HEAD_ODD) != 0 || bits == 16)
		return opcode_key_odd(table, first, bits, rex + two);
	modrm = at >> 8 & 0xff;
	bytes = has & HEAD_MODRM ? table->bytes[modrm] : 0;
	names = has & HEAD_NAMES ? table->names[modrm] & ~(has & HEAD_REG) : 0;
	return head_make(first, names << 8 * (1 + rex + two) | 7 * rex,
	    1 + rex + two + bytes, bits);
}

#endif
