/*
 * libipt's instruction decoder over a stream, against what was run.  It knows
 * nothing of the unit: libipt's names and the unit's are not for one file.
 */
#ifndef TOPAZ_TESTS_UNIT_PT_INSNS_H
#define TOPAZ_TESTS_UNIT_PT_INSNS_H

#include <stddef.h>
#include <stdint.h>

struct insns {
	const uint8_t *stream;
	size_t stream_bytes;
	const uint8_t *code;
	size_t code_bytes;
	uint64_t code_ip;
	const uint64_t *exec_log; /* addresses of the traced instructions */
	size_t exec_log_count;
	const size_t *resume; /* in .exec_log, after each overflow */
	size_t gap_count;
};

/*
 * Fails unless the stream decodes to .exec_log, but for .gap_count overflows, each of
 * which is resumed where .resume says.  Returns the instructions decoded.
 */
size_t insns_check(struct insns *insns);

#endif
