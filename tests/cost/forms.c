/*
 * Prints instructions of each form of emu/profile/uop.def: the form, the bytes in
 * hexadecimal, loads, stores, separated by tabs.  It tries every opcode with every
 * prefix and takes the first few encodings that have distinct registers, because
 * LLVM does not know all of them.  An input of uops.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cpu/insn/insn_facts.h"

#define FORMS_MAX     8192
#define ENCODINGS_MAX 6

struct forms {
	struct {
		char name[INSN_FORM_BYTES];
		unsigned encodings;
		uint8_t last[INSN_BYTES_MAX]; /* up to the opcode and ModRM.reg */
	} form[FORMS_MAX];
	size_t count;
};

/* True if NAME needs another example, encoded as LAST says. */
static bool
is_wanted(struct forms *forms, const char *name, const uint8_t *last)
{
	size_t i = 0;

	while (i < forms->count && strcmp(forms->form[i].name, name) != 0)
		i++;
	if (i == FORMS_MAX)
		abort();
	if (i == forms->count) {
		strcpy(forms->form[i].name, name);
		forms->count++;
	} else if (forms->form[i].encodings == ENCODINGS_MAX ||
	    memcmp(forms->form[i].last, last, INSN_BYTES_MAX) == 0) {
		return false;
	}
	forms->form[i].encodings++;
	memcpy(forms->form[i].last, last, INSN_BYTES_MAX);
	return true;
}

/* GIVEN, COUNT bytes, ModRM at MODRM; zeros follow. */
static void
try_bytes(struct forms *forms, const uint8_t *given, size_t count, size_t modrm)
{
	uint8_t bytes[INSN_BYTES_MAX] = { 0 }, last[INSN_BYTES_MAX] = { 0 };
	struct insn_facts facts;
	unsigned loads = 0, stores = 0;

	memcpy(bytes, given, count);
	if (!insn_facts(bytes, sizeof(bytes), 0, &facts) ||
	    facts.traits &
		(INSN_TRAIT_ZERO | INSN_TRAIT_ONES | INSN_TRAIT_EVEX))
		return;
	memcpy(last, given, modrm);
	last[modrm] = given[modrm] & 0x38;
	if (!is_wanted(forms, facts.form, last))
		return;
	printf("%s\t", facts.form);
	for (unsigned i = 0; i < facts.length; i++)
		printf("%02x", bytes[i]);
	for (unsigned i = 0; i < facts.access_count; i++) {
		loads += facts.access[i].read;
		stores += facts.access[i].written;
	}
	printf("\t%u\t%u\n", loads, stores);
}

/*
 * ModRM bytes: a register, RBX with a displacement; then the forms that only LEA
 * tells apart: base, index and displacement, and RIP.
 */
static void
try_operands(struct forms *forms, uint8_t *bytes, size_t count)
{
	for (unsigned reg = 0; reg < 8; reg++) {
		unsigned field = (reg ^ 1) << 3;

		for (unsigned rm = 0; rm < 8; rm++) {
			bytes[count] = (uint8_t)(0xc0 | field | (rm ^ 3));
			try_bytes(forms, bytes, count + 1, count);
		}
		bytes[count] = (uint8_t)(0x43 | field);
		bytes[count + 1] = 0x20;
		try_bytes(forms, bytes, count + 2, count);
		bytes[count] = (uint8_t)(0x44 | field);
		bytes[count + 1] = 0x3b;
		bytes[count + 2] = 0x20;
		try_bytes(forms, bytes, count + 3, count);
		bytes[count] = (uint8_t)(0x05 | field);
		try_bytes(forms, bytes, count + 1, count);
		bytes[count + 1] = bytes[count + 2] = 0;
	}
}

/* True for a byte that is a prefix where an opcode of one byte might be. */
static bool
is_prefix(unsigned byte)
{
	static const uint8_t others[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
		0x66, 0x67, 0xf0, 0xf2, 0xf3 };

	return byte >> 4 == 4 || memchr(others, (int)byte, sizeof(others));
}

static void
try_opcodes(struct forms *forms, const uint8_t *prefix, size_t count)
{
	uint8_t bytes[INSN_BYTES_MAX] = { 0 };

	memcpy(bytes, prefix, count);
	/* The general encodings come before those of the accumulator. */
	for (unsigned i = 0; i < 256; i++) {
		unsigned opcode = (i + 0x80) % 256;

		if (count <= 2 && is_prefix(opcode) &&
		    (count == 0 || bytes[count - 1] != 0x0f))
			continue;
		bytes[count] = (uint8_t)opcode;
		try_operands(forms, bytes, count + 1);
		bytes[count + 1] = 0;
	}
}

/* Legacy encodings: an optional prefix, REX.W, one of the opcode maps. */
static void
try_legacy(struct forms *forms)
{
	static const uint8_t prefixes[] = { 0, 0x66, 0xf2, 0xf3 };
	static const uint8_t maps[][2] = { { 0, 0 }, { 0x0f, 0 },
		{ 0x0f, 0x38 }, { 0x0f, 0x3a } };

	for (unsigned map = 0; map < 4; map++) {
		for (unsigned p = 0; p < 8; p++) {
			uint8_t bytes[4];
			size_t count = 0;

			if (prefixes[p / 2] != 0)
				bytes[count++] = prefixes[p / 2];
			if (p % 2 != 0)
				bytes[count++] = 0x48;
			for (unsigned i = 0; i < 2 && maps[map][i] != 0; i++)
				bytes[count++] = maps[map][i];
			try_opcodes(forms, bytes, count);
		}
	}
}

/* VEX encodings with three bytes: map, W, L, prefix; VVVV register 2 or none. */
static void
try_vex(struct forms *forms)
{
	for (unsigned i = 0; i < 3 * 2 * 2 * 4 * 2; i++) {
		unsigned map = i % 3 + 1, w = i / 3 % 2, l = i / 6 % 2;
		unsigned p = i / 12 % 4, none = i / 48;
		uint8_t bytes[3] = { 0xc4, (uint8_t)(0xe0 | map),
			(uint8_t)(w << 7 | (none ? 0xfu : 0xdu) << 3 | l << 2 |
			    p) };

		try_opcodes(forms, bytes, 3);
	}
}

int
main(void)
{
	struct forms *forms = calloc(1, sizeof(*forms));

	if (forms == NULL)
		return 1;
	try_legacy(forms);
	try_vex(forms);
	free(forms);
	return 0;
}
