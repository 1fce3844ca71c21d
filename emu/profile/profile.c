#include "emu/profile/profile.h"

#include <string.h>

/* One row a processor model; figures are what CPUID reads on real ones. */
static const struct profile profiles[] = {
	{
	    .name = "skylake",
	    .title = "Skylake client, 06_5EH",
	    .signature = 0x000506e3,
	    .maxphyaddr = 39,
	    .pt_ebx = 0x0000000f,
	    .pt_ecx = 0x00000007,
	    .pt1_eax = 0x02490002,
	    .pt1_ebx = 0x003f3fff,
	    .tsc_den = 2,
	    .tsc_num = 0x134,
	    .cpuid15_ecx = 0,
	    .crystal_hz = 24000000,
	    .cbr = 37,
	    .pt = true,
	    .xsave = true,
	    .xsave1_eax = 0xf,
	    .xss_mask = 0x100,
	    /* Skylake-class counters wrap at 4096 (intel/libipt). */
	    .cyc_bits = 12,
	    /* Model choice: the SDM's rule; it holds no IP. */
	    .pgd_jcc_ip = false,
	    /* Model choice: no figure is published. */
	    .pmi_skid_insns = 4,
	},
};

const struct profile *
profile_find(const char *name)
{
	TZ_ASSERT(name != NULL);
	for (size_t i = 0; i < TZ_ARRAY_LEN(profiles); i++) {
		TZ_ASSERT(profiles[i].name != NULL);
		if (strcmp(profiles[i].name, name) == 0)
			return &profiles[i];
	}
	return NULL;
}

const struct profile *
profile_at(size_t index)
{
	return index < TZ_ARRAY_LEN(profiles) ? &profiles[index] : NULL;
}
