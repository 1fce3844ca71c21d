/*
 * Parsers for the option values of topaz reencode.  Each function returns NULL, or a
 * static string: the reason why TEXT is refused.  Then no result was changed.
 */
#ifndef TOPAZ_HARNESS_CMD_REENCODE_REENCODE_TEXT_H
#define TOPAZ_HARNESS_CMD_REENCODE_REENCODE_TEXT_H

#include "traces/decode/decode.h"

/*
 * The message where profile_of_signature() knows no CPU
 * model; its argument: the signature.
 */
#define REENCODE_UNKNOWN_CPU                                                   \
 "no CPU model is known for a processor of signature %#x, or it has no Intel " \
 "PT: give --profile NAME (see topaz list profiles)"

/* FAMILY/MODEL/STEPPING, decimal or 0x, as in CPUID.1:EAX.  Without STEPPING: 0. */
const char *reencode_cpu(const char *text, uint32_t *signature);

/* ADDRn_CFG.  SDM vol. 3, 33.2.8.2 "IA32_RTIT_CTL MSR". */
enum reencode_range { REENCODE_FILTER = 1, REENCODE_STOP = 2 };

/* A-B, hexadecimal, inclusive: adds a range to FILTER, which holds at most 4. */
const char *reencode_range(
    const char *text, enum reencode_range cfg, struct decode_filter *filter);

/* A hexadecimal number of up to 64 bits. */
const char *reencode_hex(const char *text, uint64_t *value);

/* The decimal number of a CPU or a thread. */
const char *reencode_id(const char *text, uint32_t *id);

#endif
