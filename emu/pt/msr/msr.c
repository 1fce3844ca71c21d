#include "emu/pt/msr/msr.h"

#include <assert.h>

typedef bool msr_exists_fn(const struct profile *profile, uint64_t arg);
typedef bool msr_rule_fn(
    const struct profile *profile, uint64_t value, uint64_t arg);

unsigned
msr_range_count(const struct profile *profile)
{
	unsigned count = profile->pt1_eax & 7;

	if (!(profile->pt_ebx & PROFILE_PT_EBX_IPFILT))
		return 0;
	return count > 4 ? 4 : count;
}

static bool
exists_pt(const struct profile *profile, uint64_t arg)
{
	(void)arg;
	return profile->pt;
}

static bool
exists_ebx(const struct profile *profile, uint64_t arg)
{
	return (profile->pt_ebx & arg) != 0;
}

static bool
exists_output(const struct profile *profile, uint64_t arg)
{
	(void)arg;
	return (profile->pt_ecx &
		   (PROFILE_PT_ECX_TOPA | PROFILE_PT_ECX_SINGLE)) != 0;
}

static bool
exists_range(const struct profile *profile, uint64_t arg)
{
	return arg < msr_range_count(profile);
}

static bool
rule_any(const struct profile *profile, uint64_t value, uint64_t arg)
{
	(void)profile;
	(void)value;
	(void)arg;
	return true;
}

static bool
rule_zero(const struct profile *profile, uint64_t value, uint64_t arg)
{
	(void)profile;
	(void)arg;
	return value == 0;
}

static bool
rule_ebx(const struct profile *profile, uint64_t value, uint64_t arg)
{
	return value == 0 || (profile->pt_ebx & arg) != 0;
}

static bool
rule_ecx(const struct profile *profile, uint64_t value, uint64_t arg)
{
	return value == 0 || (profile->pt_ecx & arg) != 0;
}

/*
 * True if VALUE is one of the encodings that BITMAP enumerates.  Model choice: 0,
 * the reset value, is always accepted, also where a hypervisor or firmware zeroed
 * the bitmap.
 */
static bool
msr_in_bitmap(uint64_t value, uint32_t bitmap)
{
	TZ_ASSERT(value < 16);
	TZ_ASSERT(bitmap < 0x10000);
	return value == 0 || (bitmap >> value & 1) != 0;
}

static bool
rule_mtc_freq(const struct profile *profile, uint64_t value, uint64_t arg)
{
	return rule_ebx(profile, value, arg) &&
	    msr_in_bitmap(value, profile->pt1_eax >> 16);
}

static bool
rule_cyc_thresh(const struct profile *profile, uint64_t value, uint64_t arg)
{
	return rule_ebx(profile, value, arg) &&
	    msr_in_bitmap(value, profile->pt1_ebx & 0xffff);
}

static bool
rule_psb_freq(const struct profile *profile, uint64_t value, uint64_t arg)
{
	return rule_ebx(profile, value, arg) &&
	    msr_in_bitmap(value, profile->pt1_ebx >> 16);
}

static bool
rule_range_cfg(const struct profile *profile, uint64_t value, uint64_t arg)
{
	return value == 0 || (value <= 2 && arg < msr_range_count(profile));
}

/* An address whose bit ARG is bit 0 of VALUE. */
static bool
rule_phys(const struct profile *profile, uint64_t value, uint64_t arg)
{
	TZ_ASSERT(profile->maxphyaddr >= 32 && profile->maxphyaddr <= 52);
	return value >> (profile->maxphyaddr - arg) == 0;
}

static bool
rule_canonical(const struct profile *profile, uint64_t value, uint64_t arg)
{
	(void)profile;
	(void)arg;
	return tz_is_canonical(value);
}

struct msr_row {
	uint32_t index;
	msr_exists_fn *exists;
	uint64_t arg;
};

static const struct msr_row msr_rows[] = {
#define MSR(index, name, exists, arg, cite) { index, exists, arg },
#include "emu/pt/msr/msr.def"
#undef MSR
};

static_assert(TZ_ARRAY_LEN(msr_rows) == MSR_COUNT, "one row an MSR");

struct msr_field {
	enum msr_id id;
	uint8_t hi, lo;
	msr_rule_fn *rule;
	uint64_t arg;
};

static const struct msr_field msr_fields[] = {
#define FIELD(msr, hi, lo, name, rule, arg, cite) \
 { MSR_##msr, hi, lo, rule, arg },
#include "emu/pt/msr/msr.def"
#undef FIELD
};

enum msr_id
msr_find(uint32_t index)
{
	for (unsigned i = 0; i < MSR_COUNT; i++) {
		if (msr_rows[i].index == index)
			return (enum msr_id)i;
	}
	return MSR_COUNT;
}

bool
msr_exists(const struct profile *profile, enum msr_id id)
{
	TZ_ASSERT(id < MSR_COUNT);
	return msr_rows[id].exists(profile, msr_rows[id].arg);
}

/* The conditions of IA32_RTIT_CTL that involve more than one field. */
static bool
msr_accepts_ctl(const struct profile *profile, uint64_t ctl, uint64_t value)
{
	/*
	 * SDM vol. 3, 33.2.8.2 "IA32_RTIT_CTL MSR": while TraceEn is 1, a write
	 * that leaves it 1 faults unless it changes nothing.
	 */
	if ((ctl & CTL_TRACE_EN) != 0 && (value & CTL_TRACE_EN) != 0)
		return value == ctl;
	if (!(value & CTL_TRACE_EN))
		return true;
	/* SDM vol. 3, 33.2.8.2, ToPA: 0 needs CPUID.14H:ECX.SNGLRGNOUT. */
	if (!(value & (CTL_TOPA | CTL_FABRIC_EN)) &&
	    !(profile->pt_ecx & PROFILE_PT_ECX_SINGLE))
		return false;
	/* SDM vol. 3, 33.2.8.2, BranchEn: Broadwell requires it to be 1
	 * (BDM106). */
	return (value & CTL_BRANCH_EN) != 0 ||
	    (profile->pt_ebx & PROFILE_PT_EBX_MTC) != 0;
}

bool
msr_accepts(
    const struct profile *profile, enum msr_id id, uint64_t ctl, uint64_t value)
{
	TZ_ASSERT(profile != NULL);
	TZ_ASSERT(id < MSR_COUNT);
	if (!msr_exists(profile, id))
		return false;
	if (id == MSR_CTL && !msr_accepts_ctl(profile, ctl, value))
		return false;
	/* SDM vol. 3, 33.2.8.1: the others are writable with TraceEn 0 only. */
	if (id != MSR_CTL && (ctl & CTL_TRACE_EN) != 0)
		return false;
	for (size_t i = 0; i < TZ_ARRAY_LEN(msr_fields); i++) {
		const struct msr_field *field = &msr_fields[i];
		uint64_t bits = tz_bits(value, field->hi, field->lo);

		if (field->id == id && !field->rule(profile, bits, field->arg))
			return false;
	}
	return true;
}

uint64_t
msr_merge(enum msr_id id, uint64_t old, uint64_t value)
{
	TZ_ASSERT(id < MSR_COUNT);
	/* SDM vol. 3, 33.2.8.4: writes of the three enables are ignored. */
	if (id == MSR_STATUS)
		return (value & ~STATUS_ENABLES) | (old & STATUS_ENABLES);
	/* SDM vol. 3, 33.2.8.8: bits 6:0 are forced to 1. */
	if (id == MSR_OUTPUT_MASK_PTRS)
		return value | MASK_PTRS_LOW;
	return value;
}
