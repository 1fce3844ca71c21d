#include "tests/fuzz/events/events_program.h"

#include <assert.h>
#include <string.h>

#include "tests/fuzz/events/events_walk.h"
#include "tests/fuzz/fuzz.h"

/* Where code lies: the first for CPL 0, the others for CPL 3. */
const uint64_t program_bases[REGIONS] = { UINT64_C(0xffffffff81000000),
	UINT64_C(0x401000), UINT64_C(0x7fff00fff000) };

/*
 * What starts each slot; a NOP of the right length ends it.  Direct JMP and CALL go
 * forward, so that no loop is without a packet.
 */
static const char slots[] =
    "jncjrjjIjnpCjrsjcjjrtjnxjqjcrX3jhjrjpCjjrJnjcjrdjjIejrjqjsJrjtjI";

static_assert(sizeof(slots) == SLOTS + 1u, "a letter a slot");

static const struct slot_kind kinds[] = {
	{ 'n', 1, { 0x90 }, false, false },
	{ 'j', 6, { 0x0f, 0x84 }, true, false },
	{ 'e', 2, { 0x74, 0x00 }, false, false },
	{ 'J', 5, { 0xe9 }, true, false },
	{ 'c', 5, { 0xe8 }, true, false },
	{ 'd', 5, { 0xe8 }, false, false },
	{ 'I', 2, { 0xff, 0xe0 }, false, false },
	{ 'C', 2, { 0xff, 0xd0 }, false, false },
	{ 'r', 1, { 0xc3 }, false, false },
	{ 's', 2, { 0x0f, 0x05 }, false, false },
	{ 'q', 2, { 0x48, 0xcf }, false, true },
	{ 't', 2, { 0xcd, 0x80 }, false, false },
	{ '3', 3, { 0x0f, 0x22, 0xd8 }, false, true },
	{ 'p', 5, { 0xf3, 0x48, 0x0f, 0xae, 0xe0 }, false, false },
	{ 'x', 6, { 0xc7, 0xf8 }, true, false },
	{ 'X', 3, { 0x0f, 0x01, 0xd5 }, false, false },
	{ 'h', 1, { 0xf4 }, false, true },
};

static const struct slot_kind sysret = { 's', 3, { 0x48, 0x0f, 0x07 }, false,
	false };

unsigned
region_of(uint64_t ip)
{
	for (unsigned r = 0; r < REGIONS; r++) {
		if (ip - program_bases[r] < SLOTS * SLOT_BYTES)
			return r;
	}
	return REGIONS;
}

static const struct slot_kind *
kind_of_letter(char letter)
{
	for (size_t i = 0; i < TZ_ARRAY_LEN(kinds); i++) {
		if (kinds[i].letter == letter)
			return &kinds[i];
	}
	TZ_ASSERT(false); /* a letter without a row */
	return NULL;
}

const struct slot_kind *
kind_of(unsigned region, unsigned slot)
{
	static const struct slot_kind *known[SLOTS];

	if (slots[slot] == 's' && region == 0)
		return &sysret;
	if (known[slot] == NULL)
		known[slot] = kind_of_letter(slots[slot]);
	return known[slot]->kernel_only && region != 0 ? &kinds[0]
						       : known[slot];
}

unsigned
target_of(unsigned slot)
{
	if (slots[slot] == 'j')
		return (slot * 11 + 5) % SLOTS;
	TZ_ASSERT(slot + 1 < SLOTS);
	return slot + 1 + slot * 5 % (SLOTS - 1 - slot);
}

static void
make_slot(unsigned region, unsigned slot, uint8_t code[SLOT_BYTES])
{
	static const uint8_t nops[SLOT_BYTES][SLOT_BYTES] = { { 0x90 },
		{ 0x66, 0x90 }, { 0x0f, 0x1f, 0x00 },
		{ 0x0f, 0x1f, 0x40, 0x00 }, { 0x0f, 0x1f, 0x44 },
		{ 0x66, 0x0f, 0x1f, 0x44 }, { 0x0f, 0x1f, 0x80 },
		{ 0x0f, 0x1f, 0x84 } };
	const struct slot_kind *kind = kind_of(region, slot);
	unsigned rest = SLOT_BYTES - kind->bytes;
	int32_t distance;

	memcpy(code, kind->code, kind->bytes);
	memcpy(code + kind->bytes, nops[rest - 1], rest);
	if (!kind->relative)
		return;
	distance = (int32_t)(target_of(slot) * SLOT_BYTES) -
	    (int32_t)(slot * SLOT_BYTES) - kind->bytes;
	memcpy(code + kind->bytes - 4, &distance, 4);
}

/* All code of REGION, made once. */
static const uint8_t *
region_code(unsigned region)
{
	static uint8_t code[REGIONS][SLOTS * SLOT_BYTES];

	if (code[region][0] == 0)
		for (unsigned slot = 0; slot < SLOTS; slot++)
			make_slot(
			    region, slot, &code[region][slot * SLOT_BYTES]);
	return code[region];
}

size_t
code_blocks_code(uint64_t ip, uint8_t *buffer, size_t size)
{
	unsigned region = region_of(ip);
	uint64_t at, left;

	if (region == REGIONS)
		return 0;
	at = ip - program_bases[region];
	left = SLOTS * SLOT_BYTES - at;
	if (size > left)
		size = left;
	memcpy(buffer, region_code(region) + at, size);
	return size;
}

uint64_t
code_blocks_place(uint64_t random)
{
	return program_bases[random % 3] + (random >> 8) % SLOTS * SLOT_BYTES;
}
