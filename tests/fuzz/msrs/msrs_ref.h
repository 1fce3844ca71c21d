/*
 * What the SDM says that trace MSRs refuse and hold, written from its tables alone:
 * no line of emu/pt is used.  SDM vol. 3, 33.2.8 "Enabling and Configuration MSRs";
 * 24.8 "Restrictions on VMX Operation"; SDM vol. 1, 13.5.6 "PT State".
 */
#ifndef TOPAZ_TESTS_FUZZ_MSRS_MSRS_REF_H
#define TOPAZ_TESTS_FUZZ_MSRS_MSRS_REF_H

#include "emu/profile/profile.h"

/* Places in struct ref, and the MSRs in the order of component 8. */
enum ref_place {
	R_CTL,
	R_BASE,
	R_MASK,
	R_STATUS,
	R_CR3,
	R_RANGE, /* ADDR0_A, ADDR0_B, ADDR1_A ... */
	R_COUNT = R_RANGE + 8
};

extern const uint32_t ref_index[R_COUNT];

struct ref {
	const struct profile *cpu;
	bool vmx; /* in VMX operation */
	uint64_t value[R_COUNT];
};

/* Does CPU have the MSR at PLACE? */
bool ref_there(const struct profile *cpu, unsigned place);

/* Bits of IA32_RTIT_CTL that are reserved on CPU, ranges and encodings apart. */
uint64_t ref_ctl_reserved(const struct profile *cpu);

/* May IA32_RTIT_STATUS not be V? */
bool ref_status_faults(const struct profile *cpu, uint64_t v);

/* Is every write of IA32_RTIT_CTL refused now? */
bool ref_ctl_locked(const struct ref *ref);

/* Would WRMSR of V to PLACE fault? */
bool ref_faults(const struct ref *ref, unsigned place, uint64_t v);

/* What PLACE holds after WRMSR of V. */
uint64_t ref_stored(const struct ref *ref, unsigned place, uint64_t v);

/* A cold reset. */
void ref_clear(struct ref *ref);

/* The 8 bytes of SLOT of IMAGE, component 8 in memory. */
uint64_t ref_image_get(const uint8_t *image, unsigned slot);

/* Would XRSTORS of IMAGE fault, by what it holds or by TraceEn? */
bool ref_image_faults(const struct ref *ref, const uint8_t *image);

#endif
