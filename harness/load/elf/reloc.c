#include "harness/load/elf/reloc.h"

#include <elf.h>
#include <string.h>

enum reloc_fit {
	FIT_ANY,
	FIT_UNSIGNED, /* zero-extended by the instruction */
	FIT_SIGNED,   /* sign-extended by the instruction */
};

struct reloc_kind {
	uint32_t type;
	const char *name;
	size_t bytes;
	bool relative; /* minus the place */
	enum reloc_fit fit;
};

static const struct reloc_kind *
reloc_find(uint32_t type)
{
#define ROW(type, bytes, relative, fit) \
 {                                      \
  type, #type, bytes, relative, fit     \
 }
	static const struct reloc_kind kinds[] = {
		ROW(R_X86_64_NONE, 0, false, FIT_ANY),
		ROW(R_X86_64_64, 8, false, FIT_ANY),
		ROW(R_X86_64_PC64, 8, true, FIT_ANY),
		ROW(R_X86_64_32, 4, false, FIT_UNSIGNED),
		ROW(R_X86_64_32S, 4, false, FIT_SIGNED),
		ROW(R_X86_64_PC32, 4, true, FIT_SIGNED),
		ROW(R_X86_64_PLT32, 4, true, FIT_SIGNED),
	};
#undef ROW
	size_t i;

	for (i = 0; i < TZ_ARRAY_LEN(kinds); i++)
		if (kinds[i].type == type)
			return &kinds[i];
	return NULL;
}

const char *
reloc_name(uint32_t type)
{
	const struct reloc_kind *kind = reloc_find(type);

	return kind != NULL ? kind->name : NULL;
}

size_t
reloc_size(uint32_t type)
{
	const struct reloc_kind *kind = reloc_find(type);

	return kind != NULL ? kind->bytes : 0;
}

static bool
reloc_fits(enum reloc_fit fit, uint64_t value)
{
	if (fit == FIT_UNSIGNED)
		return value <= UINT32_MAX;
	if (fit == FIT_SIGNED)
		return value + TZ_BIT(31) <= UINT32_MAX;
	return true;
}

enum reloc_result
reloc_apply(uint32_t type, uint8_t *field, uint64_t place, uint64_t symbol,
    int64_t addend)
{
	const struct reloc_kind *kind = reloc_find(type);
	uint64_t value;

	if (kind == NULL)
		return RELOC_UNKNOWN;
	value = symbol + (uint64_t)addend;
	if (kind->relative)
		value -= place;
	if (!reloc_fits(kind->fit, value))
		return RELOC_OVERFLOW;
	/* Guest and host are both little-endian. */
	memcpy(field, &value, kind->bytes);
	return RELOC_OK;
}
