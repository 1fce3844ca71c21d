/*
 * libipt over the stream of a unit under test: its packet, event and instruction
 * decoders.  It knows nothing of the unit: libipt's names and the unit's are not for
 * one file.
 */
#ifndef TOPAZ_TESTS_FUZZ_EVENTS_EVENTS_DECODE_H
#define TOPAZ_TESTS_FUZZ_EVENTS_EVENTS_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies up to SIZE bytes of code at IP; 0: there is none. */
typedef size_t events_code_fn(uint64_t ip, uint8_t *buffer, size_t size);

struct events_stream {
	const uint8_t *bytes; /* they start with a PSB */
	size_t count;
	uint32_t cpuid15_eax, cpuid15_ebx;
	uint8_t mtc_freq, nom_freq;
	uint32_t signature; /* CPUID.1:EAX */
	uint32_t errata; /* that show, one bit each: emu/profile/errata.def */
	uint64_t filter_cfg; /* IA32_RTIT_CTL[47:32] */
	uint64_t filter_a[4], filter_b[4];
	bool cut; /* the output ended by STOP or an error: what follows is lost */

	/* For the instruction decoder. */
	events_code_fn *code;
	const uint64_t *exec_log; /* addresses of the traced instructions */
	size_t exec_log_count;
	const size_t *resume; /* in .exec_log: where each overflow ended */
	size_t gap_count;
};

/* Fails unless every packet up to the end is known. */
void events_check_packets(const struct events_stream *stream);

/* Fails unless libipt's event decoder reads it without an error. */
void events_check_events(const struct events_stream *stream);

/*
 * Fails unless the stream decodes to .exec_log, but for .gap_count overflows, each of
 * which is resumed where .resume says, and but for what is lost after .cut.
 */
void events_check_insns(const struct events_stream *stream);

#endif
