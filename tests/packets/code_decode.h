/*
 * What libipt's instruction decoder makes of the trace of guest code.  Apart from
 * code.h, whose unit has events of the same name as libipt's.
 */
#ifndef TOPAZ_TESTS_PACKETS_CODE_DECODE_H
#define TOPAZ_TESTS_PACKETS_CODE_DECODE_H

#include "tests/unit/emu/retired.h"

struct code_trace {
	const uint8_t *ram; /* linear addresses are its own */
	uint64_t ram_bytes;
	uint8_t *stream;
	size_t bytes;
	uint32_t ranges;     /* ADDRn_CFG: bits 47:32 of IA32_RTIT_CTL */
	uint64_t address[8]; /* ADDR0_A, ADDR0_B, ADDR1_A ... */
	uint32_t signature;  /* whose errata are minded; 0: nobody's */
	const struct retired_list *retired;
};

/*
 * The addresses of the instructions, between blanks, "overflow" where the decoder says
 * so, and at the end its error, if there is one; "not-executed" behind one that did
 * not retire in that order ends the text.  To be freed.
 */
char *code_decode_text(const struct code_trace *trace);

#endif
