/* The offsets of the parts of an XSAVE area, from CPUID leaf 0Dh. */
#include <machine/fpu.h>
#include <machine/specialreg.h>
#include <sys/systm.h>

#define XSAVE_LEAF         0xd
#define XSAVE_LEGACY_BYTES 512u
#define XSAVE_ALIGN_64     0x2u /* ECX of a feature's sub-leaf */

bool
xsave_extfeature_supported(uint64_t feature, bool supervisor)
{
	u_int regs[4];
	uint64_t supported;

	if (feature == 0 || !powerof2(feature))
		panic("xsave_extfeature_supported: %#lx is not one feature",
		    feature);
	cpuid_count(XSAVE_LEAF, supervisor ? 1 : 0, regs);
	if (supervisor)
		supported = ((uint64_t)regs[3] << 32) | regs[2];
	else
		supported = ((uint64_t)regs[3] << 32) | regs[0];
	return ((supported & feature) != 0);
}

bool
xsave_extension_supported(uint64_t extension)
{
	u_int regs[4];

	cpuid_count(XSAVE_LEAF, 1, regs);
	return ((regs[0] & extension) != 0);
}

size_t
xsave_area_hdr_offset(void)
{
	return (XSAVE_LEGACY_BYTES);
}

/*
 * The offset of feature number UNTIL, or the end of the area if there is no
 * feature above.  The standard form has fixed offsets (EBX); the compact one
 * packs the features of the set in order.
 */
static size_t
area_walk(uint64_t set, int until, bool compact)
{
	u_int regs[4];
	size_t offset;
	int i;

	offset = XSAVE_LEGACY_BYTES + sizeof(struct xstate_hdr);
	for (i = 2; i < 63; i++) {
		if (i != until && (set & (1UL << i)) == 0)
			continue;
		cpuid_count(XSAVE_LEAF, (u_int)i, regs);
		if (!compact)
			offset = regs[1];
		else if ((regs[2] & XSAVE_ALIGN_64) != 0)
			offset = roundup2(offset, (size_t)64);
		if (i == until)
			return (offset);
		offset += regs[0];
	}
	return (offset);
}

size_t
xsave_area_offset(
    uint64_t xstate_bv, uint64_t feature, bool compact, bool supervisor)
{
	int number;

	if (feature == 0 || !powerof2(feature))
		panic("xsave_area_offset: %#lx is not one feature", feature);
	if ((xstate_bv & feature) == 0 ||
	    (!compact && !xsave_extfeature_supported(feature, supervisor)))
		return (0);
	number = __builtin_ctzl(feature);
	if (number < 2)
		return (0);
	return (area_walk(xstate_bv, number, compact));
}

size_t
xsave_area_size(uint64_t xstate_bv, bool compact, bool supervisor __unused)
{
	return (area_walk(xstate_bv, -1, compact));
}
