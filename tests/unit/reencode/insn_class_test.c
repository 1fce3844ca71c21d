/*
 * Goal: what is kept of an instruction's head says of every other instruction with
 * that head what Zydis says of it.  Method: bytes at random, some of them made
 * branches, and every opcode of two maps with every ModR/M, decoded by way of what is
 * kept and by Zydis itself, in all modes.
 */
#include "tests/unit/pt/fake.h"
#include "traces/reencode/input/insn_class.h"

#include <Zydis/Zydis.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define INSNS 300000

static const struct {
	ZydisMachineMode mode;
	ZydisStackWidth width;
	uint8_t bits;
} modes[] = {
	{ ZYDIS_MACHINE_MODE_LEGACY_16, ZYDIS_STACK_WIDTH_16, 16 },
	{ ZYDIS_MACHINE_MODE_LEGACY_32, ZYDIS_STACK_WIDTH_32, 32 },
	{ ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64, 64 },
};

/* First bytes that random ones seldom are. */
static const uint8_t starts[][3] = { { 0xe8 }, { 0xe9 }, { 0xeb }, { 0x74 },
	{ 0x0f, 0x84 }, { 0x66, 0xe8 }, { 0xff, 0x15 }, { 0x48, 0x8b, 0x05 },
	{ 0xc2 }, { 0xcd }, { 0x0f, 0x22, 0xd8 }, { 0x0f, 0x0f, 0xc1 },
	{ 0xc7, 0xf8 }, { 0xe2 }, { 0x66, 0x0f, 0x84 }, { 0xc8 }, { 0xea },
	{ 0x9a }, { 0xc5, 0xf1, 0xc2 }, { 0xf2, 0xe9 } };

static void
fill(uint8_t *bytes, uint64_t *dice)
{
	uint64_t draw = fake_random(dice);

	for (unsigned i = 0; i < INSN_CLASS_BYTES_MAX; i++)
		bytes[i] = (uint8_t)(fake_random(dice) >> 40);
	if ((draw >> 32 & 1) == 0)
		return;
	for (unsigned i = 0; i < 3; i++)
		if (starts[(draw >> 33) % TZ_ARRAY_LEN(starts)][i] != 0)
			bytes[i] =
			    starts[(draw >> 33) % TZ_ARRAY_LEN(starts)][i];
}

/* What Zydis itself says. */
static void
check(const ZydisDecoder *decoder, uint64_t class, const uint8_t *bytes,
    unsigned count)
{
	ZydisDecodedInstruction insn;
	bool good = ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
	    decoder, ZYAN_NULL, bytes, count, &insn));

	assert_int_equal(class != 0, good);
	if (!good)
		return;
	assert_int_equal(insn_class_length(class), insn.length);
	assert_int_equal(insn_class_distance(class, bytes),
	    insn.raw.imm[0].is_relative ? insn.raw.imm[0].value.s : 0);
	assert_int_equal(insn_class_kind(class) == INSN_CLASS_COND,
	    insn.meta.category == ZYDIS_CATEGORY_COND_BR &&
		insn.mnemonic != ZYDIS_MNEMONIC_XBEGIN);
	assert_int_equal(insn_class_kind(class) == INSN_CLASS_CALL ||
		insn_class_kind(class) == INSN_CLASS_CALL_INDIRECT,
	    insn.meta.category == ZYDIS_CATEGORY_CALL &&
		insn.meta.branch_type != ZYDIS_BRANCH_TYPE_FAR);
	assert_int_equal(insn_class_kind(class) == INSN_CLASS_JUMP ||
		insn_class_kind(class) == INSN_CLASS_JUMP_INDIRECT,
	    insn.meta.category == ZYDIS_CATEGORY_UNCOND_BR &&
		insn.meta.branch_type != ZYDIS_BRANCH_TYPE_FAR);
	assert_int_equal(insn_class_kind(class) == INSN_CLASS_RET,
	    insn.mnemonic == ZYDIS_MNEMONIC_RET &&
		insn.meta.branch_type != ZYDIS_BRANCH_TYPE_FAR);
	assert_int_equal(insn_class_kind(class) == INSN_CLASS_MOV_CR3,
	    insn.mnemonic == ZYDIS_MNEMONIC_MOV &&
		insn.opcode_map == ZYDIS_OPCODE_MAP_0F && insn.opcode == 0x22 &&
		insn.raw.modrm.reg == 3);
	if (insn.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		assert_int_equal(insn_class_kind(class), INSN_CLASS_FAR);
}

static void
a_head_says_what_zydis_says(void **state)
{
	(void)state;
	for (size_t mode = 0; mode < TZ_ARRAY_LEN(modes); mode++) {
		struct insn_class_table *table = calloc(1, sizeof(*table));
		uint64_t dice = 1 + mode;
		ZydisDecoder decoder;
		uint8_t bytes[INSN_CLASS_BYTES_MAX];

		assert_non_null(table);
		ZydisDecoderInit(&decoder, modes[mode].mode, modes[mode].width);
		for (unsigned n = 0; n < INSNS; n++) {
			unsigned count = n % 16 != 0 ? INSN_CLASS_BYTES_MAX
						     : 1 + n / 16 % 14;

			fill(bytes, &dice);
			check(&decoder,
			    insn_class_of(
				table, bytes, count, modes[mode].bits),
			    bytes, count);
		}
		free(table);
	}
}

/* PREFIX, if it is not 0, REX and an opcode of 0F's map or the first; then at random. */
static void
put(uint8_t *bytes, uint64_t *dice, uint8_t prefix, uint8_t rex, bool two,
    unsigned opcode, unsigned modrm)
{
	uint64_t draw[2] = { fake_random(dice), fake_random(dice) };
	unsigned at = 0;

	memcpy(bytes, draw, INSN_CLASS_BYTES_MAX);
	if (prefix != 0)
		bytes[at++] = prefix;
	if (rex != 0)
		bytes[at++] = rex;
	if (two)
		bytes[at++] = 0x0f;
	bytes[at] = (uint8_t)opcode;
	bytes[at + 1] = (uint8_t)modrm;
}

/* Every opcode of a map with every ModR/M and some REX. */
static void
sweep(size_t mode, uint8_t prefix, bool two)
{
	static const uint8_t rexes[] = { 0, 0x41, 0x44, 0x48, 0x4f };
	size_t count = modes[mode].bits == 64 ? TZ_ARRAY_LEN(rexes) : 1;
	struct insn_class_table *table = calloc(1, sizeof(*table));
	uint8_t bytes[INSN_CLASS_BYTES_MAX];
	uint64_t dice = 1u + prefix;
	ZydisDecoder decoder;

	assert_non_null(table);
	ZydisDecoderInit(&decoder, modes[mode].mode, modes[mode].width);
	for (unsigned n = 0; n < 256 * 256 * count; n++) {
		put(bytes, &dice, prefix, rexes[n % count], two,
		    n / (unsigned)count >> 8, n / (unsigned)count & 0xff);
		check(&decoder,
		    insn_class_of(
			table, bytes, INSN_CLASS_BYTES_MAX, modes[mode].bits),
		    bytes, INSN_CLASS_BYTES_MAX);
	}
	free(table);
}

static void
registers_do_not_matter(void **state)
{
	static const uint8_t prefixes[] = { 0, 0x66, 0xf3, 0xf0, 0x67 };

	(void)state;
	for (size_t mode = 1; mode < TZ_ARRAY_LEN(modes); mode++)
		for (size_t i = 0; i < TZ_ARRAY_LEN(prefixes); i++) {
			sweep(mode, prefixes[i], false);
			sweep(mode, prefixes[i], true);
		}
}

/* The table is one for all modes: a head is another thing in each. */
static void
modes_are_told_apart(void **state)
{
	static const uint8_t bytes[INSN_CLASS_BYTES_MAX] = { 0xe8 };
	struct insn_class_table *table = calloc(1, sizeof(*table));

	(void)state;
	assert_non_null(table);
	for (unsigned n = 0; n < 4; n++) {
		assert_int_equal(insn_class_length(insn_class_of(
				     table, bytes, INSN_CLASS_BYTES_MAX, 16)),
		    3);
		assert_int_equal(insn_class_length(insn_class_of(
				     table, bytes, INSN_CLASS_BYTES_MAX, 64)),
		    5);
	}
	free(table);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_head_says_what_zydis_says),
		cmocka_unit_test(registers_do_not_matter),
		cmocka_unit_test(modes_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
