/*
 * The program that is walked, as bytes: three regions of code in slots of 8 bytes, each
 * with one instruction that counts and a NOP.
 */
#ifndef TOPAZ_TESTS_FUZZ_EVENTS_EVENTS_PROGRAM_H
#define TOPAZ_TESTS_FUZZ_EVENTS_EVENTS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLOT_BYTES 8u
#define SLOTS      64u
#define REGIONS    3u

/* Where code lies: the first for CPL 0, the others for CPL 3. */
extern const uint64_t program_bases[REGIONS];

struct slot_kind {
	char letter;
	uint8_t bytes;
	uint8_t code[6];
	bool relative;    /* the last four bytes are a displacement */
	bool kernel_only; /* a NOP at CPL 3 */
};

/* The region that holds IP, or REGIONS. */
unsigned region_of(uint64_t ip);

const struct slot_kind *kind_of(unsigned region, unsigned slot);

/* The slot that a direct branch in SLOT goes to. */
unsigned target_of(unsigned slot);

#endif
