/*
 * The trace MSRs as values and rules: which exist on a profile, which values WRMSR
 * accepts.  The effects of a write (packets, output) are in msr_access.c and
 * trace.c.
 */
#ifndef TOPAZ_EMU_PT_MSR_MSR_H
#define TOPAZ_EMU_PT_MSR_MSR_H

#include "emu/base/base.h"
#include "emu/base/rtit.h"
#include "emu/profile/profile.h"

enum msr_id {
#define MSR(index, name, exists, arg, cite) MSR_##name,
#include "emu/pt/msr/msr.def"
#undef MSR
	MSR_COUNT
};

/* The trace MSR at INDEX, or MSR_COUNT if INDEX is not a trace MSR. */
enum msr_id msr_find(uint32_t index);

/* True if the MSR exists on this profile; else RDMSR and WRMSR are #GP. */
bool msr_exists(const struct profile *profile, enum msr_id id);

/*
 * True if VALUE may be written while IA32_RTIT_CTL is CTL.  Covers every #GP
 * condition except CPL; always true for a write of CTL's current value.
 */
bool msr_accepts(const struct profile *profile, enum msr_id id, uint64_t ctl,
    uint64_t value);

/* The MSR's value after an accepted write of VALUE over OLD. */
uint64_t msr_merge(enum msr_id id, uint64_t old, uint64_t value);

/* Address ranges that the profile has (CPUID.(14H,1):EAX[2:0]). */
unsigned msr_range_count(const struct profile *profile);

#endif
