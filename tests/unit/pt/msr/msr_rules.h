/*
 * When WRMSR and RDMSR of a trace MSR are legal, as the specification's list says
 * it: an oracle that shares nothing with the model but CPUID.
 *
 * Source: SDM vol. 3, 33.2.8 "Enabling and Configuration MSRs"; 33.3.1 "Detection
 * of Intel PT".
 */
#ifndef TOPAZ_TESTS_UNIT_PT_MSR_MSR_RULES_H
#define TOPAZ_TESTS_UNIT_PT_MSR_MSR_RULES_H

#include "emu/profile/profile.h"

/* The 13 trace MSRs. */
#define MSR_RULES_COUNT 13
extern const uint32_t msr_rules_indices[MSR_RULES_COUNT];

/* Is WRMSR of VALUE to MSR INDEX legal while TraceEn is 0? */
bool msr_rules_accept(
    const struct profile *profile, uint32_t index, uint64_t value);

/* Does the MSR exist? */
bool msr_rules_exist(const struct profile *profile, uint32_t index);

/*
 * What the MSR reads after that write; OLD is what it read before, which counts for
 * the bits of IA32_RTIT_STATUS that software cannot write.
 */
uint64_t msr_rules_reads(uint32_t index, uint64_t old, uint64_t value);

#endif
