#include "tests/fuzz/msrs/msrs_ref.h"

#include "emu/pt/unit.h"

#include <string.h>

const uint32_t ref_index[R_COUNT] = { 0x570, 0x560, 0x561, 0x571, 0x572, 0x580,
	0x581, 0x582, 0x583, 0x584, 0x585, 0x586, 0x587 };

static unsigned
ref_ranges(const struct profile *cpu)
{
	unsigned count = cpu->pt1_eax & 7;

	return cpu->pt_ebx & 4 ? count : 0;
}

bool
ref_there(const struct profile *cpu, unsigned place)
{
	switch (place) {
	case R_CTL:
	case R_STATUS:
		return cpu->pt;
	case R_BASE:
	case R_MASK:
		return cpu->pt_ecx & 5;
	case R_CR3:
		return cpu->pt_ebx & 1;
	default:
		return (place - R_RANGE) / 2 < ref_ranges(cpu);
	}
}

/* Is an encoded VALUE of 4 bits none of those that MAP enumerates? */
static bool
ref_unlisted(uint64_t value, uint32_t map)
{
	return value != 0 && !(map & 1u << value);
}

uint64_t
ref_ctl_reserved(const struct profile *cpu)
{
	uint64_t bits = UINT64_C(0xfe7f000070840000);
	uint32_t ebx = cpu->pt_ebx, ecx = cpu->pt_ecx;

	bits |= ebx & 1 << 0 ? 0 : UINT64_C(1) << 7;
	bits |= ebx & 1 << 1 ? 0 : UINT64_C(0xf780002);
	bits |= ebx & 1 << 3 ? 0 : UINT64_C(0x3c200);
	bits |= ebx & 1 << 4 ? 0 : UINT64_C(0x1020);
	bits |= ebx & 1 << 5 ? 0 : UINT64_C(0x10);
	bits |= ebx & 1 << 6 ? 0 : UINT64_C(1) << 56;
	bits |= ebx & 1 << 7 ? 0 : UINT64_C(1) << 31;
	bits |= ebx & 1 << 8 ? 0 : UINT64_C(1) << 55;
	bits |= ecx & 1 << 0 ? 0 : UINT64_C(0x100);
	bits |= ecx & 1 << 3 ? 0 : UINT64_C(0x40);
	return bits;
}

/* Broadwell: IA32_VMX_MISC[14] is 0. */
bool
ref_ctl_locked(const struct ref *ref)
{
	uint32_t model = (ref->cpu->signature >> 12 & 0xf0) |
	    (ref->cpu->signature >> 4 & 0xf);

	return ref->vmx &&
	    (model == 0x3d || model == 0x47 || model == 0x4f || model == 0x56);
}

static bool
ref_ctl_faults(const struct ref *ref, uint64_t v)
{
	const struct profile *cpu = ref->cpu;
	uint64_t old = ref->value[R_CTL];

	if (ref_ctl_locked(ref))
		return true;
	if ((old & 1) && v == old)
		return false;
	if ((old & 1) && (v & 1))
		return true;
	if (v & ref_ctl_reserved(cpu))
		return true;
	if (ref_unlisted(v >> 14 & 15, cpu->pt1_eax >> 16) ||
	    ref_unlisted(v >> 19 & 15, cpu->pt1_ebx & 0xffff) ||
	    ref_unlisted(v >> 24 & 15, cpu->pt1_ebx >> 16))
		return true;
	for (unsigned n = 0; n < 4; n++) {
		unsigned cfg = v >> (32 + 4 * n) & 15;

		if (cfg > 2 || (cfg != 0 && n >= ref_ranges(cpu)))
			return true;
	}
	if (!(v & 1))
		return false;
	return (!(v & 0x140) && !(cpu->pt_ecx & 4)) ||
	    (!(v & 0x2000) && !(cpu->pt_ebx & 8));
}

bool
ref_status_faults(const struct profile *cpu, uint64_t v)
{
	uint64_t reserved = UINT64_C(0xfffe0000ffffff08);

	if (!(cpu->pt_ebx & 1 << 6))
		reserved |= 0xc0;
	if (!(cpu->pt_ebx & 1 << 1))
		reserved |= UINT64_C(0x1ffff00000000);
	return v & reserved;
}

bool
ref_faults(const struct ref *ref, unsigned place, uint64_t v)
{
	int64_t top = (int64_t)v >> 47;

	if (!ref_there(ref->cpu, place))
		return true;
	if (place == R_CTL)
		return ref_ctl_faults(ref, v);
	if (ref->value[R_CTL] & 1)
		return true;
	switch (place) {
	case R_BASE:
		return v & 0x7f || v >> ref->cpu->maxphyaddr;
	case R_MASK:
		return false;
	case R_STATUS:
		return ref_status_faults(ref->cpu, v);
	case R_CR3:
		return v & 0x1f;
	default:
		return top != 0 && top != -1;
	}
}

uint64_t
ref_stored(const struct ref *ref, unsigned place, uint64_t v)
{
	if (place == R_MASK)
		return v | 0x7f;
	if (place == R_STATUS)
		return (v & ~UINT64_C(7)) | (ref->value[place] & 7);
	return v;
}

void
ref_clear(struct ref *ref)
{
	ref->vmx = false;
	memset(ref->value, 0, sizeof(ref->value));
	ref->value[R_MASK] = 0x7f;
}

uint64_t
ref_image_get(const uint8_t *image, unsigned slot)
{
	uint64_t value;

	memcpy(&value, image + 8 * slot, 8);
	return value;
}

bool
ref_image_faults(const struct ref *ref, const uint8_t *image)
{
	bool faults = ref->value[R_CTL] & 1;

	for (unsigned slot = 0; slot < PT_XSTATE_BYTES / 8; slot++) {
		uint64_t value = ref_image_get(image, slot);

		if (slot >= PT_XSTATE_MSRS || !ref_there(ref->cpu, slot))
			faults |= value != 0;
		else
			faults |= ref_faults(ref, slot, value);
	}
	return faults;
}
