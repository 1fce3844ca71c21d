#include "emu/profile/profile.h"

#include <string.h>

#include "emu/profile/uop.h"

enum uarch {
#define UARCH(name, ip_full, tnt_bits, deferred_tip, ret_pops, psb_look_lines, \
    cyc_bits, pgd_jcc_ip, pmi_early_bytes, vmx_pt, pmi_skid_insns, events,     \
    pebs, pebs_gp, source)                                                     \
 UARCH_##name,
#include "emu/profile/uarch.def"
#undef UARCH
	UARCH_COUNT
};

static const struct profile_cost costs[UARCH_COUNT] = {
#define COST(name_, column_, ...) \
 [UARCH_##name_] = { #name_, UOP_##column_, __VA_ARGS__ },
#include "emu/profile/cost.def"
#undef COST
};

static const struct profile_uarch uarchs[UARCH_COUNT] = {
#define UARCH(name, ip_full, tnt_bits, deferred_tip, ret_pops, psb_look_lines, \
    cyc_bits, pgd_jcc_ip, pmi_early_bytes, vmx_pt, pmi_skid_insns, events,     \
    pebs, pebs_gp, source)                                                     \
 { ip_full, tnt_bits, deferred_tip, ret_pops, psb_look_lines, cyc_bits,        \
	 pgd_jcc_ip, pmi_early_bytes, vmx_pt, pmi_skid_insns,                  \
	 PROFILE_EVENTS_##events, pebs, pebs_gp, &costs[UARCH_##name] },
#include "emu/profile/uarch.def"
#undef UARCH
};

/* The errata of a row, as bits. */
enum {
#define ERRATUM(name, key, text) name = 1 << PROFILE_ERRATUM_##name,
#include "emu/profile/errata.def"
#undef ERRATUM
};

static const struct {
	const char *name, *text;
} errata[PROFILE_ERRATUM_COUNT] = {
#define ERRATUM(name, key, text) { key, text },
#include "emu/profile/errata.def"
#undef ERRATUM
};

/* Processors that have no row of their own: CPUID.1:EAX without stepping. */
static const struct {
	uint32_t signature;
	const char *profile;
} other_models[] = {
/* SDM vol. 2A, "CPUID": families from 15 on have an extended family. */
#define MODEL(family_, model_, profile_, part_)                             \
 { (family_##U > 15 ? 0xf00U | (family_##U - 15) << 20 : family_##U << 8) | \
	     (model_##U & 0xf0) << 12 | (model_##U & 0xf) << 4,             \
	 profile_ },
#include "emu/profile/model.def"
#undef MODEL
};

static const struct profile profiles[] = {
#define PROFILE(name_, title_, signature_, leaf_max_, core_, native_, uarch_, \
    phy_, ebx_, ecx_, eax1_, ebx1_, den_, num_, ecx15_, crystal_, cbr_,       \
    xsave1_, xss_, perfmon_eax_, perfmon_edx_, extended_pebs_, errata_)       \
 { .name = name_,                                                             \
	 .title = title_,                                                     \
	 .signature = signature_,                                             \
	 .leaf_max = leaf_max_,                                               \
	 .core_type = core_,                                                  \
	 .native_model = native_,                                             \
	 .hybrid = native_ != 0,                                              \
	 .maxphyaddr = phy_,                                                  \
	 .pt_ebx = ebx_,                                                      \
	 .pt_ecx = ecx_,                                                      \
	 .pt1_eax = eax1_,                                                    \
	 .pt1_ebx = ebx1_,                                                    \
	 .tsc_den = den_,                                                     \
	 .tsc_num = num_,                                                     \
	 .cpuid15_ecx = ecx15_,                                               \
	 .crystal_hz = crystal_,                                              \
	 .cbr = cbr_,                                                         \
	 .ds = true,                                                          \
	 .ds_cpl = perfmon_eax_ != 0,                                         \
	 .pt = ecx_ != 0,                                                     \
	 .xsave = xsave1_ != 0,                                               \
	 .xsave1_eax = xsave1_,                                               \
	 .xss_mask = xss_,                                                    \
	 .perfmon_eax = perfmon_eax_,                                         \
	 .perfmon_edx = perfmon_edx_,                                         \
	 .extended_pebs = extended_pebs_,                                     \
	 .uarch = &uarchs[UARCH_##uarch_],                                    \
	 .errata = errata_ },
#include "emu/profile/profile.def"
#undef PROFILE
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

const struct profile *
profile_of_signature(uint32_t signature)
{
	/* Stepping and processor type are no part of a model. */
	const uint32_t mask = UINT32_C(0x0fff0ff0);

	for (size_t i = 0; i < TZ_ARRAY_LEN(profiles); i++)
		if (profiles[i].pt &&
		    (profiles[i].signature & mask) == (signature & mask))
			return &profiles[i];
	for (size_t i = 0; i < TZ_ARRAY_LEN(other_models); i++)
		if (other_models[i].signature == (signature & mask))
			return profile_find(other_models[i].profile);
	return NULL;
}

const struct profile *
profile_of_core(uint32_t signature, uint8_t type)
{
	const struct profile *model = profile_of_signature(signature);

	for (size_t i = 0; model != NULL && i < TZ_ARRAY_LEN(profiles); i++)
		if (profiles[i].pt && profiles[i].core_type == type &&
		    profiles[i].signature == model->signature)
			return &profiles[i];
	return model;
}

void
profile_set_hybrid(struct profile *profile, unsigned gp, unsigned fixed)
{
	profile->hybrid = true;
	profile->announced_gp = gp;
	profile->announced_fixed = fixed;
	if (profile->leaf_max < PROFILE_LEAF_HYBRID)
		profile->leaf_max = PROFILE_LEAF_HYBRID;
}

unsigned
profile_gp_counters(const struct profile *profile)
{
	return (unsigned)tz_bits(profile->perfmon_eax, 15, 8);
}

unsigned
profile_fixed_counters(const struct profile *profile)
{
	return (unsigned)tz_bits(profile->perfmon_edx, 4, 0);
}

uint64_t
profile_tsc_hz(const struct profile *profile)
{
	TZ_ASSERT(profile->cbr != 0);
	if (profile->tsc_den == 0)
		return profile->cbr * UINT64_C(100000000);
	return (uint64_t)profile->crystal_hz * profile->tsc_num /
	    profile->tsc_den;
}

const char *
profile_erratum_name(enum profile_erratum erratum)
{
	TZ_ASSERT(erratum < PROFILE_ERRATUM_COUNT);
	return errata[erratum].name;
}

const char *
profile_erratum_text(enum profile_erratum erratum)
{
	TZ_ASSERT(erratum < PROFILE_ERRATUM_COUNT);
	return errata[erratum].text;
}

enum profile_erratum
profile_erratum_find(const char *name)
{
	enum profile_erratum erratum = 0;

	TZ_ASSERT(name != NULL);
	while (erratum < PROFILE_ERRATUM_COUNT &&
	    strcmp(errata[erratum].name, name) != 0)
		erratum++;
	return erratum;
}

bool
profile_trace_excludes_branch_records(const struct profile *profile)
{
	static const uint32_t models[] = { 0x306d0, 0x40670, 0x406e0, 0x406f0,
		0x50660, 0x506e0 };

	for (size_t i = 0; i < TZ_ARRAY_LEN(models); i++)
		if ((profile->signature & ~UINT32_C(15)) == models[i])
			return true;
	return false;
}

/* With architectural version 5, all counters do: SDM vol. 3, "Extended PEBS". */
#define PEBS_BASELINE_VERSION 5

unsigned
profile_pebs_format(const struct profile *profile)
{
	return tz_bits(profile->perfmon_eax, 7, 0) >= PEBS_BASELINE_VERSION
	    ? 4
	    : profile->uarch->pebs_format;
}

uint64_t
profile_pebs_counters(const struct profile *profile)
{
	unsigned gp = profile_gp_counters(profile);
	unsigned fixed = profile_fixed_counters(profile);

	if (!profile->ds || tz_bits(profile->perfmon_eax, 7, 0) < 2)
		return 0;
	if (profile_pebs_format(profile) >= 4 || profile->extended_pebs)
		return ((UINT64_C(1) << gp) - 1) |
		    ((UINT64_C(1) << fixed) - 1) << 32;
	if (profile->uarch->pebs_gp < gp)
		gp = profile->uarch->pebs_gp;
	return (UINT64_C(1) << gp) - 1;
}

bool
profile_pebs_is_trap(const struct profile *profile)
{
	return profile_pebs_counters(profile) != 0 &&
	    profile_pebs_format(profile) > 0;
}
