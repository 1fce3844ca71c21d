/*
 * Accesses to MSRs and I/O ports that nothing models, each with its first place.  In
 * a booted kernel they do not end the run: an unknown MSR is #GP, an unknown port
 * reads as all ones and ignores what is written.  Likewise breakpoints of I/O:
 * DR7 reads as it was written, and nothing else happens.
 */
#ifndef TOPAZ_EMU_BOARD_UNKNOWN_H
#define TOPAZ_EMU_BOARD_UNKNOWN_H

#include "emu/base/base.h"

#define UNKNOWN_MAX 256

enum unknown_access {
	UNKNOWN_RDMSR,
	UNKNOWN_WRMSR,
	UNKNOWN_IN,
	UNKNOWN_OUT,
	UNKNOWN_MOV_DR, /* a breakpoint of I/O that is enabled */
};

struct unknown {
	enum unknown_access access;
	uint32_t index; /* of the MSR or debug register, or the port */
	/* The first one: its CPU, instruction, instructions that the CPU had retired,
	 * value of a write. */
	unsigned cpu;
	uint64_t rip, insns, value;
	uint64_t count; /* of all of them */
};

struct unknowns {
	unsigned count;
	uint64_t dropped; /* accesses after the table was full */
	struct unknown item[UNKNOWN_MAX];
};

/* Notes one access: all members of ACCESS except .count. */
void unknown_note(struct unknowns *unknowns, const struct unknown *access);

/* "RDMSR", "WRMSR", "IN", "OUT" or "MOV DR". */
const char *unknown_name(enum unknown_access access);

#endif
