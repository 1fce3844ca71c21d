/*
 * The capabilities of a CPU (CPUID leaf 14H), and the check of a buffer's
 * configuration against them and the driver's limits.  Pure: no CPUID, no MSR.
 * A configuration that passes can be written to the MSRs without #GP, and
 * enables something to trace.
 */
#ifndef TOPAZ_DRIVER_INSNTRACE_CORE_CONFIG_H
#define TOPAZ_DRIVER_INSNTRACE_CORE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "driver/insntrace/insntrace.h"

/* SDM vol. 3, 33.2.8.2 "IA32_RTIT_CTL MSR". */
#define PT_CTL_TRACEEN     (UINT64_C(1) << 0)
#define PT_CTL_CYCEN       (UINT64_C(1) << 1)
#define PT_CTL_OS          (UINT64_C(1) << 2)
#define PT_CTL_USER        (UINT64_C(1) << 3)
#define PT_CTL_PWREVTEN    (UINT64_C(1) << 4)
#define PT_CTL_FUPONPTW    (UINT64_C(1) << 5)
#define PT_CTL_CR3FILTER   (UINT64_C(1) << 7)
#define PT_CTL_TOPA        (UINT64_C(1) << 8)
#define PT_CTL_MTCEN       (UINT64_C(1) << 9)
#define PT_CTL_TSCEN       (UINT64_C(1) << 10)
#define PT_CTL_DISRETC     (UINT64_C(1) << 11)
#define PT_CTL_PTWEN       (UINT64_C(1) << 12)
#define PT_CTL_BRANCHEN    (UINT64_C(1) << 13)
#define PT_CTL_MTCFREQ     (UINT64_C(0xf) << 14)
#define PT_CTL_CYCTHRESH   (UINT64_C(0xf) << 19)
#define PT_CTL_PSBFREQ     (UINT64_C(0xf) << 24)
#define PT_CTL_ADDR_CFG(n) (UINT64_C(0xf) << (32 + 4 * (n)))

#define PT_ADDR_CFG_NONE   0u
#define PT_ADDR_CFG_STOP   2u /* the highest: 3 and above are #GP */

/* CPUID.(14H,0) and (14H,1), CPUID.7.EBX, and CPUID.(0DH,1); 0 where the leaf does not
 * exist. */
struct cpuid_words {
	uint32_t leaf7_ebx;
	uint32_t pt0_ebx, pt0_ecx;
	uint32_t pt1_eax, pt1_ebx;
	uint32_t xsave1_eax, xsave1_ecx;
};

struct caps {
	bool trace; /* PT, with output through ToPA */
	bool topa_multi;
	bool xsaves;   /* the XSAVE feature set has a component for PT */
	bool one_ring; /* OS or User alone is permitted */
	bool cr3_filter, psb_cyc, ip_filter, mtc, ptwrite, power;
	uint32_t range_count;               /* 0..INSNTRACE_RANGES_MAX */
	uint32_t mtc_map, cyc_map, psb_map; /* bit n: value n is allowed */
};

void caps_decode(const struct cpuid_words *words, struct caps *caps);

/* Removes from CAPS what a thread's trace cannot have: CR3 filtering and one ring
 * alone, and the ranges that the XSAVE feature set does not save. */
void caps_of_thread(struct caps *caps);

/* Removes from CAPS what OTHER does not have: hybrid CPUs differ. */
void caps_meet(struct caps *caps, const struct caps *other);

/* The last byte of a range, for ADDRn_B: the hardware's range includes
 * it. */
uint64_t range_last(const struct insntrace_range *range);

/* False: #GP when it is written, or nothing to trace.  Its chunks are not looked at. */
bool config_registers_good(
    const struct caps *caps, const struct insntrace_config *config);

/* INVALID_ARGS; NOT_SUPPORTED: more chunks than the CPU's tables
 * permit. */
enum insntrace_status config_check(
    const struct caps *caps, const struct insntrace_config *config);

#endif
