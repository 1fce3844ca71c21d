#include "tests/unit/pt/msr/msr_rules.h"

const uint32_t msr_rules_indices[MSR_RULES_COUNT] = { 0x560, 0x561, 0x570,
	0x571, 0x572, 0x580, 0x581, 0x582, 0x583, 0x584, 0x585, 0x586, 0x587 };

/* What the guest reads from CPUID. */
struct leaf {
	uint32_t ebx, ecx, ranges, mtc, cyc, psb, address_bits;
};

static struct leaf
read_leaf(const struct profile *profile)
{
	static const struct profile_cpu cpu = { .cpu_count = 1 };
	uint32_t out[4];
	struct leaf leaf;

	profile_cpuid(profile, &cpu, 0x14, 0, out);
	leaf.ebx = out[1];
	leaf.ecx = out[2];
	profile_cpuid(profile, &cpu, 0x14, 1, out);
	leaf.ranges = (leaf.ebx & 4) != 0 ? out[0] & 7 : 0;
	leaf.mtc = out[0] >> 16;
	leaf.cyc = out[1] & 0xffff;
	leaf.psb = out[1] >> 16;
	profile_cpuid(profile, &cpu, 0x80000008, 0, out);
	leaf.address_bits = out[0] & 0xff;
	return leaf;
}

static bool
encoded(bool supported, uint64_t value, uint32_t bitmap)
{
	return value == 0 || (supported && (bitmap >> value & 1) != 0);
}

/* Steps 5 to 10 of the specification's algorithm but VMX. */
static bool
ctl_is_legal(const struct leaf *p, uint64_t v)
{
	bool ebx0 = p->ebx & 1, ebx1 = p->ebx & 2, ebx3 = p->ebx & 8;
	bool ebx4 = p->ebx & 16, ebx5 = p->ebx & 32;
	bool ebx6 = p->ebx & 64, ebx7 = p->ebx & 128;
	bool ebx8 = p->ebx & 256;
	bool ecx0 = p->ecx & 1, ecx2 = p->ecx & 4, ecx3 = p->ecx & 8;
	bool enable = v & 1;

	if (v & 0xfe7f000070840000)
		return false;
	if ((v >> 1 & 1 && !ebx1) || (v >> 4 & 1 && !ebx5) ||
	    (v >> 5 & 1 && !ebx4) || (v >> 6 & 1 && !ecx3) ||
	    (v >> 7 & 1 && !ebx0) || (v >> 8 & 1 && !ecx0) ||
	    (v >> 9 & 1 && !ebx3) || (v >> 12 & 1 && !ebx4) ||
	    (v >> 31 & 1 && !ebx7) || (v >> 55 & 1 && !ebx8) ||
	    (v >> 56 & 1 && !ebx6))
		return false;
	if (!encoded(ebx3, v >> 14 & 15, p->mtc) ||
	    !encoded(ebx1, v >> 19 & 15, p->cyc) ||
	    !encoded(ebx1, v >> 24 & 15, p->psb))
		return false;
	for (unsigned n = 0; n < 4; n++) {
		uint64_t cfg = v >> (32 + 4 * n) & 15;

		if (cfg > 2 || (cfg != 0 && n >= p->ranges))
			return false;
	}
	if (enable && !(v >> 8 & 1) && !(v >> 6 & 1) && !ecx2)
		return false;
	return !enable || (v >> 13 & 1) || ebx3;
}

bool
msr_rules_accept(const struct profile *profile, uint32_t index, uint64_t v)
{
	struct leaf p = read_leaf(profile);
	unsigned n = (index - 0x580) / 2;

	switch (index) {
	case 0x570:
		return ctl_is_legal(&p, v);
	case 0x571:
		if (v & 0xfffe0000ffffff08)
			return false;
		if ((v & 0xc0) && !(p.ebx & 64))
			return false;
		return !(v & 0x1ffff00000000) || (p.ebx & 2);
	case 0x572:
		return (p.ebx & 1) && (v & 31) == 0;
	case 0x560:
		return (p.ecx & 5) && (v & 0x7f) == 0 &&
		    v >> p.address_bits == 0;
	case 0x561:
		return (p.ecx & 5) != 0;
	default:
		return n < p.ranges && (v >> 47 == 0 || v >> 47 == 0x1ffff);
	}
}

bool
msr_rules_exist(const struct profile *profile, uint32_t index)
{
	return msr_rules_accept(profile, index, 0);
}

uint64_t
msr_rules_reads(uint32_t index, uint64_t old, uint64_t value)
{
	if (index == 0x561)
		return value | 0x7f;
	if (index == 0x571)
		return (value & ~UINT64_C(7)) | (old & 7);
	return value;
}
