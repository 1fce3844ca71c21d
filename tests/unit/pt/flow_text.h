/*
 * What libipt's instruction decoder makes of a stream, as one line of text, with or
 * without being told the processor.  Kept apart from emu/pt/unit.h, whose struct
 * pt_event has a namesake in libipt.
 */
#ifndef TOPAZ_TESTS_UNIT_PT_FLOW_TEXT_H
#define TOPAZ_TESTS_UNIT_PT_FLOW_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct flow_text {
	const uint8_t *stream;
	size_t stream_bytes;
	const uint8_t *code;
	size_t code_bytes;
	uint64_t code_ip;
	uint32_t signature;        /* of the processor; 0: not told */
	uint64_t filter[2];        /* ADDR0_A and _B; 0, 0: none */
	uint32_t tsc_num, tsc_den; /* 0: no time */
	unsigned mtc_freq, cbr;
	uint64_t tsc; /* OUT: the time of the last instruction */
};

/*
 * Offsets from .code_ip of the decoded instructions, in hexadecimal; "error N" ends
 * what does not decode.  To be freed.
 */
char *flow_text_read(struct flow_text *in);

#endif
