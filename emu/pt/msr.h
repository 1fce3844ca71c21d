/*
 * The trace MSRs as values and rules: which exist on a profile, what WRMSR
 * accepts. What a write sets off (packets, output) is the business
 * of msr_access.c and enable.c.
 */
#ifndef TOPAZ_EMU_PT_MSR_H
#define TOPAZ_EMU_PT_MSR_H

#include "emu/base/base.h"
#include "emu/base/rtit.h"
#include "emu/profile/profile.h"

enum msr_id {
#define MSR(index, name, exists, arg, cite) MSR_##name,
#include "emu/pt/msr.def"
#undef MSR
	MSR_COUNT
};

/* MSR_COUNT where INDEX is no trace MSR. */
enum msr_id msr_find(uint32_t index);

/* Can the MSR be read and written at all on this profile? */
bool msr_exists(const struct profile *profile, enum msr_id id);

/*
 * May VALUE be written where CTL is the present IA32_RTIT_CTL?  Covers every
 * #GP condition but CPL, and is true for the write of CTL's own value.
 */
bool msr_accepts(const struct profile *profile, enum msr_id id, uint64_t ctl,
    uint64_t value);

/* What the MSR holds after an accepted write of VALUE over OLD. */
uint64_t msr_merge(enum msr_id id, uint64_t old, uint64_t value);

/* Address ranges that the profile has (CPUID.(14H,1):EAX[2:0]). */
unsigned msr_range_count(const struct profile *profile);

#endif
