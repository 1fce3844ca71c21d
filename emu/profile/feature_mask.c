/*
 * Processors without some feature: hides everything that depends on the feature.
 */
#include "emu/profile/profile.h"

#include <string.h>

#define OF(leaf, subleaf, reg) \
 ((uint64_t)(leaf) << 32 | (uint64_t)(subleaf) << 8 | (reg))

static const struct profile_feature_mask features[] = {
#define FEATURE(name, leaf, subleaf, reg, mask, value, text, citation) \
 { leaf, subleaf, PROFILE_##reg, mask, value, name, text, citation },
#include "emu/profile/feature.def"
#undef FEATURE
};

/* Values that the architecture defines as 0 if another value is 0. */
static void
feature_mask_follow(struct profile *copy)
{
	if (!copy->xsave)
		copy->xsave1_eax = 0;
	if (!(copy->xsave1_eax & PROFILE_XSAVE1_XSAVES))
		copy->xss_mask = 0;
	if (!copy->pt) {
		copy->pt_ebx = copy->pt_ecx = 0;
		copy->pt1_eax = copy->pt1_ebx = 0;
		copy->xss_mask &= ~(uint64_t)TZ_BIT(8);
	}
	/* SDM vol. 3, 33.3.1 "Detection of Intel PT": each needs the other. */
	if (!(copy->pt_ecx & PROFILE_PT_ECX_TOPA))
		copy->pt_ecx &= ~(uint32_t)PROFILE_PT_ECX_MENTRY;
	if (!(copy->pt_ebx & PROFILE_PT_EBX_IPFILT))
		copy->pt1_eax &= ~UINT32_C(7);
	if (!(copy->pt_ebx & PROFILE_PT_EBX_MTC))
		copy->pt1_eax &= UINT32_C(0xffff);
	if (!(copy->pt_ebx & PROFILE_PT_EBX_PSB))
		copy->pt1_ebx = 0;
}

static void
feature_mask_take(
    struct profile *copy, const struct profile_feature_mask *absent)
{
	TZ_ASSERT((absent->value & ~absent->mask) == 0);
	switch (OF(absent->leaf, absent->subleaf, absent->reg)) {
	case OF(0x01, 0, PROFILE_ECX):
		if (absent->mask & TZ_BIT(26))
			copy->xsave = false;
		break;
	case OF(0x07, 0, PROFILE_EBX):
		if (absent->mask & TZ_BIT(25))
			copy->pt = false;
		break;
	case OF(0x0d, 1, PROFILE_EAX):
		copy->xsave1_eax = profile_feature_mask_word(
		    copy->xsave1_eax, absent);
		break;
	case OF(0x0d, 1, PROFILE_ECX):
		copy->xss_mask &= ~(uint64_t)absent->mask;
		break;
	case OF(0x14, 0, PROFILE_EBX):
		copy->pt_ebx = profile_feature_mask_word(copy->pt_ebx, absent);
		break;
	case OF(0x14, 0, PROFILE_ECX):
		copy->pt_ecx = profile_feature_mask_word(copy->pt_ecx, absent);
		break;
	case OF(0x14, 1, PROFILE_EAX):
		copy->pt1_eax = profile_feature_mask_word(
		    copy->pt1_eax, absent);
		break;
	case OF(0x14, 1, PROFILE_EBX):
		copy->pt1_ebx = profile_feature_mask_word(
		    copy->pt1_ebx, absent);
		break;
	default:
		break;
	}
}

void
profile_without(struct profile *copy, const struct profile *from,
    const struct profile_feature_mask *absent, size_t count)
{
	TZ_ASSERT(from->absent_count + count <= PROFILE_ABSENT_MAX);
	if (copy != from)
		*copy = *from;
	for (size_t i = 0; i < count; i++) {
		copy->absent[copy->absent_count++] = absent[i];
		feature_mask_take(copy, &absent[i]);
	}
	feature_mask_follow(copy);
}

bool
profile_has(
    const struct profile *profile, const struct profile_feature_mask *feature)
{
	const struct profile_cpu alone = { .cpu_count = 1 };
	uint32_t out[4];

	profile_cpuid(profile, &alone, feature->leaf, feature->subleaf, out);
	return (out[feature->reg] & feature->mask) > feature->value;
}

bool
profile_feature_is_optional(const struct profile_feature_mask *feature)
{
	return feature->leaf == 0x14 && feature->reg != PROFILE_ECX;
}

const struct profile_feature_mask *
profile_feature_at(size_t index)
{
	return index < TZ_ARRAY_LEN(features) ? &features[index] : NULL;
}

const struct profile_feature_mask *
profile_feature_find(const char *name)
{
	TZ_ASSERT(name != NULL);
	for (size_t i = 0; i < TZ_ARRAY_LEN(features); i++) {
		if (strcmp(features[i].name, name) == 0)
			return &features[i];
	}
	return NULL;
}
